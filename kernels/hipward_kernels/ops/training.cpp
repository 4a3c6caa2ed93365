// Training steps of the ops without Python: nodes of the autograd graph that launch the ops' kernels, forward and backward.
//
// Python selects the kernels and their launches once for each form of the arguments (`prepare`); later calls find them in a
// table. Only PyTorch's headers are needed: the driver's launch function and PyTorch's current stream are passed in as
// addresses, so that one source serves CUDA and HIP, without their headers and libraries. `training.py` is the Python side.
#include <ATen/FuncTorchTLS.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>

namespace py = pybind11;

namespace {

using at::Tensor;
using i64 = long long;
using u32 = unsigned int;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
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
  while (int code = attempt()) {
    // Raises an exception, unless the failure was a thread without a context, such as autograd's, which now has one.
    py::gil_scoped_acquire lock;
    py::handle(host.failed)(code, device, kernel.blocks, kernel.threads);
  }
}

// --- Launches by the form of the arguments --------------------------------------------------------------------------

enum Op : int64_t { RMSNORM, ADD_RMSNORM, SILU_MUL, GELU_MUL, LAYERNORM, SOFTMAX, SWIGLU, ROPE, QKV_ROPE, CROSS_ENTROPY };

// Generation of the tuned table, op, direction, device, dtype, dtype of the weight or -1, rows, columns, and numbers that depend
// on the op.
using Form = std::array<int64_t, 13>;

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

// The plan of a forward, if there is one for its backward too: a backward that does not fit or does not compile must be found
// while another implementation can still be used.
std::optional<Plan> plan_of_step(const Form& forward, const Form& backward) {
  const Plan plan = plan_of(forward);
  return plan.fits && plan_of(backward).fits ? std::optional<Plan>(plan) : std::nullopt;
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
void* to(const Tensor& x, int64_t index = 0) {
  return static_cast<char*>(x.data_ptr()) + index * int64_t(x.element_size());
}

int64_t dtype_of(const Tensor& x) { return x.defined() ? int64_t(x.scalar_type()) : -1; }

// --- Nodes ----------------------------------------------------------------------------------------------------------

// A shared_ptr up to PyTorch 2.11, later an intrusive_ptr.
using NodePointer = decltype(torch::autograd::Edge::function);

template <typename Step, typename Pointer = NodePointer>
Pointer owned(Step* step) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>) {
    // Found by its argument, because later versions do not have it.
    return Pointer(step, [](auto* node) { deleteNode(node); });
  } else {
    return Pointer::unsafe_steal_from_new(step);
  }
}

// The backward of a step. PyTorch's own ops have such nodes too; torch::autograd::Function needs several microseconds more.
struct Backward : Node {
  const char* op;
  std::array<SavedVariable, 4> saved;

  explicit Backward(const char* op) : op(op) {}

  std::string name() const override { return std::string("hipward_") + op + "_backward"; }

  void release_variables() override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (SavedVariable& variable : saved) variable.reset_data();
  }

  // For saved outputs, which cannot own the node that saves them.
  NodePointer self() { return getptr(); }

  // `gradients` are those of the outputs, some of which may be undefined, but not all.
  virtual variable_list differentiate(const variable_list& gradients) = 0;

  variable_list apply(variable_list&& gradients) override {
    std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK(!at::GradMode::is_enabled(), op,
                ": the fused backward has no derivative of its own. For create_graph=True, use the eager implementation: "
                "`with hipward_kernels.dispatch.registry.only('eager')`.");
    for (const Tensor& gradient : gradients) {
      if (gradient.defined()) return differentiate(gradients);
    }
    return variable_list(num_outputs());
  }
};

// Whether these tensors can be arguments of a step. Without this check, derivatives in forward mode would be lost.
template <typename... Inputs>
bool steps(const Inputs&... inputs) {
  if (const auto& functorch = at::functorch::functorchTLSAccessor()) functorch->checkSupportsCppAutogradFunction();
  return !(torch::autograd::isFwGradDefined(inputs) || ...);
}

