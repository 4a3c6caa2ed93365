//! Matchers for qualified names: an import of a module, a use of a name, a call of a function with certain arguments.

use crate::matching::Match;
use hipward_analyzer_python::checker::{PythonChecker, Replacement};
use hipward_analyzer_python::rules::helpers::edits::add_import;
use hipward_analyzer_python::semantic::{Value, integer, is_import_guarded, string};
use hipward_analyzer_python::syntax::{Field, Kind, Node};

/// The kind of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// `import a.b`, `from a.b import c`, `from a import b`, unless the code handles the failure.
    Import,
    /// Any read.
    Use,
    /// Called.
    Call,
}

/// Matches a qualified name.
#[derive(Debug)]
pub(super) struct NameMatcher {
    pub(super) usage: Usage,
    /// `torch.cuda.amp.autocast`.
    pub(super) path: String,
    /// For a call: required arguments with these constants.
    pub(super) arguments: Vec<(Slot, Constant)>,
}

/// Selects an argument of a call.
#[derive(Debug)]
pub(super) enum Slot {
    Position(usize),
    Keyword(String),
}

/// A constant in the source.
#[derive(Debug)]
pub(super) enum Constant {
    Text(String),
    Integer(i64),
    Bool(bool),
}

impl NameMatcher {
    pub(super) fn kinds(&self) -> &'static [Kind] {
        match self.usage {
            Usage::Import => &[Kind::ImportStatement, Kind::ImportFromStatement],
            Usage::Use => &[Kind::Identifier, Kind::Attribute],
            Usage::Call => &[Kind::Call],
        }
    }

    /// The match at `node`; its span is the name, which a fix replaces.
    pub(super) fn find<'a>(&self, cx: &PythonChecker<'a>, node: Node) -> Option<Match<'a>> {
        let name = match self.usage {
            Usage::Import => {
                // As in the built-in rules, an import whose failure is handled is not reported.
                let errors = ["ImportError", "ModuleNotFoundError"];
                let name = imported(cx, node, &self.path)?;
                (!is_import_guarded(&cx.semantics, node, &errors)).then_some(name)?
            }
            Usage::Use => {
                let is_it =
                    is_read(cx, node) && cx.resolve(node).is_some_and(|name| name.is(&self.path));
                is_it.then_some(node)?
            }
            Usage::Call => {
                let arguments = cx.tree().child(node, Field::Arguments)?;
                let is_it = cx.callee(node).is_some_and(|name| name.is(&self.path))
                    && self
                        .arguments
                        .iter()
                        .all(|(slot, constant)| has_argument(cx, arguments, slot, constant));
                is_it.then_some(())?;
                cx.tree().child(node, Field::Function)?
            }
        };
        Some(Match::without_holes(cx.tree().span(name), name))
    }
}

/// The part of an import statement that names `path` or a submodule.
fn imported(cx: &PythonChecker<'_>, statement: Node, path: &str) -> Option<Node> {
    let tree = cx.tree();
    let is_in = |text: &str| {
        text.strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let name = |item: Node| tree.child(item, Field::Name).unwrap_or(item);
    let mut items = tree.children_in(statement, Field::Name);
    if tree.kind(statement) == Kind::ImportStatement {
        return items.map(name).find(|item| is_in(tree.text(*item)));
    }
    let module = tree.child(statement, Field::ModuleName)?;
    if is_in(tree.text(module)) {
        return Some(module);
    }
    // `from a import b` imports the module a.b as well.
    let member = path.strip_prefix(tree.text(module))?.strip_prefix('.')?;
    items.find(|item| tree.text(name(*item)) == member)
}

/// True for a whole expression that reads a name: not a part of a longer name, an import or a definition.
fn is_read(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let Some(parent) = tree.parent(node) else {
        return false;
    };
    match tree.kind(parent) {
        Kind::Attribute => tree.field(node) != Field::Attribute,
        Kind::DottedName
        | Kind::AliasedImport
        | Kind::Parameters
        | Kind::LambdaParameters
        | Kind::FunctionDefinition
        | Kind::ClassDefinition
        | Kind::GlobalStatement
        | Kind::NonlocalStatement
        | Kind::DeleteStatement => false,
        Kind::Assignment | Kind::AugmentedAssignment => tree.field(node) != Field::Left,
        Kind::KeywordArgument
        | Kind::NamedExpression
        | Kind::DefaultParameter
        | Kind::TypedDefaultParameter => tree.field(node) != Field::Name,
        Kind::AsPatternTarget | Kind::PatternList | Kind::TuplePattern | Kind::ListPattern => false,
        Kind::ForStatement | Kind::ForInClause => tree.field(node) != Field::Left,
        _ => true,
    }
}

fn has_argument(cx: &PythonChecker<'_>, arguments: Node, slot: &Slot, constant: &Constant) -> bool {
    let tree = cx.tree();
    let value = match slot {
        Slot::Keyword(keyword) => tree
            .parts(arguments)
            .filter(|argument| tree.kind(*argument) == Kind::KeywordArgument)
            .find(|argument| {
                tree.child(*argument, Field::Name)
                    .is_some_and(|name| tree.text(name) == keyword)
            })
            .and_then(|argument| tree.child(argument, Field::Value)),
        Slot::Position(position) => tree
            .parts(arguments)
            .take_while(|argument| {
                !matches!(
                    tree.kind(*argument),
                    Kind::KeywordArgument | Kind::ListSplat | Kind::DictionarySplat
                )
            })
            .nth(*position),
    };
    value.is_some_and(|value| match constant {
        Constant::Text(text) => string(&cx.semantics, value) == Some(text),
        Constant::Integer(number) => integer(&cx.semantics, value) == Some(*number),
        Constant::Bool(wanted) => {
            let kind = tree.kind(cx.semantics.expression(value));
            kind == if *wanted { Kind::True } else { Kind::False }
        }
    })
}

/// The edit that imports `module` if the source does not; `None` if its name is used for something else.
pub(super) fn import(cx: &PythonChecker<'_>, module: &str) -> Option<Option<Replacement>> {
    let root = module.split('.').next().unwrap_or(module);
    let names = &cx.semantics.names;
    let bindings = names.at_top_level(root);
    if bindings.is_empty() {
        return Some(Some(add_import(cx, &format!("import {module}"))));
    }
    let is_module = bindings
        .iter()
        .all(|binding| binding.value == Value::Module(root));
    let is_there = module == root || names_submodule(cx, module);
    match (is_module, is_there) {
        (true, true) => Some(None),
        (true, false) => Some(Some(add_import(cx, &format!("import {module}")))),
        (false, _) => None,
    }
}

/// True if an import statement of the source names `module` itself.
fn names_submodule(cx: &PythonChecker<'_>, module: &str) -> bool {
    let tree = cx.tree();
    tree.nodes().any(|node| {
        tree.kind(node) == Kind::DottedName
            && tree.text(node) == module
            && tree
                .parent(node)
                .is_some_and(|parent| tree.kind(parent) == Kind::ImportStatement)
    })
}
