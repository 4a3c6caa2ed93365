//! HW411: torchaudio's functions for files, which need TorchCodec.

use super::versions::is_for_a_version;
use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::has_text;
use crate::semantic::is_import_guarded;
use crate::syntax::Node;
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds the first call of `torchaudio.load` or `torchaudio.save` in a source that does not mention TorchCodec.
    ///
    /// ## Why on ROCm
    ///
    /// Up to 2.8 torchaudio read files with FFmpeg, SoX or soundfile. Since 2.9 both functions use TorchCodec, which pip does not install with torchaudio, and
    /// raise `ImportError` without it. Code that pins an old PyTorch gets a newer one with ROCm: the builds for ROCm 7 begin with 2.10.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torchaudio
    ///
    /// wave, rate = torchaudio.load("speech.wav")
    /// ```
    ///
    /// ## Use instead
    ///
    /// Add `torchcodec` to the requirements; it decodes on the CPU with FFmpeg. Or read the file with soundfile:
    ///
    /// ```python
    /// import soundfile
    /// import torch
    ///
    /// wave, rate = soundfile.read("speech.wav", dtype="float32", always_2d=True)
    /// wave = torch.from_numpy(wave.T)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the requirements are in another file.
    ///
    /// ## References
    ///
    /// * [torchaudio: the future of TorchAudio](https://github.com/pytorch/audio/issues/3902)
    /// * [TorchCodec](https://github.com/meta-pytorch/torchcodec)
    "HW411" "torchaudio-torchcodec" {
        title: "torchaudio reads files with TorchCodec",
        family: PythonVersion,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "targets with PyTorch 2.9 or later",
        lesson: Some("port/right-pytorch"),
        visit: [Call],
    }
}

/// The first release that uses TorchCodec.
const SINCE: Version = Version::new(2, 9);

fn check(cx: &PythonChecker<'_>, node: Node) {
    if cx.target().torch < SINCE {
        return;
    }
    let is_it = cx
        .callee(node)
        .is_some_and(|name| name.is("torchaudio.load") || name.is("torchaudio.save"));
    if !is_it
        || has_text(cx, "torchcodec")
        || is_import_guarded(&cx.semantics, node, &["ImportError"])
        || is_for_a_version(cx, node)
        || cx.has_reported(&RULE, &|_, _| true)
    {
        return;
    }
    let message = format!(
        "Since {SINCE} torchaudio uses TorchCodec for files, which pip does not install with it."
    );
    let fix = RawFix::display_only("Require torchcodec, or use soundfile");
    cx.report(&RULE, node, message, fix);
}
