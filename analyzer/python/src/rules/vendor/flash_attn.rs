//! HW103: importing flash-attn.

use super::cuda_wheels::installed;
use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `flash_attn`, of its successors for Hopper and Blackwell (`flash_attn_interface`,
    /// `flash_attn_3` and `flash_attn.cute`), and of the CUDA extensions in its folder `csrc`, such as
    /// `dropout_layer_norm`. A `try` whose handler raises again, or sets a name to `None` that is then called without a
    /// test, is no guard. Also Transformers' `attn_implementation="flash_attention_2"`, unless a condition or a `try` chooses it.
    ///
    /// ## Why on ROCm
    ///
    /// The prebuilt wheels of flash-attn are built for CUDA, so a plain install does not provide a module that works on
    /// an AMD GPU. Upstream flash-attn does support ROCm, with two backends: Composable Kernel by default, and a Triton
    /// backend selected with `FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE` at build time and at run time. AMD's own library
    /// `aiter` has attention kernels with a similar interface and faster development. PyTorch's
    /// `scaled_dot_product_attention` runs a flash kernel on ROCm and needs no installation.
    ///
    /// ## Example
    ///
    /// ```python
    /// from flash_attn import flash_attn_func
    ///
    /// def attention(q, k, v):
    ///     return flash_attn_func(q, k, v, causal=True)
    /// ```
    ///
    /// ```requirements
    /// flash-attn>=2.7
    /// ```
    ///
    /// ## Use instead
    ///
    /// For plain attention, PyTorch's function is enough. It expects the heads dimension before the sequence dimension:
    ///
    /// ```python
    /// import torch.nn.functional as F
    ///
    /// def attention(q, k, v):
    ///     q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    ///     return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
    /// ```
    ///
    /// Otherwise build flash-attn for ROCm, or use `aiter.flash_attn_func`, and import it in a `try` with a fallback,
    /// which is not reported. Note that `is_causal=True` aligns the mask to the top left, which is wrong if there are
    /// more keys than queries, as in decoding with a cache; use `torch.nn.attention.bias.causal_lower_right` there.
    ///
    /// ```shell
    /// FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE pip install --no-build-isolation git+https://github.com/ROCm/flash-attention
    /// ```
    ///
    /// ```requirements
    /// --extra-index-url https://download.pytorch.org/whl/rocm7.2
    /// torch>=2.11
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the best of the three depends on the shapes, and the layouts differ.
    ///
    /// ## References
    ///
    /// * [flash-attention, AMD ROCm support](https://github.com/Dao-AILab/flash-attention#amd-rocm-support)
    /// * [aiter](https://github.com/ROCm/aiter)
    /// * [scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
    "HW103" "flash-attn" {
        title: "flash-attn needs a ROCm build",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "for a requirement of the package, and for Transformers' option"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/attention-anywhere"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}

const REBUILD: &str = "Build flash-attn for ROCm (Composable Kernel or Triton backend), use aiter's flash_attn_func or flash_attn_varlen_func, or PyTorch's scaled_dot_product_attention";

const fn for_hopper(module: &'static str) -> ApiRule {
    api_rule(
        ApiPattern::Import(module),
        Severity::Error,
        "This is FlashAttention for Hopper and later NVIDIA GPUs only; there is no ROCm build of it.",
        "Use FlashAttention 2 built for ROCm, or aiter's flash_attn_func or flash_attn_varlen_func",
    )
}

/// The fused layers in flash-attn's folder `csrc`.
const fn fused_layer(module: &'static str, title: &'static str) -> ApiRule {
    api_rule(
        ApiPattern::Import(module),
        Severity::Error,
        "This is a CUDA extension from flash-attn's csrc folder; flash-attn's ROCm build does not include it.",
        title,
    )
}

const USES: &[ApiRule] = &[
    fused_layer(
        "dropout_layer_norm",
        "Use flash_attn.ops.triton.layer_norm, or PyTorch's nn.LayerNorm with torch.compile",
    ),
    fused_layer("rotary_emb", "Use flash_attn.ops.triton.rotary"),
    fused_layer("fused_dense_lib", "Use nn.Linear with torch.compile"),
    fused_layer(
        "xentropy_cuda_lib",
        "Use flash_attn.ops.triton.cross_entropy, or PyTorch's cross_entropy",
    ),
    for_hopper("flash_attn_interface"),
    for_hopper("flash_attn_3"),
    for_hopper("flash_attn.cute"),
    api_rule(
        ApiPattern::Import("flash_attn"),
        Severity::Error,
        "flash-attn's prebuilt wheels are for CUDA; for {arch} it has to be built from source, and this import fails without that.",
        REBUILD,
    ),
    api_rule(
        ApiPattern::Import("flash_attn_2_cuda"),
        Severity::Error,
        "This is flash-attn's CUDA extension; a ROCm build with the Triton backend does not have it.",
        "Import flash_attn, whose interface covers every backend",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
    installed(cx, &RULE, node);
}
