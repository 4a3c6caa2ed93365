//! The interface between build and set-up files and their rules.

use std::ops::Range;

use super::facts::{Facts, names_rocm};
use crate::analysis::Options;
use crate::draft::{Draft, Drafts, Suggestion};
use crate::report::{HandledBy, Language, Severity, Target};
use crate::rules::RuleMeta;
use crate::team::check_file;

/// The file, its facts, and its findings so far.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a str,
    pub(crate) language: Language,
    pub(crate) target: &'a Target,
    pub(crate) facts: Facts<'a>,
    /// The file already supports ROCm: code for NVIDIA in it has an equivalent.
    pub(crate) is_ported: bool,
    is_workflow: bool,
    drafts: Drafts,
}

impl<'a> Checker<'a> {
    /// The findings of the selected rules for `language` in `source`.
    pub(crate) fn run(
        source: &'a str,
        language: Language,
        facts: Facts<'a>,
        options: &'a Options,
    ) -> Vec<Draft> {
        let checker = Checker {
            source,
            language,
            target: &options.target,
            is_ported: mentions_rocm(source, &facts),
            is_workflow: is_workflow(&facts),
            facts,
            drafts: Drafts::default(),
        };
        for rule in options.selected() {
            if let Some(check) = rule.files
                && rule.languages.contains(&language)
            {
                check(&checker);
            }
        }
        for draft in check_file(&checker.facts, options) {
            checker.drafts.push(draft);
        }
        checker.drafts.finish()
    }

    /// Reports a finding of `rule` at `span`.
    pub(crate) fn report(
        &self,
        rule: &'static RuleMeta,
        severity: Severity,
        span: Range<usize>,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        if self.drafts.is_full() {
            return;
        }
        // The CI runner that a workflow selects has the expected GPU: nothing is broken, but a job can be added.
        let severity = if self.is_workflow {
            Severity::Info
        } else {
            severity
        };
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

/// Variables that fixes write.
const WRITTEN: &[&str] = &["PYTORCH_ROCM_ARCH", "AMD_SERIALIZE_KERNEL"];

/// True if ROCm is named outside of comments, images, indexes, package names and [`WRITTEN`]: a file in which one image
/// was changed for ROCm may need more changes.
fn mentions_rocm(source: &str, facts: &Facts<'_>) -> bool {
    let images = facts.images.iter().map(|image| image.name.range());
    let indexes = facts.indexes.iter().map(|index| index.range());
    let names = facts.requirements.iter().map(|found| found.name.range());
    // With their values, such as `gfx942`.
    let written = facts
        .settings
        .iter()
        .filter(|setting| WRITTEN.contains(&setting.key.as_str()))
        .map(|setting| setting.key.range().start..setting.value.range().end);
    let mut passed: Vec<Range<usize>> = facts
        .comments
        .iter()
        .cloned()
        .chain(images)
        .chain(indexes)
        .chain(names)
        .chain(written)
        .collect();
    passed.sort_unstable_by_key(|range| range.start);
    let mut at = 0;
    for range in passed {
        if source.get(at..range.start).is_some_and(names_rocm) {
            return true;
        }
        at = at.max(range.end);
    }
    source.get(at..).is_some_and(names_rocm)
}

/// True for the files of continuous integration.
fn is_workflow(facts: &Facts<'_>) -> bool {
    let keys = ["jobs", "stages", "steps", "runs", "pipelines", "workflows"];
    facts
        .entries
        .iter()
        .any(|entry| entry.column == 0 && keys.contains(&entry.key.as_str()))
}
