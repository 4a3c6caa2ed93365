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

    fn starred_name(&mut self) -> Option<Id> {
        let splat = self.splat();
        let name = self.identifier()?;
        self.nodes.add(splat, name, Field::Other);
        Some(splat)
    }

    /// The star of `*x`.
    fn splat(&mut self) -> Id {
        let splat = self.node(Kind::ListSplat, self.start());
        self.operator(splat, Kind::Times, Field::Other);
        splat
    }

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

    /// An expression, or several in an expression list.
    pub(super) fn expressions(&mut self) -> Option<Id> {
        let first = self.starred()?;
        if self.token() != Token::Comma {
            return Some(first);
        }
        let list = self.wrap(Kind::ExpressionList, first, Field::Other);
        while self.token() == Token::Comma {
            let end = self.bump().end;
            self.nodes.set_end(list, end);
            if !self.token().begins_expression() {
                break;
            }
            let next = self.starred()?;
            self.nodes.add(list, next, Field::Other);
        }
        Some(list)
    }

    /// `yield`, `yield from x` and `yield x, y`.
    pub(super) fn yield_(&mut self) -> Option<Id> {
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

    fn subscripts(&mut self, subscript: Id) -> Option<()> {
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

    fn parenthesized(&mut self) -> Option<Id> {
        let open = self.bump();
        let node = self.node(Kind::Tuple, open.start);
        if self.token() == Token::CloseParenthesis {
            return self.close(node, Token::CloseParenthesis);
        }
        let first = match self.token() {
            Token::Yield => self.yield_()?,
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

    fn list(&mut self) -> Option<Id> {
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
    fn has_long_splat(&self, node: Id) -> bool {
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

    fn braces(&mut self) -> Option<Id> {
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

    /// What a `for` assigns to.
    pub(super) fn targets(&mut self) -> Option<Id> {
        let first = self.target()?;
        if self.token() != Token::Comma {
            return Some(first);
        }
        let list = self.wrap(Kind::PatternList, first, Field::Other);
        while self.token() == Token::Comma {
            let end = self.bump().end;
            self.nodes.set_end(list, end);
            if self.token() == Token::In {
                break;
            }
            let next = self.target()?;
            self.nodes.add(list, next, Field::Other);
        }
        Some(list)
    }

    fn target(&mut self) -> Option<Id> {
        let target = if self.token() == Token::Times {
            self.starred_name()?
        } else {
            self.postfix()?
        };
        self.make_pattern(target)?;
        matches!(self.token(), Token::Comma | Token::In).then_some(target)
    }

    fn is_target(&self, node: Id) -> bool {
        matches!(
            self.nodes.kind(node),
            Kind::Identifier | Kind::Attribute | Kind::Subscript
        )
    }

    /// Changes an expression into what an assignment assigns to.
    pub(super) fn make_pattern(&mut self, node: Id) -> Option<()> {
        let kind = match self.nodes.kind(node) {
            Kind::Identifier | Kind::Attribute | Kind::Subscript => return Some(()),
            Kind::ListSplat => {
                let value = self.nodes.last(node)?;
                self.nodes.set_kind(node, Kind::ListSplatPattern);
                return self.is_target(value).then_some(());
            }
            Kind::Tuple | Kind::ParenthesizedExpression => Kind::TuplePattern,
            Kind::List => Kind::ListPattern,
            Kind::ExpressionList => Kind::PatternList,
            _ => return None,
        };
        self.nodes.set_kind(node, kind);
        let parts: Vec<Id> = self.nodes.children(node).collect();
        parts
            .into_iter()
            .try_for_each(|part| self.make_pattern(part))
    }
}
