//! HW404: modules and functions that PyTorch's releases for the target do not have any more.

use super::versions::{is_for_a_version, is_told_apart};
use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{arguments, assigned_to, call_of, has_any_text};
use crate::rules::helpers::table_rules::imported;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds imports and uses of modules and functions that a release of PyTorch, torchvision or torchaudio removed, if the target's
    /// release is newer: `torch._six`, `torchvision.transforms.functional_tensor`, `torch.symeig`, `torchaudio.info` and others; the method `next()` of a
    /// DataLoader's iterator; a transform from `ColorJitter.get_params`; and the
    /// arguments `fast_flush` and `percentiles` of Triton's `do_bench`, `trans_a` and `trans_b` of its `dot`.
    ///
    /// ## Why on ROCm
    ///
    /// Code that pins an old PyTorch gets a newer one with ROCm: the builds for ROCm 6 begin with PyTorch 2.3, and those for
    /// ROCm 7 with 2.10. There the import raises `ModuleNotFoundError`, and the function raises `RuntimeError` or is no attribute.
    ///
    /// Imports in a `try` that handles the failure, and uses behind a test of the version, are not reported.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torchvision.transforms.functional_tensor import rgb_to_grayscale
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from torchvision.transforms.functional import rgb_to_grayscale
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: an old release of torchvision may lack the name in the other module, and an iterator of the project's own may have a
    /// method `next()`.
    ///
    /// ## References
    ///
    /// * [PyTorch 2.0: release notes](https://github.com/pytorch/pytorch/releases/tag/v2.0.0)
    /// * [torchvision 0.17: release notes](https://github.com/pytorch/vision/releases/tag/v0.17.0)
    /// * [torchaudio: the future of TorchAudio](https://github.com/pytorch/audio/issues/3902)
    "HW404" "removed-torch-python-api" {
        title: "The target's PyTorch does not have this any more",
        family: PythonVersion,
        severity: Error,
        applicability: Unsafe,
        targets: "targets with a PyTorch from the release on that removed it",
        lesson: Some("port/right-pytorch"),
        visit: [ImportStatement, ImportFromStatement, Attribute],
    }
}

/// Modules and functions that a release removed.
struct Removed {
    /// The first release of PyTorch without them, or the one that torchvision's or torchaudio's belongs to.
    since: Version,
    names: &'static str,
    advice: &'static str,
    /// The module that has the names, if one has all of them.
    instead: Option<&'static str>,
}

const fn removed(
    (major, minor): (u16, u16),
    names: &'static str,
    advice: &'static str,
    instead: Option<&'static str>,
) -> Removed {
    Removed {
        since: Version::new(major, minor),
        names,
        advice,
        instead,
    }
}

const REMOVED: &[Removed] = &[
    removed(
        (2, 0),
        "torch._six",
        "Import inf and nan from torch; use str, int, or collections.abc",
        None,
    ),
    removed(
        (2, 2),
        "torchvision.transforms.functional_tensor",
        "Import it from torchvision.transforms.functional",
        Some("torchvision.transforms.functional"),
    ),
    removed(
        (2, 0),
        "torchvision.models.utils",
        "Import load_state_dict_from_url from torch.hub",
        Some("torch.hub"),
    ),
    removed(
        (2, 0),
        "torchvision.models.resnet.model_urls torchvision.models.vgg.model_urls torchvision.models.densenet.model_urls \
            torchvision.models.inception.model_urls torchvision.models.mobilenet.model_urls torchvision.models.alexnet.model_urls",
        "Use the url of the weights: torchvision.models.ResNet50_Weights.IMAGENET1K_V1.url",
        None,
    ),
    removed(
        (2, 0),
        "torch.utils.ffi",
        "Build the extension with torch.utils.cpp_extension",
        None,
    ),
    removed(
        (2, 5),
        "torch.distributed.pipeline",
        "Use torch.distributed.pipelining",
        None,
    ),
    removed(
        (2, 0),
        "torch.symeig torch.eig torch.lstsq torch.matrix_rank torch.solve torch.gels torch.btrifact",
        "Use the function of torch.linalg",
        None,
    ),
    removed(
        (2, 0),
        "torch.rfft torch.irfft torch.ifft torch.fft",
        "Use the function of torch.fft, which takes and returns complex numbers: torch.view_as_complex(x), torch.view_as_real(y)",
        None,
    ),
    removed(
        (2, 9),
        "torchaudio.backend torchaudio.io torchaudio.sox_effects torchaudio.kaldi_io torchaudio.info \
            torchaudio.set_audio_backend torchaudio.get_audio_backend torchaudio.list_audio_backends",
        "Use torchcodec or soundfile",
        None,
    ),
];

