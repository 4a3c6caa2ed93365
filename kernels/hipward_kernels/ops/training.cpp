// Training steps of the ops without Python: autograd functions that launch the ops' kernels, forward and backward.
//
// Python selects the kernels and their launches once for each form of the arguments (`prepare`); later calls find them in a
// table. Only PyTorch's headers are needed: the driver's launch function and PyTorch's current stream are passed in as
// addresses, so that one source serves CUDA and HIP, without their headers and libraries. `training.py` is the Python side.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace py = pybind11;

namespace {

using at::Tensor;
using i64 = long long;
using u32 = unsigned int;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t VECTOR_BYTES = 16;

// --- The driver -----------------------------------------------------------------------------------------------------

// cuLaunchKernel or hipModuleLaunchKernel
using Launch = int (*)(void*, u32, u32, u32, u32, u32, u32, u32, void*, void**, void**);
// aoti_torch_get_current_cuda_stream, which ROCm's PyTorch has under the same name
using Stream = int (*)(int32_t, void**);

struct Host {
  Launch launch = nullptr;
  Stream stream = nullptr;
  // Never destroyed: a backward may run while the interpreter shuts down.
  PyObject* prepare = nullptr;
  PyObject* failed = nullptr;
} host;

struct Kernel {
  void* function = nullptr;
  u32 blocks = 0, threads = 0;
};

template <typename... Arguments>
void launch(const Kernel& kernel, int device, Arguments... arguments) {
  void* addresses[] = {&arguments...};
  void* stream = nullptr;
  TORCH_CHECK(host.stream(device, &stream) == 0, "PyTorch has no current stream for device ", device);
  auto attempt = [&] {
    return host.launch(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1, 0, stream, addresses, nullptr);
  };
  if (int code = attempt()) {
    // Raises an exception, unless the failure was a thread without a context, such as autograd's, which now has one.
    {
      py::gil_scoped_acquire lock;
      py::handle(host.failed)(code, device, kernel.blocks, kernel.threads);
    }
    code = attempt();
    TORCH_CHECK(code == 0, "launching a kernel failed with code ", code);
  }
}

// --- Launches by the form of the arguments --------------------------------------------------------------------------

enum Op : int64_t { RMSNORM, ADD_RMSNORM, SILU_MUL, GELU_MUL, LAYERNORM, SOFTMAX };

// Generation of the tuned table, op, direction, device, dtype, dtype of the weight or -1, rows, columns, and two numbers that
// depend on the op.
using Form = std::array<int64_t, 10>;

struct FormHash {
  size_t operator()(const Form& form) const {
    uint64_t hash = 1469598103934665603ull;
    for (int64_t number : form) hash = (hash ^ uint64_t(number)) * 1099511628211ull;
    return hash ^ hash >> 32;
  }
};

struct Plan {
  bool fits = false;
  Kernel kernel;
  // Parts of the weight's gradient, and the kernel that adds them.
  int64_t parts = 0;
  Kernel add;
};

constexpr size_t CAPACITY = 4096;
std::mutex table_lock;
std::unordered_map<Form, Plan, FormHash> table;

Plan plan_of(const Form& form) {
  {
    std::lock_guard<std::mutex> lock(table_lock);
    auto found = table.find(form);
    if (found != table.end()) return found->second;
  }
  Plan plan;
  {
    py::gil_scoped_acquire gil;
    py::object made = py::handle(host.prepare)(py::tuple(py::cast(std::vector<int64_t>(form.begin(), form.end()))));
    if (!made.is_none()) {
      auto numbers = made.cast<std::vector<uint64_t>>();
      plan.fits = true;
      plan.kernel = {reinterpret_cast<void*>(numbers.at(0)), u32(numbers.at(1)), u32(numbers.at(2))};
      if (numbers.size() > 3) plan.parts = int64_t(numbers.at(3));
      if (numbers.size() > 4) {
        plan.add = {reinterpret_cast<void*>(numbers.at(4)), u32(numbers.at(5)), u32(numbers.at(6))};
      }
    }
  }
  std::lock_guard<std::mutex> lock(table_lock);
  if (table.size() >= CAPACITY) table.clear();
  table[form] = plan;
  return plan;
}

// --- Tensors --------------------------------------------------------------------------------------------------------

// Distance of the rows of the last dimension, in elements; -1 if they have no single distance or are not contiguous.
int64_t row_stride(const Tensor& x) {
  const int64_t last = x.dim() - 1;
  if (x.is_contiguous()) return x.size(last);
  if (x.stride(last) != 1) return -1;
  int64_t distance = 0, next = 0;
  for (int64_t i = last - 1; i >= 0; --i) {
    if (x.size(i) == 1) continue;
    if (next == 0) {
      distance = x.stride(i);
    } else if (x.stride(i) != next) {
      return -1;
    }
    next = x.stride(i) * x.size(i);
    if (next == 0) return -1;  // an expanded dimension
  }
  return next == 0 ? x.size(last) : distance;
}

bool readable(const Tensor& x, int64_t stride) {
  const int64_t size = VECTOR_BYTES / x.element_size();
  return stride >= 0 && stride % size == 0 && reinterpret_cast<uintptr_t>(x.const_data_ptr()) % VECTOR_BYTES == 0;
}

// A gradient that vectors can read: the same, or a copy.
Tensor read_gradient(Tensor dy, int64_t& stride) {
  stride = row_stride(dy);
  if (!readable(dy, stride)) {
    dy = dy.clone(at::MemoryFormat::Contiguous);
    stride = row_stride(dy);
  }
  return dy;
}

Tensor like(const Tensor& x) { return at::empty(x.sizes(), x.options()); }

const void* at_(const Tensor& x) { return x.const_data_ptr(); }
void* to(const Tensor& x) { return x.data_ptr(); }

int64_t dtype_of(const Tensor& x) { return x.defined() ? int64_t(x.scalar_type()) : -1; }

void refuse_second_derivative(const char* op) {
  TORCH_CHECK(!at::GradMode::is_enabled(), op,
              ": the fused backward has no derivative of its own. For create_graph=True, use the eager implementation: "
              "`with hipward_kernels.dispatch.registry.only('eager')`.");
}

// --- RMSNorm and add+RMSNorm ----------------------------------------------------------------------------------------

template <bool ADD>
struct Norm : torch::autograd::Function<Norm<ADD>> {
  static constexpr const char* NAME = ADD ? "add_rmsnorm" : "rmsnorm";

