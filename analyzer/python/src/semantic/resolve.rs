//! Resolves expressions to qualified names: `nvml.nvmlInit` → `pynvml.nvmlInit`.
//!
//! Conservative: if several results are possible, there is none.

use std::cell::{Cell, OnceCell, RefCell};

use super::literal::literal_text;
use super::names::{Binding, Bindings, Names, Scope, Value};
use super::variable::EnvironmentVariable;
use crate::syntax::{Field, Kind, Node, Tree};
use hipward_analyzer_core::Target;

/// The maximum number of aliases, calls and conditions to follow: `a = b; b = a` has no end.
const MAX_DEPTH: u8 = 8;
/// The maximum number of bindings of one name to compare.
const MAX_CANDIDATES: usize = 16;
const MAX_PARTS: usize = 12;

/// A dotted path from a module: `torch.cuda.synchronize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualifiedName<'a> {
    parts: [&'a str; MAX_PARTS],
    length: usize,
}

impl<'a> QualifiedName<'a> {
    fn new(path: &'a str) -> Option<Self> {
        let mut name = QualifiedName {
            parts: [""; MAX_PARTS],
            length: 0,
        };
        for part in path.split('.') {
            name = name.member(part.trim())?;
        }
        Some(name)
    }

    fn member(mut self, part: &'a str) -> Option<Self> {
        *self.parts.get_mut(self.length)? = part;
        self.length += 1;
        Some(self)
    }

    /// Its parts, outermost first.
    pub fn parts(&self) -> &[&'a str] {
        &self.parts[..self.length]
    }

    /// The top-level package.
    pub fn root(&self) -> &'a str {
        self.parts[0]
    }

    /// The last part.
    pub fn last(&self) -> &'a str {
        self.parts().last().copied().unwrap_or_default()
    }

    /// True if it is exactly `path`.
    pub fn is(&self, path: &str) -> bool {
        // The last part decides most comparisons.
        path.ends_with(self.last()) && path.split('.').eq(self.parts().iter().copied())
    }

    /// True if it is one of `paths`.
    pub fn is_any(&self, paths: &[&str]) -> bool {
        paths.iter().any(|path| self.is(path))
    }

    /// True if it is in the module `path`.
    pub fn is_in(&self, path: &str) -> bool {
        let mut parts = self.parts().iter();
        path.split('.').all(|part| parts.next() == Some(&part)) && parts.next().is_some()
    }
}

