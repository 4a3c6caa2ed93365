//! Python programs in shell scripts, Dockerfiles and workflows.

use crate::FileOptions;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::{RawDiagnostic, RawFix};
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::{Applicability, Severity};
use hipward_analyzer_python::syntax::LastParse;

/// The errors and warnings in a program. Their fixes are display-only, because an edit may contain the quote that ends the
/// program.
pub(crate) fn check(program: Text<'_>, options: &FileOptions<'_>) -> Vec<RawDiagnostic> {
    let python = hipward_analyzer_python::read(
        program.as_str(),
        &LineIndex::new(program.as_str()),
        &options.python,
        &mut LastParse::default(),
    );
    let serious = python
        .diagnostics
        .into_iter()
        .filter(|found| matches!(found.severity, Severity::Error | Severity::Warning));
    serious
        .map(|found| RawDiagnostic {
            span: program.part(found.span).range(),
            fix: found.fix.map(|fix| match fix.applicability {
                Applicability::DisplayOnly => fix,
                _ => RawFix::display_only(fix.title),
            }),
            ..found
        })
        .collect()
}
