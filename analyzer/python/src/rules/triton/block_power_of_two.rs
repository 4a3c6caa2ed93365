//! HW705: a block whose size is not a power of two.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::values;
use crate::rules::helpers::kernels::{constants, is_tl, kernel_around};
use crate::semantic::integer;
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `tl.arange(0, BLOCK)` if the source sets `BLOCK` to a number that is not a power of two: in the launch, in
    /// a `triton.Config`, or in the call itself.
    ///
    /// ## Why on ROCm
    ///
    /// The sizes of Triton's tensors are powers of two, on every backend: compilation stops with "arange's range must
    /// be a power of 2". Ports often change block sizes, which makes this mistake common.
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
    ///     double[(triton.cdiv(n, 1000),)](x, n, BLOCK=1000)
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
    ///     double[(triton.cdiv(n, 1024),)](x, n, BLOCK=1024)
    /// ```
    ///
    /// `triton.next_power_of_2(n)` returns the next larger power of two; the mask excludes the rest.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the grid and the mask have to match the size.
    ///
    /// ## References
    ///
    /// * [triton.language.arange](https://triton-lang.org/main/python-api/generated/triton.language.arange.html)
    "HW705" "triton-block-power-of-two" {
        title: "A block size that is not a power of two",
        family: Triton,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/fused-rmsnorm"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, call: Node) {
    if !is_tl(cx, call, "arange") {
        return;
    }
    let Some(kernel) = kernel_around(cx, call) else {
        return;
    };
    let tree = cx.tree();
    let [start, end] = values(cx, call)[..] else {
        return;
    };
    if integer(&cx.semantics, start) != Some(0) {
        return;
    }
    let sizes = match tree.kind(end) {
        Kind::Integer => integer(&cx.semantics, end)
            .map(|size| vec![(end, size)])
            .unwrap_or_default(),
        Kind::Identifier => {
            // Several ranges of one block are one finding.
            let is_first = !cx
                .within(kernel)
                .take_while(|node| *node < call)
                .any(|node| {
                    is_tl(cx, node, "arange")
                        && values(cx, node)
                            .get(1)
                            .is_some_and(|other| tree.text(*other) == tree.text(end))
                });
            if is_first {
                constants(cx, kernel, tree.text(end))
            } else {
                Vec::new()
            }
        }
        _ => return,
    };
    for (node, size) in sizes {
        if size <= 0 || size & (size - 1) == 0 {
            continue;
        }
        cx.report(
            &RULE,
            node,
            format!(
                "tl.arange needs a power of two, and {size} is not one: the kernel does not compile."
            ),
            RawFix::display_only("Use the next power of two, and mask the offsets beyond the end"),
        );
    }
}
