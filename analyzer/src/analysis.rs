//! The way from a source to its report: parse, check, suppress, place.

use std::ops::Range;

use crate::checker::{Checker, Draft, MAX_FINDINGS, Suggestion};
use crate::contract;
use crate::order;
use crate::position::LineIndex;
use crate::report::{
    Applicability, Contract, Edit, Finding, Fix, Language, Note, Report, SCHEMA_VERSION, Target,
};
use crate::rules::{RULES, RuleMeta, rule};
use crate::semantic::Semantics;
use crate::suppression::Suppressions;
use crate::syntax::{Kind, MAX_SOURCE_BYTES, Refusal, Tree, parse};

/// How to analyze. The default is every rule, for the default target.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The machine and versions that the code is meant for.
    pub target: Target,
    /// Which rules to run.
    pub rules: Selection,
}

/// Which rules to run: all but the ignored ones, or only the selected ones.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    select: Vec<&'static str>,
    ignore: Vec<&'static str>,
}

/// A rule was asked for that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{asked}`")]
pub struct UnknownRule {
    /// What was asked for.
    pub asked: String,
}

impl UnknownRule {
    /// The rule whose name or id is close to what was asked for.
    pub fn nearest(&self) -> Option<&'static RuleMeta> {
        let wanted = self.asked.to_ascii_lowercase();
        RULES
            .iter()
            .copied()
            .map(|rule| {
                let by_name = edit_distance(&wanted, rule.name);
                let by_id = edit_distance(&wanted, &rule.id.to_ascii_lowercase());
                (by_name.min(by_id), rule)
            })
            .min_by_key(|(distance, _)| *distance)
            // A third of what was typed may be wrong; beyond that a guess is no help.
            .filter(|(distance, _)| distance * 3 <= wanted.len())
            .map(|(_, rule)| rule)
    }
}

/// How many characters have to be added, removed or changed to get from `a` to `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

impl Selection {
    /// Rules by id, name, or the beginning of an id (`HW1`); an empty `select` is all of them.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn new<T: AsRef<str>>(select: &[T], ignore: &[T]) -> Result<Self, UnknownRule> {
        let expand = |names: &[T]| {
            let mut ids = Vec::new();
            for name in names {
                let name = name.as_ref().trim();
                let before = ids.len();
                ids.extend(rule(name).map(|rule| rule.id));
                let is_prefix = name.len() > 2
                    && name
                        .get(..2)
                        .is_some_and(|hw| hw.eq_ignore_ascii_case("HW"));
                if ids.len() == before && is_prefix {
                    let prefix = name.to_ascii_uppercase();
                    ids.extend(
                        RULES
                            .iter()
                            .map(|rule| rule.id)
                            .filter(|id| id.starts_with(&prefix)),
                    );
                }
                if ids.len() == before {
                    return Err(UnknownRule {
                        asked: name.to_owned(),
                    });
                }
            }
            Ok(ids)
        };
        Ok(Selection {
            select: expand(select)?,
            ignore: expand(ignore)?,
        })
    }

    fn includes(&self, rule: &RuleMeta) -> bool {
        (self.select.is_empty() || self.select.contains(&rule.id))
            && !self.ignore.contains(&rule.id)
    }
}

/// Says what to change in `source` for the target. Never fails: what can't be read is a note in the report.
pub fn analyze(source: &str, options: &Options) -> Report {
    let tree = match parse(source) {
        Ok(tree) => tree,
        Err(refusal) => return refused(refusal, source, options),
    };
    let lines = LineIndex::new(source);
    let mut notes = syntax_notes(&tree, &lines);
    if notes.iter().any(|note| note.code == "not-python") {
        return report(options, Vec::new(), 0, notes, Contract::default());
    }
    let semantics = Semantics::new(tree, options.target.clone());
    let rules = RULES
        .iter()
        .copied()
        .filter(|rule| options.rules.includes(rule));
    let (semantics, drafts) = Checker::run(semantics, rules).finish();
    let tree = &semantics.tree;
    if drafts.len() >= MAX_FINDINGS {
        notes.push(Note {
            code: "too-many".to_owned(),
            message: format!(
                "More than {MAX_FINDINGS} findings: the rest of the source was not judged."
            ),
            line: drafts.last().map(|last| lines.line(last.span.start)),
        });
    }
    let comments: Vec<_> = tree
        .nodes()
        .filter(|node| tree.kind(*node) == Kind::Comment)
        .collect();
    let suppressions = Suppressions::new(tree, &comments, &lines);
    let comments: Vec<_> = comments.iter().map(|node| tree.span(*node)).collect();
    let before = drafts.len();
    let findings: Vec<_> = drafts
        .into_iter()
        .filter(|draft| {
            !suppressions.silence(
                draft.rule,
                lines.line(draft.span.start),
                lines.line(draft.span.end),
            )
        })
        .map(|draft| place(draft, &lines, &comments))
        .collect();
    let suppressed = before - findings.len();
    let rank = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.id);
    let findings = order::by_key(findings, |finding| {
        let (start, end) = (finding.span.start.byte, finding.span.end.byte);
        [
            start as usize,
            rank(finding).unwrap_or_default(),
            end as usize,
        ]
    });
    report(
        options,
        findings,
        suppressed,
        notes,
        contract::detect(&semantics),
    )
}

fn report(
    options: &Options,
    findings: Vec<Finding>,
    suppressed: usize,
    notes: Vec<Note>,
    contract: Contract,
) -> Report {
    Report {
        schema: SCHEMA_VERSION,
        language: Language::Python,
        target: options.target.clone(),
        findings,
        suppressed,
        notes,
        contract,
    }
}

fn refused(refusal: Refusal, source: &str, options: &Options) -> Report {
    let note = match refusal {
        Refusal::TooLarge => Note {
            code: "too-large".to_owned(),
            message: format!(
                "This text is {} KB long; up to {} KB are analyzed. Take the file that matters.",
                source.len() / 1024,
                MAX_SOURCE_BYTES / 1024,
            ),
            line: None,
        },
        Refusal::Binary => {
            let nul = source
                .bytes()
                .position(|byte| byte == 0)
                .unwrap_or_default();
            Note {
                code: "binary".to_owned(),
                message:
                    "This is not a text: it holds NUL bytes. Was it a compiled file or UTF-16?"
                        .to_owned(),
                line: Some(LineIndex::new(source).line(nul)),
            }
        }
        Refusal::TooComplex => Note {
            code: "too-complex".to_owned(),
            message:
                "The parser gave up on this text: it is far from any Python. Paste one Python file."
                    .to_owned(),
            line: None,
        },
    };
    report(options, Vec::new(), 0, vec![note], Contract::default())
}

/// What the parser could not make sense of.
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
            message: "Most of this does not read as Python, so nothing was judged.".to_owned(),
            line,
        }];
    }
    vec![Note {
        code: "syntax-error".to_owned(),
        message: format!(
            "Line {} could not be read as Python; the rest was analyzed as far as it goes.",
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

fn place(draft: Draft, lines: &LineIndex<'_>, comments: &[Range<usize>]) -> Finding {
    Finding {
        id: draft.rule.id.to_owned(),
        rule: draft.rule.name.to_owned(),
        severity: draft.severity,
        message: draft.message,
        span: lines.span(draft.span),
        handled_by: draft.handled_by,
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
