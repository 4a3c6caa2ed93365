//! Does the source set a variable's counterpart as well? Then its author has dealt with ROCm.

use crate::checker::Checker;
use crate::semantic::{Access, environment_variable};

/// True when the source sets one of `names` anywhere. `key` is the asking rule's id.
pub(crate) fn sets_any(cx: &Checker<'_>, key: &'static str, names: &[&str]) -> bool {
    let find = || {
        cx.tree()
            .nodes()
            .find(|node| {
                environment_variable(&cx.semantics, *node, names)
                    .is_some_and(|variable| variable.access != Access::Read)
            })
            .into_iter()
            .collect()
    };
    !cx.once(key, find).is_empty()
}
