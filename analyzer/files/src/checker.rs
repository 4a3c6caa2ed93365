//! The interface between build and set-up files and their rules.

use std::ops::Range;

use super::facts::{Facts, Installer, Requirement, names_amd_gpus, names_rocm};
use crate::{FileOptions, embedded_python, rules};
use hipward_analyzer_core::diagnostic::{DiagnosticSink, RawDiagnostic, RawFix};
use hipward_analyzer_core::rule::Rule;
use hipward_analyzer_core::{HandledBy, Language, Severity, Target, sort};

/// The file, its facts, and its findings so far.
pub struct FileChecker<'a> {
    pub source: &'a str,
    pub language: Language,
    pub target: &'a Target,
    pub facts: Facts<'a>,
    /// The file already supports ROCm: code for NVIDIA in it has an equivalent.
    pub is_ported: bool,
    /// Python modules beside the file import PyTorch.
    pub imports_torch: bool,
    is_workflow: bool,
    diagnostics: DiagnosticSink,
}

impl<'a> FileChecker<'a> {
    /// The findings of the selected rules for `language` in `source`.
    pub fn run(
        source: &'a str,
        language: Language,
        facts: Facts<'a>,
        options: &FileOptions<'a>,
    ) -> Vec<RawDiagnostic> {
        let is_ported = mentions_rocm(source, &facts);
        // A document that mentions ROCm or AMD's GPUs has a way for AMD.
        if language == Language::Document && (is_ported || names_amd_gpus(source)) {
            return Vec::new();
        }
        let checker = FileChecker {
            source,
            language: language.checked_as(),
            target: options.target,
            is_ported,
            imports_torch: options.imports_torch,
            is_workflow: is_workflow(&facts),
            facts,
            diagnostics: DiagnosticSink::default(),
        };
        for rules::FileRule {
            rule,
            languages,
            check,
        } in rules::all()
        {
            if languages.contains(&checker.language)
                && options.filter.includes(rule.id, rule.on_request)
            {
                check(&checker);
            }
        }
        for program in checker.facts.python.iter().filter(|_| !checker.is_ported) {
            for mut diagnostic in embedded_python::check(*program, options) {
                if checker.is_workflow {
                    diagnostic.severity = Severity::Info;
                }
                checker.diagnostics.push(diagnostic);
            }
        }
        for diagnostic in (options.extension)(&checker.facts) {
            checker.diagnostics.push(diagnostic);
        }
        checker.diagnostics.finish()
    }

    /// The text between a requirement and the end of its line, such as its marker.
    pub fn rest_of_line(&self, requirement: &Requirement<'_>) -> &'a str {
        let rest = self.source.get(requirement.whole.range().end..);
        rest.and_then(|rest| rest.lines().next())
            .unwrap_or_default()
    }

    /// The range of the command at that position.
    pub fn command_at(&self, at: usize) -> Option<Range<usize>> {
        let mut ranges = self.facts.commands.iter().map(|command| command.range());
        ranges.find(|range| range.contains(&at))
    }

    /// Reports a finding of `rule` at `span`.
    pub fn report(
        &self,
        rule: &'static Rule,
        severity: Severity,
        span: Range<usize>,
        message: impl Into<String>,
        fix: impl Into<Option<RawFix>>,
    ) {
        if self.diagnostics.is_full() {
            return;
        }
        // The CI runner that a workflow selects has the expected GPU: nothing is broken, but a job can be added.
        let severity = if self.is_workflow {
            Severity::Info
        } else {
            severity
        };
        // An edit of a lock file would not fit its hashes.
        let fix = match fix.into() {
            Some(_) if self.facts.is_generated => Some(RawFix::display_only(
                "Change the requirement or its index, and lock again",
            )),
            fix => fix,
        };
        self.diagnostics.push(RawDiagnostic {
            rule: rule.into(),
            span,
            message: message.into(),
            severity,
            handled_by: HandledBy::You,
            fix,
        });
    }
}

/// Variables that fixes write.
const WRITTEN: &[&str] = &["PYTORCH_ROCM_ARCH", "AMD_SERIALIZE_KERNEL"];

/// True if ROCm is named outside of comments, images, indexes, package names and [`WRITTEN`]: a file in which one image
/// was changed for ROCm may need more changes. Nor in a lock file, which quotes what packages say about themselves.
fn mentions_rocm(source: &str, facts: &Facts<'_>) -> bool {
    let is_locked = |found: &Requirement<'_>| found.installer == Installer::Lock;
    if facts.requirements.iter().any(is_locked) {
        return false;
    }
    let images = facts.images.iter().map(|image| image.name.range());
    let indexes = facts.indexes.iter().map(|index| index.range());
    let names = facts.requirements.iter().map(|found| found.name.range());
    // With their values, such as `gfx942`.
    let written = facts
        .settings
        .iter()
        .filter(|setting| WRITTEN.contains(&setting.key.as_str()))
        .map(|setting| setting.key.range().start..setting.value.range().end);
    let passed: Vec<Range<usize>> = facts
        .comments
        .iter()
        .cloned()
        .chain(images)
        .chain(indexes)
        .chain(names)
        .chain(written)
        .collect();
    let mut at = 0;
    for range in sort::by_key(passed, |range| [range.start, 0, 0]) {
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
