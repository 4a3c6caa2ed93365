//! What a rule on build and set-up files works with.

use std::ops::Range;

use crate::analysis::Options;
use crate::draft::{Draft, Drafts, Suggestion};
use crate::report::{HandledBy, Language, Severity, Target};
use crate::rules::RuleMeta;

/// The file, and what was found in it so far.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a str,
    pub(crate) language: Language,
    pub(crate) target: &'a Target,
    drafts: Drafts,
}

impl<'a> Checker<'a> {
    /// What the selected rules for `language` find in `source`.
    pub(crate) fn run(source: &'a str, language: Language, options: &'a Options) -> Vec<Draft> {
        let checker = Checker {
            source,
            language,
            target: &options.target,
            drafts: Drafts::default(),
        };
        for rule in options.selected() {
            if let Some(check) = rule.files
                && rule.languages.contains(&language)
            {
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
        span: Range<usize>,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        self.drafts.push(Draft {
            rule: rule.into(),
            span,
            message: message.into(),
            severity,
            handled_by: HandledBy::You,
            fix: fix.into(),
        });
    }
}
