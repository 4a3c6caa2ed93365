//! Findings and fixes before their byte ranges get positions: what every language's checker makes.

use std::cell::RefCell;
use std::ops::Range;

use crate::report::{Applicability, HandledBy, Severity};
use crate::rule::Rule;

/// More findings than anyone reads; past it the analysis stops, so that no text can make it long.
pub const MAX_FINDINGS: usize = 1000;

/// A replacement of a byte range.
pub type Replacement = (Range<usize>, String);

/// A fix before its ranges get positions.
pub struct Suggestion {
    pub title: String,
    pub applicability: Applicability,
    pub edits: Vec<Replacement>,
}

impl Suggestion {
    /// For a person to carry out.
    pub fn display_only(title: impl Into<String>) -> Self {
        Suggestion {
            title: title.into(),
            applicability: Applicability::DisplayOnly,
            edits: Vec::new(),
        }
    }

    /// Valid code, but behaviour may change.
    pub fn unsafe_edits(title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        Suggestion {
            title: title.into(),
            applicability: Applicability::Unsafe,
            edits,
        }
    }

    /// Behaviour is kept.
    pub fn safe_edits(title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        Suggestion {
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
    /// One of a team's rules.
    Team(Box<TeamRuleRef>),
}

/// A team's rule, as its findings refer to it.
#[derive(Debug)]
pub struct TeamRuleRef {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The page where the team explains it.
    pub link: Option<String>,
    /// Its position among the team's rules.
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

    /// The page where a team explains its rule.
    pub fn link(&self) -> Option<&str> {
        match self {
            RuleRef::BuiltIn(_) => None,
            RuleRef::Team(rule) => rule.link.as_deref(),
        }
    }
}

/// A finding before its ranges get positions.
pub struct RawDiagnostic {
    pub rule: RuleRef,
    pub span: Range<usize>,
    pub message: String,
    pub severity: Severity,
    pub handled_by: HandledBy,
    pub fix: Option<Suggestion>,
}

/// Where a checker puts what its rules find.
#[derive(Default)]
pub struct DiagnosticSink {
    found: RefCell<Vec<RawDiagnostic>>,
}

impl DiagnosticSink {
    /// Adds a finding.
    pub fn push(&self, diagnostic: RawDiagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }

    /// True when there are as many as anyone reads.
    pub fn is_full(&self) -> bool {
        self.found.borrow().len() >= MAX_FINDINGS
    }

    /// True when one of them is so.
    pub fn any(&self, is_so: impl FnMut(&RawDiagnostic) -> bool) -> bool {
        self.found.borrow().iter().any(is_so)
    }

    /// All of them, in the order they were found.
    pub fn finish(self) -> Vec<RawDiagnostic> {
        self.found.into_inner()
    }
}
