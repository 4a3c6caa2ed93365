//! Finds every binding of a name, in one pass over the tree.

use super::{Binding, Entry, MODULE, Names, Scope, ScopeEntry, Value, hash};
use crate::syntax::{Field, Kind, Node, Tree};

/// How many `=` of one statement are followed to the value.
const MAX_CHAIN: usize = 8;

/// The names of `tree`, sorted by position.
pub(super) fn collect<'a>(tree: &Tree<'a>) -> Names<'a> {
    let mut collector = Collector {
        tree,
        names: Names {
            scopes: Vec::new(),
            scope_of: Vec::with_capacity(tree.node_count()),
            bindings: Vec::new(),
            collides: false,
            stars: Vec::new(),
        },
        open: Vec::new(),
        bodies: Vec::new(),
        rebound: Vec::new(),
    };
    let module = collector.add_scope(tree.root(), false);
    collector.open.push((tree.root(), module));
    for node in tree.nodes() {
        collector.visit(node);
    }
    collector.names
}

struct Collector<'t, 'a> {
    tree: &'t Tree<'a>,
    names: Names<'a>,
    /// Scopes around the current node, with the node whose end closes them.
    open: Vec<(Node, Scope)>,
    /// Bodies whose scope is known before they are reached. As in Python, decorators, defaults, annotations and base
    /// classes are outside of them.
    bodies: Vec<(Node, Scope)>,
    /// Names that `global` or `nonlocal` move to another scope.
    rebound: Vec<(Scope, &'a str, Scope)>,
}

impl<'a> Collector<'_, 'a> {
    fn visit(&mut self, node: Node) {
        while self
            .open
            .last()
            .is_some_and(|(opener, _)| !self.tree.contains(*opener, node))
        {
            self.open.pop();
        }
        let tree = self.tree;
        if let Some(position) = self.bodies.iter().rposition(|(body, _)| *body == node) {
            self.open.push(self.bodies.swap_remove(position));
        }
        self.names.scope_of.push(self.scope());
        match tree.kind(node) {
            Kind::ImportStatement => self.import(node),
            Kind::ImportFromStatement => self.import_from(node),
            Kind::Assignment => {
                // `x: int` without a value is only a declaration, not a binding.
                if let Some((left, right)) = tree
                    .child(node, Field::Left)
                    .zip(tree.child(node, Field::Right))
                {
                    self.assign(left, right);
                }
            }
            Kind::AugmentedAssignment | Kind::ForStatement | Kind::ForInClause => {
                if let Some(left) = tree.child(node, Field::Left) {
                    self.bind_pattern(left);
                }
            }
            Kind::NamedExpression => {
                if let Some((name, value)) = tree
                    .child(node, Field::Name)
                    .zip(tree.child(node, Field::Value))
                {
                    self.bind(name, Value::Expression(value));
                }
            }
            Kind::AsPattern => self.as_pattern(node),
            Kind::DeleteStatement => {
                for target in tree
                    .subtree(node)
                    .filter(|target| tree.kind(*target) == Kind::Identifier)
                {
                    if tree.parent(target).is_some_and(|parent| {
                        matches!(
                            tree.kind(parent),
                            Kind::DeleteStatement | Kind::ExpressionList
                        )
                    }) {
                        self.bind(target, Value::Unknown);
                    }
                }
            }
            Kind::CasePattern => {
                for name in tree
                    .subtree(node)
                    .filter(|name| tree.kind(*name) == Kind::DottedName)
                {
                    let parts: Vec<_> = tree.parts(name).collect();
                    if let [only] = parts[..] {
                        self.bind(only, Value::Unknown);
                    }
                }
            }
            Kind::GlobalStatement => self.rebind(node, true),
            Kind::NonlocalStatement => self.rebind(node, false),
            Kind::FunctionDefinition => {
                if let Some(name) = tree.child(node, Field::Name) {
                    self.bind(name, Value::Function(node));
                }
                self.function(node);
            }
            Kind::Lambda => self.function(node),
            Kind::ClassDefinition => {
                if let Some(name) = tree.child(node, Field::Name) {
                    self.bind(name, Value::Class(node));
                }
                if let Some(body) = tree.child(node, Field::Body) {
                    let scope = self.add_scope(node, true);
                    self.bodies.push((body, scope));
                }
            }
            Kind::ListComprehension
            | Kind::SetComprehension
            | Kind::DictionaryComprehension
            | Kind::GeneratorExpression => {
                let scope = self.add_scope(node, false);
                self.open.push((node, scope));
            }
            _ => {}
        }
    }

