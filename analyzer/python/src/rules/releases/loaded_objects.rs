//! Objects of classes in a checkpoint, by what the code does with them after `torch.load`.

use crate::checker::PythonChecker;
use crate::rules::helpers::calls::{assigned_to, call_of};
use crate::semantic::literal_text;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::words::listed;

/// Keys under which checkpoints have the settings of a program: a dictionary, or an object with attributes.
const SETTINGS: &str =
    "args cfg config conf opt opts options hparams hps params xp.cfg model_args train_args";

/// Attributes of dictionaries, lists, texts and tensors.
const OF_PLAIN: &str = "items keys values get update copy pop setdefault popitem clear append extend split strip format \
    join replace startswith endswith lower upper shape size dim dtype device numel item tolist numpy to cpu cuda float half \
    double long int bool clone detach view reshape";

/// Attributes of models that neither dictionaries nor tensors have.
const OF_MODELS: &str = "state_dict load_state_dict eval parameters named_parameters modules named_modules children module yaml fuse";

/// The key of an item of the loaded checkpoint that is an object of a class: its attributes are used.
pub(super) fn key_of_object<'a>(
    cx: &PythonChecker<'a>,
    load: Node,
    assigned: &str,
) -> Option<&'a str> {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let scope = names.scope_node(names.scope_of(load));
    let key = |item| key_of(cx, tree.child(item, Field::Subscript)?);
    let items = cx.once("items with a text as their key", || {
        let items = tree
            .nodes()
            .filter(|node| tree.kind(*node) == Kind::Subscript);
        items.filter(|item| key(*item).is_some()).collect()
    });
    let mut loaded = items.iter().copied().filter(|item| {
        let of = tree.child(*item, Field::Value);
        tree.contains(scope, *item)
            && (of == Some(load)
                || !assigned.is_empty()
                    && *item > load
                    && of.is_some_and(|of| tree.text(of) == assigned))
    });
    loaded.find_map(|item| {
        let key = key(item)?;
        (has_attributes(cx, key, item) || is_used_by_name(cx, key, item)).then_some(key)
    })
}

/// `"model"`, and the first text of `"ema" if checkpoint["ema"] else "model"`.
fn key_of<'a>(cx: &PythonChecker<'a>, subscript: Node) -> Option<&'a str> {
    let tree = cx.tree();
    let text = match tree.kind(subscript) {
        Kind::ConditionalExpression => tree.parts(subscript).next()?,
        _ => subscript,
    };
    literal_text(tree, text)
}

/// `checkpoint["args"].width`, `checkpoint["model"].float().state_dict()`
fn has_attributes(cx: &PythonChecker<'_>, key: &str, object: Node) -> bool {
    let tree = cx.tree();
    let mut object = object;
    let mut is_first = true;
    while let Some(attribute) = tree
        .parent(object)
        .filter(|parent| tree.child(*parent, Field::Object) == Some(object))
    {
        let name = tree
            .child(attribute, Field::Attribute)
            .map_or("", |name| tree.text(name));
        if listed(OF_MODELS, name) || is_first && listed(SETTINGS, key) && !listed(OF_PLAIN, name) {
            return true;
        }
        let Some(call) = call_of(cx, attribute).filter(|_| listed(OF_PLAIN, name)) else {
            return false;
        };
        object = call;
        is_first = false;
    }
    false
}

/// `config = checkpoint["config"]`, and `config.width` later.
fn is_used_by_name(cx: &PythonChecker<'_>, key: &str, item: Node) -> bool {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let name = assigned_to(cx, item).filter(|name| tree.kind(*name) == Kind::Identifier);
    let Some(name) = name else {
        return false;
    };
    let scope = names.scope_of(item);
    let is_only = names
        .lookup(scope, tree.text(name))
        .is_some_and(|(home, bindings)| home == scope && bindings.len() == 1);
    is_only
        && cx.within(names.scope_node(scope)).any(|usage| {
            tree.kind(usage) == Kind::Identifier
                && usage > item
                && tree.text(usage) == tree.text(name)
                && has_attributes(cx, key, usage)
        })
}
