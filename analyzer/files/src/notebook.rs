//! Notebooks: the code cells as one Python module, and the mapping of positions back to the JSON text.
//!
//! Cells share their names, so imports in the first cell apply in the third. Findings in the module are mapped back
//! piece by piece; the text of an edit is encoded as JSON.

mod cells;
mod magics;
mod module;

use super::checker::FileChecker;
use super::facts::Facts;
use super::shell;
use super::text::Text;
use crate::FileOptions;
use cells::cells;
use hipward_analyzer_core::analysis::{MAX_SOURCE_BYTES, ParsedFile, suppress};
use hipward_analyzer_core::diagnostic::RawDiagnostic;
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::{Applicability, Language, Note, Severity};
use hipward_analyzer_python::rules::vendor::nvidia_smi;
use hipward_analyzer_python::syntax::LastParse;
use module::Module;

/// Analyzes a notebook.
pub(super) fn read(source: &str, options: &FileOptions<'_>) -> ParsedFile {
    let lines = LineIndex::new(source);
    let notebook = match cells(source) {
        Ok(notebook) => notebook,
        Err(at) => {
            return ParsedFile::unreadable(Note {
                code: "not-a-notebook".to_owned(),
                message: "This is not a Jupyter notebook (nbformat 4), so it was not analyzed."
                    .to_owned(),
                line: Some(lines.line(at)),
            });
        }
    };
    if !notebook.is_python {
        return ParsedFile::unreadable(Note {
            code: "not-python".to_owned(),
            message: "This notebook's kernel is not Python, so it was not analyzed.".to_owned(),
            line: None,
        });
    }
    let module = Module::new(source, &notebook.cells);
    if module.python.len() > MAX_SOURCE_BYTES {
        return ParsedFile::unreadable(Note {
            code: "too-large".to_owned(),
            message: format!(
                "The code of this notebook is {} KB long; up to {} KB are analyzed.",
                module.python.len() / 1024,
                MAX_SOURCE_BYTES / 1024,
            ),
            line: None,
        });
    }
    let module_lines = LineIndex::new(&module.python);
    let mut python = hipward_analyzer_python::read(
        &module.python,
        &module_lines,
        &options.python,
        &mut LastParse::default(),
    );
    python.diagnostics.extend(commands(&module, options));
    let comments = python.comments.clone();
    let code_start = python.code_start;
    let (diagnostics, suppressed) = suppress(
        python.diagnostics,
        &module.python,
        &comments,
        code_start,
        &module_lines,
    );
    ParsedFile {
        diagnostics: diagnostics
            .into_iter()
            .map(|diagnostic| place(diagnostic, &module))
            .collect(),
        comments: comments
            .iter()
            .map(|comment| module.range(comment.clone()))
            .collect(),
        suppressed: Some(suppressed),
        notes: python
            .notes
            .into_iter()
            .map(|note| place_note(note, &module, &module_lines, &lines))
            .collect(),
        contract: python.contract,
        ..ParsedFile::default()
    }
}

/// The findings of the rules on shell commands in `!commands` and `%%bash` cells.
fn commands(module: &Module, options: &FileOptions<'_>) -> Vec<RawDiagnostic> {
    let mut facts = Facts::default();
    for range in &module.shell {
        shell::read(
            Text::whole(&module.commands).part(range.clone()),
            &mut facts,
        );
    }
    if facts.commands.is_empty() && facts.settings.is_empty() {
        return Vec::new();
    }
    let mut found = FileChecker::run(&module.commands, Language::Shell, facts, options);
    // The notebook's next line runs all the same.
    for diagnostic in &mut found {
        if diagnostic.rule.id() == nvidia_smi::RULE.id && diagnostic.severity == Severity::Error {
            diagnostic.severity = Severity::Warning;
        }
    }
    found
}

fn place(diagnostic: RawDiagnostic, module: &Module) -> RawDiagnostic {
    let cell = module.cell(diagnostic.span.start);
    let mut fix = diagnostic.fix;
    if let Some(fix) = &mut fix {
        let placed: Option<Vec<_>> = fix
            .edits
            .drain(..)
            .map(|(range, text)| module.edit(range, &text))
            .collect();
        match placed {
            Some(edits) => fix.edits = edits,
            // An edit of text in two cells cannot be a single edit of the file.
            None => fix.applicability = Applicability::DisplayOnly,
        }
    }
    RawDiagnostic {
        message: format!("Cell {cell}: {}", diagnostic.message),
        span: module.range(diagnostic.span),
        fix,
        ..diagnostic
    }
}

fn place_note(
    note: Note,
    module: &Module,
    module_lines: &LineIndex<'_>,
    lines: &LineIndex<'_>,
) -> Note {
    let start = note.line.map(|line| module_lines.start(line));
    let message = match start {
        Some(start) if note.code == "syntax-error" => format!(
            "Cell {} could not be parsed as Python; the valid parts were analyzed.",
            module.cell(start)
        ),
        _ => note.message,
    };
    Note {
        message,
        line: start.map(|start| lines.line(module.range(start..start).start)),
        ..note
    }
}
