//! HW405: checkpoints that `torch.load` refuses since PyTorch 2.6.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, contains_any, first_value, has_text, keyword};
use crate::semantic::literal_text;
use crate::syntax::{Field, Kind, Node, Tree};
use hipward_analyzer_core::Version;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `torch.load` without `weights_only` in a file that saves the parsed arguments of its command line in the checkpoint,
    /// `{"model": …, "args": args}`, or saves a whole model; and in another file of the project that reads `"model"` from such a
    /// checkpoint.
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
        title: "torch.load refuses what this project saves",
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

const ARGUMENTS: &str = "args";

/// Keys of checkpoints.
const STATE: &str = "model state_dict model_state_dict net optimizer epoch";

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
    let what = match object.map(|object| tree.kind(*object)) {
        Some(Kind::Identifier | Kind::Attribute) => "the file saves a whole model",
        Some(_) => "the file saves the object args",
        None if is_of_another_module(cx, node, path, assigned) => {
            "another file of the project saves the object args with it"
        }
        None => return,
    };
    let message = format!(
        "Since PyTorch {SINCE} this raises UnpicklingError: {what}, and weights_only is True by default."
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

/// Whether the checkpoint is one that another module of the project saves: by its path, and by a key that is read from it.
/// A pretrained one may have the same keys and no arguments.
fn is_of_another_module(cx: &PythonChecker<'_>, load: Node, path: Node, assigned: &str) -> bool {
    let tree = cx.tree();
    let path = tree.text(path).to_ascii_lowercase();
    if contains_any(&path, &["pretrain", "http"]) || !contains_any(&path, &OWN) {
        return false;
    }
    let after = &tree.source()[tree.span(load).end..];
    cx.saved_with_arguments().iter().any(|key| {
        ["\"", "'"].iter().any(|quote| {
            let item = format!("[{quote}{key}{quote}]");
            after.starts_with(&item)
                || !assigned.is_empty() && after.contains(&format!("{assigned}{item}"))
        })
    })
}

/// The keys of dictionaries with a pair `"args": args`, and those that are added to them later.
pub fn keys_beside_arguments<'t>(tree: &Tree<'t>) -> Vec<&'t str> {
    let mut found = Vec::new();
    for dictionary in tree.nodes().filter(|node| has_arguments(tree, *node)) {
        let name = tree
            .parent(dictionary)
            .filter(|parent| tree.kind(*parent) == Kind::Assignment)
            .and_then(|assignment| tree.child(assignment, Field::Left))
            .map(|name| tree.text(name));
        let pairs = tree
            .children(dictionary)
            .filter_map(|pair| tree.child(pair, Field::Key));
        found.extend(pairs.filter_map(|key| literal_text(tree, key)));
        let items = tree.nodes().filter(|node| {
            tree.kind(*node) == Kind::Subscript
                && name.is_some()
                && tree.child(*node, Field::Value).map(|of| tree.text(of)) == name
        });
        let keys = items.filter_map(|item| tree.child(item, Field::Subscript));
        found.extend(keys.filter_map(|key| literal_text(tree, key)));
    }
    found.retain(|key| *key != ARGUMENTS);
    found
}

fn has_arguments(tree: &Tree<'_>, node: Node) -> bool {
    tree.kind(node) == Kind::Dictionary && tree.children(node).any(|pair| is_arguments(tree, pair))
}

/// `"args": args`, and `"config": args` beside the state of a model or of its training.
fn is_arguments(tree: &Tree<'_>, pair: Node) -> bool {
    let part = |pair, field| tree.child(pair, field).map_or("", |part| tree.text(part));
    let key = |pair| part(pair, Field::Key).trim_matches(['"', '\'']);
    let is_beside_state = || {
        let mut keys = tree
            .parent(pair)
            .into_iter()
            .flat_map(|dictionary| tree.children(dictionary))
            .map(key);
        keys.any(|key| listed(STATE, key))
    };
    tree.kind(pair) == Kind::Pair
        && part(pair, Field::Value) == ARGUMENTS
        && (key(pair) == ARGUMENTS || is_beside_state())
}

/// Pairs `"args": args` of saved dictionaries, and saved models.
fn saved(cx: &PythonChecker<'_>) -> Vec<Node> {
    let tree = cx.tree();
    let mut found = Vec::new();
    let mut saves = false;
    for node in cx.within(tree.root()) {
        match tree.kind(node) {
            Kind::Pair => found.extend(Some(node).filter(|node| is_arguments(tree, *node))),
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
