//! HW401: `datetime.UTC` before Python 3.11.

use crate::checker::{PythonChecker, RawFix, Replacement};
use crate::rules::helpers::edits::import_item_range;
use crate::semantic::{Value, is_import_guarded};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `datetime.UTC` when the target's Python is older than 3.11.
    ///
    /// ## Why on ROCm
    ///
    /// A port often runs on an older Python: ROCm images shipped 3.10 for years, while `datetime.UTC` was added in
    /// 3.11. On 3.10 `from datetime import UTC` raises `ImportError` before any other code runs.
    /// `datetime.timezone.utc` is the same object, and works in every Python 3.
    ///
    /// ## Example
    ///
    /// ```python python=3.10
    /// from datetime import UTC, datetime
    ///
    /// started = datetime.now(UTC)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python python=3.10
    /// from datetime import timezone, datetime
    ///
    /// started = datetime.now(timezone.utc)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: `datetime.UTC` is an alias of `datetime.timezone.utc`. If the source uses the name `timezone` for
    /// something else, the fix is display-only.
    ///
    /// ## References
    ///
    /// * [datetime.UTC](https://docs.python.org/3/library/datetime.html#datetime.UTC)
    "HW401" "datetime-utc" {
        title: "datetime.UTC needs Python 3.11",
        family: PythonVersion,
        severity: Error,
        applicability: Safe,
        targets: "targets with a Python before 3.11",
        lesson: Some("how-to/python-310"),
        visit: [Attribute, ImportFromStatement],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    if cx.target().python >= Version::new(3, 11) {
        return;
    }
    if cx.tree().kind(node) == Kind::Attribute {
        attribute(cx, node);
    } else {
        import(cx, node);
    }
}

/// `datetime.UTC`, after `import datetime`
fn attribute(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(name) = tree
        .child(node, Field::Attribute)
        .filter(|name| tree.text(*name) == "UTC")
    else {
        return;
    };
    if !cx.resolve(node).is_some_and(|name| name.is("datetime.UTC")) {
        return;
    }
    if is_import_guarded(&cx.semantics, node, &["AttributeError"]) {
        return;
    }
    let edits = vec![(tree.span(name), "timezone.utc".to_owned())];
    cx.report(
        &RULE,
        node,
        message(cx),
        RawFix::safe_edits("Use datetime.timezone.utc", edits),
    );
}

/// `from datetime import UTC`
fn import(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    if tree
        .child(statement, Field::ModuleName)
        .map(|module| tree.text(module))
        != Some("datetime")
    {
        return;
    }
    let original = |item: Node| tree.text(tree.child(item, Field::Name).unwrap_or(item));
    let items: Vec<_> = tree.children_in(statement, Field::Name).collect();
    let Some(item) = items.iter().copied().find(|item| original(*item) == "UTC") else {
        return;
    };
    if is_import_guarded(&cx.semantics, statement, &["ImportError"]) {
        return;
    }
    let title = "Import timezone and use timezone.utc";
    let fix = match import_edits(cx, item) {
        Some(edits) => RawFix::safe_edits(title, edits),
        None => RawFix::display_only(title),
    };
    cx.report(&RULE, item, message(cx), fix);
}

fn message(cx: &PythonChecker<'_>) -> String {
    format!(
        "datetime.UTC was added in Python 3.11; Python {} does not have it.",
        cx.target().python
    )
}

/// Replaces the imported name and each of its uses; `None` if the new name would clash.
fn import_edits(cx: &PythonChecker<'_>, item: Node) -> Option<Vec<Replacement>> {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let local = tree.child(item, Field::Alias).unwrap_or(item);
    let local = tree.text(local);
    let is_timezone = |value: Value<'_>| value == Value::Member("datetime", "timezone");
    let mut has_timezone = false;
    let mut edits = Vec::new();
    for node in tree
        .nodes()
        .filter(|node| tree.kind(*node) == Kind::Identifier)
    {
        let Some(parent) = tree.parent(node) else {
            continue;
        };
        if tree.field(node) == Field::Attribute
            || tree.kind(parent) == Kind::KeywordArgument && tree.field(node) == Field::Name
        {
            continue;
        }
        let text = tree.text(node);
        if text == "timezone" && tree.kind(parent) != Kind::DottedName {
            is_timezone(cx.semantics.binding(node)?.value).then_some(())?;
        }
        if text == local
            && tree.kind(parent) != Kind::DottedName
            && tree.kind(parent) != Kind::AliasedImport
        {
            match cx.semantics.binding(node)?.value {
                Value::Member("datetime", "UTC") => {
                    edits.push((tree.span(node), "timezone.utc".to_owned()))
                }
                _ => return None,
            }
        }
    }
    for binding in names.at_top_level("timezone").iter() {
        has_timezone = true;
        is_timezone(binding.value).then_some(())?;
    }
    if has_timezone {
        edits.push((import_item_range(cx, item)?, String::new()));
    } else {
        edits.push((tree.span(item), "timezone".to_owned()));
    }
    Some(edits)
}
