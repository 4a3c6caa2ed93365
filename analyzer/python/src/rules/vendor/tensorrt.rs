//! HW108: TensorRT in its various packages.

use super::cuda_wheels::installed;
use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition, api_rule};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `tensorrt`, `torch_tensorrt`, `torch2trt` and `tensorrt_llm`,
    /// `torch.compile(backend="tensorrt")`, `export(format="engine")`, and requirements on those packages.
    ///
    /// ## Why on ROCm
    ///
    /// TensorRT builds and runs engines for NVIDIA GPUs; there is no ROCm version of it or of packages based on it.
    /// AMD's graph compiler is MIGraphX: it reads ONNX files directly, is available as an execution provider of ONNX
    /// Runtime, and as `torch_migraphx` for PyTorch. Inductor, the default backend of `torch.compile`, works on ROCm
    /// without changes. vLLM and SGLang replace TensorRT-LLM.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// model = torch.compile(torch.nn.Linear(8, 8), backend="tensorrt")
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// model = torch.compile(torch.nn.Linear(8, 8), backend="inductor")
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: another compiler has different rounding and a different speed. An import is display-only, because the
    /// code for an engine has to be rewritten.
    ///
    /// ## References
    ///
    /// * [MIGraphX](https://rocm.docs.amd.com/projects/AMDMIGraphX/en/latest/)
    /// * [Torch-MIGraphX](https://github.com/ROCm/torch_migraphx)
    /// * [ONNX Runtime: MIGraphX execution provider](https://onnxruntime.ai/docs/execution-providers/MIGraphX-ExecutionProvider.html)
    "HW108" "tensorrt" {
        title: "TensorRT runs on NVIDIA GPUs only",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "for a requirement of the package"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("how-to/native-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call, KeywordArgument],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const MISSING: &str = "TensorRT exists for NVIDIA GPUs only, so this import fails on a ROCm host.";
const MIGRAPHX: &str =
    "Use MIGraphX (migraphx, torch_migraphx, ONNX Runtime's provider) or torch.compile";

const USES: &[ApiRule] = &[
    ApiRule {
        pattern: ApiPattern::Keyword("torch.compile", "backend", &["tensorrt", "torch_tensorrt"]),
        when: Condition::ALWAYS,
        severity: Severity::Error,
        message: "The TensorRT backend exists for NVIDIA GPUs only, so torch.compile raises on a ROCm host.",
        fix: ApiFix::unsafe_edit(
            "Use Inductor, or \"migraphx\" with torch_migraphx",
            "\"inductor\"",
        ),
    },
    api_rule(
        ApiPattern::Import("tensorrt_llm"),
        Severity::Error,
        "TensorRT-LLM exists for NVIDIA GPUs only, so this import fails on a ROCm host.",
        "Serve the model with vLLM or SGLang",
    ),
    api_rule(
        ApiPattern::Import("tensorrt"),
        Severity::Error,
        MISSING,
        MIGRAPHX,
    ),
    api_rule(
        ApiPattern::Import("torch_tensorrt"),
        Severity::Error,
        MISSING,
        MIGRAPHX,
    ),
    api_rule(
        ApiPattern::Import("torch2trt"),
        Severity::Error,
        MISSING,
        MIGRAPHX,
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    installed(cx, &RULE, node);
    table_rules::check(cx, &RULE, USES, node);
}
