//! Statements and blocks.

use super::nodes::Id;
use super::parser::Parser;
use super::token::Token;
use crate::syntax::kinds::{Field, Kind};

impl Parser<'_> {
    /// The whole source.
    pub(super) fn module(&mut self, start: u32) -> Option<Id> {
        let module = self.node(Kind::Module, start);
        while self.token() != Token::End {
            self.statement(module)?;
        }
        let end = self.start();
        self.nodes.set_end(module, end);
        Some(module)
    }

    /// Adds the next statement, or the statements of a line, to `block`.
    fn statement(&mut self, block: Id) -> Option<()> {
        let statement = match self.token() {
            Token::If => self.if_statement()?,
            Token::While => self.while_statement()?,
            Token::For | Token::With | Token::Def | Token::Async => self.maybe_async()?,
            Token::Try => self.try_statement()?,
            Token::Class => self.class()?,
            Token::At => self.decorated()?,
            _ => return self.line(block).map(|_| ()),
        };
        self.nodes.add(block, statement, Field::Other);
        Some(())
    }

    /// Adds the simple statements of a line to `block`, and returns where the line ends.
    fn line(&mut self, block: Id) -> Option<u32> {
        loop {
            let statement = self.simple()?;
            self.nodes.add(block, statement, Field::Other);
            if !self.eat(Token::Semicolon) || self.token() == Token::Newline {
                return Some(self.expect(Token::Newline)?.end);
            }
        }
    }

    /// `:` and the statements after it.
    pub(super) fn suite(&mut self) -> Option<Id> {
        self.expect(Token::Colon)?;
        self.enter()?;
        if !self.eat(Token::Newline) {
            let block = self.node(Kind::Block, self.start());
            let end = self.line(block)?;
            self.nodes.set_end(block, end);
            self.leave();
            return Some(block);
        }
        self.expect(Token::Indent)?;
        let block = self.node(Kind::Block, self.start());
        while self.token() != Token::Dedent {
            self.statement(block)?;
        }
        self.close(block, Token::Dedent)?;
        self.leave();
        Some(block)
    }

    fn if_statement(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let node = self.node(Kind::IfStatement, start);
        self.branch(node)?;
        while self.token() == Token::Elif {
            let start = self.bump().start;
            let clause = self.node(Kind::ElifClause, start);
            self.branch(clause)?;
            self.nodes.add(node, clause, Field::Alternative);
        }
        self.else_clause(node, Field::Alternative)?;
        Some(node)
    }

    fn branch(&mut self, node: Id) -> Option<()> {
        let condition = self.expression()?;
        self.nodes.add(node, condition, Field::Condition);
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Consequence);
        Some(())
    }

    fn else_clause(&mut self, node: Id, field: Field) -> Option<()> {
        if self.token() == Token::Else {
            let clause = self.clause(Kind::ElseClause, Field::Body)?;
            self.nodes.add(node, clause, field);
        }
        Some(())
    }

    /// A keyword with a block.
    fn clause(&mut self, kind: Kind, field: Field) -> Option<Id> {
        let start = self.bump().start;
        let clause = self.node(kind, start);
        let block = self.suite()?;
        self.nodes.add(clause, block, field);
        Some(clause)
    }

    fn while_statement(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let node = self.node(Kind::WhileStatement, start);
        let condition = self.expression()?;
        self.nodes.add(node, condition, Field::Condition);
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Body);
        self.else_clause(node, Field::Alternative)?;
        Some(node)
    }

    /// A statement that may begin with `async`.
    pub(super) fn maybe_async(&mut self) -> Option<Id> {
        let start = self.start();
        self.eat(Token::Async);
        match self.bump().token {
            Token::For => self.for_statement(start),
            Token::With => self.with(start),
            Token::Def => self.function(start),
            _ => None,
        }
    }

    fn for_statement(&mut self, start: u32) -> Option<Id> {
        let node = self.node(Kind::ForStatement, start);
        let targets = self.targets()?;
        self.nodes.add(node, targets, Field::Left);
        self.expect_operator(node, Token::In, Kind::In)?;
        let values = self.expressions()?;
        self.nodes.add(node, values, Field::Right);
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Body);
        self.else_clause(node, Field::Alternative)?;
        Some(node)
    }

    fn try_statement(&mut self) -> Option<Id> {
        let node = self.clause(Kind::TryStatement, Field::Body)?;
        while self.token() == Token::Except {
            let start = self.bump().start;
            let clause = self.node(Kind::ExceptClause, start);
            if self.token() == Token::Times {
                self.operator(clause, Kind::Times, Field::Other);
            }
            if self.token() != Token::Colon {
                let value = self.aliased()?;
                self.nodes.add(clause, value, Field::Value);
            }
            let block = self.suite()?;
            self.nodes.add(clause, block, Field::Other);
            self.nodes.add(node, clause, Field::Other);
        }
        self.else_clause(node, Field::Other)?;
        if self.token() == Token::Finally {
            let clause = self.clause(Kind::FinallyClause, Field::Other)?;
            self.nodes.add(node, clause, Field::Other);
        }
        Some(node)
    }

    /// An expression, with or without `as name`.
    fn aliased(&mut self) -> Option<Id> {
        let value = self.expression()?;
        if self.token() != Token::As {
            return Some(value);
        }
        // The grammar binds these less tightly than `as`.
        if matches!(
            self.nodes.kind(value),
            Kind::ConditionalExpression | Kind::NamedExpression | Kind::Lambda
        ) {
            return None;
        }
        let pattern = self.wrap(Kind::AsPattern, value, Field::Other);
        self.bump();
        let name = self.expression()?;
        let target = self.wrap(Kind::AsPatternTarget, name, Field::Other);
        self.nodes.add(pattern, target, Field::Alias);
        Some(pattern)
    }

    fn with(&mut self, start: u32) -> Option<Id> {
        let node = self.node(Kind::WithStatement, start);
        let clause = self.node(Kind::Other, self.start());
        let is_parenthesized = self.token() == Token::OpenParenthesis && self.closes_before_colon();
        if is_parenthesized {
            self.bump();
        }
        loop {
            let value = self.aliased()?;
            let item = self.wrap(Kind::Other, value, Field::Value);
            self.nodes.add(clause, item, Field::Other);
            if !self.eat(Token::Comma)
                || (is_parenthesized && self.token() == Token::CloseParenthesis)
            {
                break;
            }
        }
        if is_parenthesized {
            // The grammar reads a single item as an expression in parentheses.
            self.nodes.children(clause).nth(1)?;
            self.close(clause, Token::CloseParenthesis)?;
        }
        self.nodes.add(node, clause, Field::Other);
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Body);
        Some(node)
    }

    /// True if the bracket at the next token closes right before a `:`.
    fn closes_before_colon(&self) -> bool {
        let mut depth = 0_usize;
        for (index, token) in self.tokens[self.at..].iter().enumerate() {
            match token.token {
                Token::OpenParenthesis | Token::OpenBracket | Token::OpenBrace => depth += 1,
                Token::CloseParenthesis | Token::CloseBracket | Token::CloseBrace => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        let after = self.tokens.get(self.at + index + 1);
                        return after.is_some_and(|after| after.token == Token::Colon);
                    }
                }
                Token::Newline => return false,
                _ => {}
            }
        }
        false
    }
}