/// A tree with its names, evaluated for a target.
pub struct Semantics<'a> {
    /// The syntax.
    pub tree: Tree<'a>,
    /// The names that it defines.
    pub names: Names<'a>,
    /// The target.
    pub target: Target,
    /// Functions and constants of the project's other modules that are false on AMD: `acme.utils.is_nvidia`, and
    /// `.utils.is_nvidia` for relative imports, separated by spaces.
    pub false_on_amd: &'a str,
    /// The result of the latest query: rules on one kind of node query the same node in turn.
    latest: Cell<Option<(Node, Option<QualifiedName<'a>>)>>,
    /// The same for environment variables.
    pub(super) latest_variable: RefCell<Option<(Node, Option<EnvironmentVariable<'a>>)>>,
    /// The names that are compared with AMD's.
    pub(super) compared_with_rocm: OnceCell<Vec<&'a str>>,
}

impl<'a> Semantics<'a> {
    /// Collects the names of `tree`.
    pub fn new(tree: Tree<'a>, target: Target) -> Self {
        let names = Names::new(&tree);
        Semantics {
            tree,
            names,
            target,
            false_on_amd: "",
            latest: Cell::new(None),
            latest_variable: RefCell::new(None),
            compared_with_rocm: OnceCell::new(),
        }
    }

    /// The qualified name of the expression at `node`.
    pub fn resolve(&self, node: Node) -> Option<QualifiedName<'a>> {
        if let Some((asked, answer)) = self.latest.get()
            && asked == node
        {
            return answer;
        }
        let answer = self.resolve_within(node, MAX_DEPTH);
        self.latest.set(Some((node, answer)));
        answer
    }

    /// The qualified name of the callee of `call`.
    pub fn callee(&self, call: Node) -> Option<QualifiedName<'a>> {
        if self.tree.kind(call) != Kind::Call {
            return None;
        }
        self.resolve(self.tree.child(call, Field::Function)?)
    }

    fn resolve_within(&self, node: Node, depth: u8) -> Option<QualifiedName<'a>> {
        let depth = depth.checked_sub(1)?;
        let tree = &self.tree;
        // Down to the root of an attribute chain, then up again.
        let mut members = [""; MAX_PARTS];
        let mut length = 0;
        let mut root = tree.unparenthesized(node);
        while tree.kind(root) == Kind::Attribute {
            *members.get_mut(length)? = tree.text(tree.child(root, Field::Attribute)?);
            length += 1;
            root = tree.unparenthesized(tree.child(root, Field::Object)?);
        }
        let mut name = match tree.kind(root) {
            Kind::Identifier => self.resolve_identifier(root, depth)?,
            Kind::Call => self.resolve_call(root, depth)?,
            _ => return None,
        };
        for member in members[..length].iter().rev() {
            name = name.member(member)?;
        }
        Some(name)
    }

    fn resolve_identifier(&self, node: Node, depth: u8) -> Option<QualifiedName<'a>> {
        let text = self.tree.text(node);
        let scope = self.names.scope_of(node);
        match self.names.lookup(scope, text) {
            Some((home, bindings)) => {
                let binding = self.choose(node, scope, home, bindings)?;
                self.resolve_value(binding.value, depth)
            }
            // An unbound name comes from the star import if there is only one. Otherwise it is a builtin, and the
            // result is a name that is in no module. A star import also passes on what its module imports.
            None => match self.names.stars[..] {
                [_, ..] if text == "torch" => QualifiedName::new(text),
                [module] if module != "." => QualifiedName::new(module)?.member(text),
                _ => None,
            },
        }
    }

    fn resolve_value(&self, value: Value<'a>, depth: u8) -> Option<QualifiedName<'a>> {
        match value {
            Value::Module(path) => QualifiedName::new(path),
            Value::Member(module, name) => QualifiedName::new(module)?.member(name),
            Value::Expression(expression) => self.resolve_within(expression, depth),
            _ => None,
        }
    }

    /// `getattr(module, "name")`, `importlib.import_module("name")`, `__import__("name")`.
    fn resolve_call(&self, call: Node, depth: u8) -> Option<QualifiedName<'a>> {
        let tree = &self.tree;
        let function = tree.child(call, Field::Function)?;
        let arguments: Vec<_> = tree.parts(tree.child(call, Field::Arguments)?).collect();
        let builtin = tree.kind(function) == Kind::Identifier
            && self
                .names
                .lookup(self.names.scope_of(function), tree.text(function))
                .is_none();
        match (builtin, tree.text(function), &arguments[..]) {
            (true, "getattr", [object, name, ..]) => {
                let member = literal_text(&self.tree, *name)?;
                self.resolve_within(*object, depth)?.member(member)
            }
            (true, "__import__", [name]) => QualifiedName::new(literal_text(&self.tree, *name)?),
            (false, _, [name]) => {
                let member = literal_text(&self.tree, *name)?;
                let function = self.resolve_within(function, depth)?;
                function
                    .is("importlib.import_module")
                    .then(|| QualifiedName::new(member))
                    .flatten()
            }
            _ => None,
        }
    }

    /// The single binding of the name at `node`, if it can be determined.
    pub fn binding(&self, node: Node) -> Option<Binding<'a>> {
        if self.tree.kind(node) != Kind::Identifier {
            return None;
        }
        let scope = self.names.scope_of(node);
        let (home, bindings) = self.names.lookup(scope, self.tree.text(node))?;
        self.choose(node, scope, home, bindings)
    }

    /// The expression that was last assigned to the name at `node`, if it can be determined; otherwise `node` itself.
    pub fn expression(&self, node: Node) -> Node {
        let mut current = self.tree.unparenthesized(node);
        for _ in 0..MAX_DEPTH {
            match self.binding(current).map(|binding| binding.value) {
                Some(Value::Expression(expression)) => {
                    current = self.tree.unparenthesized(expression)
                }
                _ => break,
            }
        }
        current
    }

    fn choose(
        &self,
        usage: Node,
        scope: Scope,
        home: Scope,
        bindings: Bindings<'_, 'a>,
    ) -> Option<Binding<'a>> {
        // A function uses the final bindings of its module; other code uses the earlier ones.
        let mut visible = bindings;
        if scope == home {
            // `x = x.cuda()`: the name on the right is the earlier one.
            let before = bindings.before(usage);
            let own = before
                .iter()
                .rev()
                .take_while(|binding| self.is_own_value(*binding, usage))
                .count();
            let before = before.take(before.len() - own);
            if !before.is_empty() {
                visible = before;
            }
        }
        let latest = visible.last()?;
        if visible.len() == 1 || self.always_runs_before(latest, usage, scope == home) {
            return Some(latest);
        }
        // Several branches: the import has priority over `x = None` and over the replacement in an `except`; otherwise
        // all have to be the same.
        if visible.len() > MAX_CANDIDATES {
            return None;
        }
        let mut candidates = visible.iter().filter(|binding| !self.is_fallback(binding));
        let first = candidates.next()?;
        candidates
            .all(|other| match (first.value, other.value) {
                (Value::Module(a), Value::Module(b)) => a == b,
                (Value::Member(a, x), Value::Member(b, y)) => (a, x) == (b, y),
                _ => false,
            })
            .then_some(first)
    }

    /// True for the target of the assignment whose right side contains `usage`.
    fn is_own_value(&self, binding: Binding<'a>, usage: Node) -> bool {
        match binding.value {
            Value::Expression(value) | Value::Unpacked(value, _) | Value::Context(value) => {
                self.tree.contains(value, usage)
            }
            _ => false,
        }
    }

    fn always_runs_before(&self, binding: Binding<'a>, usage: Node, same_scope: bool) -> bool {
        if matches!(binding.value, Value::Parameter(_)) {
            return true;
        }
        let block = self.tree.block(binding.node);
        if same_scope {
            self.tree.contains(block, usage)
        } else {
            block == self.tree.root()
        }
    }

    fn is_fallback(&self, binding: &Binding<'a>) -> bool {
        let tree = &self.tree;
        if let Value::Expression(value) = binding.value
            && matches!(tree.kind(value), Kind::None | Kind::False | Kind::True)
        {
            return true;
        }
        tree.ancestors(binding.node)
            .take_while(|node| !matches!(tree.kind(*node), Kind::FunctionDefinition | Kind::Module))
            .any(|node| tree.kind(node) == Kind::ExceptClause)
    }
}