// A step's node in the graph. The caller sets it as the history of the outputs, and then saves tensors in it.
template <typename Step, typename... Inputs>
std::pair<NodePointer, Step*> node_of(Step* step, const Inputs&... inputs) {
  NodePointer node = owned(step);
  node->set_next_edges(torch::autograd::collect_next_edges(inputs...));
  return {std::move(node), step};
}

// Elements of a contiguous vector from `first` on, as a tensor of its own: an op that makes a view costs more.
Tensor section(const Tensor& of, int64_t first, int64_t count) {
  auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(of.storage()), of.key_set(), of.dtype());
  made->set_storage_offset(of.storage_offset() + first);
  made->set_sizes_contiguous({count});
  return Tensor(std::move(made));
}

Tensor value_of(const std::optional<Tensor>& tensor) { return tensor.value_or(Tensor()); }

// --- RMSNorm and add+RMSNorm ----------------------------------------------------------------------------------------

template <bool ADD>
struct Norm : Backward {
  double eps = 0;

  Norm() : Backward(ADD ? "add_rmsnorm" : "rmsnorm") {}

  static Form form(const Tensor& x, const Tensor& weight, int64_t generation, bool backward, int64_t x_stride,
                   int64_t more_stride) {
    const int64_t columns = x.size(x.dim() - 1);
    return {generation,      ADD ? ADD_RMSNORM : RMSNORM, backward, x.get_device(), dtype_of(x),
            dtype_of(weight), x.numel() / columns,         columns,  x_stride,       more_stride};
  }

  static std::optional<std::pair<Tensor, Tensor>> run(const Tensor& x, const std::optional<Tensor>& residual,
                                                      const std::optional<Tensor>& scale, double eps,
                                                      int64_t generation) {
    if (x.dim() == 0 || x.numel() == 0 || !steps(x, residual, scale)) return std::nullopt;
    const int64_t x_stride = row_stride(x), more_stride = ADD ? row_stride(*residual) : x_stride;
    if (!readable(x, x_stride) || (ADD && !readable(*residual, more_stride))) return std::nullopt;
    if (scale && !(scale->is_contiguous() && readable(*scale, 0))) return std::nullopt;
    const Tensor weight = value_of(scale);
    const auto plan =
        plan_of_step(form(x, weight, generation, false, x_stride, more_stride), form(x, weight, 0, true, 0, 0));
    if (!plan) return std::nullopt;
    const c10::DeviceGuard guard(x.device());
    Tensor y, total = x;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      y = like(x);
      if (ADD) total = like(x);
      const int64_t columns = x.size(x.dim() - 1);
      launch(plan->kernel, x.get_device(), at_(x), at_(ADD ? *residual : x), at_(weight.defined() ? weight : x), to(y),
             at_(total), i64(x.numel() / columns), i64(x_stride), i64(more_stride), int(columns),
             1.0f / float(columns), float(eps));
    }
    if (torch::autograd::compute_requires_grad(x, residual, weight)) {
      auto [node, step] = ADD ? node_of(new Norm(), x, *residual, weight) : node_of(new Norm(), x, weight);
      step->eps = eps;
      torch::autograd::set_history(y, node);
      if (ADD) torch::autograd::set_history(total, node);
      step->saved[0] = SavedVariable(total, /*is_output=*/ADD);
      step->saved[1] = SavedVariable(weight, false);
    }
    return std::make_pair(y, total);
  }

  variable_list differentiate(const variable_list& gradients) override {
    const Tensor x = saved[0].unpack(ADD ? self() : NodePointer()), weight = saved[1].unpack();
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
    TORCH_CHECK(plan.fits, op, ": no backward kernel takes rows of ", columns, " ", x.scalar_type());
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor dx = like(x);
    Tensor parts, dweight;
    if (weight.defined()) parts = at::empty({plan.parts, columns}, x.options().dtype(at::kFloat));
    launch(plan.kernel, x.get_device(), at_(dy), at_(x), at_(weight.defined() ? weight : x), at_(more), to(dx),
           weight.defined() ? to(parts) : to(dx), i64(x.numel() / columns), i64(dy_stride), i64(x_stride),
           i64(more_stride), i64(plan.parts), int(columns), 1.0f / float(columns), float(eps));
    if (weight.defined()) {
      dweight = like(weight);
      launch(plan.add, x.get_device(), at_(parts), to(dweight), i64(plan.parts), int(columns));
    }
    // Both summands have the gradient of the sum.
    if constexpr (ADD) return {dx, dx, dweight};
    return {dx, dweight};
  }
};