    fn scope(&self) -> Scope {
        self.open.last().map_or(MODULE, |(_, scope)| *scope)
    }

    fn add_scope(&mut self, node: Node, is_class: bool) -> Scope {
        let scope = Scope(self.names.scopes.len() as u32);
        self.names.scopes.push(ScopeEntry {
            node,
            parent: self.open.last().map(|(_, scope)| *scope),
            is_class,
            bindings: 0..0,
        });
        scope
    }

    fn function(&mut self, node: Node) {
        let Some(body) = self.tree.child(node, Field::Body) else {
            return;
        };
        let scope = self.add_scope(node, false);
        self.bodies.push((body, scope));
        self.open.push((node, scope));
        self.parameters(node);
        self.open.pop();
    }

    fn bind(&mut self, node: Node, value: Value<'a>) {
        let name = self.tree.text(node);
        let here = self.scope();
        let scope = self
            .rebound
            .iter()
            .find(|(from, rebound, _)| *from == here && *rebound == name)
            .map_or(here, |(_, _, home)| *home);
        // A value assigned in another function is not followed: the time of the call is unknown.
        let value = if scope == here { value } else { Value::Unknown };
        self.names.bindings.push(Entry {
            scope,
            name,
            hash: hash(name),
            binding: Binding { node, value },
        });
    }

    fn import(&mut self, statement: Node) {
        for item in self
            .tree
            .children_in(statement, Field::Name)
            .collect::<Vec<_>>()
        {
            if self.tree.kind(item) == Kind::AliasedImport {
                if let Some((name, alias)) = self
                    .tree
                    .child(item, Field::Name)
                    .zip(self.tree.child(item, Field::Alias))
                {
                    self.bind(alias, Value::Module(self.tree.text(name)));
                }
            } else if let Some(first) = self.tree.parts(item).next() {
                self.bind(first, Value::Module(self.tree.text(first)));
            }
        }
    }

    fn import_from(&mut self, statement: Node) {
        let tree = self.tree;
        let module = tree
            .child(statement, Field::ModuleName)
            .filter(|module| tree.kind(*module) == Kind::DottedName)
            .map(|module| tree.text(module));
        for item in tree.children_in(statement, Field::Name).collect::<Vec<_>>() {
            let (name, bound) = if tree.kind(item) == Kind::AliasedImport {
                (
                    tree.child(item, Field::Name),
                    tree.child(item, Field::Alias),
                )
            } else {
                (Some(item), tree.parts(item).next())
            };
            if let Some((name, bound)) = name.zip(bound) {
                // The content of a relative import is unknown here.
                let value = module.map_or(Value::Unknown, |module| {
                    Value::Member(module, tree.text(name))
                });
                self.bind(bound, value);
            }
        }
        if tree
            .parts(statement)
            .any(|part| tree.kind(part) == Kind::WildcardImport)
        {
            // A relative star import may bind any name: unbound names become unknown, as with a second star import.
            self.names.stars.push(module.unwrap_or("."));
        }
    }

