//! The way from a source to its report: read it as its language, suppress, place.

use std::ops::Range;

use crate::draft::{Draft, MAX_FINDINGS, Suggestion};
use crate::order;
use crate::position::LineIndex;
use crate::python;
use crate::report::{
    Applicability, Contract, Edit, Finding, Fix, Language, Note, Report, SCHEMA_VERSION, Severity,
    Target,
};
use crate::rules::{RULES, RuleMeta};
use crate::selection::Selection;
use crate::suppression::Suppressions;
use crate::syntax::{LastParse, MAX_SOURCE_BYTES};
use crate::team::TeamRules;

/// How to analyze. The default is every rule, for the default target, in the language that the source reads like.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The machine and versions that the code is meant for.
    pub target: Target,
    /// Which rules to run.
    pub rules: Selection,
    /// How to read the source; from its content where nothing is said.
    pub language: Option<Language>,
    /// Whether C++ is built as a PyTorch extension, whose names PyTorch's hipify changes, or by a build that runs hipify; from
    /// the source's content where nothing is said. A header need not show it: the build files around it do.
    pub pytorch_extension: Option<bool>,
    /// Whether a header of the project's gives CUDA's names for HIP to the source: `using cudaError_t = hipError_t`.
    pub has_hip_names: bool,
    /// Modules that the source's own project is or builds: in flash-attn's repository `flash_attn` needs no port.
    pub own_modules: Vec<String>,
    /// Whether AMD has a file of its own beside the source's, which is then for NVIDIA's hosts: what is found is information.
    pub has_counterpart: bool,
    /// A team's own rules, beside the built-in ones.
    pub team: TeamRules,
}

impl Options {
    /// The rules to run.
    pub(crate) fn selected(&self) -> impl Iterator<Item = &'static RuleMeta> {
        RULES
            .iter()
            .copied()
            .filter(|rule| self.rules.includes(rule))
    }
}

/// What a language's reader makes of a source.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) drafts: Vec<Draft>,
    /// Where comments are, in order.
    pub(crate) comments: Vec<Range<usize>>,
    /// Where the code begins: comments before it may speak for the whole file.
    pub(crate) code_start: usize,
    /// How many findings the reader silenced itself, because the comments that do are not in the source as it is.
    pub(crate) silenced: Option<usize>,
    pub(crate) notes: Vec<Note>,
    pub(crate) contract: Contract,
}

impl Reading {
    /// A source of which nothing can be said but why.
    pub(crate) fn refused(note: Note) -> Reading {
        Reading {
            notes: vec![note],
            ..Reading::default()
        }
    }
}

/// Says what to change in `source` for the target. Never fails: what can't be read is a note in the report.
pub fn analyze(source: &str, options: &Options) -> Report {
    Session::default().analyze(source, options)
}

/// A source that is analyzed again while it is edited. The reports are those of [`analyze`], sooner.
#[derive(Default)]
pub struct Session {
    last: LastParse,
}

impl Session {
    /// [`analyze`].
    pub fn analyze(&mut self, source: &str, options: &Options) -> Report {
        report(source, options, &mut self.last)
    }
}

fn report(source: &str, options: &Options, last: &mut LastParse) -> Report {
    let language = options
        .language
        .unwrap_or_else(|| Language::of_content(source));
    let lines = LineIndex::new(source);
    let mut reading = match refusal(source, language, &lines) {
        Some(note) => Reading::refused(note),
        None => read(source, language, &lines, options, last),
    };
    if cfg!(feature = "all-languages") && options.has_counterpart {
        for draft in &mut reading.drafts {
            draft.severity = Severity::Info;
        }
        reading.notes.push(Note {
            code: "counterpart".to_owned(),
            message: "This file is for NVIDIA hosts: a parallel file for AMD exists.".to_owned(),
            line: None,
        });
    }
    if reading.drafts.len() >= MAX_FINDINGS {
        reading.notes.push(Note {
            code: "too-many".to_owned(),
            message: format!(
                "More than {MAX_FINDINGS} findings: the rest of the source was not analyzed."
            ),
            line: reading
                .drafts
                .last()
                .map(|last| lines.line(last.span.start)),
        });
    }
    let (drafts, suppressed) = match reading.silenced {
        Some(silenced) => (reading.drafts, silenced),
        None => silence(
            reading.drafts,
            source,
            &reading.comments,
            reading.code_start,
            &lines,
        ),
    };
    let drafts = order::by_key(drafts, |draft| {
        [draft.span.start, draft.rule.rank(), draft.span.end]
    });
    let findings = drafts
        .into_iter()
        .map(|draft| place(draft, &lines, &reading.comments))
        .collect();
    Report {
        schema: SCHEMA_VERSION,
        language,
        target: options.target.clone(),
        findings,
        suppressed,
        notes: reading.notes,
        contract: reading.contract,
    }
}

fn read(
    source: &str,
    language: Language,
    lines: &LineIndex<'_>,
    options: &Options,
    last: &mut LastParse,
) -> Reading {
    match language {
        #[cfg(feature = "all-languages")]
        Language::CudaCpp => crate::cuda::read(source, options),
        #[cfg(feature = "all-languages")]
        Language::Notebook
        | Language::Requirements
        | Language::Pyproject
        | Language::Dockerfile
        | Language::Cmake
        | Language::Shell
        | Language::Yaml => crate::files::read(source, language, options),
        _ => python::read(source, lines, options, last),
    }
}

/// The drafts that no comment silences, and how many one does.
pub(crate) fn silence(
    drafts: Vec<Draft>,
    source: &str,
    comments: &[Range<usize>],
    code_start: usize,
    lines: &LineIndex<'_>,
) -> (Vec<Draft>, usize) {
    let suppressions = Suppressions::new(source, comments, code_start, lines);
    let before = drafts.len();
    let left: Vec<_> = drafts
        .into_iter()
        .filter(|draft| {
            let (first, last) = (lines.line(draft.span.start), lines.line(draft.span.end));
            !suppressions.silence(&draft.rule, first, last)
        })
        .collect();
    let silenced = before - left.len();
    (left, silenced)
}

/// Why no language's reader gets to see `source`.
fn refusal(source: &str, language: Language, lines: &LineIndex<'_>) -> Option<Note> {
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

fn place(draft: Draft, lines: &LineIndex<'_>, comments: &[Range<usize>]) -> Finding {
    Finding {
        id: draft.rule.id().to_owned(),
        rule: draft.rule.name().to_owned(),
        severity: draft.severity,
        message: draft.message,
        span: lines.span(draft.span),
        handled_by: draft.handled_by,
        link: draft.rule.link().map(str::to_owned),
        fix: draft.fix.map(|fix| place_fix(fix, lines, comments)),
    }
}

fn place_fix(suggestion: Suggestion, lines: &LineIndex<'_>, comments: &[Range<usize>]) -> Fix {
    let Suggestion {
        title,
        mut applicability,
        edits,
    } = suggestion;
    let edits = order::by_key(edits, |(range, _)| [range.start, range.end, 0]);
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
