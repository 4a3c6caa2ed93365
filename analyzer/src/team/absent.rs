//! A stub for team rules in the browser module for Python: most sites have no such rules, and sites with rules load the
//! other module.

use crate::analysis::Options;
use crate::api::json::Json;
use crate::checker::Checker;
use crate::draft::Draft;
use crate::report::Severity;

/// An empty list of rules.
#[derive(Clone, Debug, Default)]
pub struct TeamRules;

/// A team rule; never created.
#[derive(Debug)]
pub struct TeamRule {
    /// `ACME001`.
    pub id: String,
    /// The name in suppression comments.
    pub name: String,
    /// One sentence.
    pub message: String,
    /// The severity of its findings.
    pub severity: Severity,
    /// The URL of the team's documentation.
    pub link: Option<String>,
}

/// The request contains rules, which this module does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this module does not support team rules; use the module for every language")]
pub struct TeamRuleError;

impl TeamRules {
    /// Each rule.
    pub fn iter(&self) -> impl Iterator<Item = &TeamRule> {
        std::iter::empty()
    }

    /// The rule at an index.
    pub fn get(&self, _: usize) -> Option<&TeamRule> {
        None
    }

    /// Always true.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// Parses rules from parsed JSON.
    pub(crate) fn read(rules: &[Json]) -> Result<TeamRules, TeamRuleError> {
        match rules {
            [] => Ok(TeamRules),
            _ => Err(TeamRuleError),
        }
    }
}

/// The findings: none.
pub(crate) fn check(_: &Checker<'_>, _: &Options) -> Vec<Draft> {
    Vec::new()
}