/// A function that is a module now.
const MODULE_NOW: &str = "torch.fft";

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let member = tree
        .child(node, Field::Attribute)
        .map(|name| tree.text(name));
    match member {
        Some("next") => return check_next(cx, node),
        Some("get_params") => return check_get_params(cx, node),
        _ => {}
    }
    for row in REMOVED.iter().filter(|row| cx.target().torch >= row.since) {
        let find = |name: &'static str| {
            let found = match member {
                Some(member) => {
                    let is_it = name.ends_with(member) && cx.resolve(node)?.is(name);
                    (is_it && (name != MODULE_NOW || call_of(cx, node).is_some())).then_some(node)
                }
                None if name == MODULE_NOW => None,
                None => imported(cx, node, name),
            };
            Some((name, found?))
        };
        let Some((name, found)) = row.names.split(' ').find_map(find) else {
            continue;
        };
        // A function may return before an old name is used.
        let asks_for_versions = || {
            let words = [
                "torch.__version__",
                "torchaudio.__version__",
                "hasattr(torch",
            ];
            member.is_some() && has_any_text(cx, &words)
        };
        if is_told_apart(cx, node) || asks_for_versions() {
            return;
        }
        let fix = match row.instead {
            Some(module) if tree.field(found) == Field::ModuleName => {
                RawFix::unsafe_edits(row.advice, vec![(tree.span(found), module.to_owned())])
            }
            _ => RawFix::display_only(row.advice),
        };
        let library = match name.split('.').next() {
            Some("torch") | None => String::new(),
            Some(library) => format!("The {library} for "),
        };
        let torch = cx.target().torch;
        let message = match name {
            MODULE_NOW => format!("{name} is a module in PyTorch {torch}, not a function."),
            _ => format!("{library}PyTorch {torch} does not have {name} any more."),
        };
        cx.report(&RULE, found, message, fix);
        return;
    }
}

/// `iterator.next()` where `iterator = iter(loader)`: Python 2's method, which PyTorch's iterators had until 1.12.
fn check_next(cx: &PythonChecker<'_>, attribute: Node) {
    let tree = cx.tree();
    let object = tree.child(attribute, Field::Object);
    let (Some(call), Some(object)) = (call_of(cx, attribute), object) else {
        return;
    };
    let text = tree.text(object);
    let is_iterator =
        text.starts_with("iter(") || tree.source().contains(&format!("{text} = iter("));
    if !is_iterator || !arguments(cx, call).is_empty() || is_for_a_version(cx, attribute) {
        return;
    }
    let fix = RawFix::unsafe_edits(
        "Use next(…)",
        vec![(tree.span(call), format!("next({text})"))],
    );
    let message = "Iterators have no method next() in Python 3, nor do those of DataLoader since PyTorch 1.13.";
    cx.report(&RULE, call, message, fix);
}

/// `augment = ColorJitter.get_params(…)` and `augment(image)`: it returned a transform until torchvision 0.8.
fn check_get_params(cx: &PythonChecker<'_>, attribute: Node) {
    let tree = cx.tree();
    let is_it = cx
        .resolve(attribute)
        .is_some_and(|found| found.is("torchvision.transforms.ColorJitter.get_params"));
    let Some(call) = call_of(cx, attribute).filter(|_| is_it) else {
        return;
    };
    let name = assigned_to(cx, call)
        .filter(|name| tree.kind(*name) == Kind::Identifier)
        .map(|name| tree.text(name));
    let is_called = name.is_some_and(|name| tree.source().contains(&format!("{name}(")));
    if is_called && !is_told_apart(cx, attribute) {
        let fix = RawFix::display_only(
            "Apply the numbers with adjust_brightness and others of torchvision.transforms.functional",
        );
        let message = "ColorJitter.get_params returns numbers since torchvision 0.9, and no transform to call.";
        cx.report(&RULE, call, message, fix);
    }
}
