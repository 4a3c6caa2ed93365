//! Responses for an editor: diagnostics, code actions, and rule pages on hover.

use std::collections::HashMap;

use gen_lsp_types::{
    CodeAction, CodeActionKind, CodeActionResponse, CodeDescription, Diagnostic,
    DiagnosticSeverity, Hover, MarkupContent, MarkupKind, OptionalVersionedTextDocumentIdentifier,
    Position, Range, TextDocumentEdit, TextDocumentIdentifier, TextEdit, Uri, WorkspaceEdit,
};
use hipward_analyzer::{Applicability, Finding, Fix, Options, Report, Severity, fix_all, rule};

use super::document::Document;
use super::text::{Encoding, Lines};
use crate::rule_pages;

/// The kind of the code action that applies every safe fix.
pub(super) const FIX_ALL: &str = "source.fixAll.hipward";

/// An open document with its report, for answering a request.
pub(super) struct OpenReport<'s> {
    pub(super) uri: &'s Uri,
    pub(super) document: &'s Document,
    pub(super) report: &'s Report,
    pub(super) options: &'s Options,
    pub(super) encoding: Encoding,
    pub(super) site: &'s str,
}

impl OpenReport<'_> {
    fn lines(&self) -> Lines<'_> {
        Lines::new(&self.document.text, self.encoding)
    }

    /// The diagnostics of all findings, and of the notes on the document as a whole.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let lines = self.lines();
        let findings = self.report.findings.iter();
        let mut diagnostics: Vec<_> = findings
            .map(|finding| self.diagnostic(finding, &lines))
            .collect();
        for note in &self.report.notes {
            // Incomplete code is normal while it is typed.
            if note.code == "syntax-error" {
                continue;
            }
            let start = Position {
                line: note.line.map_or(0, |line| line - 1),
                character: 0,
            };
            diagnostics.push(Diagnostic {
                range: Range { start, end: start },
                severity: Some(DiagnosticSeverity::Information),
                code: Some(note.code.clone().into()),
                source: Some("hipward".to_owned()),
                message: note.message.clone().into(),
                ..Diagnostic::default()
            });
        }
        diagnostics
    }

    fn diagnostic(&self, finding: &Finding, lines: &Lines<'_>) -> Diagnostic {
        let page = match &finding.link {
            Some(link) => Some(link.clone()),
            None => rule(&finding.id).map(|rule| format!("{}rules/{}/", self.site, rule.name)),
        };
        Diagnostic {
            range: lines.of_span(&finding.span),
            severity: Some(match finding.severity {
                Severity::Error => DiagnosticSeverity::Error,
                Severity::Warning => DiagnosticSeverity::Warning,
                Severity::Advice => DiagnosticSeverity::Information,
                Severity::Info => DiagnosticSeverity::Hint,
            }),
            code: Some(finding.id.clone().into()),
            code_description: page.map(|page| CodeDescription { href: page.into() }),
            source: Some("hipward".to_owned()),
            message: finding.message.clone().into(),
            ..Diagnostic::default()
        }
    }

    /// The quick fixes of the findings in a range, and the action that applies all safe fixes.
    pub(super) fn actions(
        &self,
        range: Range,
        only: Option<&[CodeActionKind]>,
        versioned: bool,
    ) -> Vec<CodeActionResponse> {
        let lines = self.lines();
        let wanted = |kind: &str| {
            only.is_none_or(|only| {
                only.iter().any(|wanted| {
                    let wanted = wanted.as_str();
                    kind == wanted
                        || kind
                            .strip_prefix(wanted)
                            .is_some_and(|rest| rest.starts_with('.'))
                        || wanted.is_empty()
                })
            })
        };
        let mut actions = Vec::new();
        if wanted(CodeActionKind::QuickFix.as_str()) {
            for finding in &self.report.findings {
                let at = lines.of_span(&finding.span);
                let touches = at.start <= range.end && range.start <= at.end;
                let fix = finding.fix.as_ref().filter(|fix| !fix.edits.is_empty());
                if let (true, Some(fix)) = (touches, fix) {
                    actions.push(self.quick_fix(finding, fix, &lines, versioned).into());
                }
            }
        }
        if wanted(FIX_ALL)
            && let Some(action) = self.fix_all(&lines, versioned)
        {
            actions.push(action.into());
        }
        actions
    }

    fn quick_fix(
        &self,
        finding: &Finding,
        fix: &Fix,
        lines: &Lines<'_>,
        versioned: bool,
    ) -> CodeAction {
        let is_safe = fix.applicability == Applicability::Safe;
        let edits = fix
            .edits
            .iter()
            .map(|edit| TextEdit {
                range: lines.of_span(&edit.span),
                new_text: edit.text.clone(),
            })
            .collect();
        CodeAction {
            title: if is_safe {
                fix.title.clone()
            } else {
                format!("{} (unsafe)", fix.title)
            },
            kind: Some(CodeActionKind::QuickFix),
            diagnostics: Some(vec![self.diagnostic(finding, lines)]),
            is_preferred: Some(is_safe),
            edit: Some(self.workspace_edit(edits, versioned)),
            ..CodeAction::default()
        }
    }

    fn fix_all(&self, lines: &Lines<'_>, versioned: bool) -> Option<CodeAction> {
        let is_safe = |fix: &Fix| fix.applicability == Applicability::Safe;
        let mut fixes = self
            .report
            .findings
            .iter()
            .filter_map(|found| found.fix.as_ref());
        if !fixes.any(is_safe) {
            return None;
        }
        let before = self.document.text.as_str();
        let after = fix_all(before, self.options, Applicability::Safe).source;
        let (range, text) = changed(before, &after)?;
        let edit = TextEdit {
            range: lines.range(range),
            new_text: text.to_owned(),
        };
        Some(CodeAction {
            title: "Apply all safe fixes of Hipward".to_owned(),
            kind: Some(CodeActionKind::new(FIX_ALL)),
            edit: Some(self.workspace_edit(vec![edit], versioned)),
            ..CodeAction::default()
        })
    }

    fn workspace_edit(&self, edits: Vec<TextEdit>, versioned: bool) -> WorkspaceEdit {
        if !versioned {
            return WorkspaceEdit {
                changes: Some(HashMap::from([(self.uri.clone(), edits)])),
                ..WorkspaceEdit::default()
            };
        }
        let edit = TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier {
                version: Some(self.document.version),
                text_document_identifier: TextDocumentIdentifier {
                    uri: self.uri.clone(),
                },
            },
            edits: edits.into_iter().map(Into::into).collect(),
        };
        WorkspaceEdit {
            document_changes: Some(vec![edit.into()]),
            ..WorkspaceEdit::default()
        }
    }

    /// The pages of the rules with findings at a position.
    pub(super) fn hover(&self, position: Position) -> Option<Hover> {
        let lines = self.lines();
        let here: Vec<_> = self
            .report
            .findings
            .iter()
            .map(|finding| (finding, lines.of_span(&finding.span)))
            .filter(|(_, range)| range.start <= position && position <= range.end)
            .collect();
        let range = here.first()?.1;
        let pages: Vec<_> = here.iter().map(|(finding, _)| page(finding)).collect();
        Some(Hover {
            contents: MarkupContent {
                kind: MarkupKind::Markdown,
                value: pages.join("\n---\n\n"),
            }
            .into(),
            range: Some(range),
        })
    }
}

fn page(finding: &Finding) -> String {
    if let Some(rule) = rule(&finding.id) {
        return format!("{}\n\n{}", finding.message, rule_pages::page(rule));
    }
    let link = finding.link.as_deref();
    let link = link.map_or_else(String::new, |link| format!("\n\n<{link}>"));
    format!(
        "{}\n\n# {} ({}){link}\n",
        finding.message, finding.rule, finding.id
    )
}

/// The range of `before` that differs, and its replacement in `after`. None if they are equal.
fn changed<'a>(before: &str, after: &'a str) -> Option<(std::ops::Range<usize>, &'a str)> {
    if before == after {
        return None;
    }
    let common = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        let same = a.zip(b).take_while(|(a, b)| a == b);
        same.map(|(character, _)| character.len_utf8())
            .sum::<usize>()
    };
    let start = common(&mut before.chars(), &mut after.chars());
    let end = common(
        &mut before[start..].chars().rev(),
        &mut after[start..].chars().rev(),
    );
    Some((start..before.len() - end, &after[start..after.len() - end]))
}
