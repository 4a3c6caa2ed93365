//! CUDA C++ in the strings of a Python source: source for CuPy, PyCUDA or `load_inline`.
//!
//! Such a string is analyzed as a source of its own, and its findings are mapped back piece by piece, because escapes
//! are longer in Python than in the text that the compiler gets. Rules are not aware of this.

use hipward_analyzer_core::diagnostic::{MAX_FINDINGS, RawDiagnostic, RawFix};
use hipward_analyzer_core::{Applicability, Severity};
use hipward_analyzer_cuda::{CudaChecker, CudaOptions, Source};
use hipward_analyzer_python::semantic::never_runs_on_target;
use hipward_analyzer_python::syntax::Node;
use hipward_analyzer_python::{Extra, PythonExtension, checker};

use crate::string_literal::{Literal, is_value};

/// Analyzes the strings that contain CUDA C++.
pub(crate) struct EmbeddedCuda<'a>(pub(crate) CudaOptions<'a>);

impl PythonExtension for EmbeddedCuda<'_> {
    fn check(&self, checker: &checker::PythonChecker<'_>, found: &mut Extra) {
        let (semantics, tree) = (&checker.semantics, checker.tree());
        if !has_device_code(tree.source()) {
            return;
        }
        // `load_inline` lets PyTorch's hipify rename; nothing else does.
        let loads = |call: Node| {
            semantics.callee(call).is_some_and(|name| {
                name.is_any(&[
                    "torch.utils.cpp_extension.load_inline",
                    "torch.utils.cpp_extension.load",
                ])
            })
        };
        let options = CudaOptions {
            pytorch_extension: Some(
                tree.source().contains("cpp_extension") && tree.nodes().any(loads),
            ),
            is_fragment: true,
            ..self.0
        };
        let mut count = 0;
        for node in tree.nodes() {
            if count >= MAX_FINDINGS {
                break;
            }
            if !is_value(tree, node)
                || !is_cuda(tree.text(node))
                || never_runs_on_target(semantics, node)
            {
                continue;
            }
            let literal = Literal::new(tree, node);
            let source = Source::new(&literal.text);
            for diagnostic in CudaChecker::run(&source, &options) {
                found
                    .diagnostics
                    .push(place(&literal, diagnostic, tree.source()));
                count += 1;
            }
            for comment in source.into_comments() {
                found.comments.push(literal.range(comment));
            }
        }
    }
}

fn has_device_code(text: &str) -> bool {
    text.contains("__global__") || text.contains("__device__")
}

/// True for a text that contains a GPU function. A text that includes HIP's headers may be partly converted.
fn is_cuda(text: &str) -> bool {
    has_device_code(text) && text.contains('(') && text.contains('{')
}

/// A finding, mapped to the source.
///
/// A finding with a rename becomes information: the string is often a fragment, and its compiler may define the
/// names.
fn place(literal: &Literal, diagnostic: RawDiagnostic, source: &str) -> RawDiagnostic {
    let is_rename = diagnostic
        .fix
        .as_ref()
        .is_some_and(|fix| fix.applicability == Applicability::Safe);
    RawDiagnostic {
        message: format!("In this CUDA C++ string: {}", diagnostic.message),
        severity: if is_rename {
            Severity::Info
        } else {
            diagnostic.severity
        },
        span: literal.range(diagnostic.span),
        fix: diagnostic.fix.map(|fix| place_fix(literal, fix, source)),
        ..diagnostic
    }
}

/// The author has to review a fix: the string may be compiled for CUDA as well.
fn place_fix(literal: &Literal, fix: RawFix, source: &str) -> RawFix {
    let edits: Option<Vec<_>> = fix
        .edits
        .into_iter()
        .map(|(range, text)| {
            let placed = literal.range(range.clone());
            let is_plain = source.get(placed.clone()) == literal.text.get(range);
            (is_plain && !text.contains(literal.closing)).then_some((placed, text))
        })
        .collect();
    match edits {
        Some(edits) if !edits.is_empty() => RawFix {
            title: fix.title,
            applicability: match fix.applicability {
                Applicability::Safe => Applicability::Unsafe,
                other => other,
            },
            edits,
        },
        _ => RawFix::display_only(fix.title),
    }
}
