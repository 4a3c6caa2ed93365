//! Files that a Python source writes: shell scripts, Dockerfiles, Compose files, manifests and set-up scripts in strings.
//!
//! Such a string is analyzed as a file of its language. Only errors and warnings are reported.

use hipward_analyzer_core::diagnostic::{MAX_FINDINGS, RawDiagnostic, RawFix};
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::{Language, Severity};
use hipward_analyzer_files::FileOptions;
use hipward_analyzer_python::semantic::never_runs_on_target;
use hipward_analyzer_python::syntax::LastParse;
use hipward_analyzer_python::{Extra, PythonExtension, checker};

use crate::string_literal::{Literal, is_value};

/// Analyzes the strings that contain a file.
pub(crate) struct EmbeddedFiles<'a>(pub(crate) FileOptions<'a>);

/// A text that begins or contains a file has one of these. `site/js/plain-python.js` has them too.
const MARKS: &[&str] = &["#!/", "FROM ", "image:", "CUDAExtension("];

impl PythonExtension for EmbeddedFiles<'_> {
    fn check(&self, checker: &checker::PythonChecker<'_>, found: &mut Extra) {
        let (semantics, tree) = (&checker.semantics, checker.tree());
        let is_marked = |text: &str| MARKS.iter().any(|mark| text.contains(mark));
        if !is_marked(tree.source()) {
            return;
        }
        let mut count = 0;
        for node in tree.nodes() {
            if count >= MAX_FINDINGS {
                break;
            }
            let text = tree.text(node);
            if !is_value(tree, node)
                || !text.contains('\n')
                || !is_marked(text)
                || never_runs_on_target(semantics, node)
            {
                continue;
            }
            let literal = Literal::new(tree, node);
            let Some(language) = language(&literal.text) else {
                continue;
            };
            let parsed = if language == Language::Python {
                let lines = LineIndex::new(&literal.text);
                let mut last = LastParse::default();
                hipward_analyzer_python::read(&literal.text, &lines, &self.0.python, &mut last)
            } else {
                hipward_analyzer_files::read(&literal.text, language, &self.0)
            };
            for diagnostic in parsed.diagnostics {
                if matches!(diagnostic.severity, Severity::Error | Severity::Warning) {
                    found.diagnostics.push(RawDiagnostic {
                        message: format!("In this string: {}", diagnostic.message),
                        span: literal.range(diagnostic.span),
                        fix: diagnostic.fix.map(|fix| RawFix::display_only(fix.title)),
                        ..diagnostic
                    });
                    count += 1;
                }
            }
            for comment in parsed.comments {
                found.comments.push(literal.range(comment));
            }
        }
    }
}

/// The language of a text that is a whole file.
fn language(text: &str) -> Option<Language> {
    let text = text.trim_start();
    let language = Language::of_content(text);
    let has_any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_file = match language {
        Language::Shell => text.starts_with("#!"),
        Language::Dockerfile => has_any(&["\nRUN ", "\nCMD ", "\nENTRYPOINT ", "\nCOPY "]),
        Language::Yaml => text.contains("image:"),
        Language::Python => text.contains("setup(") && text.contains("CUDAExtension("),
        _ => false,
    };
    is_file.then_some(language)
}
