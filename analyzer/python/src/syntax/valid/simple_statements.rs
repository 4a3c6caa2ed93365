//! Statements on one line: imports, assignments and others.

use super::nodes::Id;
use super::parser::Parser;
use super::token::Token;
use crate::syntax::kinds::{Field, Kind};

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Option<Id> {
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
            let value = self.yield_expression()?;
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
            return self.yield_expression();
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
