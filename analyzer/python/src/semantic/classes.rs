//! The base classes of a class, followed through the classes of the same source.

use super::names::Value;
use super::resolve::{QualifiedName, Semantics};
use crate::syntax::{Field, Node};

/// How many base classes are followed: `class A(B)`, `class B(nn.Module)`.
const MAX_DEPTH: u8 = 8;

/// True if `class` has a direct or indirect base that `is_base` accepts.
pub(super) fn derives_from(
    semantics: &Semantics<'_>,
    class: Node,
    is_base: fn(&QualifiedName<'_>) -> bool,
) -> bool {
    derives(semantics, class, is_base, MAX_DEPTH)
}

/// True if `class` is a `torch.nn.Module`: one of its bases is a module of torch or Lightning.
pub fn is_nn_module(semantics: &Semantics<'_>, class: Node) -> bool {
    derives_from(semantics, class, |name| {
        name.is_in("torch.nn") || name.last() == "LightningModule"
    })
}

fn derives(
    semantics: &Semantics<'_>,
    class: Node,
    is_base: fn(&QualifiedName<'_>) -> bool,
    depth: u8,
) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = &semantics.tree;
    let Some(bases) = tree.child(class, Field::Superclasses) else {
        return false;
    };
    tree.parts(bases).any(|base| {
        if let Some(name) = semantics.resolve(base) {
            return is_base(&name);
        }
        // `Base = nn.Module if … else object` and `A = B` also refer to a class.
        let base = semantics.expression(base);
        matches!(
            semantics.binding(base).map(|binding| binding.value),
            Some(Value::Class(parent))
                if parent != class && derives(semantics, parent, is_base, depth)
        )
    })
}
