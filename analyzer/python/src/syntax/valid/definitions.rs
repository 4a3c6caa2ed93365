//! Functions, their parameters and types, and classes.

use super::nodes::Id;
use super::parser::Parser;
use super::token::Token;
use crate::syntax::kinds::{Field, Kind};

impl Parser<'_> {
    pub(super) fn function(&mut self, start: u32) -> Option<Id> {
        let node = self.node(Kind::FunctionDefinition, start);
        let name = self.identifier()?;
        self.nodes.add(node, name, Field::Name);
        let open = self.expect(Token::OpenParenthesis)?;
        let parameters = self.node(Kind::Parameters, open.start);
        self.parameters(parameters, Token::CloseParenthesis)?;
        self.close(parameters, Token::CloseParenthesis)?;
        self.nodes.add(node, parameters, Field::Parameters);
        if self.eat(Token::Arrow) {
            let annotation = self.annotation()?;
            self.nodes.add(node, annotation, Field::Other);
            // A type may continue after a colon in the grammar.
            if !matches!(
                self.token_after(),
                Token::Newline | Token::Ellipsis | Token::Pass | Token::Return | Token::Raise
            ) {
                return None;
            }
        }
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Body);
        Some(node)
    }

    /// The parameters up to `close`. Only those of a function have types.
    pub(super) fn parameters(&mut self, node: Id, close: Token) -> Option<()> {
        let is_typed = close == Token::CloseParenthesis;
        while self.token() != close {
            let parameter = self.parameter(is_typed, close)?;
            self.nodes.add(node, parameter, Field::Other);
            if self.token() == Token::Comma {
                let end = self.bump().end;
                self.nodes.set_end(node, end);
            } else if self.token() != close {
                return None;
            }
        }
        Some(())
    }

    fn parameter(&mut self, is_typed: bool, close: Token) -> Option<Id> {
        let token = self.token();
        let start = self.start();
        let name = match token {
            Token::Name => self.identifier()?,
            Token::Slash => {
                let slash = self.bump();
                return Some(self.nodes.new_node(Kind::Other, slash.start, slash.end));
            }
            Token::Times if self.token_after() == Token::Comma || self.token_after() == close => {
                let separator = self.node(Kind::Other, start);
                self.operator(separator, Kind::Times, Field::Other);
                return Some(separator);
            }
            Token::Times => {
                let splat = self.node(Kind::ListSplatPattern, start);
                self.operator(splat, Kind::Times, Field::Other);
                let name = self.identifier()?;
                self.nodes.add(splat, name, Field::Other);
                splat
            }
            Token::Power => {
                let splat = self.node(Kind::DictionarySplatPattern, start);
                self.bump();
                let name = self.identifier()?;
                self.nodes.add(splat, name, Field::Other);
                splat
            }
            _ => return None,
        };
        let is_name = token == Token::Name;
        let has_type = is_typed && self.eat(Token::Colon);
        let annotation = if has_type {
            Some(self.annotation()?)
        } else {
            None
        };
        let has_default = is_name && self.eat(Token::Assign);
        let kind = match (has_type, has_default) {
            (false, false) => return Some(name),
            (true, false) => Kind::TypedParameter,
            (false, true) => Kind::DefaultParameter,
            (true, true) => Kind::TypedDefaultParameter,
        };
        let field = if has_default {
            Field::Name
        } else {
            Field::Other
        };
        let parameter = self.wrap(kind, name, field);
        if let Some(annotation) = annotation {
            self.nodes.add(parameter, annotation, Field::Other);
        }
        if has_default {
            let value = self.expression()?;
            self.nodes.add(parameter, value, Field::Value);
        }
        Some(parameter)
    }

    /// A type: an expression, or `name[…]`, which the grammar has a node of its own for.
    pub(super) fn annotation(&mut self) -> Option<Id> {
        self.enter()?;
        let mut left = self.annotation_part()?;
        while self.token() == Token::Pipe {
            let union = self.wrap(Kind::Other, left, Field::Other);
            self.bump();
            let right = self.annotation_part()?;
            self.nodes.add(union, right, Field::Other);
            left = self.wrap(Kind::Type, union, Field::Other);
        }
        self.leave();
        Some(left)
    }

    fn annotation_part(&mut self) -> Option<Id> {
        if self.token() != Token::Name || self.token_after() != Token::OpenBracket {
            let expression = self.expression()?;
            return Some(self.wrap(Kind::Type, expression, Field::Other));
        }
        let name = self.identifier()?;
        // Words that are keywords in some places.
        if matches!(self.text(name), "print" | "exec" | "match") {
            return None;
        }
        let generic = self.wrap(Kind::Other, name, Field::Other);
        let open = self.bump();
        let arguments = self.node(Kind::Other, open.start);
        loop {
            let argument = self.annotation()?;
            self.nodes.add(arguments, argument, Field::Other);
            if !self.eat(Token::Comma) || self.token() == Token::CloseBracket {
                break;
            }
        }
        self.close(arguments, Token::CloseBracket)?;
        self.nodes.add(generic, arguments, Field::Other);
        Some(self.wrap(Kind::Type, generic, Field::Other))
    }

    pub(super) fn class(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let node = self.node(Kind::ClassDefinition, start);
        let name = self.identifier()?;
        self.nodes.add(node, name, Field::Name);
        if self.token() == Token::OpenParenthesis {
            let bases = self.arguments()?;
            if self.nodes.kind(bases) != Kind::ArgumentList {
                return None;
            }
            self.nodes.add(node, bases, Field::Superclasses);
        }
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Body);
        Some(node)
    }

    pub(super) fn decorated(&mut self) -> Option<Id> {
        let node = self.node(Kind::DecoratedDefinition, self.start());
        while self.token() == Token::At {
            let start = self.bump().start;
            let decorator = self.node(Kind::Decorator, start);
            let value = self.expression()?;
            self.nodes.add(decorator, value, Field::Other);
            self.close(decorator, Token::Newline)?;
            self.nodes.add(node, decorator, Field::Other);
        }
        let definition = match self.token() {
            Token::Class => self.class()?,
            Token::Def | Token::Async => self.maybe_async()?,
            _ => return None,
        };
        if self.nodes.kind(definition) != Kind::ClassDefinition
            && self.nodes.kind(definition) != Kind::FunctionDefinition
        {
            return None;
        }
        self.nodes.add(node, definition, Field::Definition);
        Some(node)
    }
}
