//! Stands in for team rules in the browser module that is for Python alone: most sites have no such rules, and the ones
//! that have load the other module.

use crate::analysis::Options;
use crate::api::json::Json;
use crate::checker::Checker;
use crate::draft::Draft;
use crate::report::Severity;

/// No rules.
#[derive(Clone, Debug, Default)]
pub struct TeamRules;

/// One rule of a team; there is none.
#[derive(Debug)]
pub struct TeamRule {
    /// `ACME001`.
    pub id: String,
    /// Reads after "allow".
    pub name: String,
    /// One sentence.
    pub message: String,
    /// How bad its findings are.
    pub severity: Severity,
    /// Where the team explains it.
    pub link: Option<String>,
}

/// Rules came that this module does not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this module reads no team rules; the one for every language does")]
pub struct TeamRuleError;

impl TeamRules {
    /// Each rule.
    pub fn iter(&self) -> impl Iterator<Item = &TeamRule> {
        std::iter::empty()
    }

    /// The rule in a place.
    pub fn get(&self, _: usize) -> Option<&TeamRule> {
        None
    }

    /// True: there are none.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// Reads rules that were parsed.
    pub(crate) fn read(rules: &[Json]) -> Result<TeamRules, TeamRuleError> {
        match rules {
            [] => Ok(TeamRules),
            _ => Err(TeamRuleError),
        }
    }
}

/// What no rules find.
pub(crate) fn check(_: &Checker<'_>, _: &Options) -> Vec<Draft> {
    Vec::new()
}