  static Form form(const Tensor& x, const Tensor& weight, int64_t generation, bool backward, int64_t x_stride,
                   int64_t more_stride) {
    const int64_t columns = x.size(x.dim() - 1);
    return {generation,      ADD ? ADD_RMSNORM : RMSNORM, backward, x.get_device(), dtype_of(x),
            dtype_of(weight), x.numel() / columns,         columns,  x_stride,       more_stride};
  }

  static variable_list forward(AutogradContext* ctx, const Tensor& x, const std::optional<Tensor>& residual,
                               const std::optional<Tensor>& scale, double eps, int64_t x_stride, int64_t more_stride,
                               const Plan& plan) {
    const Tensor weight = scale.value_or(Tensor());
    const Tensor y = like(x), total = ADD ? like(x) : x, more = ADD ? *residual : x;
    const int64_t columns = x.size(x.dim() - 1);
    launch(plan.kernel, x.get_device(), at_(x), at_(more), at_(weight.defined() ? weight : x), to(y), at_(total),
           i64(x.numel() / columns), i64(x_stride), i64(more_stride), int(columns), 1.0f / float(columns), float(eps));
    ctx->save_for_backward({total, weight});
    ctx->saved_data["eps"] = eps;
    ctx->set_materialize_grads(false);
    if constexpr (ADD) return {y, total};
    return {y};
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    refuse_second_derivative(NAME);
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const int64_t columns = x.size(x.dim() - 1), x_stride = row_stride(x);
    int64_t dy_stride = 0, more_stride = x_stride;
    const Tensor dy = read_gradient(gradients[0].defined() ? gradients[0] : at::zeros(x.sizes(), x.options()), dy_stride);
    Tensor more = x;
    // Without a gradient of the sum, add+RMSNorm has RMSNorm's backward.
    const bool add = ADD && gradients.size() > 1 && gradients[1].defined();
    if (add) more = read_gradient(gradients[1], more_stride);
    Form key = form(x, weight, 0, true, 0, 0);
    key[1] = add ? ADD_RMSNORM : RMSNORM;
    const Plan plan = plan_of(key);
    TORCH_CHECK(plan.fits, NAME, ": no backward kernel takes rows of ", columns, " ", x.scalar_type());
    const Tensor dx = like(x);
    Tensor parts, dweight;
    if (weight.defined()) parts = at::empty({plan.parts, columns}, x.options().dtype(at::kFloat));
    launch(plan.kernel, x.get_device(), at_(dy), at_(x), at_(weight.defined() ? weight : x), at_(more), to(dx),
           weight.defined() ? to(parts) : to(dx), i64(x.numel() / columns), i64(dy_stride), i64(x_stride),
           i64(more_stride), i64(plan.parts), int(columns), 1.0f / float(columns),
           float(ctx->saved_data["eps"].toDouble()));
    if (weight.defined()) {
      dweight = like(weight);
      launch(plan.add, x.get_device(), at_(parts), to(dweight), i64(plan.parts), int(columns));
    }
    const Tensor none;
    // Both summands have the gradient of the sum.
    return {dx, ADD ? dx : none, dweight, none, none, none, none};
  }