std::optional<Tensor> rmsnorm(const Tensor& x, const std::optional<Tensor>& weight, double eps, int64_t generation) {
  auto outputs = Norm<false>::run(x, std::nullopt, weight, eps, generation);
  return outputs ? std::optional<Tensor>(outputs->first) : std::nullopt;
}

std::optional<std::pair<Tensor, Tensor>> add_rmsnorm(const Tensor& x, const Tensor& residual,
                                                     const std::optional<Tensor>& weight, double eps,
                                                     int64_t generation) {
  return Norm<true>::run(x, residual, weight, eps, generation);
}

// --- LayerNorm ------------------------------------------------------------------------------------------------------

struct LayerNorm : Backward {
  LayerNorm() : Backward("layernorm") {}

  static Form form(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t generation, bool backward,
                   int64_t x_stride) {
    const int64_t columns = x.size(x.dim() - 1), kinds = int64_t(weight.defined()) + 2 * int64_t(bias.defined());
    return {generation,   LAYERNORM,           backward, x.get_device(), dtype_of(x), dtype_of(weight.defined() ? weight : bias),
            x.numel() / columns, columns, x_stride, kinds};
  }

  static std::optional<Tensor> run(const Tensor& x, const std::optional<Tensor>& scale,
                                   const std::optional<Tensor>& shift, double eps, int64_t generation) {
    if (x.dim() == 0 || x.numel() == 0 || !steps(x, scale, shift)) return std::nullopt;
    const int64_t x_stride = row_stride(x);
    if (!readable(x, x_stride)) return std::nullopt;
    const Tensor weight = value_of(scale), bias = value_of(shift);
    for (const Tensor& parameter : {weight, bias}) {
      if (parameter.defined() && !(parameter.is_contiguous() && readable(parameter, 0))) return std::nullopt;
    }
    if (scale && shift && weight.scalar_type() != bias.scalar_type()) return std::nullopt;
    const auto plan =
        plan_of_step(form(x, weight, bias, generation, false, x_stride), form(x, weight, bias, 0, true, 0));
    if (!plan) return std::nullopt;
    const c10::DeviceGuard guard(x.device());
    Tensor y, statistics;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      const int64_t columns = x.size(x.dim() - 1), rows = x.numel() / columns;
      y = like(x);
      statistics = at::empty({2, rows}, x.options().dtype(at::kFloat));
      float* means = statistics.data_ptr<float>();
      launch(plan->kernel, x.get_device(), at_(x), at_(weight.defined() ? weight : x), at_(bias.defined() ? bias : x),
             to(y), means, means + rows, i64(rows), i64(x_stride), int(columns), 1.0f / float(columns), float(eps));
    }
    if (torch::autograd::compute_requires_grad(x, weight, bias)) {
      auto [node, step] = node_of(new LayerNorm(), x, weight, bias);
      torch::autograd::set_history(y, node);
      step->saved[0] = SavedVariable(x, false);
      step->saved[1] = SavedVariable(weight, false);
      step->saved[2] = SavedVariable(bias, false);
      step->saved[3] = SavedVariable(statistics, false);
    }
    return y;
  }

  variable_list differentiate(const variable_list& gradients) override {
    const Tensor x = saved[0].unpack(), weight = saved[1].unpack(), bias = saved[2].unpack();
    const Tensor statistics = saved[3].unpack();
    const int64_t columns = x.size(x.dim() - 1), rows = x.numel() / columns, x_stride = row_stride(x);
    int64_t dy_stride = 0;
    const Tensor dy = read_gradient(gradients[0], dy_stride);
    const Plan plan = plan_of(form(x, weight, bias, 0, true, 0));
    TORCH_CHECK(plan.fits, op, ": no backward kernel takes rows of ", columns, " ", x.scalar_type());
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor dx = like(x);
    const int64_t count = int64_t(weight.defined()) + int64_t(bias.defined());
    Tensor parts, dweight, dbias;
    if (count) parts = at::empty({plan.parts, count, columns}, x.options().dtype(at::kFloat));
    float* means = statistics.data_ptr<float>();
    launch(plan.kernel, x.get_device(), at_(dy), at_(x), at_(weight.defined() ? weight : x), means, means + rows, to(dx),
           count ? to(parts) : to(dx), i64(rows), i64(dy_stride), i64(x_stride), i64(plan.parts), int(columns),
           1.0f / float(columns));
    if (count) {
      const Tensor sums = at::empty({count * columns}, (weight.defined() ? weight : bias).options());
      launch(plan.add, x.get_device(), at_(parts), to(sums), i64(plan.parts), int(count * columns));
      if (weight.defined()) dweight = section(sums, 0, columns);
      if (bias.defined()) dbias = section(sums, (count - 1) * columns, columns);
    }
    return {dx, dweight, dbias};
  }
};

