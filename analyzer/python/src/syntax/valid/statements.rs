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
            Token::If => self.if_()?,
            Token::While => self.while_()?,
            Token::For | Token::With | Token::Def | Token::Async => self.maybe_async()?,
            Token::Try => self.try_()?,
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
    fn suite(&mut self) -> Option<Id> {
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

    fn if_(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let node = self.node(Kind::IfStatement, start);
        self.branch(node)?;
        while self.token() == Token::Elif {
            let start = self.bump().start;
            let clause = self.node(Kind::ElifClause, start);
            self.branch(clause)?;
            self.nodes.add(node, clause, Field::Alternative);
        }
        self.else_(node, Field::Alternative)?;
        Some(node)
    }

    fn branch(&mut self, node: Id) -> Option<()> {
        let condition = self.expression()?;
        self.nodes.add(node, condition, Field::Condition);
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Consequence);
        Some(())
    }

    fn else_(&mut self, node: Id, field: Field) -> Option<()> {
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

    fn while_(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let node = self.node(Kind::WhileStatement, start);
        let condition = self.expression()?;
        self.nodes.add(node, condition, Field::Condition);
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Body);
        self.else_(node, Field::Alternative)?;
        Some(node)
    }

    /// A statement that may begin with `async`.
    fn maybe_async(&mut self) -> Option<Id> {
        let start = self.start();
        self.eat(Token::Async);
        match self.bump().token {
            Token::For => self.for_(start),
            Token::With => self.with(start),
            Token::Def => self.function(start),
            _ => None,
        }
    }

    fn for_(&mut self, start: u32) -> Option<Id> {
        let node = self.node(Kind::ForStatement, start);
        let targets = self.targets()?;
        self.nodes.add(node, targets, Field::Left);
        self.expect_operator(node, Token::In, Kind::In)?;
        let values = self.expressions()?;
        self.nodes.add(node, values, Field::Right);
        let block = self.suite()?;
        self.nodes.add(node, block, Field::Body);
        self.else_(node, Field::Alternative)?;
        Some(node)
    }

    fn try_(&mut self) -> Option<Id> {
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
        self.else_(node, Field::Other)?;
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

    fn function(&mut self, start: u32) -> Option<Id> {
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
    fn annotation(&mut self) -> Option<Id> {
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

    fn class(&mut self) -> Option<Id> {
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

    fn decorated(&mut self) -> Option<Id> {
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

    fn simple(&mut self) -> Option<Id> {
        let start = self.start();
        let kind = match self.token() {
            Token::Import => return self.import(),
            Token::From => return self.import_from(),
            Token::Pass => Kind::PassStatement,
            Token::Break => Kind::BreakStatement,
            Token::Continue => Kind::ContinueStatement,
            Token::Return => Kind::ReturnStatement,
            Token::Raise => Kind::RaiseStatement,
            Token::Del => Kind::DeleteStatement,
            Token::Global => Kind::GlobalStatement,
            Token::Nonlocal => Kind::NonlocalStatement,
            Token::Assert => Kind::AssertStatement,
            _ => return self.expression_statement(),
        };
        let end = self.bump().end;
        let node = self.nodes.new_node(kind, start, end);
        match kind {
            Kind::ReturnStatement | Kind::RaiseStatement | Kind::DeleteStatement => {
                if self.token().begins_expression() {
                    let values = self.expressions()?;
                    self.nodes.add(node, values, Field::Other);
                } else if kind == Kind::DeleteStatement {
                    return None;
                }
                if kind == Kind::RaiseStatement && self.eat(Token::From) {
                    let cause = self.expression()?;
                    self.nodes.add(node, cause, Field::Other);
                }
            }
            Kind::GlobalStatement | Kind::NonlocalStatement => loop {
                let name = self.identifier()?;
                self.nodes.add(node, name, Field::Other);
                if !self.eat(Token::Comma) {
                    break;
                }
            },
            Kind::AssertStatement => loop {
                let value = self.expression()?;
                self.nodes.add(node, value, Field::Other);
                if !self.eat(Token::Comma) {
                    break;
                }
            },
            _ => {}
        }
        Some(node)
    }

    fn import(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let node = self.node(Kind::ImportStatement, start);
        self.imported(node)?;
        Some(node)
    }

    /// The names of an import.
    fn imported(&mut self, node: Id) -> Option<()> {
        loop {
            let name = self.dotted_name()?;
            let name = if self.token() == Token::As {
                let aliased = self.wrap(Kind::AliasedImport, name, Field::Name);
                self.bump();
                let alias = self.identifier()?;
                self.nodes.add(aliased, alias, Field::Alias);
                aliased
            } else {
                name
            };
            self.nodes.add(node, name, Field::Name);
            if !self.eat(Token::Comma) || self.token() == Token::CloseParenthesis {
                return Some(());
            }
        }
    }

    fn dotted_name(&mut self) -> Option<Id> {
        let first = self.identifier()?;
        let name = self.wrap(Kind::DottedName, first, Field::Other);
        while self.eat(Token::Dot) {
            let part = self.identifier()?;
            self.nodes.add(name, part, Field::Other);
        }
        Some(name)
    }

    fn import_from(&mut self) -> Option<Id> {
        let start = self.bump().start;
        let node = self.node(Kind::ImportFromStatement, start);
        let module = if matches!(self.token(), Token::Dot | Token::Ellipsis) {
            self.relative_import()?
        } else {
            self.dotted_name()?
        };
        let is_future = self.text(module) == "__future__";
        if is_future {
            self.nodes.set_kind(node, Kind::FutureImportStatement);
        } else {
            self.nodes.add(node, module, Field::ModuleName);
        }
        self.expect(Token::Import)?;
        if self.token() == Token::Times && !is_future {
            let wildcard = self.node(Kind::WildcardImport, self.start());
            self.operator(wildcard, Kind::Times, Field::Other);
            self.nodes.add(node, wildcard, Field::Other);
        } else if self.eat(Token::OpenParenthesis) {
            self.imported(node)?;
            self.close(node, Token::CloseParenthesis)?;
        } else {
            self.imported(node)?;
        }
        Some(node)
    }

    fn relative_import(&mut self) -> Option<Id> {
        let start = self.start();
        let prefix = self.node(Kind::Other, start);
        while matches!(self.token(), Token::Dot | Token::Ellipsis) {
            let end = self.bump().end;
            self.nodes.set_end(prefix, end);
        }
        let relative = self.wrap(Kind::RelativeImport, prefix, Field::Other);
        if self.token() == Token::Name {
            let name = self.dotted_name()?;
            self.nodes.add(relative, name, Field::Other);
        }
        Some(relative)
    }

    fn expression_statement(&mut self) -> Option<Id> {
        let start = self.start();
        let statement = self.node(Kind::ExpressionStatement, start);
        if self.token() == Token::Yield {
            let value = self.yield_()?;
            self.nodes.add(statement, value, Field::Other);
            return Some(statement);
        }
        // Words that are keywords of some statements: `print >>file`, and `type(x).y = z` for the grammar.
        let word = self.text_of(self.tokens[self.at]);
        if word == "print" && self.token_after() == Token::ShiftRight {
            return None;
        }
        let left = self.expressions()?;
        if word == "type" && self.token() == Token::Assign && self.text(left) != word {
            return None;
        }
        let content = match self.token() {
            Token::Assign | Token::AugmentedAssign | Token::Colon => self.assignment(left)?,
            // The grammar has no node for a tuple that is a statement.
            _ if self.nodes.kind(left) == Kind::ExpressionList => {
                self.nodes.set_kind(left, Kind::ExpressionStatement);
                return Some(left);
            }
            _ => left,
        };
        self.nodes.add(statement, content, Field::Other);
        Some(statement)
    }

    /// The assignment to `left`.
    fn assignment(&mut self, left: Id) -> Option<Id> {
        self.enter()?;
        self.make_pattern(left)?;
        let node = self.wrap(Kind::Assignment, left, Field::Left);
        if self.eat(Token::AugmentedAssign) {
            self.nodes.set_kind(node, Kind::AugmentedAssignment);
            let right = self.assigned()?;
            self.nodes.add(node, right, Field::Right);
        } else {
            let has_type = self.eat(Token::Colon);
            if has_type {
                let annotation = self.annotation()?;
                self.nodes.add(node, annotation, Field::Other);
            }
            if self.eat(Token::Assign) {
                let right = self.assigned()?;
                self.nodes.add(node, right, Field::Right);
            } else if !has_type {
                return None;
            }
        }
        self.leave();
        Some(node)
    }

    fn assigned(&mut self) -> Option<Id> {
        if self.token() == Token::Yield {
            return self.yield_();
        }
        let values = self.expressions()?;
        if self.token() == Token::Assign {
            return self.assignment(values);
        }
        // The grammar may read `[*a.b], c` as a pattern.
        let is_ambiguous = self.nodes.kind(values) == Kind::ExpressionList
            && ["[*", "(*", ", *"]
                .iter()
                .any(|star| self.text(values).contains(star));
        (!is_ambiguous).then_some(values)
    }
}