  static std::optional<variable_list> run(const Tensor& x, const std::optional<Tensor>& residual,
                                          const std::optional<Tensor>& weight, double eps, int64_t generation) {
    if (x.dim() == 0 || x.numel() == 0) return std::nullopt;
    const int64_t x_stride = row_stride(x), more_stride = ADD ? row_stride(*residual) : x_stride;
    if (!readable(x, x_stride) || (ADD && !readable(*residual, more_stride))) return std::nullopt;
    if (weight && !(weight->is_contiguous() && readable(*weight, 0))) return std::nullopt;
    const Tensor scale = weight.value_or(Tensor());
    const Plan plan = plan_of(form(x, scale, generation, false, x_stride, more_stride));
    // A backward that does not fit or does not compile must be found now, while another implementation can still be used.
    if (!plan.fits || !plan_of(form(x, scale, 0, true, 0, 0)).fits) return std::nullopt;
    const c10::DeviceGuard guard(x.device());
    return Norm::apply(x, residual, weight, eps, x_stride, more_stride, plan);
  }
};

std::optional<Tensor> rmsnorm(const Tensor& x, const std::optional<Tensor>& weight, double eps, int64_t generation) {
  auto outputs = Norm<false>::run(x, std::nullopt, weight, eps, generation);
  return outputs ? std::optional<Tensor>((*outputs)[0]) : std::nullopt;
}

std::optional<std::pair<Tensor, Tensor>> add_rmsnorm(const Tensor& x, const Tensor& residual,
                                                     const std::optional<Tensor>& weight, double eps,
                                                     int64_t generation) {
  auto outputs = Norm<true>::run(x, residual, weight, eps, generation);
  if (!outputs) return std::nullopt;
  return std::make_pair((*outputs)[0], (*outputs)[1]);
}

// --- LayerNorm ------------------------------------------------------------------------------------------------------

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static Form form(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t generation, bool backward,
                   int64_t x_stride) {
    const int64_t columns = x.size(x.dim() - 1), kinds = int64_t(weight.defined()) + 2 * int64_t(bias.defined());
    return {generation,   LAYERNORM,           backward, x.get_device(), dtype_of(x), dtype_of(weight.defined() ? weight : bias),
            x.numel() / columns, columns, x_stride, kinds};
  }

