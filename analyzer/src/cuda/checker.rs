//! What a rule on CUDA C++ works with.

use std::ops::Range;

use crate::analysis::Options;
use crate::draft::{Draft, Drafts, Suggestion};
use crate::report::{HandledBy, Severity, Target};
use crate::rules::RuleMeta;

/// The source, and what was found in it so far.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a str,
    pub(crate) target: &'a Target,
    drafts: Drafts,
}

impl<'a> Checker<'a> {
    /// What the selected rules find in `source`.
    pub(crate) fn run(source: &'a str, options: &'a Options) -> Vec<Draft> {
        let checker = Checker {
            source,
            target: &options.target,
            drafts: Drafts::default(),
        };
        for rule in options.selected() {
            if let Some(check) = rule.cuda {
                check(&checker);
            }
        }
        checker.drafts.finish()
    }

    /// Puts a finding of `rule` at `span`.
    pub(crate) fn report(
        &self,
        rule: &'static RuleMeta,
        severity: Severity,
        handled_by: HandledBy,
        span: Range<usize>,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        self.drafts.push(Draft {
            rule,
            span,
            message: message.into(),
            severity,
            handled_by,
            fix: fix.into(),
        });
    }
}
