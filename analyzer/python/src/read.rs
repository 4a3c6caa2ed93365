//! Parses Python, runs the rules over the tree, and reports what could not be parsed.

use std::mem;
use std::ops::Range;

use hipward_analyzer_core::Note;
use hipward_analyzer_core::Target;
use hipward_analyzer_core::analysis::ParsedFile;
use hipward_analyzer_core::diagnostic::RawDiagnostic;
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::selection::RuleFilter;

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::semantic::Semantics;
use crate::snippet_contract;
use crate::syntax::{Kind, LastParse, Tree, parse};

/// How to analyze Python.
#[derive(Clone, Copy)]
pub struct PythonOptions<'a> {
    /// The machine and versions that the code is meant for.
    pub target: &'a Target,
    /// The built-in rules, by family.
    pub rules: &'a [&'static PythonRule],
    /// Those of them that run.
    pub filter: &'a RuleFilter,
    /// Modules of the source's own project: in flash-attn's repository `flash_attn` needs no port.
    pub first_party_modules: &'a [String],
    /// Functions and constants of the project's other modules that are false on AMD: `acme.utils.is_nvidia`, and
    /// `.utils.is_nvidia` for relative imports, separated by spaces.
    pub false_on_amd: &'a str,
    /// Keys of the checkpoints that the project's modules save together with the parsed arguments of their command line.
    pub saved_with_arguments: &'a [String],
    /// The newest releases of other libraries that the project's requirements allow: `transformers 4.36`.
    pub release_limits: &'a [String],
    /// Information about a Python source for other crates.
    pub extensions: &'a [&'a dyn PythonExtension],
}

/// More checks of a Python source: a team's rules, the CUDA C++ in its strings.
pub trait PythonExtension {
    /// Adds its findings.
    fn check(&self, checker: &PythonChecker<'_>, found: &mut Extra);
}

/// The result of the [`PythonExtension`]s.
#[derive(Default)]
pub struct Extra {
    /// The findings.
    pub diagnostics: Vec<RawDiagnostic>,
    /// Ranges of comments that the Python parser does not see.
    pub comments: Vec<Range<usize>>,
}

/// Analyzes `source` as Python. `last` is the previous parse of a similar text, which makes parsing faster.
pub fn read(
    source: &str,
    lines: &LineIndex<'_>,
    options: &PythonOptions<'_>,
    last: &mut LastParse,
) -> ParsedFile {
    let Some(tree) = parse(source, last) else {
        return ParsedFile::unreadable(Note {
            code: "too-complex".to_owned(),
            message:
                "The parser stopped: this text is too far from valid Python. Paste one Python file."
                    .to_owned(),
            line: None,
        });
    };
    let mut notes = syntax_notes(&tree, lines);
    if notes.iter().any(|note| note.code == "not-python") {
        return ParsedFile {
            notes,
            ..ParsedFile::default()
        };
    }
    let mut semantics = Semantics::new(tree, options.target.clone());
    semantics.false_on_amd = options.false_on_amd;
    let checker = PythonChecker::run(semantics, options);
    let mut extra = Extra::default();
    for extension in options.extensions {
        extension.check(&checker, &mut extra);
    }
    let (semantics, mut diagnostics) = checker.finish();
    diagnostics.extend(extra.diagnostics);
    let tree = &semantics.tree;
    if let Some(cut) = tree.first_cut() {
        notes.push(too_deep(lines.line(cut)));
        // The part that was left out may use the names that a fix changes.
        for fix in diagnostics
            .iter_mut()
            .filter_map(|diagnostic| diagnostic.fix.as_mut())
        {
            *fix = RawFix::display_only(mem::take(&mut fix.title));
        }
    }
    let parsed = ParsedFile {
        diagnostics,
        comments: tree.comments(extra.comments),
        code_start: code_start(tree),
        notes,
        contract: snippet_contract::detect(&semantics),
        suppressed: None,
    };
    last.keep(semantics.tree);
    parsed
}

/// Something on that line is nested more deeply than it is looked into.
fn too_deep(line: u32) -> Note {
    Note {
        code: "too-deep".to_owned(),
        message:
            "This is nested too deeply: it was not analyzed, and fixes are disabled for this file."
                .to_owned(),
        line: Some(line),
    }
}

/// The start of the first statement; a docstring may precede it.
fn code_start(tree: &Tree<'_>) -> usize {
    tree.parts(tree.root())
        .find(|child| {
            tree.kind(*child) != Kind::ExpressionStatement
                || tree
                    .parts(*child)
                    .next()
                    .is_none_or(|only| tree.kind(only) != Kind::String)
        })
        .map_or(usize::MAX, |node| tree.start(node))
}

/// Source text that could not be parsed.
fn syntax_notes(tree: &Tree<'_>, lines: &LineIndex<'_>) -> Vec<Note> {
    let Some(first) = tree.first_error() else {
        return Vec::new();
    };
    let mut lost = 0;
    let mut end = 0;
    for error in tree.error_nodes() {
        let span = tree.span(*error);
        // An error within an error counts once.
        if span.end > end {
            lost += visible(tree, span.start.max(end)..span.end);
            end = span.end;
        }
    }
    let line = Some(lines.line(first));
    // Half a file is one large error with statements before it; another language is errors all over.
    let statements = tree
        .nodes()
        .filter(|node| is_telling(tree.kind(*node)))
        .count();
    let is_strewn = tree.error_nodes().len() > statements * 2;
    if is_strewn && lost * 4 > visible(tree, 0..tree.source().len()) {
        return vec![Note {
            code: "not-python".to_owned(),
            message: "Most of this is not valid Python, so it was not analyzed.".to_owned(),
            line,
        }];
    }
    vec![Note {
        code: "syntax-error".to_owned(),
        message: format!(
            "Line {} could not be parsed as Python; the valid parts were analyzed.",
            lines.line(first)
        ),
        line,
    }]
}

/// Nodes that text in another language rarely looks like.
fn is_telling(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ImportStatement
            | Kind::ImportFromStatement
            | Kind::Assignment
            | Kind::FunctionDefinition
            | Kind::ClassDefinition
            | Kind::ReturnStatement
            | Kind::IfStatement
            | Kind::ForStatement
            | Kind::WithStatement
            | Kind::Decorator
    )
}

fn visible(tree: &Tree<'_>, range: Range<usize>) -> usize {
    let text = tree.source().as_bytes().get(range).unwrap_or_default();
    text.iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .count()
}
