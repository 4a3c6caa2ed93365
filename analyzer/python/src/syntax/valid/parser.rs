//! The state of the parser.

use super::nodes::{Id, Nodes};
use super::token::{Spanned, Token};
use crate::syntax::kinds::{Field, Kind};

/// The maximum nesting; more deeply nested sources are left to the grammar's parser, which needs no stack.
const MAX_NESTING: u32 = 100;

pub(super) struct Parser<'s> {
    pub(super) source: &'s str,
    pub(super) tokens: &'s [Spanned],
    /// The index of the next token. The last token is [`Token::End`].
    pub(super) at: usize,
    pub(super) nodes: Nodes,
    nesting: u32,
}

impl<'s> Parser<'s> {
    pub(super) fn new(source: &'s str, tokens: &'s [Spanned]) -> Self {
        Parser {
            source,
            tokens,
            at: 0,
            nodes: Nodes::new(tokens.len()),
            nesting: 0,
        }
    }

    fn spanned(&self, ahead: usize) -> Spanned {
        let at = (self.at + ahead).min(self.tokens.len() - 1);
        self.tokens[at]
    }

    /// The next token.
    pub(super) fn token(&self) -> Token {
        self.spanned(0).token
    }

    /// The token after the next one.
    pub(super) fn token_after(&self) -> Token {
        self.spanned(1).token
    }

    /// The start of the next token.
    pub(super) fn start(&self) -> u32 {
        self.spanned(0).start
    }

    pub(super) fn bump(&mut self) -> Spanned {
        let token = self.spanned(0);
        self.at += 1;
        token
    }

    pub(super) fn eat(&mut self, token: Token) -> bool {
        let is_next = self.token() == token;
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, token: Token) -> Option<Spanned> {
        (self.token() == token).then(|| self.bump())
    }

    /// Begins a nested part.
    pub(super) fn enter(&mut self) -> Option<()> {
        self.nesting += 1;
        (self.nesting <= MAX_NESTING).then_some(())
    }

    pub(super) fn leave(&mut self) {
        self.nesting -= 1;
    }

    /// A node that begins at `start`; its end is set by what is added.
    pub(super) fn node(&mut self, kind: Kind, start: u32) -> Id {
        self.nodes.new_node(kind, start, start)
    }

    /// A node around its first child.
    pub(super) fn wrap(&mut self, kind: Kind, child: Id, field: Field) -> Id {
        let node = self.node(kind, self.nodes.start(child));
        self.nodes.add(node, child, field);
        node
    }

    /// Adds the next token to `node`.
    pub(super) fn operator(&mut self, node: Id, kind: Kind, field: Field) {
        let token = self.bump();
        let leaf = self.nodes.new_node(kind, token.start, token.end);
        self.nodes.add(node, leaf, field);
    }

    pub(super) fn expect_operator(&mut self, node: Id, token: Token, kind: Kind) -> Option<()> {
        if self.token() != token {
            return None;
        }
        self.operator(node, kind, Field::Other);
        Some(())
    }

    /// Ends `node` with a bracket.
    pub(super) fn close(&mut self, node: Id, bracket: Token) -> Option<Id> {
        let end = self.expect(bracket)?.end;
        self.nodes.set_end(node, end);
        Some(node)
    }

    /// The text of a token.
    pub(super) fn text_of(&self, token: Spanned) -> &'s str {
        self.source
            .get(token.start as usize..token.end as usize)
            .unwrap_or_default()
    }

    /// The text of a node.
    pub(super) fn text(&self, node: Id) -> &'s str {
        self.source.get(self.nodes.range(node)).unwrap_or_default()
    }

    pub(super) fn identifier(&mut self) -> Option<Id> {
        let name = self.expect(Token::Name)?;
        Some(self.nodes.new_node(Kind::Identifier, name.start, name.end))
    }
}
