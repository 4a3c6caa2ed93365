//! What assignments and loops assign to.

use super::nodes::Id;
use super::parser::Parser;
use super::token::Token;
use crate::syntax::kinds::Kind;

impl Parser<'_> {
    /// What a `for` assigns to.
    pub(super) fn targets(&mut self) -> Option<Id> {
        self.one_or_list(Kind::PatternList, Self::target, |token| token != Token::In)
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
