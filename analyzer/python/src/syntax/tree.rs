//! A syntax tree as one flat array in preorder.
//!
//! A subtree is a range of the array, so every traversal is a loop without recursion, for any nesting.
//! Punctuation is omitted. Built in a single pass of the parser's cursor.

use std::ops::Range;

use hipward_analyzer_core::sort;

use super::kinds::{Field, Grammar, Kind};

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// Its index in the tree's order.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) parent: u32,
    /// One past the last node of this subtree.
    pub(super) after: u32,
    pub(super) kind: Kind,
    pub(super) field: Field,
}

/// A statement that begins with a keyword, in a [`Flat`] tree.
#[derive(Clone, Copy)]
struct Mark {
    node: u32,
    start: u32,
    depth: u32,
    /// Where the parser stores the keyword. It is part of the statement, so a parser's tree with the same keyword has the
    /// same statement, as long as neither of the two trees is dropped.
    keyword: usize,
}

/// The nodes of a tree, for the next tree of the edited text.
#[derive(Default)]
pub(super) struct Flat {
    nodes: Vec<Entry>,
    /// In source order; empty if something was omitted.
    marks: Vec<Mark>,
}

/// The flat tree of the text before an edit, whose parser's tree the caller keeps.
#[derive(Clone, Copy)]
pub(super) struct Before<'t> {
    pub flat: &'t Flat,
    /// The start of the edit, and its end in the new text.
    pub start: usize,
    pub end: usize,
    /// The bytes that the edit adds, modulo 2³².
    pub growth: u32,
}

impl Before<'_> {
    /// The position in `marks` of the statement that is now at `new`.
    fn unchanged(&self, new: &Mark) -> Option<usize> {
        let at = new.start as usize;
        let start = if at < self.start {
            new.start
        } else if at >= self.end {
            new.start.wrapping_sub(self.growth)
        } else {
            return None;
        };
        let marks = &self.flat.marks;
        let at = marks.partition_point(|mark| mark.start < start);
        let mark = marks.get(at)?;
        (mark.keyword == new.keyword && mark.start == start && mark.depth == new.depth)
            .then_some(at)
    }
}

/// A parsed source.
pub struct Tree<'a> {
    source: &'a str,
    nodes: Vec<Entry>,
    marks: Vec<Mark>,
    error_nodes: Vec<Node>,
    /// Positions at which the parser inserted a missing token.
    missing: Vec<usize>,
    /// The start of the first node whose children were omitted.
    cut: Option<usize>,
    /// The comments that are no nodes: those within a long block.
    hidden_comments: Vec<Range<usize>>,
    /// The number of nodes from the tree before an edit.
    #[cfg(test)]
    pub(super) copied: usize,
}

const ROOT: Node = Node(0);

/// The maximum depth of nodes; deeper nodes are omitted. This limits the length of a walk from a node to the root.
///
/// Every operand of `a + b + …` and every call of `a.b().c()…` is one or two levels deeper than the next.
pub(super) const MAX_DEPTH: usize = 1000;

/// Statements whose first child is a keyword, which the parser stores in the statement itself.
fn begins_with_keyword(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::FunctionDefinition
            | Kind::ClassDefinition
            | Kind::IfStatement
            | Kind::ForStatement
            | Kind::WhileStatement
            | Kind::TryStatement
            | Kind::WithStatement
    )
}