// --- Softmax --------------------------------------------------------------------------------------------------------

struct Softmax : Backward {
  Softmax() : Backward("softmax") {}

  static Form form(const Tensor& x, int64_t generation, bool backward, int64_t stride) {
    const int64_t columns = x.size(x.dim() - 1);
    return {generation, SOFTMAX, backward, x.get_device(), dtype_of(x), -1, x.numel() / columns, columns, stride, 0};
  }

  static std::optional<Tensor> run(const Tensor& x, int64_t generation) {
    if (x.dim() == 0 || x.numel() == 0 || !steps(x)) return std::nullopt;
    const int64_t x_stride = row_stride(x), columns = x.size(x.dim() - 1);
    if (!readable(x, x_stride)) return std::nullopt;
    const auto plan = plan_of_step(form(x, generation, false, x_stride), form(x, 0, true, columns));
    if (!plan) return std::nullopt;
    const c10::DeviceGuard guard(x.device());
    Tensor y;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      y = like(x);
      launch(plan->kernel, x.get_device(), at_(x), to(y), i64(x.numel() / columns), i64(x_stride), int(columns));
    }
    if (torch::autograd::compute_requires_grad(x)) {
      auto [node, step] = node_of(new Softmax(), x);
      torch::autograd::set_history(y, node);
      step->saved[0] = SavedVariable(y, /*is_output=*/true);
    }
    return y;
  }

  variable_list differentiate(const variable_list& gradients) override {
    const Tensor y = saved[0].unpack(self());
    const int64_t columns = y.size(y.dim() - 1);
    int64_t dy_stride = 0;
    const Tensor dy = read_gradient(gradients[0], dy_stride);
    const Plan plan = plan_of(form(y, 0, true, columns));
    TORCH_CHECK(plan.fits, op, ": no backward kernel takes rows of ", columns, " ", y.scalar_type());
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor dx = like(y);
    launch(plan.kernel, y.get_device(), at_(dy), at_(y), to(dx), i64(y.numel() / columns), i64(dy_stride), int(columns));
    return {dx};
  }
};

// --- Cross-entropy of rows, or its sum or mean over them ------------------------------------------------------------

struct CrossEntropy : Backward {
  int64_t ignore_index;
  bool reduced;

  CrossEntropy(int64_t ignore_index, bool reduced)
      : Backward("cross_entropy"), ignore_index(ignore_index), reduced(reduced) {}

  static Form form(const Tensor& logits, bool backward, int64_t stride) {
    return {0, CROSS_ENTROPY, backward, logits.get_device(), dtype_of(logits), -1, logits.size(0), logits.size(1), stride};
  }

