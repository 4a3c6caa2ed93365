//! HW714: tiles of a product that do not fit into LDS.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, values};
use crate::rules::helpers::configurations::configurations;
use crate::rules::helpers::kernels::{is_kernel, is_tl};
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds configurations of a Triton kernel with one `tl.dot`, whose operands come from `tl.load`, that need more LDS than
    /// a workgroup has.
    ///
    /// ## Why on ROCm
    ///
    /// With `num_stages=n` Triton keeps n - 1 tiles of both operands in LDS. A workgroup has 64 KB on gfx90a and gfx942 and 160
    /// KB on gfx950, an H100 has 227 KB. A launch that needs more raises `OutOfResources`; an autotuner skips the
    /// configuration after it has compiled it, and what is left was not meant for this GPU.
    ///
    /// Measured: Triton 3.9, compiled for gfx90a and gfx942, uses exactly (n - 1) · (BLOCK_M · BLOCK_K + BLOCK_K · BLOCK_N) elements
    /// for n = 2, 3 and 4, with float16 and float32, in five sizes of blocks; for gfx950 one more tile. The rule assumes two bytes
    /// for each element, and skips sources that name 8-bit types or shift packed values.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// CONFIGS = [
    ///     triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=3, num_warps=8),
    ///     triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_stages=2, num_warps=4),
    /// ]
    ///
    ///
    /// @triton.autotune(CONFIGS, key=["k"])
    /// @triton.jit
    /// def product(a, b, c, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    ///     sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    ///     for _ in range(0, k, BLOCK_K):
    ///         sums += tl.dot(tl.load(a), tl.load(b))
    ///     tl.store(c, sums)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// CONFIGS = [
    ///     triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=2, num_warps=8),
    ///     triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_stages=2, num_warps=4),
    /// ]
    ///
    ///
    /// @triton.autotune(CONFIGS, key=["k"])
    /// @triton.jit
    /// def product(a, b, c, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    ///     sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    ///     for _ in range(0, k, BLOCK_K):
    ///         sums += tl.dot(tl.load(a), tl.load(b))
    ///     tl.store(c, sums)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: a smaller block and fewer stages both fit; which is faster has to be measured.
    ///
    /// ## References
    ///
    /// * [Optimizing Triton kernels (ROCm)](https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/optimize-triton-kernels.html)
    /// * [Triton: autotuner](https://github.com/triton-lang/triton/blob/main/python/triton/runtime/autotuner.py)
    "HW714" "triton-lds" {
        title: "The tiles of a product do not fit into LDS",
        family: Triton,
        severity: Error,
        also: [Advice "if the autotuner has configurations that may fit"],
        applicability: DisplayOnly,
        targets: "targets with MFMA",
        lesson: Some("optimize/wavefronts-and-loads"),
        visit: [FunctionDefinition],
    }
}

fn check(cx: &PythonChecker<'_>, kernel: Node) {
    let arch = cx.target().arch;
    if arch.matrix_instructions() != "MFMA"
        || !is_kernel(cx, kernel)
        || !is_product_of_loads(cx, kernel)
    {
        return;
    }
    let limit = i64::from(arch.lds_kib());
    let all = configurations(cx, kernel);
    let needed: Vec<_> = all
        .iter()
        .map(|one| {
            let stages = one.number(cx, "num_stages").filter(|stages| *stages > 1)?;
            let [m, n, k] = ['M', 'N', 'K'].map(|dimension| one.block(cx, dimension));
            let elements = k?.checked_mul(m?.checked_add(n?)?)?;
            elements
                .checked_mul(2 * (stages - 1))
                .map(|bytes| bytes / 1024)
        })
        .collect();
    let too_large = |kib: &Option<i64>| kib.is_some_and(|kib| kib > limit);
    let tried = || all.iter().zip(&needed).filter(|(one, _)| one.is_tried);
    let large = tried().filter(|(_, kib)| too_large(kib)).count();
    let none_fits = large == tried().count();
    let mut is_first = true;
    for (one, kib) in all.iter().zip(&needed) {
        let Some(kib) = kib.filter(|_| too_large(kib)) else {
            continue;
        };
        let mut severity = Severity::Error;
        let mut rest = String::new();
        if one.is_tried {
            if !std::mem::take(&mut is_first) {
                continue;
            }
            if !none_fits {
                severity = Severity::Advice;
            }
            if large > 1 {
                rest = format!(", and so do {} more of this list", large - 1);
            }
        }
        cx.report_as(
            &RULE,
            severity,
            one.call,
            format!(
                "This needs at least {kib} KB of LDS{rest}; a workgroup has {limit} KB on {}.",
                arch.name()
            ),
            RawFix::display_only("Use fewer stages or smaller blocks"),
        );
    }
}

/// A loop with the only `tl.dot` of the kernel, whose operands are loaded as they are.
fn is_product_of_loads(cx: &PythonChecker<'_>, kernel: Node) -> bool {
    let tree = cx.tree();
    let mut dots = cx
        .within(kernel)
        .filter(|node| tree.kind(*node) == Kind::Call && is_tl(cx, *node, "dot"));
    let Some(dot) = dots.next() else {
        return false;
    };
    let is_looped = tree
        .ancestors(dot)
        .any(|around| tree.kind(around) == Kind::ForStatement);
    let operands = values(cx, dot);
    is_looped
        && dots.next().is_none()
        && operands.len() > 1
        && operands
            .iter()
            .take(2)
            .all(|operand| is_tl(cx, cx.semantics.expression(*operand), "load"))
        && !tree.text(kernel).contains(">>")
        && !contains_any(
            tree.source(),
            &["int8", "fp8", "float8", "FP8", "e4m3", "e5m2"],
        )
}
