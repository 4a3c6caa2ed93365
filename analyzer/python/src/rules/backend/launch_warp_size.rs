//! HW307: 32 threads in a warp, in Python.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, has_text};
use crate::rules::helpers::table_rules::imported;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds names such as `WARP_SIZE` and `threads_per_warp` with the value 32, and, as information, `32 * num_warps`,
    /// in code that computes a launch.
    ///
    /// ## Why on ROCm
    ///
    /// On CDNA GPUs up to gfx950 a warp is a wavefront of 64 threads. A block computed as `num_warps * 32` has half
    /// the threads of `num_warps` warps, and a limit such as `65536 // 32` admits twice as many warps as fit: Triton's
    /// `num_warps=32` is 2048 threads, over the limit of 1024. PyTorch provides the number as
    /// `torch.cuda.get_device_properties(device).warp_size`.
    ///
    /// ## Example
    ///
    /// ```python
    /// WARP_SIZE = 32
    ///
    ///
    /// def num_warps(columns):
    ///     return max(1, min(16, columns // (8 * WARP_SIZE)))
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def num_warps(columns):
    ///     warp_size = torch.cuda.get_device_properties("cuda").warp_size
    ///     return max(1, min(16, columns // (8 * warp_size)))
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to decide where the value is read, and from which device.
    ///
    /// ## References
    ///
    /// * [HIP: warp size](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    /// * [torch.cuda.get_device_properties](https://docs.pytorch.org/docs/stable/generated/torch.cuda.get_device_properties.html)
    "HW307" "launch-warp-size" {
        title: "A warp of 32 threads in launch code",
        family: BackendCode,
        severity: Warning,
        also: [Info "for a number of threads, which the launch also has on AMD"],
        applicability: DisplayOnly,
        targets: "targets with wavefronts of 64 lanes",
        lesson: Some("port/nvidia-gates"),
        visit: [Assignment, KeywordArgument, DefaultParameter, TypedDefaultParameter, BinaryOperator],
    }
}
fn check(cx: &PythonChecker<'_>, node: Node) {
    if cx.target().arch.wavefront() != 64 {
        return;
    }
    let tree = cx.tree();
    let (name, value) = match tree.kind(node) {
        Kind::Assignment => (
            tree.child(node, Field::Left),
            tree.child(node, Field::Right),
        ),
        Kind::BinaryOperator => {
            let is_product = tree
                .child(node, Field::Operator)
                .is_some_and(|operator| tree.kind(operator) == Kind::Times);
            if !is_product {
                return;
            }
            product(cx, node)
        }
        _ => (
            tree.child(node, Field::Name),
            tree.child(node, Field::Value),
        ),
    };
    let Some((name, _)) = name
        .zip(value)
        .filter(|(_, value)| tree.text(*value) == "32")
    else {
        return;
    };
    let last = tree.child(name, Field::Attribute).unwrap_or(name);
    let is_it = if tree.kind(node) == Kind::BinaryOperator {
        // Triton's own warps belong to triton-warp-size.
        counts_warps(tree.text(last)) && !has_text(cx, "import triton")
    } else {
        is_warp_size(tree.text(last))
    };
    if !is_it || cx.mentions_hip() || is_for_nvidia(cx) {
        return;
    }
    let arch = cx.target().arch.name();
    // A block specified in threads has the same number of threads on AMD; whether it is correct depends on its kernel.
    let severity = if tree.kind(node) == Kind::BinaryOperator {
        Severity::Info
    } else {
        Severity::Warning
    };
    cx.report_as(
        &RULE,
        severity,
        node,
        format!("A warp has 64 threads on {arch}, so a value computed with 32 is off by a factor of two."),
        RawFix::display_only("Read torch.cuda.get_device_properties(device).warp_size"),
    );
}

/// The name and the number of `32 * num_warps`.
fn product(cx: &PythonChecker<'_>, node: Node) -> (Option<Node>, Option<Node>) {
    let tree = cx.tree();
    let left = tree.child(node, Field::Left);
    let right = tree.child(node, Field::Right);
    match left {
        Some(left) if tree.kind(left) == Kind::Integer => (right, Some(left)),
        _ => (left, right),
    }
}

fn is_warp_size(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let lower = lower.trim_matches('_');
    lower.ends_with("warp_size")
        || lower.ends_with("warpsize")
        || lower.ends_with("threads_per_warp")
        || lower.ends_with("lanes_per_warp")
}

fn counts_warps(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    matches!(
        lower.trim_matches('_'),
        "num_warps" | "n_warps" | "nwarps" | "warps_per_block" | "warps_per_cta"
    )
}

/// True in code that is written in NVIDIA's own kernel language or for its tensor cores, which has to be replaced as a
/// whole, and in code for AMD's matrix cores, whose author uses the correct width.
fn is_for_nvidia(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .find(|node| match tree.kind(*node) {
                Kind::Identifier => contains_any(tree.text(*node), &["TensorCore", "mfma"]),
                Kind::ImportStatement | Kind::ImportFromStatement => [
                    "cutlass",
                    "cuda.bindings",
                    "cuda.tile",
                    "numba.cuda",
                    "flashinfer",
                ]
                .iter()
                .any(|module| imported(cx, *node, module).is_some()),
                _ => false,
            })
            .into_iter()
            .collect()
    };
    !cx.once(RULE.id, find).is_empty()
}