  static std::optional<Tensor> run(const Tensor& logits, const Tensor& labels, int64_t ignore_index,
                                   const std::string& reduction) {
    const bool reduced = reduction != "none";
    if (logits.numel() == 0 || !steps(logits)) return std::nullopt;
    const int64_t stride = row_stride(logits), columns = logits.size(1);
    if (!readable(logits, stride)) return std::nullopt;
    const auto plan = plan_of_step(form(logits, false, stride), form(logits, true, columns));
    if (!plan) return std::nullopt;
    const c10::DeviceGuard guard(logits.device());
    Tensor result, normalizers;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      const int64_t rows = logits.size(0);
      const Tensor losses = at::empty({rows}, logits.options().dtype(at::kFloat));
      // The last element of a reduced loss is the factor of `sum`.
      normalizers = at::empty({rows + reduced}, losses.options());
      launch(plan->kernel, logits.get_device(), at_(logits), at_(labels), to(losses), to(normalizers), i64(stride),
             i64(ignore_index), int(columns));
      result = losses;
      if (reduced) {
        result = at::empty({}, losses.options());
        launch(plan->add, logits.get_device(), at_(losses), at_(labels), to(result), to(normalizers, rows), i64(rows),
               i64(ignore_index), int(reduction == "mean"));
      }
    }
    if (torch::autograd::compute_requires_grad(logits)) {
      auto [node, step] = node_of(new CrossEntropy(ignore_index, reduced), logits);
      torch::autograd::set_history(result, node);
      step->saved[0] = SavedVariable(logits, false);
      step->saved[1] = SavedVariable(labels, false);
      step->saved[2] = SavedVariable(normalizers, false);
    }
    return result;
  }

  variable_list differentiate(const variable_list& gradients) override {
    const Tensor logits = saved[0].unpack(), labels = saved[1].unpack(), normalizers = saved[2].unpack();
    const int64_t columns = logits.size(1);
    const Plan plan = plan_of(form(logits, true, columns));
    TORCH_CHECK(plan.fits, op, ": no backward kernel takes rows of ", columns, " ", logits.scalar_type());
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor dlogits = like(logits);
    const Tensor& dlosses = gradients[0];
    launch(plan.kernel, logits.get_device(), at_(dlosses), at_(logits), at_(labels), at_(normalizers),
           reduced ? to(normalizers, logits.size(0)) : nullptr, to(dlogits), i64(reduced ? 0 : dlosses.stride(0)),
           i64(row_stride(logits)), i64(ignore_index), int(columns), u32(plan.parts));
    return {dlogits};
  }
};

// --- Gated activations ----------------------------------------------------------------------------------------------

u32 vectors(const Tensor& x, int64_t count) { return u32(count * x.element_size() / VECTOR_BYTES); }

Form gated_form(int64_t op, const Tensor& x, int64_t columns, int64_t rows, int64_t generation, bool backward, bool flat) {
  return {generation, op, backward, x.get_device(), dtype_of(x), -1, rows, columns, flat, 0};
}

struct Gated : Backward {
  int64_t number;

  explicit Gated(int64_t number) : Backward(number == SILU_MUL ? "silu_mul" : "gelu_mul"), number(number) {}

  static Form form(int64_t op, const Tensor& gate, int64_t generation, bool backward, bool flat) {
    const int64_t columns = gate.size(gate.dim() - 1);
    return gated_form(op, gate, columns, gate.numel() / columns, generation, backward, flat);
  }

