//! Environment variables that a source reads or writes: `os.environ["X"] = "1"` and similar.

use std::borrow::Cow;

use super::constants::folded;
use super::resolve::Semantics;
use super::variable::{Access, EnvironmentVariable};
use crate::syntax::{Field, Kind, Node};

/// How many entries of a dictionary are searched for a copy of the environment: it is usually the first.
const MAX_SPLATS: usize = 64;

/// The access to one of `names` at `node`: a subscript, a call, a dictionary entry or a keyword argument.
pub fn environment_variable<'a>(
    semantics: &Semantics<'a>,
    node: Node,
    names: &[&str],
) -> Option<EnvironmentVariable<'a>> {
    // Every rule on variables queries the same node in turn.
    let mut latest = semantics.latest_variable.borrow_mut();
    if latest.as_ref().is_none_or(|(asked, _)| *asked != node) {
        *latest = Some((node, variable_at(semantics, node)));
    }
    let (_, variable) = latest.as_ref()?;
    variable
        .as_ref()
        .filter(|variable| names.contains(&&*variable.name))
        .cloned()
}

fn variable_at<'a>(semantics: &Semantics<'a>, node: Node) -> Option<EnvironmentVariable<'a>> {
    let tree = &semantics.tree;
    let named = |key: Node| folded(semantics, key).filter(|name| is_variable(name));
    match tree.kind(node) {
        Kind::Subscript => {
            let key = tree.child(node, Field::Subscript)?;
            let name = named(key)?;
            let access = holder(semantics, tree.child(node, Field::Value)?)?;
            let parent = tree.parent(node)?;
            let is_target =
                tree.kind(parent) == Kind::Assignment && tree.field(node) == Field::Left;
            if tree.kind(parent) == Kind::DeleteStatement {
                return None;
            }
            Some(EnvironmentVariable {
                name,
                key,
                value: is_target
                    .then(|| tree.child(parent, Field::Right))
                    .flatten(),
                access: if is_target { access } else { Access::Read },
            })
        }
        Kind::Call => {
            let function = tree.child(node, Field::Function)?;
            let (access, has_value) = function_access(semantics, function)?;
            let mut arguments = tree.parts(tree.child(node, Field::Arguments)?);
            let key = arguments.next()?;
            Some(EnvironmentVariable {
                name: named(key)?,
                key,
                value: arguments.next().filter(|_| has_value),
                access,
            })
        }
        Kind::Pair => {
            let key = tree.child(node, Field::Key)?;
            let name = named(key)?;
            Some(EnvironmentVariable {
                name,
                key,
                value: tree.child(node, Field::Value),
                access: dictionary_access(semantics, tree.parent(node)?)?,
            })
        }
        Kind::KeywordArgument => {
            let key = tree.child(node, Field::Name)?;
            let name = Some(Cow::Borrowed(tree.text(key))).filter(|name| is_variable(name))?;
            let arguments = tree.parent(node)?;
            Some(EnvironmentVariable {
                name,
                key,
                value: tree.child(node, Field::Value),
                access: call_access(semantics, tree.parent(arguments)?)?,
            })
        }
        _ => None,
    }
}

/// True for a text in the style of variable names: `NCCL_P2P_LEVEL`.
fn is_variable(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether `node` is this process's environment, or a copy for a child process.
fn holder(semantics: &Semantics<'_>, node: Node) -> Option<Access> {
    if semantics
        .resolve(node)
        .is_some_and(|name| name.is("os.environ"))
    {
        return Some(Access::Set);
    }
    is_copy(semantics, semantics.expression(node)).then_some(Access::SetForChild)
}

/// `os.environ.copy()`, `dict(os.environ)`, `{**os.environ}`, `copy.deepcopy(os.environ)`.
fn is_copy(semantics: &Semantics<'_>, node: Node) -> bool {
    let tree = &semantics.tree;
    let is_environ = |node| {
        semantics
            .resolve(node)
            .is_some_and(|name| name.is("os.environ"))
    };
    match tree.kind(node) {
        Kind::Call => {
            semantics
                .callee(node)
                .is_some_and(|name| name.is("os.environ.copy"))
                || tree
                    .child(node, Field::Arguments)
                    .and_then(|arguments| tree.parts(arguments).next())
                    .is_some_and(is_environ)
        }
        // Queried for each of its entries.
        Kind::Dictionary => tree.parts(node).take(MAX_SPLATS).any(|part| {
            tree.kind(part) == Kind::DictionarySplat
                && tree.parts(part).next().is_some_and(is_environ)
        }),
        _ => false,
    }
}

fn dictionary_access(semantics: &Semantics<'_>, dictionary: Node) -> Option<Access> {
    let tree = &semantics.tree;
    if is_copy(semantics, dictionary) {
        return Some(Access::SetForChild);
    }
    let parent = tree.parent(dictionary)?;
    match tree.kind(parent) {
        Kind::ArgumentList => {
            let call = tree.parent(parent)?;
            // `image.env({…})`: the variables of a container.
            let function = tree.child(call, Field::Function)?;
            let method = tree.child(function, Field::Attribute);
            if method.is_some_and(|method| tree.text(method) == "env") {
                return Some(Access::SetForChild);
            }
            call_access(semantics, call)
        }
        // `os.environ |= {…}`.
        Kind::AugmentedAssignment => holder(semantics, tree.child(parent, Field::Left)?),
        Kind::KeywordArgument if tree.text(tree.child(parent, Field::Name)?) == "env" => {
            let call = tree.parent(tree.parent(parent)?)?;
            semantics
                .callee(call)
                .is_some_and(|function| function.is_in("subprocess"))
                .then_some(Access::SetForChild)
        }
        _ => None,
    }
}

/// `os.putenv`, `os.getenv`, `os.environ.setdefault`, `os.environ.get`: the kind of access, and whether it has a value.
fn function_access(semantics: &Semantics<'_>, function: Node) -> Option<(Access, bool)> {
    let tree = &semantics.tree;
    if let Some(name) = semantics.resolve(function) {
        if name.is("os.putenv") {
            return Some((Access::Set, true));
        }
        if name.is("os.getenv") {
            return Some((Access::Read, false));
        }
    }
    let (sets, has_value) = match tree.text(tree.child(function, Field::Attribute)?) {
        "setdefault" => (true, true),
        "get" => (false, false),
        _ => return None,
    };
    let holder = holder(semantics, tree.child(function, Field::Object)?)?;
    Some((if sets { holder } else { Access::Read }, has_value))
}

/// `os.environ.update(…)`, `dict(os.environ, …)`.
fn call_access(semantics: &Semantics<'_>, call: Node) -> Option<Access> {
    let tree = &semantics.tree;
    let function = tree.child(call, Field::Function)?;
    if tree.text(function) == "dict" && is_copy(semantics, call) {
        return Some(Access::SetForChild);
    }
    let method = tree.child(function, Field::Attribute)?;
    (tree.text(method) == "update")
        .then(|| holder(semantics, tree.child(function, Field::Object)?))
        .flatten()
}
