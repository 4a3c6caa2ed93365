//! Scopes and bindings: the names that a source defines, with their positions and values.
//!
//! This file stores and looks up bindings; `names/collector.rs` finds them, and `resolve.rs` resolves their meaning.

mod collector;

use std::ops::Range;

use crate::syntax::{Node, Tree};
use hipward_analyzer_core::sort;

/// The assignment of a value to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `import module` (its first part), `import module as x`.
    Module(&'a str),
    /// `from module import name`.
    Member(&'a str, &'a str),
    /// `x = expression`.
    Expression(Node),
    /// `x, y = expression`: the index of the name.
    Unpacked(Node, usize),
    /// `with expression as x`.
    Context(Node),
    /// A parameter, with its default.
    Parameter(Option<Node>),
    /// `def x`.
    Function(Node),
    /// `class x`.
    Class(Node),
    /// A binding that is not followed: a loop variable, `x += 1`, `del x`.
    Unknown,
}

/// One binding of a name.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The name's own node.
    pub node: Node,
    /// The bound value.
    pub value: Value<'a>,
}

/// A binding under its scope and name.
struct Entry<'a> {
    scope: Scope,
    name: &'a str,
    /// [`hash`] of the name.
    hash: usize,
    binding: Binding<'a>,
}

/// A Python scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(u32);

struct ScopeEntry {
    node: Node,
    parent: Option<Scope>,
    /// Names in a class body are not visible in its functions.
    is_class: bool,
    /// The range of its bindings in [`Names::bindings`].
    bindings: Range<usize>,
}

/// The names of one source.
pub struct Names<'a> {
    scopes: Vec<ScopeEntry>,
    /// The scope of each node of the tree.
    scope_of: Vec<Scope>,
    /// Sorted by scope, then hash of the name, then position: the bindings of a name in a scope are a slice.
    bindings: Vec<Entry<'a>>,
    /// Whether two names of a scope have the same hash. One pair in four billion does.
    collides: bool,
    /// Modules that are imported with a star.
    pub stars: Vec<&'a str>,
}

const MODULE: Scope = Scope(0);

/// A number for each name (FNV-1a), because numbers are compared faster than texts.
fn hash(name: &str) -> usize {
    let hash = name.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash as usize
}

impl<'a> Names<'a> {
    /// Collects the names of `tree`.
    pub fn new(tree: &Tree<'a>) -> Names<'a> {
        let mut names = collector::collect(tree);
        names.bindings = sort::by_key(names.bindings, |entry| {
            [
                entry.scope.0 as usize,
                entry.hash,
                entry.binding.node.index(),
            ]
        });
        names.collides = names.bindings.windows(2).any(|pair| {
            (pair[0].scope, pair[0].hash) == (pair[1].scope, pair[1].hash)
                && pair[0].name != pair[1].name
        });
        let mut from = 0;
        for bindings in names.bindings.chunk_by(|a, b| a.scope == b.scope) {
            let to = from + bindings.len();
            names.scopes[bindings[0].scope.0 as usize].bindings = from..to;
            from = to;
        }
        names
    }

    /// The scope in which an expression at `node` is evaluated.
    pub fn scope_of(&self, node: Node) -> Scope {
        self.scope_of.get(node.index()).copied().unwrap_or(MODULE)
    }

    /// The node that opens `scope`.
    pub fn scope_node(&self, scope: Scope) -> Node {
        self.scopes[scope.0 as usize].node
    }

    /// The bindings that `name` can have when it is read in `scope`, in source order, with their scope.
    pub fn lookup(&self, scope: Scope, name: &str) -> Option<(Scope, Bindings<'_, 'a>)> {
        let hash = hash(name);
        let mut current = Some(scope);
        while let Some(candidate) = current {
            let scope_entry = &self.scopes[candidate.0 as usize];
            if candidate == scope || !scope_entry.is_class {
                let bindings = self.bindings_in(candidate, name, hash);
                if !bindings.is_empty() {
                    return Some((candidate, bindings));
                }
            }
            current = scope_entry.parent;
        }
        None
    }

    /// The bindings of `name` at the top level of the module.
    pub fn at_top_level(&self, name: &str) -> Bindings<'_, 'a> {
        self.bindings_in(MODULE, name, hash(name))
    }

    fn bindings_in(&self, scope: Scope, name: &str, hash: usize) -> Bindings<'_, 'a> {
        let all = self.in_scope(scope);
        let rest = &all[all.partition_point(|entry| entry.hash < hash)..];
        let length = match rest.first() {
            Some(first) if first.name == name => rest.partition_point(|entry| entry.hash == hash),
            _ => 0,
        };
        let found = &rest[..length];
        if self.collides && found.iter().any(|entry| entry.name != name) {
            return Bindings(&[]);
        }
        Bindings(found)
    }

    fn in_scope(&self, scope: Scope) -> &[Entry<'a>] {
        &self.bindings[self.scopes[scope.0 as usize].bindings.clone()]
    }

    /// The names that the module binds at its top level, with their bindings.
    pub fn top_level(&self) -> impl Iterator<Item = (&'a str, Bindings<'_, 'a>)> {
        self.in_scope(MODULE)
            .chunk_by(|a, b| a.name == b.name)
            .map(|entries| (entries[0].name, Bindings(entries)))
    }
}

/// The bindings of one name in one scope, in source order.
#[derive(Clone, Copy)]
pub struct Bindings<'n, 'a>(&'n [Entry<'a>]);

impl<'n, 'a> Bindings<'n, 'a> {
    /// True if there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The number of bindings.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// An iterator over the bindings.
    pub fn iter(
        self,
    ) -> impl DoubleEndedIterator<Item = Binding<'a>> + ExactSizeIterator + use<'n, 'a> {
        self.0.iter().map(|entry| entry.binding)
    }

    /// The last binding.
    pub fn last(self) -> Option<Binding<'a>> {
        self.0.last().map(|entry| entry.binding)
    }

    /// The bindings before `node`.
    pub fn before(self, node: Node) -> Self {
        Bindings(&self.0[..self.0.partition_point(|entry| entry.binding.node < node)])
    }

    /// The first `count` bindings.
    pub fn take(self, count: usize) -> Self {
        Bindings(&self.0[..count.min(self.0.len())])
    }
}