  static std::optional<Tensor> run(const Tensor& gate, const Tensor& up, int64_t op, int64_t generation) {
    if (gate.dim() == 0 || gate.numel() == 0 || !steps(gate, up)) return std::nullopt;
    const int64_t gate_stride = row_stride(gate), up_stride = row_stride(up);
    const int64_t columns = gate.size(gate.dim() - 1), size = VECTOR_BYTES / gate.element_size();
    // Rows of whole vectors, so that any layout of the gradient can be read.
    if (columns % size || !readable(gate, gate_stride) || !readable(up, up_stride)) return std::nullopt;
    const bool flat = gate.is_contiguous() && up.is_contiguous();
    const auto plan = plan_of_step(form(op, gate, generation, false, flat), form(op, gate, 0, true, flat));
    if (!plan) return std::nullopt;
    const c10::DeviceGuard guard(gate.device());
    Tensor y;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      y = like(gate);
      // `parts` is the number of vectors, which may be smaller than 16 bytes in the forward.
      launch(plan->kernel, gate.get_device(), at_(gate), at_(up), to(y), i64(flat ? 0 : gate_stride),
             i64(flat ? 0 : up_stride), u32(plan->parts), flat ? 0u : vectors(gate, columns));
    }
    if (torch::autograd::compute_requires_grad(gate, up)) {
      auto [node, step] = node_of(new Gated(op), gate, up);
      torch::autograd::set_history(y, node);
      step->saved[0] = SavedVariable(gate, false);
      step->saved[1] = SavedVariable(up, false);
    }
    return y;
  }

  variable_list differentiate(const variable_list& gradients) override {
    const Tensor gate = saved[0].unpack(), up = saved[1].unpack();
    const int64_t columns = gate.size(gate.dim() - 1), gate_stride = row_stride(gate), up_stride = row_stride(up);
    int64_t dy_stride = 0;
    const Tensor dy = read_gradient(gradients[0], dy_stride);
    const bool flat = gate.is_contiguous() && up.is_contiguous() && dy.is_contiguous();
    const Plan plan = plan_of(form(number, gate, 0, true, flat));
    TORCH_CHECK(plan.fits, op, ": no backward kernel takes this shape");
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor dgate = like(gate), dup = like(gate);
    launch(plan.kernel, gate.get_device(), at_(dy), at_(gate), at_(up), to(dgate), to(dup), i64(dy_stride),
           i64(gate_stride), i64(up_stride), vectors(gate, gate.numel()), vectors(gate, columns));
    return {dgate, dup};
  }
};

// --- SwiGLU: gate and up are the halves of one tensor's rows --------------------------------------------------------

struct SwiGLU : Backward {
  SwiGLU() : Backward("swiglu") {}

  static Form form(const Tensor& gate_up, int64_t generation, bool backward) {
    const int64_t columns = gate_up.size(gate_up.dim() - 1);
    return gated_form(SWIGLU, gate_up, columns / 2, gate_up.numel() / columns, generation, backward, false);
  }

  static std::optional<Tensor> run(const Tensor& gate_up, int64_t generation) {
    if (gate_up.dim() == 0 || gate_up.numel() == 0 || !steps(gate_up)) return std::nullopt;
    const int64_t stride = row_stride(gate_up), columns = gate_up.size(gate_up.dim() - 1) / 2;
    // Halves of whole vectors.
    if (columns * gate_up.element_size() % VECTOR_BYTES || !readable(gate_up, stride)) return std::nullopt;
    const auto plan = plan_of_step(form(gate_up, generation, false), form(gate_up, 0, true));
    if (!plan) return std::nullopt;
    const c10::DeviceGuard guard(gate_up.device());
    Tensor y;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      std::vector<int64_t> shape = gate_up.sizes().vec();
      shape.back() = columns;
      y = at::empty(shape, gate_up.options());
      launch(plan->kernel, gate_up.get_device(), at_(gate_up), half(gate_up, columns), to(y), i64(stride), i64(stride),
             vectors(y, y.numel()), vectors(y, columns));
    }
    if (torch::autograd::compute_requires_grad(gate_up)) {
      auto [node, step] = node_of(new SwiGLU(), gate_up);
      torch::autograd::set_history(y, node);
      step->saved[0] = SavedVariable(gate_up, false);
    }
    return y;
  }

  variable_list differentiate(const variable_list& gradients) override {
    const Tensor gate_up = saved[0].unpack();
    const int64_t columns = gate_up.size(gate_up.dim() - 1) / 2, stride = row_stride(gate_up);
    int64_t dy_stride = 0;
    const Tensor dy = read_gradient(gradients[0], dy_stride);
    const Plan plan = plan_of(form(gate_up, 0, true));
    TORCH_CHECK(plan.fits, op, ": no backward kernel takes this shape");
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor joined = like(gate_up);
    launch(plan.kernel, gate_up.get_device(), at_(dy), at_(gate_up), half(gate_up, columns), to(joined),
           half(joined, columns), i64(dy_stride), i64(stride), i64(stride), vectors(dy, dy.numel()),
           vectors(dy, columns));
    return {joined};
  }

 private:
  // The address of the second half of the first row.
  static const void* half(const Tensor& x, int64_t columns) {
    return static_cast<const char*>(x.const_data_ptr()) + columns * x.element_size();
  }
};