impl<'a> Tree<'a> {
    /// A tree with these nodes, without errors so far.
    pub(super) fn of_nodes(
        source: &'a str,
        nodes: Vec<Entry>,
        hidden_comments: Vec<Range<usize>>,
    ) -> Tree<'a> {
        Tree {
            source,
            nodes,
            marks: Vec::new(),
            error_nodes: Vec::new(),
            missing: Vec::new(),
            cut: None,
            hidden_comments,
            #[cfg(test)]
            copied: 0,
        }
    }

    pub(super) fn new(
        source: &'a str,
        parsed: &tree_sitter::Tree,
        grammar: &Grammar,
        hidden_comments: Vec<Range<usize>>,
        before: Option<Before<'_>>,
    ) -> Tree<'a> {
        // About one stored node for six bytes of ordinary code.
        let nodes = Vec::with_capacity(source.len() / 6 + 16);
        let mut tree = Tree::of_nodes(source, nodes, hidden_comments);
        let broken = parsed.root_node().has_error();
        let mut cursor = parsed.walk();
        let mut open: Vec<u32> = Vec::new();
        'walk: loop {
            let node = cursor.node();
            let kind = grammar.kind(node.kind_id());
            if broken && node.is_missing() {
                tree.missing.push(node.start_byte());
            }
            if kind != Kind::Skipped {
                let index = tree.nodes.len() as u32;
                let field = cursor
                    .field_id()
                    .map_or(Field::Other, |id| grammar.field(id.get()));
                let range = node.byte_range();
                tree.nodes.push(Entry {
                    start: range.start as u32,
                    end: range.end as u32,
                    parent: open.last().copied().unwrap_or(0),
                    after: index + 1,
                    kind,
                    field,
                });
                if kind == Kind::Error {
                    tree.error_nodes.push(Node(index));
                }
                if cursor.goto_first_child() {
                    let mark = Mark {
                        node: index,
                        start: range.start as u32,
                        depth: open.len() as u32,
                        keyword: cursor.node().id(),
                    };
                    let is_marked = begins_with_keyword(kind);
                    let known = before
                        .filter(|_| is_marked)
                        .and_then(|before| Some((before, before.unchanged(&mark)?)));
                    if let Some((before, at)) = known {
                        tree.copy(before, at);
                        cursor.goto_parent();
                    } else if open.len() < MAX_DEPTH {
                        if is_marked {
                            tree.marks.push(mark);
                        }
                        open.push(index);
                        continue;
                    } else {
                        tree.cut.get_or_insert(range.start);
                        cursor.goto_parent();
                    }
                }
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    break 'walk;
                }
                if let Some(index) = open.pop() {
                    tree.nodes[index as usize].after = tree.nodes.len() as u32;
                }
            }
        }
        tree
    }

    /// Copies the descendants of a statement, whose own entry is the last one.
    fn copy(&mut self, before: Before<'_>, mark: usize) {
        let Flat { nodes, marks } = before.flat;
        let top = marks[mark].node;
        let after = nodes[top as usize].after;
        let at = self.nodes.len() as u32 - 1;
        let (moved, growth) = (
            at.wrapping_sub(top),
            self.nodes[at as usize]
                .start
                .wrapping_sub(marks[mark].start),
        );
        self.nodes[at as usize].after = after.wrapping_add(moved);
        let inner = &nodes[top as usize + 1..after as usize];
        #[cfg(test)]
        {
            self.copied += inner.len();
        }
        self.nodes.extend(inner.iter().map(|entry| Entry {
            start: entry.start.wrapping_add(growth),
            end: entry.end.wrapping_add(growth),
            parent: entry.parent.wrapping_add(moved),
            after: entry.after.wrapping_add(moved),
            ..*entry
        }));
        let inner = marks[mark..].iter().take_while(|mark| mark.node < after);
        self.marks.extend(inner.map(|mark| Mark {
            node: mark.node.wrapping_add(moved),
            start: mark.start.wrapping_add(growth),
            ..*mark
        }));
    }

    /// The nodes, for the tree of an edited text.
    pub(super) fn into_flat(self) -> Flat {
        Flat {
            marks: if self.cut.is_none() {
                self.marks
            } else {
                Vec::new()
            },
            nodes: self.nodes,
        }
    }

    /// The whole text.
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// All comments and `others`, in source order.
    pub fn comments(&self, others: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let nodes = self
            .nodes
            .iter()
            .filter(|entry| entry.kind == Kind::Comment)
            .map(|entry| entry.start as usize..entry.end as usize);
        let mut comments: Vec<_> = nodes.collect();
        if self.hidden_comments.is_empty() && others.is_empty() {
            return comments;
        }
        comments.extend_from_slice(&self.hidden_comments);
        comments.extend(others);
        sort::by_key(comments, |comment| [comment.start, comment.end, 0])
    }

    /// The root node.
    pub fn root(&self) -> Node {
        ROOT
    }

    /// The number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Every node, in source order.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.nodes.len() as u32).map(Node)
    }

    /// The nodes after `start` and before `end`, in source order; empty if `end` comes first.
    pub fn between(&self, start: Node, end: Node) -> impl Iterator<Item = Node> + use<> {
        // Not `nodes().skip()`, which iterates over the skipped nodes.
        (start.0 + 1..end.0).map(Node)
    }

    /// Text that the parser could not parse.
    pub fn error_nodes(&self) -> &[Node] {
        &self.error_nodes
    }

    /// Byte offset of the first syntax error.
    pub fn first_error(&self) -> Option<usize> {
        let error = self.error_nodes.first().map(|node| self.span(*node).start);
        let missing = self.missing.first().copied();
        error.into_iter().chain(missing).min()
    }

    /// Byte offset of the first node that was omitted because of its depth.
    pub fn first_cut(&self) -> Option<usize> {
        self.cut
    }

    fn entry(&self, node: Node) -> &Entry {
        &self.nodes[node.0 as usize]
    }

    /// The kind of `node`.
    pub fn kind(&self, node: Node) -> Kind {
        self.entry(node).kind
    }

    /// The relation of `node` to its parent.
    pub fn field(&self, node: Node) -> Field {
        self.entry(node).field
    }

    /// The range of `node`, in bytes.
    pub fn span(&self, node: Node) -> Range<usize> {
        let entry = self.entry(node);
        entry.start as usize..entry.end as usize
    }

    /// First byte of `node`.
    pub fn start(&self, node: Node) -> usize {
        self.entry(node).start as usize
    }

    /// One past the last byte of `node`.
    pub fn end(&self, node: Node) -> usize {
        self.entry(node).end as usize
    }

    /// The text of `node`.
    pub fn text(&self, node: Node) -> &'a str {
        self.source.get(self.span(node)).unwrap_or_default()
    }

    /// The parent of `node`; `None` for the module.
    pub fn parent(&self, node: Node) -> Option<Node> {
        (node != ROOT).then(|| Node(self.entry(node).parent))
    }

    /// The ancestors of `node`, innermost first.
    pub fn ancestors(&self, node: Node) -> Ancestors<'_> {
        Ancestors {
            nodes: &self.nodes,
            node,
        }
    }

    /// True if `node` is `ancestor` or a descendant of it.
    pub fn contains(&self, ancestor: Node, node: Node) -> bool {
        ancestor.0 <= node.0 && node.0 < self.entry(ancestor).after
    }

    /// Direct children, comments included.
    pub fn children(&self, node: Node) -> Children<'_> {
        Children {
            nodes: &self.nodes,
            next: node.0 + 1,
            after: self.entry(node).after,
            only: Only::All,
        }
    }

    /// Direct children without comments.
    pub fn parts(&self, node: Node) -> Children<'_> {
        Children {
            only: Only::Code,
            ..self.children(node)
        }
    }

    /// The children in `field`.
    pub fn children_in(&self, node: Node, field: Field) -> Children<'_> {
        Children {
            only: Only::In(field),
            ..self.children(node)
        }
    }

    /// The child in `field`.
    pub fn child(&self, node: Node, field: Field) -> Option<Node> {
        // Called more often than anything else, so without an iterator.
        let mut child = node.0 + 1;
        let after = self.entry(node).after;
        while child < after {
            let entry = self.entry(Node(child));
            if entry.field == field {
                return Some(Node(child));
            }
            child = entry.after;
        }
        None
    }

    /// `node` and its descendants, in source order.
    pub fn subtree(&self, node: Node) -> impl Iterator<Item = Node> + use<> {
        (node.0..self.entry(node).after).map(Node)
    }

    /// The number of nodes in the subtree of `node`.
    pub fn size(&self, node: Node) -> usize {
        (self.entry(node).after - node.0) as usize
    }

    /// `node` without its parentheses.
    pub fn unparenthesized(&self, mut node: Node) -> Node {
        while self.kind(node) == Kind::ParenthesizedExpression {
            match self.parts(node).next() {
                Some(inner) => node = inner,
                None => break,
            }
        }
        node
    }

    /// The statement that contains `node`: the child of the nearest block.
    pub fn statement(&self, node: Node) -> Node {
        let mut statement = node;
        for ancestor in self.ancestors(node) {
            if matches!(self.kind(ancestor), Kind::Block | Kind::Module) {
                break;
            }
            statement = ancestor;
        }
        statement
    }

    /// The block or module that contains `node`.
    pub fn block(&self, node: Node) -> Node {
        self.ancestors(node)
            .find(|node| matches!(self.kind(*node), Kind::Block | Kind::Module))
            .unwrap_or(ROOT)
    }
}

#[cfg(not(target_family = "wasm"))]
impl Tree<'_> {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.nodes
    }
}

/// The children of a node. A single plain type, because nested closures took a tenth of the browser module.
pub struct Children<'t> {
    nodes: &'t [Entry],
    next: u32,
    after: u32,
    only: Only,
}

enum Only {
    All,
    Code,
    In(Field),
}

impl Iterator for Children<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        while self.next < self.after {
            let child = Node(self.next);
            let entry = &self.nodes[child.index()];
            self.next = entry.after;
            let wanted = match self.only {
                Only::All => true,
                Only::Code => entry.kind != Kind::Comment,
                Only::In(field) => entry.field == field,
            };
            if wanted {
                return Some(child);
            }
        }
        None
    }
}

/// The ancestors of a node, innermost first.
pub struct Ancestors<'t> {
    nodes: &'t [Entry],
    node: Node,
}

impl Iterator for Ancestors<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        if self.node == ROOT {
            return None;
        }
        self.node = Node(self.nodes[self.node.index()].parent);
        Some(self.node)
    }
}
