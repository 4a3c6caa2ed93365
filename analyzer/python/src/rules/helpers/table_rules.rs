//! Rules defined as data: an import, a name, a call, a keyword or an environment variable, and the message for it.
//!
//! A row of such a table is an [`ApiRule`]. This file contains no rule text and no checks of more than one node.

use super::edits::module_expression;
use crate::checker::{PythonChecker, RawFix, Replacement};
use crate::semantic::{
    Access, QualifiedName, environment_variable, folded, is_import_guarded, string,
};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::rule::Rule;
use hipward_analyzer_core::{Applicability, Arch, Severity, Target, Version};

/// A pattern, its targets, and the message.
pub struct ApiRule {
    pub pattern: ApiPattern,
    pub when: Condition,
    pub severity: Severity,
    /// One sentence. `{arch}`, `{wavefront}` (its lanes), `{rocm}`, `{torch}` and `{python}` are replaced by the
    /// target's values.
    pub message: &'static str,
    pub fix: ApiFix,
}

/// The pattern of a row.
#[derive(Clone, Copy)]
pub enum ApiPattern {
    /// `import module` and `from module import …`, including its submodules, unless the code handles the failure.
    Import(&'static str),
    /// A qualified name, wherever it is used or imported.
    Name(&'static str),
    /// A call of the function with that qualified name.
    Call(&'static str),
    /// A call of a function with a keyword argument that is one of the constants, or any value if there are none.
    Keyword(&'static str, &'static str, &'static [&'static str]),
    /// An environment variable that is set to one of the values, or to any value if there are none.
    Variable(&'static str, &'static [&'static str]),
}

/// The fix of a row.
pub struct ApiFix {
    /// Title, in the imperative.
    pub title: &'static str,
    pub applicability: Applicability,
    /// The replacement: a module, a qualified name, a keyword's value, or a variable's name, with `=value` if the value
    /// changes too. Empty for a display-only fix.
    pub instead: &'static str,
}

impl ApiFix {
    /// To be done by hand.
    pub const fn described(title: &'static str) -> ApiFix {
        ApiFix {
            title,
            applicability: Applicability::DisplayOnly,
            instead: "",
        }
    }

    /// Valid code, but behavior may change.
    pub const fn unsafe_edit(title: &'static str, instead: &'static str) -> ApiFix {
        ApiFix {
            title,
            applicability: Applicability::Unsafe,
            instead,
        }
    }
}

/// The targets of a row.
#[derive(Clone, Copy)]
pub struct Condition {
    pub arch: fn(Arch) -> bool,
    pub rocm: Versions,
    pub torch: Versions,
    pub python: Versions,
}

/// A half-open range of versions.
#[derive(Clone, Copy)]
pub struct Versions {
    pub from: Option<Version>,
    pub before: Option<Version>,
}

impl Versions {
    pub const ALL: Versions = Versions {
        from: None,
        before: None,
    };

    pub const fn before(major: u16, minor: u16) -> Versions {
        Versions {
            from: None,
            before: Some(Version::new(major, minor)),
        }
    }

    fn include(self, version: Version) -> bool {
        self.from.is_none_or(|from| version >= from)
            && self.before.is_none_or(|before| version < before)
    }
}

impl Condition {
    /// Every target.
    pub const ALWAYS: Condition = Condition {
        arch: |_| true,
        rocm: Versions::ALL,
        torch: Versions::ALL,
        python: Versions::ALL,
    };

    /// Targets with an architecture for which `arch` is true.
    pub const fn on(arch: fn(Arch) -> bool) -> Condition {
        Condition {
            arch,
            ..Condition::ALWAYS
        }
    }

    pub fn holds(&self, target: &Target) -> bool {
        (self.arch)(target.arch)
            && self.rocm.include(target.rocm)
            && self.torch.include(target.torch)
            && self.python.include(target.python)
    }
}

/// A row for every target with a display-only fix.
pub const fn api_rule(
    pattern: ApiPattern,
    severity: Severity,
    message: &'static str,
    title: &'static str,
) -> ApiRule {
    ApiRule {
        pattern,
        when: Condition::ALWAYS,
        severity,
        message,
        fix: ApiFix::described(title),
    }
}

/// Reports the first row that matches `node`. A rule with names visits `Attribute` and `ImportFromStatement`, one with
/// imports the import statements and `Call`, one with variables `Subscript`, `Call`, `Pair` and `KeywordArgument`.
pub(crate) fn check(cx: &PythonChecker<'_>, rule: &'static Rule, uses: &[ApiRule], node: Node) {
    let may_import = may_import(cx, node);
    for found in uses {
        if matches!(found.pattern, ApiPattern::Import(_)) && !may_import {
            continue;
        }
        let Some(place) = find(cx, found.pattern, node) else {
            continue;
        };
        if found.when.holds(cx.target()) {
            let message = filled(found.message, cx.target());
            // Only the first import of a module is reported, unless each has its own edit.
            if let ApiPattern::Import(module) = found.pattern
                && found.fix.instead.is_empty()
                && is_reported(cx, rule, module, &message)
            {
                return;
            }
            let suggestion = suggestion(cx, found, &place);
            cx.report_as(rule, found.severity, place.node, message, suggestion);
            return;
        }
    }
}

/// True if `rule` has already reported another import of `module`.
fn is_reported(cx: &PythonChecker<'_>, rule: &Rule, module: &str, message: &str) -> bool {
    let last = module.rsplit('.').next().unwrap_or(module);
    cx.has_reported(rule, &|text, reported| {
        reported == message
            && text
                .strip_prefix(module)
                .or_else(|| text.strip_prefix(last))
                .is_some_and(|rest| !rest.starts_with(is_part_of_a_name))
    })
}

/// Letters outside of ASCII are not told apart from other characters, because their table takes 2 KB.
fn is_part_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// The match of a row.
struct Place {
    /// The node that the finding is attached to.
    node: Node,
    /// The value of a keyword or a variable.
    value: Option<Node>,
}

fn find(cx: &PythonChecker<'_>, pattern: ApiPattern, node: Node) -> Option<Place> {
    let tree = cx.tree();
    let at = |node| Place { node, value: None };
    match (pattern, tree.kind(node)) {
        (ApiPattern::Import(module), _) => imported(cx, node, module).map(at),
        (ApiPattern::Name(name), Kind::ImportFromStatement) => {
            imported_name(cx, node, name).map(at)
        }
        (ApiPattern::Name(name), Kind::Attribute) => {
            let last = tree.text(tree.child(node, Field::Attribute)?);
            (name.ends_with(last) && cx.resolve(node)?.is(name)).then(|| at(node))
        }
        (ApiPattern::Call(name), Kind::Call) => cx.callee(node)?.is(name).then(|| at(node)),
        (ApiPattern::Keyword(function, keyword, values), Kind::KeywordArgument) => {
            if tree.text(tree.child(node, Field::Name)?) != keyword {
                return None;
            }
            let call = tree.parent(tree.parent(node)?)?;
            let value = tree.child(node, Field::Value)?;
            (cx.callee(call)?.is(function) && is_one_of(cx, value, values)).then_some(Place {
                node,
                value: Some(value),
            })
        }
        (
            ApiPattern::Variable(name, values),
            Kind::Subscript | Kind::Call | Kind::Pair | Kind::KeywordArgument,
        ) => {
            let variable = environment_variable(&cx.semantics, node, &[name])?;
            let is_set = variable.access != Access::Read
                && (values.is_empty() || is_one_of(cx, variable.value?, values));
            is_set.then_some(Place {
                node: variable.key,
                value: variable.value,
            })
        }
        _ => None,
    }
}

fn is_one_of(cx: &PythonChecker<'_>, value: Node, values: &[&str]) -> bool {
    if values.is_empty() {
        return true;
    }
    match folded(&cx.semantics, value) {
        Some(text) => values.contains(&&*text),
        None => values.contains(&cx.tree().text(cx.semantics.expression(value))),
    }
}

/// True for an import statement, and for a call that imports by name.
pub(crate) fn may_import(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    match tree.kind(node) {
        Kind::ImportStatement | Kind::ImportFromStatement => true,
        Kind::Call if cx.may_import => tree.child(node, Field::Function).is_some_and(|function| {
            let text = tree.text(function);
            text.ends_with("import_module") || text == "__import__"
        }),
        _ => false,
    }
}

/// The part of `statement` that imports `module` or a submodule, if no code handles its failure.
pub(crate) fn imported(cx: &PythonChecker<'_>, statement: Node, module: &str) -> Option<Node> {
    let tree = cx.tree();
    let covers = |path: &str| {
        path.strip_prefix(module)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let found = match tree.kind(statement) {
        Kind::ImportStatement => tree
            .children_in(statement, Field::Name)
            .find(|item| covers(tree.text(tree.child(*item, Field::Name).unwrap_or(*item)))),
        Kind::ImportFromStatement => {
            let from = tree.child(statement, Field::ModuleName)?;
            let path = tree.text(from);
            if covers(path) {
                Some(from)
            } else {
                // `from nvidia import dali`
                let last = module.strip_prefix(path)?.strip_prefix('.')?;
                tree.children_in(statement, Field::Name)
                    .find(|item| tree.text(tree.child(*item, Field::Name).unwrap_or(*item)) == last)
            }
        }
        // `importlib.import_module("cupy")`
        Kind::Call if may_import(cx, statement) => {
            within(&cx.resolve(statement)?, module).then_some(statement)
        }
        _ => None,
    }?;
    is_unguarded_import(cx, statement, module).then_some(found)
}

/// True if `statement` requires a third-party module: no code handles its failure, and the project does not contain it.
pub(crate) fn is_unguarded_import(cx: &PythonChecker<'_>, statement: Node, module: &str) -> bool {
    let errors = ["ImportError", "ModuleNotFoundError"];
    !cx.is_first_party(module) && !is_import_guarded(&cx.semantics, statement, &errors)
}

fn within(name: &QualifiedName<'_>, module: &str) -> bool {
    name.is(module) || name.is_in(module)
}

/// The item of `from module import name` that imports the qualified name.
fn imported_name(cx: &PythonChecker<'_>, statement: Node, name: &str) -> Option<Node> {
    let tree = cx.tree();
    let module = tree.text(tree.child(statement, Field::ModuleName)?);
    let member = name.strip_prefix(module)?.strip_prefix('.')?;
    let item = tree
        .children_in(statement, Field::Name)
        .find(|item| tree.text(tree.child(*item, Field::Name).unwrap_or(*item)) == member)?;
    is_unguarded_import(cx, statement, module).then_some(item)
}

fn suggestion(cx: &PythonChecker<'_>, found: &ApiRule, place: &Place) -> RawFix {
    let ApiFix {
        title,
        applicability,
        instead,
    } = found.fix;
    let edits = if instead.is_empty() {
        None
    } else {
        edits(cx, found.pattern, instead, place)
    };
    match edits {
        Some(edits) => RawFix {
            title: filled(title, cx.target()),
            applicability,
            edits,
        },
        None => RawFix::display_only(filled(title, cx.target())),
    }
}

fn edits(
    cx: &PythonChecker<'_>,
    pattern: ApiPattern,
    instead: &str,
    place: &Place,
) -> Option<Vec<Replacement>> {
    let tree = cx.tree();
    let node = place.node;
    match pattern {
        ApiPattern::Import(module) => {
            let text = match tree.kind(node) {
                // The local name stays the same, so its uses do not change.
                Kind::DottedName if tree.field(node) == Field::Name => {
                    if tree.text(node) != module {
                        return None;
                    }
                    format!("{instead} as {module}")
                }
                Kind::DottedName => tree.text(node).replacen(module, instead, 1),
                Kind::AliasedImport => {
                    let path = tree.child(node, Field::Name)?;
                    let text = tree.text(path).replacen(module, instead, 1);
                    return Some(vec![(tree.span(path), text)]);
                }
                _ => return None,
            };
            Some(vec![(tree.span(node), text)])
        }
        ApiPattern::Name(old) | ApiPattern::Call(old) => {
            let name = tree.child(node, Field::Function).unwrap_or(node);
            let member = tree.child(name, Field::Attribute)?;
            // Another name in the same module is written in the same way as in the source.
            let (home, last) = instead.rsplit_once('.')?;
            if old
                .strip_prefix(home)
                .is_some_and(|rest| rest.rfind('.') == Some(0))
            {
                return Some(vec![(tree.span(member), last.to_owned())]);
            }
            let (text, import) = module_expression(cx, instead, name);
            Some(
                import
                    .into_iter()
                    .chain([(tree.span(name), text)])
                    .collect(),
            )
        }
        ApiPattern::Keyword(..) => Some(vec![(tree.span(place.value?), instead.to_owned())]),
        ApiPattern::Variable(name, _) => {
            // A name that is a constant elsewhere may have other uses.
            if tree.kind(node) != Kind::String || !tree.text(node).contains(name) {
                return None;
            }
            let (variable, value) = match instead.split_once('=') {
                Some((variable, value)) => (variable, Some(value)),
                None => (instead, None),
            };
            let mut edits = vec![(tree.span(node), tree.text(node).replace(name, variable))];
            if let Some(value) = value {
                let literal = place.value.filter(|literal| {
                    tree.kind(*literal) == Kind::String && string(&cx.semantics, *literal).is_some()
                })?;
                let quote = tree.text(literal).chars().last()?;
                let target = filled(value, cx.target());
                edits.push((tree.span(literal), format!("{quote}{target}{quote}")));
            }
            Some(edits)
        }
    }
}

/// Inserts the target's values into a sentence.
pub fn filled(text: &str, target: &Target) -> String {
    let mut filled = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((key, after)) = after.split_once('}') else {
            rest = after;
            break;
        };
        match key {
            "arch" => filled.push_str(target.arch.name()),
            "rocm" => filled.push_str(&target.rocm.to_string()),
            "wavefront" => filled.push_str(&target.arch.wavefront().to_string()),
            "torch" => filled.push_str(&target.torch.to_string()),
            _ => filled.push_str(&target.python.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}
