//! Edits that several rules make: adding imports, and removing names from import statements.

use hipward_analyzer_core::position::newline;
use std::ops::Range;
use std::slice::SliceIndex;

use crate::checker::{PythonChecker, Replacement};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

/// Adds an import after the module's docstring and its first imports.
pub fn add_import(cx: &PythonChecker<'_>, statement: &str) -> Replacement {
    let tree = cx.tree();
    let source = tree.source();
    let newline = newline(source);
    let mut last = None;
    for child in tree.children(tree.root()) {
        let belongs = match tree.kind(child) {
            Kind::Comment => continue,
            Kind::ImportStatement | Kind::ImportFromStatement | Kind::FutureImportStatement => true,
            Kind::ExpressionStatement => tree
                .parts(child)
                .next()
                .is_some_and(|only| tree.kind(only) == Kind::String),
            _ => false,
        };
        if !belongs {
            break;
        }
        last = Some(child);
    }
    match last {
        Some(last) => {
            let end = line_end(source, tree.end(last));
            (end..end, format!("{newline}{statement}"))
        }
        None => {
            // After a byte order mark, a `#!` line and an encoding comment.
            let mut at = if source.starts_with('\u{feff}') {
                '\u{feff}'.len_utf8()
            } else {
                0
            };
            while part(source, at..).starts_with('#') {
                let end = line_end(source, at);
                match part(source, end..).find('\n') {
                    Some(length) => at = end + length + 1,
                    None => break,
                }
            }
            (at..at, format!("{statement}{newline}"))
        }
    }
}

/// The expression for the module `path` at `node`, with the import it needs if there is none yet.
pub fn module_expression(
    cx: &PythonChecker<'_>,
    path: &str,
    node: Node,
) -> (String, Option<Replacement>) {
    let names = &cx.semantics.names;
    let mut module = path;
    loop {
        let (parent, last) = module.rsplit_once('.').unwrap_or(("", module));
        let is_it = |value: Value<'_>| match value {
            Value::Module(bound) => bound == module,
            Value::Member(bound, name) => bound == parent && name == last,
            _ => false,
        };
        // The name has one meaning in the module, and no other in the scopes up to `node`.
        let found = names.top_level().find(|(name, bindings)| {
            bindings.len() == 1
                && bindings.iter().all(|only| is_it(only.value))
                && names
                    .lookup(names.scope_of(node), name)
                    .is_some_and(|(home, _)| names.scope_node(home) == cx.tree().root())
        });
        if let Some((name, _)) = found {
            let rest = part(path, module.len()..);
            return (format!("{name}{rest}"), None);
        }
        if parent.is_empty() {
            let import = add_import(cx, &format!("import {module}"));
            return (path.to_owned(), Some(import));
        }
        module = parent;
    }
}

/// The range that removes `item` from the list of an import statement, including its comma; the whole statement with
/// its line if nothing else is imported.
pub fn import_item_range(cx: &PythonChecker<'_>, item: Node) -> Option<Range<usize>> {
    let tree = cx.tree();
    let statement = tree.parent(item)?;
    let items: Vec<_> = tree.children_in(statement, Field::Name).collect();
    let position = items.iter().position(|other| *other == item)?;
    if let Some(next) = items.get(position + 1) {
        return Some(tree.start(item)..tree.start(*next));
    }
    if position > 0 {
        return Some(tree.end(items[position - 1])..tree.end(item));
    }
    // An empty block is not valid Python.
    let siblings = tree.parts(tree.block(statement)).count();
    if siblings == 1 && tree.block(statement) != tree.root() {
        return None;
    }
    let source = tree.source();
    let line_start = part(source, ..tree.start(statement))
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let end = line_end(source, tree.end(statement));
    let alone = part(source, line_start..tree.start(statement))
        .trim()
        .is_empty()
        && part(source, tree.end(statement)..end).trim().is_empty();
    if !alone {
        return None;
    }
    let after = part(source, end..)
        .find('\n')
        .map_or(source.len(), |at| end + at + 1);
    Some(line_start..after)
}

/// Adds `name=value` after the last argument of a call, also after a trailing comma.
pub fn add_keyword(cx: &PythonChecker<'_>, call: Node, keyword: &str) -> Option<Replacement> {
    let tree = cx.tree();
    let arguments = tree.child(call, Field::Arguments)?;
    let text = tree.text(arguments);
    let written = text.strip_suffix(')').unwrap_or(text).trim_end();
    let separator = if written.ends_with(',') { " " } else { ", " };
    let end = tree.start(arguments) + written.len();
    Some((end..end, format!("{separator}{keyword}")))
}

/// The indentation of the line of `byte`, if only white space precedes `byte`.
pub fn indentation(source: &str, byte: usize) -> Option<&str> {
    let before = part(source, ..byte);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let indent = part(before, start..).trim_start_matches('\u{feff}');
    indent.trim().is_empty().then_some(indent)
}

/// Returns an empty slice instead of panicking.
fn part(text: &str, range: impl SliceIndex<str, Output = str>) -> &str {
    text.get(range).unwrap_or_default()
}

fn line_end(source: &str, from: usize) -> usize {
    part(source, from..)
        .find(['\n', '\r'])
        .map_or(source.len(), |length| from + length)
}
