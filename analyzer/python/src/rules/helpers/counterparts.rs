//! Checks whether a source also sets the ROCm equivalent of a variable, which means that it already supports ROCm.

use crate::checker::PythonChecker;
use crate::semantic::{Access, environment_variable};

/// True if the source sets one of `names` anywhere. `key` is the id of the calling rule.
pub(crate) fn sets_any(cx: &PythonChecker<'_>, key: &'static str, names: &[&str]) -> bool {
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