  static Tensor forward(AutogradContext* ctx, const Tensor& x, const std::optional<Tensor>& scale,
                        const std::optional<Tensor>& shift, double eps, int64_t x_stride, const Plan& plan) {
    const Tensor weight = scale.value_or(Tensor()), bias = shift.value_or(Tensor());
    const int64_t columns = x.size(x.dim() - 1), rows = x.numel() / columns;
    const Tensor y = like(x), statistics = at::empty({2, rows}, x.options().dtype(at::kFloat));
    float* means = statistics.data_ptr<float>();
    launch(plan.kernel, x.get_device(), at_(x), at_(weight.defined() ? weight : x), at_(bias.defined() ? bias : x), to(y),
           means, means + rows, i64(rows), i64(x_stride), int(columns), 1.0f / float(columns), float(eps));
    ctx->save_for_backward({x, weight, statistics});
    // Of the bias, the backward needs only whether there is one, and its dtype.
    ctx->saved_data["bias"] = bias.defined() ? at::empty({0}, bias.options()) : Tensor();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    refuse_second_derivative("layernorm");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &statistics = saved[2], bias = ctx->saved_data["bias"].toTensor();
    const int64_t columns = x.size(x.dim() - 1), rows = x.numel() / columns, x_stride = row_stride(x);
    int64_t dy_stride = 0;
    const Tensor dy = read_gradient(gradients[0], dy_stride);
    const Plan plan = plan_of(form(x, weight, bias, 0, true, 0));
    TORCH_CHECK(plan.fits, "layernorm: no backward kernel takes rows of ", columns, " ", x.scalar_type());
    const Tensor dx = like(x);
    const int64_t count = int64_t(weight.defined()) + int64_t(bias.defined());
    Tensor parts, dweight, dbias;
    if (count) parts = at::empty({plan.parts, count, columns}, x.options().dtype(at::kFloat));
    float* means = statistics.data_ptr<float>();
    launch(plan.kernel, x.get_device(), at_(dy), at_(x), at_(weight.defined() ? weight : x), means, means + rows, to(dx),
           count ? to(parts) : to(dx), i64(rows), i64(dy_stride), i64(x_stride), i64(plan.parts), int(columns),
           1.0f / float(columns));
    if (count) {
      const Tensor sums = at::empty({count, columns}, (weight.defined() ? weight : bias).options());
      launch(plan.add, x.get_device(), at_(parts), to(sums), i64(plan.parts), int(count * columns));
      if (weight.defined()) dweight = sums[0];
      if (bias.defined()) dbias = sums[count - 1];
    }
    const Tensor none;
    return {dx, dweight, dbias, none, none, none};
  }
};

std::optional<Tensor> layernorm(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                double eps, int64_t generation) {
  if (x.dim() == 0 || x.numel() == 0) return std::nullopt;
  const int64_t x_stride = row_stride(x);
  if (!readable(x, x_stride)) return std::nullopt;
  for (const auto& parameter : {weight, bias}) {
    if (parameter && !(parameter->is_contiguous() && readable(*parameter, 0))) return std::nullopt;
  }
  if (weight && bias && weight->scalar_type() != bias->scalar_type()) return std::nullopt;
  const Tensor scale = weight.value_or(Tensor()), shift = bias.value_or(Tensor());
  const Plan plan = plan_of(LayerNorm::form(x, scale, shift, generation, false, x_stride));
  if (!plan.fits || !plan_of(LayerNorm::form(x, scale, shift, 0, true, 0)).fits) return std::nullopt;
  const c10::DeviceGuard guard(x.device());
  return LayerNorm::apply(x, weight, bias, eps, x_stride, plan);
}

// --- Softmax --------------------------------------------------------------------------------------------------------

struct Softmax : torch::autograd::Function<Softmax> {
  static Form form(const Tensor& x, int64_t generation, bool backward, int64_t stride) {
    const int64_t columns = x.size(x.dim() - 1);
    return {generation, SOFTMAX, backward, x.get_device(), dtype_of(x), -1, x.numel() / columns, columns, stride, 0};
  }

  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t x_stride, const Plan& plan) {
    const Tensor y = like(x);
    const int64_t columns = x.size(x.dim() - 1);
    launch(plan.kernel, x.get_device(), at_(x), to(y), i64(x.numel() / columns), i64(x_stride), int(columns));
    ctx->save_for_backward({y});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    refuse_second_derivative("softmax");
    const Tensor y = ctx->get_saved_variables()[0];
    const int64_t columns = y.size(y.dim() - 1);
    int64_t dy_stride = 0;
    const Tensor dy = read_gradient(gradients[0], dy_stride);
    const Plan plan = plan_of(form(y, 0, true, columns));
    TORCH_CHECK(plan.fits, "softmax: no backward kernel takes rows of ", columns, " ", y.scalar_type());
    const Tensor dx = like(y), none;
    launch(plan.kernel, y.get_device(), at_(dy), at_(y), to(dx), i64(y.numel() / columns), i64(dy_stride), int(columns));
    return {dx, none, none};
  }
};

