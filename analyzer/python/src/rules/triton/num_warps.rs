//! HW701: more warps than fit into a workgroup of an AMD GPU.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, given_to, has_text};
use crate::rules::helpers::kernels::{
    is_for_other_vendor, is_named_after_nvidia, takes_launch_options,
};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds Triton kernels with more warps than a workgroup can have: `num_warps=32` or more, and 64 or more on targets
    /// with wavefronts of 32 lanes.
    ///
    /// ## Why on ROCm
    ///
    /// A warp of a CDNA GPU up to gfx950 has 64 lanes, so 32 warps are 2048 threads, and a workgroup is limited to 1024. The
    /// kernel compiles, and its launch raises `OutOfResources: … threads`. In an autotuner's list such a configuration
    /// is compiled, fails, and is skipped, which only costs time unless it is the only configuration. 16 warps of 64
    /// lanes are as many threads as 32 warps of 32.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def double(x_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)
    ///
    /// def run(x):
    ///     n = x.numel()
    ///     double[(triton.cdiv(n, 32768),)](x, n, BLOCK=32768, num_warps=32)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def double(x_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)
    ///
    /// def run(x):
    ///     n = x.numel()
    ///     double[(triton.cdiv(n, 32768),)](x, n, BLOCK=32768, num_warps=16)
    /// ```
    ///
    /// To keep 32 for NVIDIA, select the value by `torch.version.hip`, as Liger-Kernel does.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: on an AMD GPU the launch fails without the fix, but on NVIDIA the same line then runs with half the
    /// threads, at a different speed and with sums in a different order. There is no edit inside an autotuner's list,
    /// where another entry may already have 16.
    ///
    /// ## References
    ///
    /// * [Optimizing Triton kernels (ROCm)](https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/optimize-triton-kernels.html)
    /// * [HIP: hardware features, workgroup limits](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hardware_features.html)
    /// * [Liger-Kernel: utils.py](https://github.com/linkedin/Liger-Kernel/blob/main/src/liger_kernel/ops/utils.py)
    "HW701" "triton-num-warps" {
        title: "More threads than fit into a workgroup",
        family: Triton,
        severity: Error,
        also: [Warning "in an autotuner's list"],
        applicability: Unsafe,
        targets: "every ROCm target; the limit depends on the wavefront",
        lesson: Some("optimize/wavefronts-and-loads"),
        visit: [Integer],
    }
}

/// Threads of a workgroup.
const MOST_THREADS: u32 = 1024;

fn check(cx: &PythonChecker<'_>, number: Node) {
    let tree = cx.tree();
    let text = tree.text(number);
    let lanes = cx.target().arch.wavefront();
    let most = MOST_THREADS / lanes;
    if !matches!(text, "32" | "64" | "128") || text.parse().is_ok_and(|warps: u32| warps <= most) {
        return;
    }
    // `min(max(n // 256, 8), 32)`
    let limit = tree
        .ancestors(number)
        .nth(1)
        .filter(|call| called(cx, *call) == "min");
    if !given_to(cx, limit.unwrap_or(number))
        .is_some_and(|name| name.eq_ignore_ascii_case("num_warps"))
    {
        return;
    }
    let is_triton = has_text(cx, "import triton") || has_text(cx, "from triton");
    if !is_triton || is_named_after_nvidia(cx, number) || is_for_other_vendor(cx, number) {
        return;
    }
    if is_candidate(cx, number) && !is_only_candidate(cx, number) {
        // A source that checks for ROCm can prune its list.
        if cx.mentions_hip() {
            return;
        }
        cx.report_as(
            &RULE,
            Severity::Warning,
            number,
            format!("{text} warps of {lanes} lanes are more than the 1024 threads of a workgroup: the autotuner compiles this configuration and then skips it."),
            RawFix::display_only("Remove it on AMD GPUs"),
        );
        return;
    }
    cx.report(
        &RULE,
        number,
        format!("{text} warps of {lanes} lanes are more than the 1024 threads of a workgroup: the launch raises OutOfResources."),
        RawFix::unsafe_edits(format!("Use {most} warps"), vec![(tree.span(number), most.to_string())]),
    );
}

/// `for num_warps in [32]`: there is no other value.
fn is_only_candidate(cx: &PythonChecker<'_>, number: Node) -> bool {
    let tree = cx.tree();
    tree.parent(number).is_some_and(|list| {
        tree.kind(list) == Kind::List
            && tree.parts(list).count() == 1
            && tree
                .parent(list)
                .is_some_and(|parent| tree.kind(parent) == Kind::ForInClause)
    })
}

/// One of several values: in a `triton.Config`, or in a list from which configurations are built.
fn is_candidate(cx: &PythonChecker<'_>, number: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(number)
        .take_while(|node| !matches!(tree.kind(*node), Kind::Block | Kind::Module))
        .any(|node| match tree.kind(node) {
            Kind::List | Kind::Tuple | Kind::ForInClause | Kind::ForStatement => true,
            Kind::Call => {
                takes_launch_options(cx, node)
                    && tree
                        .child(node, Field::Function)
                        .is_some_and(|function| tree.kind(function) != Kind::Subscript)
            }
            _ => false,
        })
}
