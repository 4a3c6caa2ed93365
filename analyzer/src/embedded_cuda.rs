//! CUDA C++ in the strings of a Python source: source for CuPy, PyCUDA or `load_inline`.
//!
//! Such a string is analyzed as a source of its own, and its findings are mapped back piece by piece, because escapes
//! are longer in Python than in the text that the compiler gets. Rules are not aware of this.

use std::ops::Range;

use hipward_analyzer_core::diagnostic::{MAX_FINDINGS, RawDiagnostic, RawFix};
use hipward_analyzer_core::{Applicability, Severity};
use hipward_analyzer_cuda::{CudaChecker, CudaOptions, Source};
use hipward_analyzer_python::semantic::never_runs_on_target;
use hipward_analyzer_python::syntax::{Kind, Node, Tree};
use hipward_analyzer_python::{Extra, PythonExtension, checker};

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
                    .push(literal.place(diagnostic, tree.source()));
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

/// True for a complete string that is not a docstring.
fn is_value(tree: &Tree<'_>, node: Node) -> bool {
    let is_part = |kind| {
        tree.parent(node)
            .is_some_and(|parent| tree.kind(parent) == kind)
    };
    match tree.kind(node) {
        Kind::String => !is_part(Kind::ConcatenatedString) && !is_part(Kind::ExpressionStatement),
        Kind::ConcatenatedString => !is_part(Kind::ExpressionStatement),
        _ => false,
    }
}

/// A piece of a string's value, from `at` to the start of the next, and its position in the source.
struct Piece {
    at: usize,
    source: Range<usize>,
}

/// The value of a string.
struct Literal {
    text: String,
    pieces: Vec<Piece>,
    /// Characters that an inserted text must not contain.
    closing: &'static [char],
}

impl Literal {
    fn new(tree: &Tree<'_>, node: Node) -> Literal {
        let mut literal = Literal {
            text: String::new(),
            pieces: Vec::new(),
            closing: &['\\', '"', '\''],
        };
        for string in tree
            .subtree(node)
            .filter(|part| tree.kind(*part) == Kind::String)
        {
            let whole = tree.text(string);
            let (start, rest) = whole.split_at(whole.find(['"', '\'']).unwrap_or(0));
            let has = |letter: char| start.to_ascii_lowercase().contains(letter);
            let is_block = rest.starts_with("\"\"\"") || rest.starts_with("'''");
            if has('f') || !is_block {
                literal.closing = &['\\', '"', '\'', '\n', '{', '}'];
            }
            for part in tree.parts(string) {
                match tree.kind(part) {
                    Kind::StringContent => literal.push(tree, tree.span(part), has('r'), has('f')),
                    // Any interpolation counts as one word.
                    _ => {
                        let span = tree.span(part);
                        let word = "_".repeat(span.len());
                        literal.add(&word, span);
                    }
                }
            }
        }
        literal
    }

    fn add(&mut self, text: &str, source: Range<usize>) {
        let at = self.text.len();
        self.pieces.push(Piece { at, source });
        self.text.push_str(text);
    }

    /// Appends the source text in `span`, with escapes decoded.
    fn push(&mut self, tree: &Tree<'_>, span: Range<usize>, is_raw: bool, is_format: bool) {
        let content = tree.source().get(span.clone()).unwrap_or_default();
        let mut rest = content;
        loop {
            let start = span.end - rest.len();
            let escape = rest
                .find(|c| c == '\\' && !is_raw || is_format && (c == '{' || c == '}'))
                .unwrap_or(rest.len());
            if escape > 0 {
                self.add(&rest[..escape], start..start + escape);
            }
            let mut characters = rest[escape..].chars();
            let (Some(first), second) = (characters.next(), characters.next()) else {
                return;
            };
            let text = match (first, second) {
                ('\\', Some('n')) => "\n",
                ('\\', Some('t')) => "\t",
                ('\\', Some('\n')) => "",
                ('\\', Some('\\')) => "\\",
                ('\\', Some('"')) => "\"",
                ('\\', Some('\'')) => "'",
                ('{', Some('{')) => "{",
                ('}', Some('}')) => "}",
                // Python leaves other escapes unchanged, or C++ does not need them.
                _ => {
                    let end = escape + first.len_utf8();
                    self.add(&rest[escape..end], start + escape..start + end);
                    rest = &rest[end..];
                    continue;
                }
            };
            let end = escape + 2;
            self.add(text, start + escape..start + end);
            rest = &rest[end..];
        }
    }

    /// The position of a range of the value in the source.
    fn range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.start(range.start);
        if range.is_empty() {
            return start..start;
        }
        let index = self.pieces.partition_point(|piece| piece.at < range.end) - 1;
        let piece = &self.pieces[index];
        let next = self.pieces.get(index + 1);
        let end = if range.end == next.map_or(self.text.len(), |next| next.at) {
            piece.source.end
        } else {
            piece.source.start + range.end - piece.at
        };
        start..end.max(start)
    }

    fn start(&self, at: usize) -> usize {
        let index = self.pieces.partition_point(|piece| piece.at <= at);
        match index
            .checked_sub(1)
            .and_then(|index| self.pieces.get(index))
        {
            Some(piece) => (piece.source.start + at - piece.at).min(piece.source.end),
            None => 0,
        }
    }

    /// A finding, mapped to the source.
    ///
    /// A finding with a rename becomes information: the string is often a fragment, and its compiler may define the
    /// names.
    fn place(&self, diagnostic: RawDiagnostic, source: &str) -> RawDiagnostic {
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
            span: self.range(diagnostic.span),
            fix: diagnostic.fix.map(|fix| self.place_fix(fix, source)),
            ..diagnostic
        }
    }

    /// The author has to review a fix: the string may be compiled for CUDA as well.
    fn place_fix(&self, fix: RawFix, source: &str) -> RawFix {
        let edits: Option<Vec<_>> = fix
            .edits
            .into_iter()
            .map(|(range, text)| {
                let placed = self.range(range.clone());
                let is_plain = source.get(placed.clone()) == self.text.get(range);
                (is_plain && !text.contains(self.closing)).then_some((placed, text))
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
}
