//! Builds the report from the diagnostics of a language: suppression comments, order, and positions.

use std::ops::Range;

use crate::diagnostic::{MAX_FINDINGS, RawDiagnostic, RawFix, RuleRef};
use crate::position::LineIndex;
use crate::report::{
    Applicability, Contract, Edit, Finding, Fix, Language, Note, Report, SCHEMA_VERSION, Target,
};
use crate::sort;
use crate::suppression::Suppressions;

/// Sources longer than this are not analyzed.
///
/// PyTorch's largest module is about a third of it.
pub const MAX_SOURCE_BYTES: usize = 2 * 1024 * 1024;

/// The result of running a language's rules over a source.
#[derive(Default)]
pub struct ParsedFile {
    pub diagnostics: Vec<RawDiagnostic>,
    /// The ranges of the comments, in order.
    pub comments: Vec<Range<usize>>,
    /// Where the code begins: suppression comments before it may apply to the whole file.
    pub code_start: usize,
    /// The number of suppressed findings, for a language that applied the suppression comments itself because they are
    /// not in the source as such.
    pub suppressed: Option<usize>,
    pub notes: Vec<Note>,
    pub contract: Contract,
}

impl ParsedFile {
    /// A source that cannot be analyzed, for the reason in `note`.
    pub fn unreadable(note: Note) -> ParsedFile {
        ParsedFile {
            notes: vec![note],
            ..ParsedFile::default()
        }
    }
}

/// Makes the report of `source` from its parsed file. `rank` orders the findings that start at the same byte.
pub fn report(
    source: &str,
    language: Language,
    target: &Target,
    lines: &LineIndex<'_>,
    mut parsed: ParsedFile,
    rank: &dyn Fn(&RuleRef) -> usize,
) -> Report {
    if parsed.diagnostics.len() >= MAX_FINDINGS {
        parsed.notes.push(Note {
            code: "too-many".to_owned(),
            message: format!(
                "More than {MAX_FINDINGS} findings: the rest of the source was not analyzed."
            ),
            line: parsed
                .diagnostics
                .last()
                .map(|last| lines.line(last.span.start)),
        });
    }
    let (diagnostics, suppressed) = match parsed.suppressed {
        Some(suppressed) => (parsed.diagnostics, suppressed),
        None => suppress(
            parsed.diagnostics,
            source,
            &parsed.comments,
            parsed.code_start,
            lines,
        ),
    };
    let diagnostics = sort::by_key(diagnostics, |diagnostic| {
        [
            diagnostic.span.start,
            rank(&diagnostic.rule),
            diagnostic.span.end,
        ]
    });
    let findings = diagnostics
        .into_iter()
        .map(|diagnostic| place(diagnostic, lines, &parsed.comments))
        .collect();
    Report {
        schema: SCHEMA_VERSION,
        language,
        target: target.clone(),
        findings,
        suppressed,
        notes: parsed.notes,
        contract: parsed.contract,
    }
}

/// The diagnostics that no comment suppresses, and the number of suppressed ones.
pub fn suppress(
    diagnostics: Vec<RawDiagnostic>,
    source: &str,
    comments: &[Range<usize>],
    code_start: usize,
    lines: &LineIndex<'_>,
) -> (Vec<RawDiagnostic>, usize) {
    let suppressions = Suppressions::new(source, comments, code_start, lines);
    let before = diagnostics.len();
    let left: Vec<_> = diagnostics
        .into_iter()
        .filter(|diagnostic| {
            let (first, last) = (
                lines.line(diagnostic.span.start),
                lines.line(diagnostic.span.end),
            );
            !suppressions.suppress(&diagnostic.rule, first, last)
        })
        .collect();
    let suppressed = before - left.len();
    (left, suppressed)
}

/// The reason not to analyze `source` at all: it is too large, or binary.
pub fn refusal(source: &str, language: Language, lines: &LineIndex<'_>) -> Option<Note> {
    // Most of a notebook is pictures, which are passed over.
    let most = match language {
        Language::Notebook => MAX_SOURCE_BYTES * 8,
        _ => MAX_SOURCE_BYTES,
    };
    if source.len() > most {
        return Some(Note {
            code: "too-large".to_owned(),
            message: format!(
                "This text is {} KB long; up to {} KB are analyzed. Reduce it to the relevant file.",
                source.len() / 1024,
                most / 1024,
            ),
            line: None,
        });
    }
    let nul = source.find('\0')?;
    Some(Note {
        code: "binary".to_owned(),
        message: "This is not text: it contains NUL bytes. It may be a compiled file or UTF-16."
            .to_owned(),
        line: Some(lines.line(nul)),
    })
}

fn place(diagnostic: RawDiagnostic, lines: &LineIndex<'_>, comments: &[Range<usize>]) -> Finding {
    Finding {
        id: diagnostic.rule.id().to_owned(),
        rule: diagnostic.rule.name().to_owned(),
        severity: diagnostic.severity,
        message: diagnostic.message,
        span: lines.span(diagnostic.span),
        handled_by: diagnostic.handled_by,
        link: diagnostic.rule.link().map(str::to_owned),
        fix: diagnostic.fix.map(|fix| place_fix(fix, lines, comments)),
    }
}

fn place_fix(suggestion: RawFix, lines: &LineIndex<'_>, comments: &[Range<usize>]) -> Fix {
    let RawFix {
        title,
        mut applicability,
        edits,
    } = suggestion;
    let edits = sort::by_key(edits, |(range, _)| [range.start, range.end, 0]);
    let loses_comment = edits.iter().any(|(range, _)| {
        let from = comments.partition_point(|comment| comment.end <= range.start);
        comments
            .get(from)
            .is_some_and(|comment| comment.start < range.end)
    });
    if loses_comment && applicability == Applicability::Safe {
        applicability = Applicability::Unsafe;
    }
    Fix {
        title,
        applicability,
        edits: edits
            .into_iter()
            .map(|(range, text)| Edit {
                span: lines.span(range),
                text,
            })
            .collect(),
    }
}
