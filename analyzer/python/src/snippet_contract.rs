//! Finds the parts of the snippet contract in a source.

use crate::semantic::{Semantics, Value, is_nn_module};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Contract;

/// Looks for `Model`, `ModelNew`, `get_inputs` and `get_init_inputs` at the top level.
pub(crate) fn detect(semantics: &Semantics<'_>) -> Contract {
    let names = &semantics.names;
    let has_function = |name: &'static str| {
        names
            .at_top_level(name)
            .iter()
            .any(|binding| match binding.value {
                Value::Function(_) => true,
                Value::Expression(value) => semantics.tree.kind(value) == Kind::Lambda,
                _ => false,
            })
    };
    let has_class = |name: &'static str| {
        names.at_top_level(name).iter().any(
            |binding| matches!(binding.value, Value::Class(class) if is_nn_module(semantics, class)),
        )
    };
    Contract {
        model: has_class("Model"),
        model_new: has_class("ModelNew"),
        get_inputs: has_function("get_inputs"),
        get_init_inputs: has_function("get_init_inputs"),
        modules: modules(semantics)
            .filter(|(name, _)| !matches!(*name, "Model" | "ModelNew"))
            .map(|(name, _)| name.to_owned())
            .collect(),
    }
}

/// The top-level classes that derive from `nn.Module`, in order.
pub(crate) fn modules<'s, 'a>(
    semantics: &'s Semantics<'a>,
) -> impl Iterator<Item = (&'a str, Node)> + use<'s, 'a> {
    let tree = &semantics.tree;
    tree.parts(tree.root())
        .filter_map(|statement| match tree.kind(statement) {
            Kind::ClassDefinition => Some(statement),
            Kind::DecoratedDefinition => tree
                .child(statement, Field::Definition)
                .filter(|definition| tree.kind(*definition) == Kind::ClassDefinition),
            _ => None,
        })
        .filter(|class| is_nn_module(semantics, *class))
        .filter_map(|class| Some((tree.text(tree.child(class, Field::Name)?), class)))
}
