//! Expressions, with the precedence of the grammar.

use super::nodes::Id;
use super::parser::Parser;
use super::token::Token;
use crate::syntax::kinds::{Field, Kind};

/// Precedence of the binary operators, as in the grammar; `^` binds more tightly than `&` there.
const BITWISE_OR: u8 = 1;
const POWER: u8 = 7;

fn precedence(token: Token) -> Option<u8> {
    Some(match token {
        Token::Pipe => BITWISE_OR,
        Token::Ampersand => 2,
        Token::Caret => 3,
        Token::ShiftLeft | Token::ShiftRight => 4,
        Token::Plus | Token::Minus => 5,
        Token::Times | Token::At | Token::Slash | Token::Percent | Token::DoubleSlash => 6,
        Token::Power => POWER,
        _ => return None,
    })
}

impl Parser<'_> {
    /// An expression without commas.
    pub(super) fn expression(&mut self) -> Option<Id> {
        self.enter()?;
        let first = match self.token() {
            Token::Lambda => self.lambda()?,
            Token::Name if self.token_after() == Token::ColonEqual => {
                let name = self.identifier()?;
                let named = self.wrap(Kind::NamedExpression, name, Field::Name);
                self.bump();
                let value = match self.token() {
                    Token::Lambda => self.lambda()?,
                    _ => self.disjunction()?,
                };
                self.nodes.add(named, value, Field::Value);
                named
            }
            _ => self.disjunction()?,
        };
        // In the grammar, a condition is outside of the assignment before it.
        let expression = if self.token() == Token::If {
            let conditional = self.wrap(Kind::ConditionalExpression, first, Field::Other);
            self.bump();
            let condition = self.disjunction()?;
            self.nodes.add(conditional, condition, Field::Other);
            self.expect(Token::Else)?;
            let otherwise = self.expression()?;
            self.nodes.add(conditional, otherwise, Field::Other);
            conditional
        } else {
            first
        };
        self.leave();
        Some(expression)
    }

    /// An expression, or `*name`. Of more than a name after the star, the grammar has two readings.
    pub(super) fn starred(&mut self) -> Option<Id> {
        if self.token() != Token::Times {
            return self.expression();
        }
        let splat = self.starred_name()?;
        let is_whole = matches!(
            self.token(),
            Token::Comma
                | Token::CloseParenthesis
                | Token::CloseBracket
                | Token::CloseBrace
                | Token::Assign
                | Token::Colon
                | Token::Newline
        );
        is_whole.then_some(splat)
    }

    pub(super) fn starred_name(&mut self) -> Option<Id> {
        let splat = self.splat();
        let name = self.identifier()?;
        self.nodes.add(splat, name, Field::Other);
        Some(splat)
    }

    /// The star of `*x`.
    pub(super) fn splat(&mut self) -> Id {
        let splat = self.node(Kind::ListSplat, self.start());
        self.operator(splat, Kind::Times, Field::Other);
        splat
    }

    /// An expression, or several in an expression list.
    pub(super) fn expressions(&mut self) -> Option<Id> {
        self.one_or_list(
            Kind::ExpressionList,
            Self::starred,
            Token::begins_expression,
        )
    }

    /// An item, or a list of this kind if a comma follows. `continues` is true for a token that begins another item after a
    /// comma.
    pub(super) fn one_or_list(
        &mut self,
        kind: Kind,
        item: fn(&mut Self) -> Option<Id>,
        continues: fn(Token) -> bool,
    ) -> Option<Id> {
        let first = item(self)?;
        if self.token() != Token::Comma {
            return Some(first);
        }
        let list = self.wrap(kind, first, Field::Other);
        while self.token() == Token::Comma {
            let end = self.bump().end;
            self.nodes.set_end(list, end);
            if !continues(self.token()) {
                break;
            }
            let next = item(self)?;
            self.nodes.add(list, next, Field::Other);
        }
        Some(list)
    }

    /// `yield`, `yield from x` and `yield x, y`.
    pub(super) fn yield_expression(&mut self) -> Option<Id> {
        let keyword = self.expect(Token::Yield)?;
        let node = self.node(Kind::Other, keyword.start);
        self.nodes.set_end(node, keyword.end);
        if self.eat(Token::From) {
            let value = self.expression()?;
            self.nodes.add(node, value, Field::Other);
        } else if self.token().begins_expression() {
            let value = self.expressions()?;
            self.nodes.add(node, value, Field::Other);
        }
        Some(node)
    }

    fn lambda(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let lambda = self.node(Kind::Lambda, start);
        if self.token() != Token::Colon {
            let start = self.start();
            let parameters = self.node(Kind::LambdaParameters, start);
            self.parameters(parameters, Token::Colon)?;
            self.nodes.add(lambda, parameters, Field::Parameters);
        }
        self.expect(Token::Colon)?;
        let body = self.expression()?;
        self.nodes.add(lambda, body, Field::Body);
        Some(lambda)
    }

    pub(super) fn disjunction(&mut self) -> Option<Id> {
        let mut left = self.conjunction()?;
        while self.token() == Token::Or {
            let operator = self.wrap(Kind::BooleanOperator, left, Field::Left);
            self.operator(operator, Kind::Or, Field::Operator);
            let right = self.conjunction()?;
            self.nodes.add(operator, right, Field::Right);
            left = operator;
        }
        Some(left)
    }

    fn conjunction(&mut self) -> Option<Id> {
        let mut left = self.negation()?;
        while self.token() == Token::And {
            let operator = self.wrap(Kind::BooleanOperator, left, Field::Left);
            self.operator(operator, Kind::And, Field::Operator);
            let right = self.negation()?;
            self.nodes.add(operator, right, Field::Right);
            left = operator;
        }
        Some(left)
    }

    fn negation(&mut self) -> Option<Id> {
        if self.token() != Token::Not {
            return self.comparison();
        }
        self.enter()?;
        let start = self.bump().start;
        let operator = self.node(Kind::NotOperator, start);
        let argument = self.negation()?;
        self.nodes.add(operator, argument, Field::Argument);
        self.leave();
        Some(operator)
    }

    fn comparison(&mut self) -> Option<Id> {
        let first = self.binary(BITWISE_OR)?;
        let mut comparison = None;
        loop {
            let kind = match self.token() {
                Token::Equal => Kind::Equal,
                Token::NotEqual => Kind::NotEqual,
                Token::Less => Kind::Less,
                Token::LessEqual => Kind::LessEqual,
                Token::Greater => Kind::Greater,
                Token::GreaterEqual => Kind::GreaterEqual,
                Token::In => Kind::In,
                Token::Is if self.token_after() == Token::Not => Kind::IsNot,
                Token::Is => Kind::Is,
                Token::Not if self.token_after() == Token::In => Kind::NotIn,
                _ => return Some(comparison.unwrap_or(first)),
            };
            let node = match comparison {
                Some(node) => node,
                None => self.wrap(Kind::ComparisonOperator, first, Field::Other),
            };
            comparison = Some(node);
            match kind {
                Kind::IsNot | Kind::NotIn => {
                    let start = self.start();
                    let operator = self.node(kind, start);
                    if kind == Kind::IsNot {
                        self.operator(operator, Kind::Is, Field::Other);
                        let end = self.bump().end;
                        self.nodes.set_end(operator, end);
                    } else {
                        self.bump();
                        self.operator(operator, Kind::In, Field::Other);
                    }
                    self.nodes.add(node, operator, Field::Operators);
                }
                _ => self.operator(node, kind, Field::Operators),
            }
            let operand = self.binary(BITWISE_OR)?;
            self.nodes.add(node, operand, Field::Other);
        }
    }

    /// Binary operators of at least this precedence.
    fn binary(&mut self, least: u8) -> Option<Id> {
        let mut left = self.unary()?;
        loop {
            let token = self.token();
            let Some(level) = precedence(token).filter(|level| *level >= least) else {
                return Some(left);
            };
            let operator = self.wrap(Kind::BinaryOperator, left, Field::Left);
            match token {
                Token::Plus => self.operator(operator, Kind::Plus, Field::Operator),
                Token::Minus => self.operator(operator, Kind::Minus, Field::Operator),
                Token::Times => self.operator(operator, Kind::Times, Field::Operator),
                _ => drop(self.bump()),
            }
            // Only powers are grouped from the right.
            let right = if level == POWER {
                self.enter()?;
                let right = self.binary(POWER)?;
                self.leave();
                right
            } else {
                self.binary(level + 1)?
            };
            self.nodes.add(operator, right, Field::Right);
            left = operator;
        }
    }

    fn unary(&mut self) -> Option<Id> {
        let token = self.token();
        let kind = match token {
            Token::Plus | Token::Minus | Token::Tilde => Kind::UnaryOperator,
            Token::Await => Kind::Other,
            _ => return self.postfix(),
        };
        self.enter()?;
        let start = self.start();
        let operator = self.node(kind, start);
        match token {
            Token::Plus => self.operator(operator, Kind::Plus, Field::Operator),
            Token::Minus => self.operator(operator, Kind::Minus, Field::Operator),
            _ => drop(self.bump()),
        }
        let argument = self.binary(POWER)?;
        let field = if kind == Kind::Other {
            Field::Other
        } else {
            Field::Argument
        };
        self.nodes.add(operator, argument, field);
        self.leave();
        Some(operator)
    }

    /// Names, literals and brackets with attributes, calls and subscripts.
    pub(super) fn postfix(&mut self) -> Option<Id> {
        let mut value = self.atom()?;
        loop {
            value = match self.token() {
                Token::Dot => {
                    let attribute = self.wrap(Kind::Attribute, value, Field::Object);
                    self.bump();
                    let name = self.identifier()?;
                    self.nodes.add(attribute, name, Field::Attribute);
                    attribute
                }
                Token::OpenParenthesis => {
                    // These may also begin a statement with a tuple, which has another reading of `*x()`.
                    let is_word = matches!(self.text(value), "print" | "match" | "type" | "exec");
                    let call = self.wrap(Kind::Call, value, Field::Function);
                    let arguments = self.arguments()?;
                    if is_word && self.has_long_splat(arguments) {
                        return None;
                    }
                    self.nodes.add(call, arguments, Field::Arguments);
                    call
                }
                Token::OpenBracket => {
                    let subscript = self.wrap(Kind::Subscript, value, Field::Value);
                    self.subscripts(subscript)?;
                    subscript
                }
                _ => return Some(value),
            };
        }
    }

    fn atom(&mut self) -> Option<Id> {
        let kind = match self.token() {
            Token::Name => Kind::Identifier,
            Token::Integer => Kind::Integer,
            Token::Float => Kind::Float,
            Token::True => Kind::True,
            Token::False => Kind::False,
            Token::None => Kind::None,
            Token::Ellipsis => Kind::Other,
            Token::Text | Token::FormatStart => return self.strings(),
            Token::OpenParenthesis => return self.parenthesized(),
            Token::OpenBracket => return self.list(),
            Token::OpenBrace => return self.braces(),
            _ => return None,
        };
        let token = self.bump();
        Some(self.nodes.new_node(kind, token.start, token.end))
    }
}
