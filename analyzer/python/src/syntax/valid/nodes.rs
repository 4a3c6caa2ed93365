//! The tree while it is built: nodes with lists of children, which become an array in preorder.

use std::ops::Range;

use super::lexer::Extra;
use crate::syntax::kinds::{Field, Kind};
use crate::syntax::tree::{Entry, MAX_DEPTH};

/// The index of a node.
pub(super) type Id = u32;

const NONE: Id = u32::MAX;

#[derive(Clone, Copy)]
struct Building {
    start: u32,
    end: u32,
    first: Id,
    last: Id,
    next: Id,
    kind: Kind,
    field: Field,
}

pub(super) struct Nodes(Vec<Building>);

impl Nodes {
    pub(super) fn new(expected: usize) -> Self {
        Nodes(Vec::with_capacity(expected))
    }

    /// A node without children, so far.
    pub(super) fn new_node(&mut self, kind: Kind, start: u32, end: u32) -> Id {
        let id = self.0.len() as Id;
        self.0.push(Building {
            start,
            end,
            first: NONE,
            last: NONE,
            next: NONE,
            kind,
            field: Field::Other,
        });
        id
    }

    /// Appends a child, at whose end the parent ends, so far.
    pub(super) fn add(&mut self, parent: Id, child: Id, field: Field) {
        let added = &mut self.0[child as usize];
        added.field = field;
        let end = added.end;
        let above = &mut self.0[parent as usize];
        above.end = end;
        let last = above.last;
        above.last = child;
        if last == NONE {
            above.first = child;
        } else {
            self.0[last as usize].next = child;
        }
    }

    pub(super) fn start(&self, id: Id) -> u32 {
        self.0[id as usize].start
    }

    /// Changes `*a.b` from a starred attribute to an attribute of a starred name, and returns that.
    pub(super) fn apply_to_star(&mut self, splat: Id) -> Option<Id> {
        let star = self.0[splat as usize].first;
        let whole = self.0[splat as usize].last;
        let start = self.0[splat as usize].start;
        let mut inner = whole;
        while matches!(
            self.kind(inner),
            Kind::Attribute | Kind::Call | Kind::Subscript
        ) {
            self.0[inner as usize].start = start;
            inner = self.0[inner as usize].first;
        }
        if self.kind(inner) != Kind::Identifier {
            return None;
        }
        let Range {
            start: from,
            end: to,
        } = self.range(inner);
        let name = self.new_node(Kind::Identifier, from as u32, to as u32);
        self.0[star as usize].next = name;
        let starred = &mut self.0[inner as usize];
        starred.kind = Kind::ListSplat;
        starred.start = start;
        (starred.first, starred.last) = (star, name);
        Some(whole)
    }

    pub(super) fn range(&self, id: Id) -> Range<usize> {
        let node = &self.0[id as usize];
        node.start as usize..node.end as usize
    }

    pub(super) fn set_end(&mut self, id: Id, end: u32) {
        self.0[id as usize].end = end;
    }

    pub(super) fn kind(&self, id: Id) -> Kind {
        self.0[id as usize].kind
    }

    pub(super) fn set_kind(&mut self, id: Id, kind: Kind) {
        self.0[id as usize].kind = kind;
    }

    /// The children.
    pub(super) fn children(&self, id: Id) -> impl Iterator<Item = Id> {
        let mut next = self.0[id as usize].first;
        std::iter::from_fn(move || {
            let child = (next != NONE).then_some(next)?;
            next = self.0[child as usize].next;
            Some(child)
        })
    }

    /// The last child.
    pub(super) fn last(&self, id: Id) -> Option<Id> {
        let last = self.0[id as usize].last;
        (last != NONE).then_some(last)
    }

    /// The array of the tree below `root`. A comment is a child of the innermost node with tokens on both of its sides.
    pub(super) fn flatten(&self, root: Id, extras: &[Extra]) -> Option<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::with_capacity(self.0.len() + extras.len());
        let mut extras = extras.iter().peekable();
        let mut open: Vec<(Id, u32)> = Vec::new();
        let mut next = root;
        loop {
            let parent = open.last().map_or(0, |(_, index)| *index);
            if next != NONE {
                let node = &self.0[next as usize];
                while let Some(extra) = extras.next_if(|extra| extra.start < node.start) {
                    entries.push(leaf(extra, parent, entries.len()));
                }
                let index = entries.len() as u32;
                entries.push(Entry {
                    start: node.start,
                    end: node.end,
                    parent,
                    after: index + 1,
                    kind: node.kind,
                    field: node.field,
                });
                let is_leaf =
                    node.first == NONE && extras.peek().is_none_or(|extra| extra.end > node.end);
                if is_leaf && open.is_empty() {
                    return Some(entries);
                } else if is_leaf {
                    next = node.next;
                } else if open.len() < MAX_DEPTH {
                    open.push((next, index));
                    next = node.first;
                } else {
                    return None;
                }
            } else {
                let (id, index) = open.pop()?;
                let node = &self.0[id as usize];
                while let Some(extra) = extras.next_if(|extra| extra.end <= node.end) {
                    entries.push(leaf(extra, index, entries.len()));
                }
                entries[index as usize].after = entries.len() as u32;
                if open.is_empty() {
                    return Some(entries);
                }
                next = node.next;
            }
        }
    }
}

fn leaf(extra: &Extra, parent: u32, index: usize) -> Entry {
    Entry {
        start: extra.start,
        end: extra.end,
        parent,
        after: index as u32 + 1,
        kind: if extra.is_comment {
            Kind::Comment
        } else {
            Kind::Other
        },
        field: Field::Other,
    }
}
