//! A fix changes what its finding is about, and nothing else: after any one of them, the findings of other rules are still
//! there, unless they stand where the fix made its edits.
//!
//! Each rule's examples and fixtures are judged alone, and each example beside that of every other rule that reads the same
//! language, so that whatever one rule writes meets what every other rule looks for.

mod common;

use std::fs;
use std::ops::Range;

use common::{all_fixtures, first_blocks, language, options};
use hipward_analyzer::{
    Applicability, Finding, Language, Options, RULES, Report, Span, analyze, apply_fixes,
};

/// Rules whose finding goes with another rule's fix, because both are about one construct that the spans do not show.
const SAME_CONSTRUCT: &[(&str, &str, &str)] = &[(
    "ballot-width",
    "lane-mask",
    "the variable that gets 64 bits for the ballot is the mask that is passed on",
)];

fn range(span: Span) -> Range<usize> {
    span.start.byte as usize..span.end.byte as usize
}

/// An edit's place in the fixed text, and by how much it moves what stands behind it.
struct Moved {
    from: Range<usize>,
    by: isize,
}

fn moves(finding: &Finding) -> Vec<Moved> {
    finding
        .fix
        .iter()
        .flat_map(|fix| &fix.edits)
        .map(|edit| {
            let from = range(edit.span);
            let by = edit.text.len() as isize - from.len() as isize;
            Moved { from, by }
        })
        .collect()
}

/// Where `at` is once the edits are made.
fn moved(at: usize, edits: &[Moved]) -> usize {
    let by: isize = edits
        .iter()
        .filter(|edit| edit.from.end <= at)
        .map(|edit| edit.by)
        .sum();
    at.saturating_add_signed(by)
}

/// True where a finding and an edit share text, or touch.
fn is_edited(finding: &Finding, edits: &[Moved]) -> bool {
    let span = range(finding.span);
    edits
        .iter()
        .any(|edit| edit.from.start <= span.end && span.start <= edit.from.end)
}

/// What the fix at `index` hides: findings of other rules, elsewhere in the source, that are gone or milder after it.
fn hidden(source: &str, options: &Options, report: &Report, index: usize) -> Vec<String> {
    let fixed_one = &report.findings[index];
    let after = analyze(&apply_fixes(source, report, &[index]).source, options);
    let edits = moves(fixed_one);
    report
        .findings
        .iter()
        .filter(|other| other.rule != fixed_one.rule && !is_edited(other, &edits))
        .filter(|other| {
            !SAME_CONSTRUCT
                .iter()
                .any(|(fix, gone, _)| *fix == fixed_one.rule && *gone == other.rule)
        })
        .filter(|other| {
            let start = moved(range(other.span).start, &edits);
            !after.findings.iter().any(|left| {
                left.rule == other.rule
                    && range(left.span).start == start
                    && left.severity <= other.severity
            })
        })
        .map(|other| {
            format!(
                "\"{}\" ({}) hides {} at line {}: {}",
                fixed_one.fix.as_ref().map_or("", |fix| &fix.title),
                fixed_one.rule,
                other.rule,
                other.span.start.line,
                other.message
            )
        })
        .collect()
}

/// The findings with a fix to apply, safe or unsafe.
fn fixable(report: &Report) -> Vec<usize> {
    let has_edits = |finding: &Finding| {
        finding.fix.as_ref().is_some_and(|fix| {
            fix.applicability != Applicability::DisplayOnly && !fix.edits.is_empty()
        })
    };
    (0..report.findings.len())
        .filter(|index| has_edits(&report.findings[*index]))
        .collect()
}

fn judge(
    name: &str,
    source: &str,
    options: &Options,
    only: Option<&str>,
    tried: &mut usize,
) -> Vec<String> {
    let report = analyze(source, options);
    let mut wrong = Vec::new();
    for index in fixable(&report) {
        if only.is_some_and(|rule| report.findings[index].rule != rule) {
            continue;
        }
        *tried += 1;
        wrong.extend(
            hidden(source, options, &report, index)
                .into_iter()
                .map(|what| format!("{name}: {what}")),
        );
    }
    wrong
}

/// The rules' examples, each with its rule's name.
fn examples() -> Vec<(&'static str, common::Block)> {
    RULES
        .iter()
        .flat_map(|rule| {
            first_blocks(&rule.doc(), "Example")
                .into_iter()
                .map(|block| (rule.name, block))
        })
        .collect()
}

#[test]
fn a_fix_hides_no_finding_of_another_rule_in_the_fixtures() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for path in all_fixtures() {
        let language = language(&path);
        if language == Language::Notebook {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a fixture");
        let sign = if language == Language::CudaCpp {
            "//"
        } else {
            "#"
        };
        let target = text
            .strip_prefix(&format!("{sign} target: "))
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default();
        let name = path.display().to_string();
        wrong.extend(judge(
            &name,
            &text,
            &options(language, target),
            None,
            &mut tried,
        ));
    }
    assert!(tried > 200, "{tried} fixes are too few to say anything");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_fix_hides_no_finding_of_a_rule_beside_it() {
    let examples = examples();
    let (mut tried, mut wrong) = (0, Vec::new());
    for (rule, fixer) in &examples {
        let alone = analyze(&fixer.code, &fixer.options());
        if fixable(&alone).is_empty() {
            continue;
        }
        for (beside, example) in &examples {
            if beside == rule || example.language != fixer.language {
                continue;
            }
            for source in [
                format!("{}\n{}", fixer.code, example.code),
                format!("{}\n{}", example.code, fixer.code),
            ] {
                let options = fixer.options();
                let name = format!("{rule} and {beside}");
                wrong.extend(judge(&name, &source, &options, Some(rule), &mut tried));
            }
        }
    }
    assert!(tried > 2000, "{tried} pairs are too few to say anything");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
