//! HW112: further libraries that are CUDA code, and functions that are named after an NVIDIA architecture:
//! `from sageattention import sageattn_qk_int8_pv_fp8_cuda_sm90`. HW103: FlashAttention 3 as a model's attention.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::{called, first_value, has_text, keyword};
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule, may_import};
use crate::rules::helpers::timing::{MAX_DEPTH, is_gpu_device};
use crate::rules::vendor::cuda_only_library::{MISSING, RULE, check_table};
use crate::rules::vendor::flash_attn;
use crate::semantic::{is_import_guarded, string};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[
        Kind::ImportStatement,
        Kind::ImportFromStatement,
        Kind::Call,
        Kind::Attribute,
        Kind::KeywordArgument,
    ],
    check,
};

const ATTENTION: &str =
    "Use aiter's attention, FlashAttention built for ROCm, or scaled_dot_product_attention";

/// The modules that are CUDA code, and what to use instead. In one string they make the browser's module smaller.
const LIBRARIES: &[(&str, &str)] = &[
    (
        "vllm_flash_attn vllm.vllm_flash_attn sageattn3 spas_sage_attn flash_mla block_sparse_attn cudnn",
        ATTENTION,
    ),
    (
        "polygraphy.backend.trt polygraphy.backend.tf polygraphy.cuda",
        "Use MIGraphX or torch.compile",
    ),
    (
        "cuvs cucim cuspatial cuxfilter pylibraft raft_dask nvtabular cuopt",
        "Use AMD's ROCm-DS, or a library for the CPU",
    ),
    (
        "nvmath cuquantum cupynumeric",
        "Use PyTorch, or hipBLASLt and rocSOLVER",
    ),
    ("cvcuda", "Use rocCV or torchvision"),
    (
        "mxnet",
        "Replace it, or read records with another library: MXNet is retired, and imports np.bool, which NumPy lacks",
    ),
    ("PyNvCodec", "Use AMD's rocPyDecode"),
    (
        "MinkowskiEngine torchsparse",
        "Use a sparse convolution library with a HIP build",
    ),
    (
        "kaolin nerfacc",
        "Use a 3D library with a HIP build, or PyTorch's own operators",
    ),
    (
        "marlin",
        "Use a quantized GEMM of aiter, or torch._weight_int4pack_mm",
    ),
    (
        "modelopt pytorch_quantization",
        "Use AMD Quark (amd-quark) or torchao",
    ),
    (
        "nvfuser onediff onediffx oneflow sfast",
        "Use torch.compile",
    ),
    ("warp", "Write the kernel in Triton, or run Warp on the CPU"),
    (
        "tritonclient.utils.cuda_shared_memory",
        "Use tritonclient.utils.shared_memory",
    ),
    (
        "isaacgym isaacsim isaaclab omni.isaac",
        "Simulate with Genesis, or MuJoCo's MJX",
    ),
    (
        "pynvml_utils gpustat jtop nvitop",
        "Use amdsmi, or torch.cuda.mem_get_info() and torch.cuda.utilization()",
    ),
];

/// Names in libraries that have other uses as well.
const NAMES: &[(&str, &str)] = &[
    (
        "torch.ops.trtllm",
        "Use vLLM's operators, which support ROCm",
    ),
    (
        "torch.cuda.green_contexts torch.cuda.green_contexts.GreenContext",
        "Remove it: HIP has no green contexts",
    ),
    (
        "cv2.cuda cv2.cuda_GpuMat",
        "Use OpenCV on the CPU, or torchvision",
    ),
    (
        "tvm.target.cuda taichi.cuda",
        "Use the backend for AMD GPUs",
    ),
];

const fn faiss(name: &'static str) -> ApiRule {
    api_rule(
        ApiPattern::Name(name),
        Severity::Warning,
        "PyPI's Faiss with support for GPUs is built for CUDA, and the one for the CPU does not have this name.",
        "Build Faiss with FAISS_ENABLE_ROCM, or use its indexes for the CPU",
    )
}

const FAISS: &[ApiRule] = &[
    faiss("faiss.StandardGpuResources"),
    faiss("faiss.GpuIndexFlatL2"),
    faiss("faiss.GpuIndexFlatIP"),
    faiss("faiss.index_cpu_to_gpu"),
    faiss("faiss.index_cpu_to_all_gpus"),
    faiss("faiss.bruteForceKnn"),
    faiss("faiss.knn_gpu"),
    faiss("faiss.GpuIndexFlatConfig"),
    faiss("faiss.GpuClonerOptions"),
];

