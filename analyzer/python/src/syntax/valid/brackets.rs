//! Calls, subscripts, tuples, lists, sets, dictionaries and comprehensions.

use super::nodes::Id;
use super::parser::Parser;
use super::token::Token;
use crate::syntax::kinds::{Field, Kind};

impl Parser<'_> {
    /// The first element of a list or a set. The grammar reads the only one of `[*a.b]` as an attribute of `*a`.
    fn first_element(&mut self, close: Token) -> Option<Id> {
        let element = self.element()?;
        let is_splat = self.nodes.kind(element) == Kind::ListSplat;
        match self.token() {
            token if is_splat && token == close => self.nodes.apply_to_star(element),
            Token::Comma if is_splat && self.token_after() == close => None,
            _ => Some(element),
        }
    }

    /// An element of a tuple, a list or a set, or an argument.
    fn element(&mut self) -> Option<Id> {
        match self.token() {
            Token::Times => {
                let splat = self.splat();
                let value = self.expression()?;
                self.nodes.add(splat, value, Field::Other);
                Some(splat)
            }
            _ => self.expression(),
        }
    }

    /// The arguments of a call or of a class.
    pub(super) fn arguments(&mut self) -> Option<Id> {
        let open = self.bump();
        let list = self.node(Kind::ArgumentList, open.start);
        let mut is_first = true;
        while self.token() != Token::CloseParenthesis {
            let argument = match self.token() {
                Token::Power => self.dictionary_splat()?,
                Token::Name if self.token_after() == Token::Assign => {
                    let name = self.identifier()?;
                    let argument = self.wrap(Kind::KeywordArgument, name, Field::Name);
                    self.bump();
                    let value = self.expression()?;
                    self.nodes.add(argument, value, Field::Value);
                    argument
                }
                _ => self.element()?,
            };
            if matches!(self.token(), Token::For | Token::Async) {
                if !is_first || self.is_no_body(argument) {
                    return None;
                }
                self.nodes.set_kind(list, Kind::GeneratorExpression);
                self.nodes.add(list, argument, Field::Body);
                self.comprehension(list)?;
                break;
            }
            self.nodes.add(list, argument, Field::Other);
            is_first = false;
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.close(list, Token::CloseParenthesis)
    }

    /// True for an argument or element that cannot be the body of a comprehension.
    fn is_no_body(&self, node: Id) -> bool {
        matches!(
            self.nodes.kind(node),
            Kind::KeywordArgument | Kind::ListSplat | Kind::DictionarySplat
        )
    }

    fn dictionary_splat(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let splat = self.node(Kind::DictionarySplat, start);
        let value = self.expression()?;
        self.nodes.add(splat, value, Field::Other);
        Some(splat)
    }

    pub(super) fn subscripts(&mut self, subscript: Id) -> Option<()> {
        self.bump();
        loop {
            let index = match self.token() {
                Token::Colon => {
                    let start = self.start();
                    self.slice(start, None)?
                }
                _ => {
                    let first = self.starred()?;
                    if self.token() == Token::Colon {
                        self.slice(self.nodes.start(first), Some(first))?
                    } else {
                        first
                    }
                }
            };
            self.nodes.add(subscript, index, Field::Subscript);
            if !self.eat(Token::Comma) || self.token() == Token::CloseBracket {
                break;
            }
        }
        self.close(subscript, Token::CloseBracket).map(|_| ())
    }

    fn slice(&mut self, start: u32, lower: Option<Id>) -> Option<Id> {
        let slice = self.node(Kind::Slice, start);
        if let Some(lower) = lower {
            self.nodes.add(slice, lower, Field::Other);
        }
        for _ in 0..2 {
            if self.token() != Token::Colon {
                break;
            }
            let end = self.bump().end;
            self.nodes.set_end(slice, end);
            if self.token().begins_expression() {
                let bound = self.expression()?;
                self.nodes.add(slice, bound, Field::Other);
            }
        }
        Some(slice)
    }

    pub(super) fn parenthesized(&mut self) -> Option<Id> {
        let open = self.bump();
        let node = self.node(Kind::Tuple, open.start);
        if self.token() == Token::CloseParenthesis {
            return self.close(node, Token::CloseParenthesis);
        }
        let first = match self.token() {
            Token::Yield => self.yield_expression()?,
            _ => self.element()?,
        };
        let is_starred = self.is_no_body(first);
        match self.token() {
            Token::For | Token::Async if !is_starred => {
                self.nodes.set_kind(node, Kind::GeneratorExpression);
                self.nodes.add(node, first, Field::Body);
                self.comprehension(node)?;
            }
            Token::Comma => self.elements(node, first, Token::CloseParenthesis)?,
            // Only in brackets, `*x` is an expression.
            _ if is_starred => return None,
            _ => {
                self.nodes.set_kind(node, Kind::ParenthesizedExpression);
                self.nodes.add(node, first, Field::Other);
            }
        }
        self.close(node, Token::CloseParenthesis)
    }

    pub(super) fn list(&mut self) -> Option<Id> {
        let open = self.bump();
        let node = self.node(Kind::List, open.start);
        if self.token() == Token::CloseBracket {
            return self.close(node, Token::CloseBracket);
        }
        let first = self.first_element(Token::CloseBracket)?;
        if matches!(self.token(), Token::For | Token::Async) && !self.is_no_body(first) {
            self.nodes.set_kind(node, Kind::ListComprehension);
            self.nodes.add(node, first, Field::Body);
            self.comprehension(node)?;
        } else {
            self.elements(node, first, Token::CloseBracket)?;
        }
        self.close(node, Token::CloseBracket)
    }

    /// True if `node` contains `*x`, where `x` is more than a name.
    pub(super) fn has_long_splat(&self, node: Id) -> bool {
        self.nodes.children(node).any(|part| {
            let value = self.nodes.last(part).map(|value| self.nodes.kind(value));
            self.nodes.kind(part) == Kind::ListSplat && value != Some(Kind::Identifier)
        })
    }

    /// The elements from `first` on.
    fn elements(&mut self, node: Id, first: Id, close: Token) -> Option<()> {
        self.nodes.add(node, first, Field::Other);
        while self.eat(Token::Comma) && self.token() != close {
            let next = self.element()?;
            self.nodes.add(node, next, Field::Other);
        }
        Some(())
    }

    pub(super) fn braces(&mut self) -> Option<Id> {
        let open = self.bump();
        let node = self.node(Kind::Dictionary, open.start);
        if self.token() == Token::CloseBrace {
            return self.close(node, Token::CloseBrace);
        }
        let first = match self.token() {
            Token::Power => self.dictionary_splat()?,
            _ => self.first_element(Token::CloseBrace)?,
        };
        let is_pair = self.token() == Token::Colon && !self.is_no_body(first);
        if !is_pair && self.nodes.kind(first) != Kind::DictionarySplat {
            if matches!(self.token(), Token::For | Token::Async) && !self.is_no_body(first) {
                self.nodes.set_kind(node, Kind::SetComprehension);
                self.nodes.add(node, first, Field::Body);
                self.comprehension(node)?;
            } else {
                self.nodes.set_kind(node, Kind::Set);
                self.elements(node, first, Token::CloseBrace)?;
            }
            return self.close(node, Token::CloseBrace);
        }
        let mut entry = if is_pair { self.pair(first)? } else { first };
        if is_pair && matches!(self.token(), Token::For | Token::Async) {
            self.nodes.set_kind(node, Kind::DictionaryComprehension);
            self.nodes.add(node, entry, Field::Body);
            self.comprehension(node)?;
            return self.close(node, Token::CloseBrace);
        }
        loop {
            self.nodes.add(node, entry, Field::Other);
            if !self.eat(Token::Comma) || self.token() == Token::CloseBrace {
                return self.close(node, Token::CloseBrace);
            }
            entry = match self.token() {
                Token::Power => self.dictionary_splat()?,
                _ => {
                    let key = self.expression()?;
                    self.pair(key)?
                }
            };
        }
    }

    fn pair(&mut self, key: Id) -> Option<Id> {
        let pair = self.wrap(Kind::Pair, key, Field::Key);
        self.expect(Token::Colon)?;
        let value = self.expression()?;
        self.nodes.add(pair, value, Field::Value);
        Some(pair)
    }

    /// The clauses after the body of a comprehension.
    fn comprehension(&mut self, node: Id) -> Option<()> {
        loop {
            let start = self.start();
            let clause = match self.token() {
                Token::If => {
                    self.bump();
                    let clause = self.node(Kind::IfClause, start);
                    let condition = self.disjunction()?;
                    self.nodes.add(clause, condition, Field::Other);
                    clause
                }
                Token::For | Token::Async => {
                    self.eat(Token::Async);
                    self.expect(Token::For)?;
                    let clause = self.node(Kind::ForInClause, start);
                    let targets = self.targets()?;
                    self.nodes.add(clause, targets, Field::Left);
                    self.expect_operator(clause, Token::In, Kind::In)?;
                    let values = self.disjunction()?;
                    self.nodes.add(clause, values, Field::Right);
                    clause
                }
                _ => return Some(()),
            };
            self.nodes.add(node, clause, Field::Other);
        }
    }
}
