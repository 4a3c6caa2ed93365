//! HW410: `torch.stft` without `return_complex`.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{arguments, keyword, unpacks_arguments};
use crate::rules::helpers::edits::add_keyword;
use crate::syntax::Node;
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds calls of `torch.stft` that do not say whether the result is complex.
    ///
    /// ## Why on ROCm
    ///
    /// Before PyTorch 2.0 the result was real by default, with a last dimension of two. Since then the call raises `stft requires the return_complex
    /// parameter be given for real inputs`. Audio code that pins an old PyTorch gets a newer one with ROCm.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def spectrum(x, window):
    ///     return torch.stft(x, 1024, 256, 1024, window)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def spectrum(x, window):
    ///     return torch.stft(x, 1024, 256, 1024, window, return_complex=False)
    /// ```
    ///
    /// `torch.view_as_real(torch.stft(…, return_complex=True))` is the same, and remains when PyTorch removes the other form.
    ///
    /// ## Fix safety
    ///
    /// Safe: the result is the one that the code expects.
    ///
    /// ## References
    ///
    /// * [torch.stft](https://docs.pytorch.org/docs/stable/generated/torch.stft.html)
    "HW410" "stft-return-complex" {
        title: "torch.stft needs return_complex",
        family: PythonVersion,
        severity: Error,
        applicability: Safe,
        targets: "targets with PyTorch 2.0 or later",
        lesson: Some("port/right-pytorch"),
        visit: [Call],
    }
}

/// The first release that requires the argument.
const SINCE: Version = Version::new(2, 0);

/// The position of `return_complex`.
const POSITION: usize = 9;

fn check(cx: &PythonChecker<'_>, node: Node) {
    if cx.target().torch < SINCE || !cx.callee(node).is_some_and(|name| name.is("torch.stft")) {
        return;
    }
    if keyword(cx, node, "return_complex").is_some()
        || arguments(cx, node).len() > POSITION
        || unpacks_arguments(cx, node)
    {
        return;
    }
    let Some(edit) = add_keyword(cx, node, "return_complex=False") else {
        return;
    };
    cx.report(
        &RULE,
        node,
        "Since PyTorch 2.0 this raises: torch.stft requires return_complex.",
        RawFix::safe_edits("Pass return_complex=False", vec![edit]),
    );
}