const CATBOOST: &str = "Train on the CPU, or with XGBoost or LightGBM built for ROCm";

const fn catboost(function: &'static str) -> ApiRule {
    api_rule(
        ApiPattern::Keyword(function, "task_type", &["GPU"]),
        Severity::Error,
        "CatBoost's training on GPUs is CUDA code.",
        CATBOOST,
    )
}

const ARGUMENTS: &[ApiRule] = &[
    catboost("catboost.CatBoost"),
    catboost("catboost.CatBoostClassifier"),
    catboost("catboost.CatBoostRegressor"),
];

/// The end of the name of a kernel for one architecture.
const ARCHES: &[&str] = &[
    "_sm75", "_sm80", "_sm86", "_sm89", "_sm90", "_sm90a", "_sm100", "_sm100a", "_sm103", "_sm120",
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if cx.tree().kind(node) == Kind::Attribute {
        if !may_be_named(cx, node) {
            return;
        }
        // A library that is called often is one finding.
        let is_repeated = || cx.has_reported(&RULE, &|text, _| text == cx.tree().text(node));
        let is_counted = has_text(cx, "getCudaEnabledDeviceCount");
        if (!is_counted || chooses_device(cx, node)) && !is_repeated() {
            check_table(cx, node, NAMES, ApiPattern::Name, MISSING);
            let is_handled = || is_import_guarded(&cx.semantics, node, &["AttributeError"]);
            if has_text(cx, "faiss") && !is_handled() {
                table_rules::check(cx, &RULE, FAISS, node);
            }
        }
        return;
    }
    // Other modules are called `warp` as well.
    let is_statement = cx.tree().kind(node) != Kind::Call;
    let is_other_warp =
        is_statement && cx.tree().text(node).contains("warp") && !has_text(cx, "wp.");
    if may_import(cx, node) && !is_other_warp {
        check_table(cx, node, LIBRARIES, ApiPattern::Import, MISSING);
        if is_statement {
            check_table(cx, node, NAMES, ApiPattern::Name, MISSING);
        }
    }
    match cx.tree().kind(node) {
        Kind::KeywordArgument => table_rules::check(cx, &RULE, ARGUMENTS, node),
        Kind::ImportFromStatement => {
            check_names(cx, node);
            check_shared(cx, node);
        }
        Kind::Call => {
            check_attention(cx, node);
            check_speech(cx, node);
            check_open3d(cx, node);
        }
        _ => {}
    }
}

/// Whether one of the names ends as the attribute does. Most attributes end otherwise.
fn may_be_named(cx: &PythonChecker<'_>, attribute: Node) -> bool {
    let tree = cx.tree();
    let last = tree.child(attribute, Field::Attribute);
    let last = last.map_or("", |last| tree.text(last));
    let ends_so = |name: &str| name.ends_with(last);
    NAMES.iter().any(|(names, _)| names.split(' ').any(ends_so))
        || FAISS
            .iter()
            .any(|row| matches!(row.pattern, ApiPattern::Name(name) if ends_so(name)))
}

/// `"cuda" if cv2.cuda.getCudaEnabledDeviceCount() > 0 else "cpu"`
fn chooses_device(cx: &PythonChecker<'_>, count: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(count).take(5).any(|around| {
        tree.kind(around) == Kind::ConditionalExpression
            && tree
                .parts(around)
                .next()
                .is_some_and(|yes| tree.text(yes).contains("cuda"))
    })
}