std::optional<Tensor> softmax(const Tensor& x, int64_t generation) {
  if (x.dim() == 0 || x.numel() == 0) return std::nullopt;
  const int64_t x_stride = row_stride(x);
  if (!readable(x, x_stride)) return std::nullopt;
  const Plan plan = plan_of(Softmax::form(x, generation, false, x_stride));
  if (!plan.fits || !plan_of(Softmax::form(x, 0, true, x.size(x.dim() - 1))).fits) return std::nullopt;
  const c10::DeviceGuard guard(x.device());
  return Softmax::apply(x, x_stride, plan);
}

// --- Gated activations ----------------------------------------------------------------------------------------------

struct Gated : torch::autograd::Function<Gated> {
  static Form form(int64_t op, const Tensor& gate, int64_t generation, bool backward, bool flat) {
    const int64_t columns = gate.size(gate.dim() - 1);
    return {generation, op, backward, gate.get_device(), dtype_of(gate), -1, gate.numel() / columns, columns, flat, 0};
  }

  static u32 vectors(const Tensor& gate, int64_t count) { return u32(count * gate.element_size() / VECTOR_BYTES); }

  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up, int64_t op, int64_t gate_stride,
                        int64_t up_stride, bool flat, const Plan& plan) {
    const Tensor y = like(gate);
    const int64_t columns = gate.size(gate.dim() - 1);
    // `parts` is the number of vectors, which may be smaller than 16 bytes in the forward.
    launch(plan.kernel, gate.get_device(), at_(gate), at_(up), to(y), i64(flat ? 0 : gate_stride),
           i64(flat ? 0 : up_stride), u32(plan.parts), flat ? 0u : vectors(gate, columns));
    ctx->save_for_backward({gate, up});
    ctx->saved_data["op"] = op;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const int64_t op = ctx->saved_data["op"].toInt();
    refuse_second_derivative(op == SILU_MUL ? "silu_mul" : "gelu_mul");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &gate = saved[0], &up = saved[1];
    const int64_t columns = gate.size(gate.dim() - 1), gate_stride = row_stride(gate), up_stride = row_stride(up);
    int64_t dy_stride = 0;
    Tensor dy = read_gradient(gradients[0], dy_stride);
    const bool flat = gate.is_contiguous() && up.is_contiguous() && dy.is_contiguous();
    const Plan plan = plan_of(form(op, gate, 0, true, flat));
    TORCH_CHECK(plan.fits, "no backward kernel takes this shape");
    const Tensor dgate = like(gate), dup = like(gate);
    launch(plan.kernel, gate.get_device(), at_(dy), at_(gate), at_(up), to(dgate), to(dup), i64(dy_stride),
           i64(gate_stride), i64(up_stride), vectors(gate, gate.numel()), vectors(gate, columns));
    const Tensor none;
    return {dgate, dup, none, none, none, none, none};
  }
};

std::optional<Tensor> gated(const Tensor& gate, const Tensor& up, int64_t op, int64_t generation) {
  if (gate.dim() == 0 || gate.numel() == 0) return std::nullopt;
  const int64_t gate_stride = row_stride(gate), up_stride = row_stride(up);
  const int64_t columns = gate.size(gate.dim() - 1), size = VECTOR_BYTES / gate.element_size();
  // Rows of whole vectors, so that any layout of the gradient can be read.
  if (columns % size || !readable(gate, gate_stride) || !readable(up, up_stride)) return std::nullopt;
  const bool flat = gate.is_contiguous() && up.is_contiguous();
  const Plan plan = plan_of(Gated::form(op, gate, generation, false, flat));
  if (!plan.fits || !plan_of(Gated::form(op, gate, 0, true, flat)).fits) return std::nullopt;
  const c10::DeviceGuard guard(gate.device());
  return Gated::apply(gate, up, op, gate_stride, up_stride, flat, plan);
}

void connect(uint64_t launch_address, uint64_t stream_address, const py::object& prepare, const py::object& failed) {
  host.launch = reinterpret_cast<Launch>(launch_address);
  host.stream = reinterpret_cast<Stream>(stream_address);
  host.prepare = py::object(prepare).release().ptr();
  host.failed = py::object(failed).release().ptr();
  std::lock_guard<std::mutex> lock(table_lock);
  table.clear();
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("connect", &connect);
  module.def("rmsnorm", &rmsnorm);
  module.def("add_rmsnorm", &add_rmsnorm);
  module.def("gated", &gated);
  module.def("layernorm", &layernorm);
  module.def("softmax", &softmax);
}
