//! Diagnostics and fixes with byte ranges, as the checkers of all languages create them.

use std::cell::RefCell;
use std::ops::Range;

use crate::report::{Applicability, HandledBy, Severity};
use crate::rule::Rule;

/// Limit for the number of findings. The analysis stops there, which bounds its time for any text.
pub const MAX_FINDINGS: usize = 1000;

/// A replacement of a byte range.
pub type Replacement = (Range<usize>, String);

/// A fix with byte ranges; the report has it with positions.
pub struct RawFix {
    pub title: String,
    pub applicability: Applicability,
    pub edits: Vec<Replacement>,
}

impl RawFix {
    /// To be done by hand.
    pub fn display_only(title: impl Into<String>) -> Self {
        RawFix {
            title: title.into(),
            applicability: Applicability::DisplayOnly,
            edits: Vec::new(),
        }
    }

    /// Valid code, but behavior may change.
    pub fn unsafe_edits(title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        RawFix {
            title: title.into(),
            applicability: Applicability::Unsafe,
            edits,
        }
    }

    /// Behavior does not change.
    pub fn safe_edits(title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        RawFix {
            title: title.into(),
            applicability: Applicability::Safe,
            edits,
        }
    }
}

/// The rule that a diagnostic belongs to.
#[derive(Debug)]
pub enum RuleRef {
    /// A built-in rule.
    BuiltIn(&'static Rule),
    /// A team rule.
    Team(Box<TeamRuleRef>),
}

/// A reference to a team rule.
#[derive(Debug)]
pub struct TeamRuleRef {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// URL of its documentation.
    pub link: Option<String>,
    /// Its index among the team rules.
    pub index: usize,
}

impl From<&'static Rule> for RuleRef {
    fn from(rule: &'static Rule) -> Self {
        RuleRef::BuiltIn(rule)
    }
}

impl RuleRef {
    /// The rule's id.
    pub fn id(&self) -> &str {
        match self {
            RuleRef::BuiltIn(rule) => rule.id,
            RuleRef::Team(rule) => &rule.id,
        }
    }

    /// The rule's name.
    pub fn name(&self) -> &str {
        match self {
            RuleRef::BuiltIn(rule) => rule.name,
            RuleRef::Team(rule) => &rule.name,
        }
    }

    /// URL of a team rule's documentation.
    pub fn link(&self) -> Option<&str> {
        match self {
            RuleRef::BuiltIn(_) => None,
            RuleRef::Team(rule) => rule.link.as_deref(),
        }
    }
}

/// A finding with byte ranges; the report has it with positions.
pub struct RawDiagnostic {
    pub rule: RuleRef,
    pub span: Range<usize>,
    pub message: String,
    pub severity: Severity,
    pub handled_by: HandledBy,
    pub fix: Option<RawFix>,
}

/// Collects the diagnostics of a checker.
#[derive(Default)]
pub struct DiagnosticSink {
    found: RefCell<Vec<RawDiagnostic>>,
}

impl DiagnosticSink {
    /// Adds a finding.
    pub fn push(&self, diagnostic: RawDiagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }

    /// True if the limit is reached.
    pub fn is_full(&self) -> bool {
        self.found.borrow().len() >= MAX_FINDINGS
    }

    /// True if `is_so` is true for a diagnostic.
    pub fn any(&self, is_so: impl FnMut(&RawDiagnostic) -> bool) -> bool {
        self.found.borrow().iter().any(is_so)
    }

    /// All diagnostics, in the order in which they were added.
    pub fn finish(self) -> Vec<RawDiagnostic> {
        self.found.into_inner()
    }
}