/// `from_pretrained(name, attn_implementation="flash_attention_3")`, `get_kernel("kernels-community/flash-attn3")`,
/// `torch.nn.attention.activate_flash_attention_impl("FA3")`
fn check_attention(cx: &PythonChecker<'_>, call: Node) {
    let names_it = || {
        matches!(
            called(cx, call),
            "get_kernel" | "load_and_register_kernel" | "activate_flash_attention_impl"
        )
    };
    let Some(value) = keyword(cx, call, "attn_implementation")
        .or_else(|| first_value(cx, call).filter(|_| names_it()))
        // `"flash_attention_3" if use_flash else "sdpa"`
        .map(|value| match cx.tree().kind(value) {
            Kind::ConditionalExpression => cx.tree().parts(value).next().unwrap_or(value),
            _ => value,
        })
        .filter(|value| {
            string(&cx.semantics, *value).is_some_and(|name| {
                name == "FA3"
                    || ["flash_attention_3", "flash-attention-3", "flash-attn3"]
                        .iter()
                        .any(|end| name.ends_with(end))
            })
        })
    else {
        return;
    };
    // Once, because tests activate it often.
    let is_repeated = || {
        called(cx, call) == "activate_flash_attention_impl"
            && cx.has_reported(&flash_attn::RULE, &|text, _| text.contains("FA3"))
    };
    if !cx.mentions_hip() && !is_repeated() {
        cx.report(
            &flash_attn::RULE,
            value,
            "FlashAttention 3 has no ROCm build, so it is not loaded.",
            RawFix::display_only("Use \"sdpa\", or aiter's attention"),
        );
    }
}

/// `WhisperModel("small", device="cuda")`, in a source that does not count CTranslate2's own devices
fn check_speech(cx: &PythonChecker<'_>, call: Node) {
    let device = keyword(cx, call, "device")
        .filter(|device| is_gpu_device(cx, *device, MAX_DEPTH))
        .filter(|_| {
            cx.callee(call)
                .is_some_and(|name| matches!(name.root(), "faster_whisper" | "ctranslate2"))
        });
    if let Some(device) = device
        && !has_text(cx, "get_cuda_device_count")
        && !cx.mentions_hip()
    {
        cx.report_as(
            &RULE,
            Severity::Warning,
            device,
            "CTranslate2's wheel on the package index is for CUDA only: it finds no GPU on a ROCm host.",
            RawFix::display_only("Install CTranslate2's wheel for ROCm, or test get_cuda_device_count()"),
        );
    }
}

/// `open3d.core.Device("CUDA:0")`
fn check_open3d(cx: &PythonChecker<'_>, call: Node) {
    let is_device = || {
        cx.callee(call)
            .is_some_and(|name| name.is("open3d.core.Device"))
    };
    let device = first_value(cx, call).filter(|value| {
        string(&cx.semantics, *value)
            .is_some_and(|name| name.to_ascii_uppercase().starts_with("CUDA"))
    });
    if let Some(device) = device
        && called(cx, call) == "Device"
        && is_device()
        && !cx.mentions_hip()
    {
        cx.report(
            &RULE,
            device,
            "Open3D's wheels have GPU code for CUDA only: this device does not exist on a ROCm host.",
            RawFix::display_only("Use the device CPU:0"),
        );
    }
}

/// Libraries that projects import once for both of their releases: `from ..utils.spconv_utils import spconv`.
const SHARED: &[&str] = &["spconv", "MinkowskiEngine", "torchsparse"];

fn check_shared(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    let name = tree
        .children_in(statement, Field::Name)
        .find(|name| SHARED.contains(&tree.text(*name)));
    let module = tree
        .child(statement, Field::ModuleName)
        .map_or("", |module| tree.text(module));
    if let Some(name) = name
        && module.ends_with("utils")
        && !is_import_guarded(&cx.semantics, statement, &["ImportError"])
        && !cx.mentions_hip()
    {
        cx.report(
            &RULE,
            name,
            MISSING,
            RawFix::display_only("Use a sparse convolution library with a HIP build"),
        );
    }
}

fn check_names(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    let name = tree
        .children_in(statement, Field::Name)
        .find(|name| ARCHES.iter().any(|arch| tree.text(*name).ends_with(arch)));
    let module = tree
        .child(statement, Field::ModuleName)
        .map_or(".", |module| tree.text(module));
    let errors = ["ImportError", "ModuleNotFoundError", "AttributeError"];
    let Some(name) = name else {
        return;
    };
    if module.starts_with('.')
        || cx.is_first_party(module)
        || is_import_guarded(&cx.semantics, statement, &errors)
        || cx.mentions_hip()
    {
        return;
    }
    cx.report(
        &RULE,
        name,
        format!(
            "{} is named after an NVIDIA architecture: {module} has no such kernel for AMD GPUs.",
            tree.text(name)
        ),
        RawFix::display_only(
            "Use a function of the library that selects the kernel, or another one",
        ),
    );
}
