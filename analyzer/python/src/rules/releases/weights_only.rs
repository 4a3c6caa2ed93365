//! HW405: checkpoints that `torch.load` refuses since PyTorch 2.6.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, first_value, has_text, keyword};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `torch.load` without `weights_only` in a file that saves the parsed arguments of its command line in the checkpoint,
    /// `{"model": …, "args": args}`, or saves a whole model.
    ///
    /// ## Why on ROCm
    ///
    /// Since PyTorch 2.6 `torch.load` has `weights_only=True` by default: it raises `UnpicklingError` at objects of classes
    /// such as `argparse.Namespace` and `torch.nn.Module`. Code that pins an old PyTorch gets a newer one with ROCm: the builds for ROCm 7
    /// begin with PyTorch 2.10. Training starts, and fails when it is resumed.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def save(model, args):
    ///     torch.save({"model": model.state_dict(), "args": args}, "last.pth")
    ///
    ///
    /// def resume(model, args):
    ///     checkpoint = torch.load(args.resume, map_location="cpu")
    ///     model.load_state_dict(checkpoint["model"])
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def save(model, args):
    ///     torch.save({"model": model.state_dict(), "args": args}, "last.pth")
    ///
    ///
    /// def resume(model, args):
    ///     checkpoint = torch.load(args.resume, map_location="cpu", weights_only=False)
    ///     model.load_state_dict(checkpoint["model"])
    /// ```
    ///
    /// Or save `vars(args)`, a dictionary, and the weights of a model.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the fix passes `weights_only=False`. A checkpoint from an untrusted source then runs its code.
    ///
    /// ## References
    ///
    /// * [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html)
    /// * [PyTorch 2.6: release notes](https://github.com/pytorch/pytorch/releases/tag/v2.6.0)
    "HW405" "torch-load-weights-only" {
        title: "torch.load refuses what this file saves",
        family: PythonVersion,
        severity: Error,
        applicability: Unsafe,
        targets: "targets with PyTorch 2.6 or later",
        lesson: Some("port/right-pytorch"),
        visit: [Call],
    }
}

/// The first release with `weights_only=True` by default.
const SINCE: Version = Version::new(2, 6);

/// Parts of the names of checkpoints that a program writes itself.
const OWN: [&str; 5] = ["resume", "checkpoint", "ckpt", "last", "latest"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if called(cx, node) != "load" || cx.target().torch < SINCE {
        return;
    }
    let is_load = cx.callee(node).is_some_and(|name| name.is("torch.load"));
    if !is_load || keyword(cx, node, "weights_only").is_some() || has_text(cx, "add_safe_globals") {
        return;
    }
    let tree = cx.tree();
    let Some(path) = first_value(cx, node) else {
        return;
    };
    let assigned = tree
        .parent(node)
        .filter(|parent| tree.kind(*parent) == Kind::Assignment)
        .and_then(|assignment| tree.child(assignment, Field::Left))
        .map_or("", |name| tree.text(name));
    let saved = cx.once("what torch.save refuses later", || saved(cx));
    let object = saved.iter().find(|saved| match tree.kind(**saved) {
        // `model = torch.load("model.pth")` beside `torch.save(model, "model.pth")`; a dictionary has items
        Kind::Identifier | Kind::Attribute => {
            let name = tree.text(**saved);
            name == assigned && !tree.source().contains(&format!("{name}["))
        }
        _ => {
            let names = format!("{} {assigned}", tree.text(path)).to_ascii_lowercase();
            OWN.iter().any(|own| names.contains(own))
        }
    });
    let Some(object) = object else {
        return;
    };
    let what = match tree.kind(*object) {
        Kind::Identifier | Kind::Attribute => "a whole model",
        _ => "the arguments of the command line",
    };
    let message = format!(
        "Since PyTorch {SINCE} this raises UnpicklingError: the file saves {what}, and weights_only is True by default."
    );
    let Some(arguments) = tree.child(node, Field::Arguments) else {
        return;
    };
    let end = tree.span(arguments).end - 1;
    let fix = RawFix::unsafe_edits(
        "Pass weights_only=False, if the source is trusted",
        vec![(end..end, ", weights_only=False".to_owned())],
    );
    cx.report(&RULE, node, message, fix);
}

/// Pairs `"args": args` of saved dictionaries, and saved models.
fn saved(cx: &PythonChecker<'_>) -> Vec<Node> {
    let tree = cx.tree();
    let mut found = Vec::new();
    let mut saves = false;
    for node in cx.within(tree.root()) {
        match tree.kind(node) {
            Kind::Pair => {
                let part = |field| tree.child(node, field).map_or("", |part| tree.text(part));
                if part(Field::Key).trim_matches(['"', '\'']) == "args"
                    && part(Field::Value) == "args"
                {
                    found.push(node);
                }
            }
            // `utils.save_on_master(to_save, path)`
            Kind::Call if called(cx, node).starts_with("save") => {
                saves = true;
                let is_model = |value: &Node| {
                    let name = tree.text(*value).rsplit('.').next().unwrap_or_default();
                    matches!(tree.kind(*value), Kind::Identifier | Kind::Attribute)
                        && matches!(name, "model" | "net" | "network")
                };
                if cx.callee(node).is_some_and(|name| name.is("torch.save")) {
                    found.extend(first_value(cx, node).filter(is_model));
                }
            }
            _ => {}
        }
    }
    found.retain(|_| saves);
    found
}
