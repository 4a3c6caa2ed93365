//! HW405: checkpoints that `torch.load` refuses since PyTorch 2.6.

use super::loaded_objects::key_of_object;
use super::numpy_values::is_of_numpy;
use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    assigned_to, called, contains_any, first_value, has_text, keyword,
};
use crate::rules::helpers::edits::add_keyword;
use crate::semantic::literal_text;
use crate::syntax::{Field, Kind, Node, Tree};
use hipward_analyzer_core::Version;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `torch.load` without `weights_only` in a file that saves the parsed arguments of its command line in the checkpoint,
    /// `{"model": …, "args": args}`, a number that NumPy has computed, or a whole model; and in another file of the project
    /// that reads `"model"` from a checkpoint with such arguments. Also finds `torch.load` whose result has an object of a class by
    /// its use: `checkpoint["config"].width`, `checkpoint["model"].state_dict()`.
    ///
    /// ## Why on ROCm
    ///
    /// Since PyTorch 2.6 `torch.load` has `weights_only=True` by default: it raises `UnpicklingError` at objects of classes
    /// such as `argparse.Namespace` and `torch.nn.Module`, and at scalars and arrays of NumPy. Code that pins an old PyTorch
    /// gets a newer one with ROCm: the builds for ROCm 7 begin with PyTorch 2.10. Training starts, and fails when it is resumed.
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
    /// Or save `vars(args)`, a dictionary, `float(score)`, and the weights of a model.
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
    // With another module for pickles the default is False.
    let is_chosen = ["weights_only", "pickle_module"]
        .iter()
        .any(|name| keyword(cx, node, name).is_some());
    if !is_load || is_chosen || has_text(cx, "add_safe_globals") {
        return;
    }
    let tree = cx.tree();
    let Some(path) = first_value(cx, node) else {
        return;
    };
    let assigned = assigned_to(cx, node).map_or("", |name| tree.text(name));
    let saved = cx.once("what torch.save refuses later", || saved(cx));
    let has_pair = saved.iter().any(|saved| tree.kind(*saved) == Kind::Pair);
    let is_own = has_pair && {
        let names = format!("{} {assigned}", tree.text(path)).to_ascii_lowercase();
        OWN.iter().any(|own| names.contains(own)) || is_written(cx, path)
    };
    let object = saved.iter().find(|saved| match tree.kind(**saved) {
        // `model = torch.load("model.pth")` beside `torch.save(model, "model.pth")`; a dictionary has items
        Kind::Identifier | Kind::Attribute => {
            let name = tree.text(**saved);
            name == assigned && !tree.source().contains(&format!("{name}["))
        }
        _ => is_own,
    });
    let what = match object.map(|object| tree.kind(*object)) {
        Some(Kind::Identifier | Kind::Attribute) => "the file saves a whole model".to_owned(),
        Some(_) if object.is_some_and(|pair| is_arguments(tree, *pair)) => {
            "the file saves the object args".to_owned()
        }
        Some(_) => "the file saves a value of NumPy".to_owned(),
        None if is_of_another_module(cx, node, path, assigned) => {
            "another file of the project saves the object args with it".to_owned()
        }
        None => match key_of_object(cx, node, assigned) {
            Some(key) => format!("the checkpoint's \"{key}\" is an object with attributes"),
            None => return,
        },
    };
    let message = format!(
        "Since PyTorch {SINCE} this raises UnpicklingError: {what}, and weights_only is True by default."
    );
    let Some(edit) = add_keyword(cx, node, "weights_only=False") else {
        return;
    };
    let fix = RawFix::unsafe_edits(
        "Pass weights_only=False, if the source is trusted",
        vec![edit],
    );
    cx.report(&RULE, node, message, fix);
}

/// Whether the path contains the name of a file that the source has once more, as where it saves the checkpoint.
fn is_written(cx: &PythonChecker<'_>, path: Node) -> bool {
    let tree = cx.tree();
    cx.any_within(path, &|node| {
        literal_text(tree, node).is_some_and(|name| {
            contains_any(name, &[".pt", ".ckpt", ".tar"])
                && tree.source().matches(name).nth(1).is_some()
        })
    })
}

/// Whether the checkpoint is one that another module of the project saves: by its path, and by a key that is read from it; a path
/// with `resume` needs no certain key.
/// A pretrained one may have the same keys and no arguments.
fn is_of_another_module(cx: &PythonChecker<'_>, load: Node, path: Node, assigned: &str) -> bool {
    let tree = cx.tree();
    let path = tree.text(path).to_ascii_lowercase();
    if contains_any(&path, &["pretrain", "http"]) || !contains_any(&path, &OWN) {
        return false;
    }
    let after = &tree.source()[tree.span(load).end..];
    // `checkpoint[key]` of a run that continues.
    let keys = cx.saved_with_arguments();
    if !keys.is_empty()
        && path.contains("resume")
        && !assigned.is_empty()
        && after.contains(&format!("{assigned}["))
    {
        return true;
    }
    keys.iter().any(|key| {
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
    let value = tree.child(pair, Field::Value);
    tree.kind(pair) == Kind::Pair
        && value.is_some_and(|value| tree.text(value).trim_start_matches("self.") == ARGUMENTS)
        && (key(tree, pair) == ARGUMENTS || is_beside_state(tree, pair))
}

/// Whether the dictionary of a pair also has the state of a model or of its training.
fn is_beside_state(tree: &Tree<'_>, pair: Node) -> bool {
    let dictionary = tree.parent(pair).into_iter();
    dictionary
        .flat_map(|dictionary| tree.children(dictionary))
        .any(|pair| listed(STATE, key(tree, pair)))
}

fn key<'t>(tree: &Tree<'t>, pair: Node) -> &'t str {
    let key = tree.child(pair, Field::Key);
    key.map_or("", |key| tree.text(key).trim_matches(['"', '\'']))
}

/// Pairs `"args": args` and values of NumPy in saved dictionaries, and saved models.
fn saved(cx: &PythonChecker<'_>) -> Vec<Node> {
    let tree = cx.tree();
    let mut found = Vec::new();
    let mut saves = false;
    for node in cx.within(tree.root()) {
        match tree.kind(node) {
            Kind::Pair if is_arguments(tree, node) => found.push(node),
            Kind::Pair if is_beside_state(tree, node) => {
                let value = tree.child(node, Field::Value);
                found.extend(
                    value
                        .filter(|value| is_of_numpy(cx, *value))
                        .and(Some(node)),
                );
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
