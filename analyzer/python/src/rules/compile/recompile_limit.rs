//! HW502: Dynamo's recompilation limit under its old name.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, contains_any};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `torch._dynamo.config.cache_size_limit` and related settings, whether set, read or patched.
    ///
    /// ## Why on ROCm
    ///
    /// Since PyTorch 2.7 the setting is called `recompile_limit`, on every backend; the old name is an alias. The
    /// reason for raising the limit matters more than the name: past the limit (8), Dynamo silently stops compiling the
    /// function and runs it eagerly. A higher limit only delays this, and each recompilation is as expensive on an AMD
    /// GPU as on any other. `TORCH_LOGS=recompiles` shows the guard that fails; often `dynamic=True` or
    /// `torch._dynamo.mark_dynamic` removes the cause.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// torch._dynamo.config.cache_size_limit = 64
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// torch._dynamo.config.recompile_limit = 64
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: both names are the same setting from PyTorch 2.7 on. The rule reports nothing for an older target.
    ///
    /// ## References
    ///
    /// * [pytorch#143709: Rename cache limit to recompile limit](https://github.com/pytorch/pytorch/pull/143709)
    /// * [Dealing with recompilations](https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html)
    "HW502" "recompile-limit" {
        title: "The recompile limit under its old name",
        family: Compile,
        severity: Info,
        applicability: Safe,
        targets: "PyTorch 2.7 and newer",
        lesson: Some("optimize/torch-compile"),
        visit: [Attribute, KeywordArgument],
    }
}

const NAMES: [(&str, &str); 3] = [
    ("cache_size_limit", "recompile_limit"),
    (
        "accumulated_cache_size_limit",
        "accumulated_recompile_limit",
    ),
    ("fail_on_cache_limit_hit", "fail_on_recompile_limit_hit"),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let field = match tree.kind(node) {
        Kind::Attribute => Field::Attribute,
        _ => Field::Name,
    };
    let Some(name) = tree.child(node, field) else {
        return;
    };
    let Some((_, new)) = NAMES.iter().find(|(old, _)| *old == tree.text(name)) else {
        return;
    };
    if cx.target().torch < Version::new(2, 7)
        || !is_dynamo_config(cx, node)
        || is_by_version(cx, node)
    {
        return;
    }
    cx.report(
        &RULE,
        name,
        "An alias since PyTorch 2.7. Past the limit the function runs in eager mode; TORCH_LOGS=recompiles names the cause.",
        RawFix::safe_edits("Use the new name", vec![(tree.span(name), (*new).to_owned())]),
    );
}

fn is_dynamo_config(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    if tree.kind(node) == Kind::Attribute {
        return cx
            .resolve(node)
            .is_some_and(|name| name.is_in("torch._dynamo.config"));
    }
    // `torch._dynamo.config.patch(cache_size_limit=64)`
    tree.parent(node)
        .and_then(|arguments| tree.parent(arguments))
        .is_some_and(|call| {
            called(cx, call) == "patch"
                && cx
                    .callee(call)
                    .is_some_and(|name| name.is("torch._dynamo.config.patch"))
        })
}

/// The author selects the name that this PyTorch has: `if hasattr(config, "recompile_limit")`.
fn is_by_version(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .filter(|ancestor| matches!(tree.kind(*ancestor), Kind::IfStatement | Kind::TryStatement))
        .any(|ancestor| {
            let text = tree.text(ancestor);
            contains_any(text, &["hasattr", "recompile_limit", "version"])
        })
}