// --- RoPE, of one tensor and with the split of queries, keys and values -----------------------------------------------

// The tables of a rotation, which have no gradient.
struct Tables {
  Tensor cos, sin;

  // Whether kernels can read them.
  bool readable() const {
    return cos.is_contiguous() && sin.is_contiguous() && cos.scalar_type() == sin.scalar_type() && ::readable(cos, 0) &&
           ::readable(sin, 0);
  }
  i64 batch_stride() const { return cos.dim() == 3 ? cos.stride(0) : 0; }
  i64 position_stride() const { return cos.stride(cos.dim() - 2); }
};

// Whether vectors can read heads of whole vectors at any position.
bool readable_heads(const Tensor& x) {
  for (int64_t i = 0; i + 1 < x.dim(); ++i) {
    if (!readable(x, x.stride(i))) return false;
  }
  return x.stride(x.dim() - 1) == 1;
}

// Sequences of tokens with heads; for the split, all heads of the joined tensor, `kv_heads` of them keys and as many values.
struct Heads {
  int64_t batch, length, heads, kv_heads, features;
};

struct Rotation : Backward {
  Heads shape;
  bool half;

  Rotation(int64_t op, const Heads& shape, bool half)
      : Backward(op == ROPE ? "rope" : "qkv_rope"), shape(shape), half(half) {}

  // The rows are the heads of all tokens, the columns their features.
  static Form form(int64_t op, const Tensor& like, const Tables& tables, const Heads& shape, bool half, bool backward) {
    return {0, op, backward, like.get_device(), dtype_of(like), dtype_of(tables.cos),
            shape.batch * shape.length * shape.heads, shape.features, shape.heads, shape.kv_heads,
            tables.cos.size(tables.cos.dim() - 1), half, shape.batch > 1};
  }

  static std::optional<Plan> plan(int64_t op, const Tensor& x, const Tables& tables, const Heads& shape, bool half) {
    return plan_of_step(form(op, x, tables, shape, half, false), form(op, x, tables, shape, half, true));
  }

  Plan backward_plan(int64_t op, const Tensor& dy, const Tables& tables) const {
    const Plan plan = plan_of(form(op, dy, tables, shape, half, true));
    TORCH_CHECK(plan.fits, this->op, ": no backward kernel takes heads of ", shape.features, " ", dy.scalar_type());
    return plan;
  }

  Tables tables() { return {saved[0].unpack(), saved[1].unpack()}; }
  void save(const Tables& tables) {
    saved[0] = SavedVariable(tables.cos, false);
    saved[1] = SavedVariable(tables.sin, false);
  }
};

Tensor read_heads(const Tensor& dy) { return readable_heads(dy) ? dy : dy.clone(at::MemoryFormat::Contiguous); }

struct RoPE : Rotation {
  using Rotation::Rotation;

  static Tensor rotate(const Plan& plan, const Tensor& x, const Tables& tables) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor y = like(x);
    launch(plan.kernel, x.get_device(), at_(x), at_(tables.cos), at_(tables.sin), to(y), i64(x.stride(0)), i64(x.stride(1)),
           i64(x.stride(2)), tables.batch_stride(), tables.position_stride(), u32(plan.parts), u32(x.size(1)));
    return y;
  }

  static std::optional<Tensor> run(const Tensor& x, const Tensor& cos, const Tensor& sin, bool half) {
    const Tables tables{cos, sin};
    if (x.numel() == 0 || !steps(x) || !readable_heads(x) || !tables.readable()) return std::nullopt;
    const Heads shape{x.size(0), x.size(1), x.size(2), 0, x.size(3)};
    const auto found = plan(ROPE, x, tables, shape, half);
    if (!found) return std::nullopt;
    const c10::DeviceGuard guard(x.device());
    const Tensor y = rotate(*found, x, tables);
    if (torch::autograd::compute_requires_grad(x)) {
      auto [node, step] = node_of(new RoPE(ROPE, shape, half), x);
      torch::autograd::set_history(y, node);
      step->save(tables);
    }
    return y;
  }

  variable_list differentiate(const variable_list& gradients) override {
    const Tensor dy = read_heads(gradients[0]);
    const Tables of = tables();
    return {rotate(backward_plan(ROPE, dy, of), dy, of)};
  }
};

