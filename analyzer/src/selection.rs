//! The rules that run, among the built-in ones and a team's.

use hipward_analyzer_core::selection::{KnownRule, RuleFilter};
use hipward_analyzer_team::TeamRules;

use crate::registry::RULES;

/// The rules to run: all but the ignored ones, or only the selected ones.
#[derive(Clone, Debug, Default)]
pub struct Selection(pub(crate) RuleFilter);

/// A selected or ignored rule that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{entered}`")]
pub struct UnknownRule {
    /// The name as it was entered.
    pub entered: String,
}

impl From<hipward_analyzer_core::selection::UnknownRule> for UnknownRule {
    fn from(error: hipward_analyzer_core::selection::UnknownRule) -> Self {
        UnknownRule {
            entered: error.entered,
        }
    }
}

impl UnknownRule {
    /// The name and id of the rule, built in or a team's, that is closest to the one that was entered.
    pub fn nearest<'t>(&self, team: &'t TeamRules) -> Option<(&'t str, &'t str)> {
        let error = hipward_analyzer_core::selection::UnknownRule {
            entered: self.entered.clone(),
        };
        error.nearest_of(known(team).into_iter())
    }
}

impl Selection {
    /// Rules by id, name, or the first characters of an id (`HW1`). An empty `select` is all of them.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn new<T: AsRef<str>>(select: &[T], ignore: &[T]) -> Result<Self, UnknownRule> {
        Selection::with_team(select, ignore, &TeamRules::default())
    }

    /// [`Selection::new`] among the built-in rules and a team's.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn with_team<T: AsRef<str>>(
        select: &[T],
        ignore: &[T],
        team: &TeamRules,
    ) -> Result<Self, UnknownRule> {
        Ok(Selection(RuleFilter::new(select, ignore, &known(team))?))
    }

    /// This selection without some more rules.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn without<T: AsRef<str>>(
        self,
        ignore: &[T],
        team: &TeamRules,
    ) -> Result<Self, UnknownRule> {
        Ok(Selection(self.0.without(ignore, &known(team))?))
    }
}

/// The built-in rules, then the team's.
fn known(team: &TeamRules) -> Vec<KnownRule<'_>> {
    let built_in = RULES.iter().map(|rule| KnownRule {
        id: rule.id,
        name: rule.name,
        on_request: rule.on_request,
    });
    let team = team.iter().map(|rule| KnownRule {
        id: &rule.id,
        name: &rule.name,
        on_request: false,
    });
    built_in.chain(team).collect()
}
