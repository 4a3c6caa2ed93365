//! Findings and fixes before their byte ranges get positions: what every language's checker makes.

use std::cell::RefCell;
use std::ops::Range;

use crate::report::{Applicability, HandledBy, Severity};
use crate::rules::{RULES, RuleMeta};
use crate::team::{TeamRule, TeamRules};

/// More findings than anyone reads; past it the analysis stops, so that no text can make it long.
pub(crate) const MAX_FINDINGS: usize = 1000;

/// A replacement of a byte range.
pub(crate) type Replacement = (Range<usize>, String);

/// A fix before its ranges get positions.
pub(crate) struct Suggestion {
    pub(crate) title: String,
    pub(crate) applicability: Applicability,
    pub(crate) edits: Vec<Replacement>,
}

impl Suggestion {
    /// For a person to carry out.
    pub(crate) fn display_only(title: impl Into<String>) -> Self {
        Suggestion {
            title: title.into(),
            applicability: Applicability::DisplayOnly,
            edits: Vec::new(),
        }
    }

    /// Valid code, but behaviour may change.
    pub(crate) fn unsafe_edits(title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        Suggestion {
            title: title.into(),
            applicability: Applicability::Unsafe,
            edits,
        }
    }

    /// Behaviour is kept.
    pub(crate) fn safe_edits(title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        Suggestion {
            title: title.into(),
            applicability: Applicability::Safe,
            edits,
        }
    }
}

/// The rule that a finding is of.
pub(crate) enum Author {
    BuiltIn(&'static RuleMeta),
    /// One of a team's, by its place among them.
    #[cfg_attr(
        not(feature = "all-languages"),
        expect(dead_code, reason = "the module for Python alone has no team rules")
    )]
    Team(TeamRules, usize),
}

impl From<&'static RuleMeta> for Author {
    fn from(rule: &'static RuleMeta) -> Self {
        Author::BuiltIn(rule)
    }
}

impl Author {
    fn team(&self) -> Option<&TeamRule> {
        match self {
            Author::BuiltIn(_) => None,
            Author::Team(rules, index) => rules.get(*index),
        }
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            Author::BuiltIn(rule) => rule.id,
            Author::Team(..) => self.team().map_or("", |rule| &rule.id),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Author::BuiltIn(rule) => rule.name,
            Author::Team(..) => self.team().map_or("", |rule| &rule.name),
        }
    }

    /// Where a team explains its rule.
    pub(crate) fn link(&self) -> Option<&str> {
        self.team()?.link.as_deref()
    }

    /// The order of findings in one place: by the table of rules, then the team's.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Author::BuiltIn(rule) => RULES
                .iter()
                .position(|known| known.id == rule.id)
                .unwrap_or_default(),
            Author::Team(_, index) => RULES.len() + index,
        }
    }
}

/// A finding before its ranges get positions.
pub(crate) struct Draft {
    pub(crate) rule: Author,
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) severity: Severity,
    pub(crate) handled_by: HandledBy,
    pub(crate) fix: Option<Suggestion>,
}

/// Where a checker puts what its rules find.
#[derive(Default)]
pub(crate) struct Drafts {
    found: RefCell<Vec<Draft>>,
}

impl Drafts {
    /// Adds a finding.
    pub(crate) fn push(&self, draft: Draft) {
        self.found.borrow_mut().push(draft);
    }

    /// True when there are as many as anyone reads.
    pub(crate) fn is_full(&self) -> bool {
        self.found.borrow().len() >= MAX_FINDINGS
    }

    /// True when one of them is so.
    pub(crate) fn any(&self, is_so: impl FnMut(&Draft) -> bool) -> bool {
        self.found.borrow().iter().any(is_so)
    }

    /// All of them, in the order they were found.
    pub(crate) fn finish(self) -> Vec<Draft> {
        self.found.into_inner()
    }
}