using Parts = std::array<Tensor, 3>;

struct QKVRoPE : Rotation {
  using Rotation::Rotation;

  static Tensor part(const Heads& shape, int which, const at::TensorOptions& options) {
    const int64_t heads = which ? shape.kv_heads : shape.heads - 2 * shape.kv_heads;
    return at::empty({shape.batch, shape.length, heads, shape.features}, options);
  }

  // From the joined tensor to its parts, or back: the plan's kernel has a direction.
  static void move(const Plan& plan, const Tensor& qkv, const Parts& parts, const Tables& tables) {
    const auto& [q, k, v] = parts;
    launch(plan.kernel, qkv.get_device(), to(qkv), at_(q), at_(k), at_(v), at_(tables.cos), at_(tables.sin),
           i64(qkv.stride(0)), i64(qkv.stride(1)), i64(q.stride(0)), i64(q.stride(1)), i64(q.stride(2)), i64(k.stride(0)),
           i64(k.stride(1)), i64(k.stride(2)), i64(v.stride(0)), i64(v.stride(1)), i64(v.stride(2)), tables.batch_stride(),
           tables.position_stride(), u32(plan.parts), u32(q.size(1)));
  }

  static std::optional<Parts> run(const Tensor& qkv, const Tensor& cos, const Tensor& sin, int64_t q_heads, int64_t kv_heads,
                                  bool half) {
    const Tables tables{cos, sin};
    if (qkv.numel() == 0 || !steps(qkv) || !readable_heads(qkv) || !tables.readable()) return std::nullopt;
    const int64_t heads = q_heads + 2 * kv_heads;
    const Heads shape{qkv.size(0), qkv.size(1), heads, kv_heads, qkv.size(2) / heads};
    const auto found = plan(QKV_ROPE, qkv, tables, shape, half);
    if (!found) return std::nullopt;
    const c10::DeviceGuard guard(qkv.device());
    Parts parts;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      for (int i = 0; i < 3; ++i) parts[i] = part(shape, i, qkv.options());
      move(*found, qkv, parts, tables);
    }
    if (torch::autograd::compute_requires_grad(qkv)) {
      auto [node, step] = node_of(new QKVRoPE(QKV_ROPE, shape, half), qkv);
      for (const Tensor& part : parts) torch::autograd::set_history(part, node);
      step->save(tables);
    }
    return parts;
  }

  variable_list differentiate(const variable_list& gradients) override {
    const at::AutoDispatchBelowADInplaceOrView below;
    at::TensorOptions options;
    for (const Tensor& gradient : gradients) {
      if (gradient.defined()) options = gradient.options();
    }
    Parts parts;
    for (int i = 0; i < 3; ++i) parts[i] = gradients[i].defined() ? read_heads(gradients[i]) : part(shape, i, options).zero_();
    const Tables of = tables();
    const Tensor joined = at::empty({shape.batch, shape.length, shape.heads * shape.features}, options);
    move(backward_plan(QKV_ROPE, joined, of), joined, parts, of);
    return {joined};
  }
};

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
  module.def("gated", &Gated::run);
  module.def("layernorm", &LayerNorm::run);
  module.def("softmax", &Softmax::run);
  module.def("swiglu", &SwiGLU::run);
  module.def("rope", &RoPE::run);
  module.def("qkv_rope", &QKVRoPE::run);
  module.def("cross_entropy", &CrossEntropy::run);
}
