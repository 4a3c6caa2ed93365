//! HW410: `torch.stft` without `return_complex`.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::keyword;
use crate::syntax::{Field, Kind, Node};
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
    let tree = cx.tree();
    if cx.target().torch < SINCE || !cx.callee(node).is_some_and(|name| name.is("torch.stft")) {
        return;
    }
    let Some(arguments) = tree.child(node, Field::Arguments) else {
        return;
    };
    // `**options` may contain it.
    let passes_on = |part: Node| matches!(tree.kind(part), Kind::DictionarySplat | Kind::ListSplat);
    if keyword(cx, node, "return_complex").is_some()
        || tree.parts(arguments).nth(POSITION).is_some()
        || tree.parts(arguments).any(passes_on)
    {
        return;
    }
    let text = tree.text(arguments);
    let written = text.strip_suffix(')').unwrap_or(text).trim_end();
    let separator = if written.ends_with(',') { " " } else { ", " };
    let end = tree.start(arguments) + written.len();
    let fix = RawFix::safe_edits(
        "Pass return_complex=False",
        vec![(end..end, format!("{separator}return_complex=False"))],
    );
    cx.report(
        &RULE,
        node,
        "Since PyTorch 2.0 this raises: torch.stft requires return_complex.",
        fix,
    );
}
