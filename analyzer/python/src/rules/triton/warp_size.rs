//! HW712: Triton code that assumes warps of 32 threads.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, called, function_around, has_any_text, has_text, mentions, sides,
};
use crate::rules::helpers::kernels::is_named_after_nvidia;
use crate::semantic::integer;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds launch computations with warps of 32 lanes in a source that imports Triton: `num_warps * 32`,
    /// `num_warps = block // 32`, and Gluon layouts whose threads per warp multiply to 32. A source that imports TileLang
    /// is not reported: there the product is the number of threads of a block.
    ///
    /// ## Why on ROCm
    ///
    /// CDNA GPUs up to gfx950 have warps of 64 lanes. `num_warps * 32` is half of the number of threads, so elements per thread,
    /// register needs and partial sums per thread are off by a factor of two. `block // 32` requests twice the threads,
    /// and with more than 16 warps the launch fails. A Gluon layout for 32 lanes does not compile for 64.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    ///
    /// def elements_per_thread(block, num_warps):
    ///     return block // (num_warps * 32)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    ///
    /// def elements_per_thread(block, num_warps):
    ///     lanes = triton.runtime.driver.active.get_current_target().warp_size
    ///     return block // (num_warps * lanes)
    /// ```
    ///
    /// `torch.cuda.get_device_properties(device).warp_size` also returns the number.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to decide where to read the number.
    ///
    /// ## References
    ///
    /// * [HIP: hardware features](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hardware_features.html)
    /// * [triton: third_party/amd/backend/compiler.py](https://github.com/triton-lang/triton/blob/main/third_party/amd/backend/compiler.py)
    "HW712" "triton-warp-size" {
        title: "Warps of 32 lanes in Triton code",
        family: Triton,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "targets with wavefronts of 64 lanes",
        lesson: Some("port/lanes"),
        visit: [BinaryOperator, Call],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    let assumes = match cx.tree().kind(node) {
        Kind::Call => is_layout_of_32(cx, node),
        _ => is_maths_with_32(cx, node),
    };
    let is_triton = assumes
        && cx.target().arch.wavefront() == 64
        && (has_text(cx, "import triton") || has_text(cx, "from triton"));
    // TileLang's threads are the threads of a block.
    let is_other = || has_any_text(cx, &["import tilelang", "from tilelang"]);
    if !is_triton || is_other() || is_named_after_nvidia(cx, node) || reads_warp_size(cx, node) {
        return;
    }
    cx.report(
        &RULE,
        node,
        format!(
            "This assumes 32 lanes in a warp; {} has 64.",
            cx.target().arch.name()
        ),
        RawFix::display_only("Read the warp size from the target"),
    );
}

/// `return num_warps * (properties.warp_size or 32)` in the same source: 32 is only the default.
fn reads_warp_size(cx: &PythonChecker<'_>, node: Node) -> bool {
    function_around(cx, node).is_some_and(|function| mentions(cx, function, "warp_size"))
}

fn is_maths_with_32(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let is_warps = |node: Node| {
        let name = tree.text(tree.child(node, Field::Attribute).unwrap_or(node));
        matches!(name, "num_warps" | "NUM_WARPS" | "n_warps" | "nwarps")
    };
    if let Some((left, right)) = sides(cx, node, "*") {
        let (a, b) = (tree.text(left), tree.text(right));
        return a == "32" && is_warps(right) || b == "32" && is_warps(left);
    }
    let Some((_, right)) = sides(cx, node, "//") else {
        return false;
    };
    if tree.text(right) != "32" {
        return false;
    }
    // `num_warps = block // 32`, `num_warps=max(block // 32, 1)`
    tree.ancestors(node)
        .take_while(|ancestor| !matches!(tree.kind(*ancestor), Kind::Block | Kind::Module))
        .any(|ancestor| match tree.kind(ancestor) {
            Kind::Assignment => tree.child(ancestor, Field::Left).is_some_and(is_warps),
            Kind::KeywordArgument => tree.child(ancestor, Field::Name).is_some_and(is_warps),
            _ => false,
        })
}

/// `gl.BlockedLayout([1, 4], [1, 32], …)`
fn is_layout_of_32(cx: &PythonChecker<'_>, call: Node) -> bool {
    if called(cx, call) != "BlockedLayout" {
        return false;
    }
    let tree = cx.tree();
    let is_gluon = cx
        .callee(call)
        .is_some_and(|name| name.is_in("triton.experimental.gluon"));
    let Some(threads) = argument(cx, call, 1, "threads_per_warp").filter(|_| is_gluon) else {
        return false;
    };
    let mut product = 1_i64;
    for factor in tree.parts(threads) {
        match integer(&cx.semantics, factor) {
            Some(factor) => product = product.saturating_mul(factor),
            None => return false,
        }
    }
    tree.kind(threads) == Kind::List && product == 32
}