    fn assign(&mut self, left: Node, right: Node) {
        let tree = self.tree;
        // `a = b = value`: the right side of the outer assignment is the inner one. A longer chain is not followed,
        // because each of its parts would be followed to the end.
        let mut value = right;
        for _ in 0..MAX_CHAIN {
            if tree.kind(value) != Kind::Assignment {
                break;
            }
            match tree.child(value, Field::Right) {
                Some(inner) => value = inner,
                None => return,
            }
        }
        match tree.kind(left) {
            Kind::Identifier => self.bind(left, Value::Expression(value)),
            Kind::PatternList | Kind::TuplePattern | Kind::ListPattern => {
                let targets: Vec<_> = tree.parts(left).collect();
                let values = match tree.kind(value) {
                    Kind::ExpressionList | Kind::Tuple | Kind::List => tree.parts(value).collect(),
                    _ => Vec::new(),
                };
                for (index, target) in targets.iter().enumerate() {
                    if tree.kind(*target) != Kind::Identifier {
                        self.bind_pattern(*target);
                    } else if values.len() == targets.len() {
                        self.bind(*target, Value::Expression(values[index]));
                    } else {
                        self.bind(*target, Value::Unpacked(value, index));
                    }
                }
            }
            _ => {}
        }
    }

    /// Binds every name of a pattern to an unknown value; `a.b` and `a[0]` bind nothing.
    fn bind_pattern(&mut self, pattern: Node) {
        let tree = self.tree;
        let mut next = Some(pattern);
        let mut rest: Vec<Node> = Vec::new();
        while let Some(node) = next.or_else(|| rest.pop()) {
            next = None;
            match tree.kind(node) {
                Kind::Identifier => self.bind(node, Value::Unknown),
                Kind::PatternList
                | Kind::TuplePattern
                | Kind::ListPattern
                | Kind::ListSplatPattern
                | Kind::DictionarySplatPattern
                | Kind::Tuple
                | Kind::ExpressionList
                | Kind::AsPatternTarget => rest.extend(tree.parts(node)),
                _ => {}
            }
        }
    }

    fn as_pattern(&mut self, node: Node) {
        let tree = self.tree;
        let Some(target) = tree.child(node, Field::Alias) else {
            return;
        };
        let value = tree.parts(node).next();
        let name = tree.parts(target).next().unwrap_or(target);
        let in_except = tree
            .parent(node)
            .is_some_and(|parent| tree.kind(parent) == Kind::ExceptClause);
        match (tree.kind(name), value) {
            (Kind::Identifier, Some(value)) if !in_except => self.bind(name, Value::Context(value)),
            _ => self.bind_pattern(target),
        }
    }

    fn parameters(&mut self, function: Node) {
        let tree = self.tree;
        let Some(list) = tree.child(function, Field::Parameters) else {
            return;
        };
        for parameter in tree.parts(list).collect::<Vec<_>>() {
            match tree.kind(parameter) {
                Kind::Identifier => self.bind(parameter, Value::Parameter(None)),
                Kind::DefaultParameter | Kind::TypedDefaultParameter => {
                    if let Some(name) = tree.child(parameter, Field::Name) {
                        self.bind(name, Value::Parameter(tree.child(parameter, Field::Value)));
                    }
                }
                Kind::TypedParameter | Kind::ListSplatPattern | Kind::DictionarySplatPattern => {
                    let name = tree
                        .subtree(parameter)
                        .find(|node| tree.kind(*node) == Kind::Identifier);
                    if let Some(name) = name {
                        self.bind(name, Value::Parameter(None));
                    }
                }
                _ => {}
            }
        }
    }

    fn rebind(&mut self, statement: Node, global: bool) {
        let here = self.scope();
        let home = if global {
            MODULE
        } else {
            self.names.scopes[here.0 as usize].parent.unwrap_or(MODULE)
        };
        for name in self.tree.parts(statement).collect::<Vec<_>>() {
            if self.tree.kind(name) == Kind::Identifier && here != home {
                self.rebound.push((here, self.tree.text(name), home));
            }
        }
    }
}
