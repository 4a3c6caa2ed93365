//! A fix only changes the code that its finding is about: after any single fix, the findings of other rules are still
//! reported, unless they are at the edited positions.
//!
//! Each rule's examples and fixtures are checked alone, and each example is combined with those of every other rule for
//! the same language, so that the output of each fix is checked by every other rule.

mod common;

use std::fs;
use std::ops::Range;

use common::{all_fixtures, first_blocks, language, options};
use hipward_analyzer::{
    Applicability, Finding, Language, Options, RULES, Report, Span, analyze, apply_fixes, rule_page,
};

/// Rules whose finding disappears with another rule's fix, because both report the same construct at different spans.
const SAME_CONSTRUCT: &[(&str, &str, &str)] = &[(
    "ballot-width",
    "lane-mask",
    "the 64-bit variable for the ballot is also the mask argument",
)];

fn range(span: Span) -> Range<usize> {
    span.start.byte as usize..span.end.byte as usize
}

/// The range of an edit in the fixed text, and the offset by which it shifts the following text.
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

/// The position of `at` after the edits.
fn moved(at: usize, edits: &[Moved]) -> usize {
    let by: isize = edits
        .iter()
        .filter(|edit| edit.from.end <= at)
        .map(|edit| edit.by)
        .sum();
    at.saturating_add_signed(by)
}

/// True if a finding and an edit overlap or touch.
fn is_edited(finding: &Finding, edits: &[Moved]) -> bool {
    let span = range(finding.span);
    edits
        .iter()
        .any(|edit| edit.from.start <= span.end && span.start <= edit.from.end)
}

/// The findings of other rules elsewhere in the source that the fix at `index` removes or makes less severe.
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

/// The findings with edits, safe or unsafe.
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
            first_blocks(&rule_page(rule), "Example")
                .into_iter()
                .map(|block| (rule.name, block))
        })
        .collect()
}

#[test]
fn fix_hides_no_finding_of_another_rule_in_fixtures() {
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
    assert!(tried > 200, "{tried} fixes are too few for this test");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn fix_hides_no_finding_of_a_combined_example() {
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
    assert!(tried > 2000, "{tried} pairs are too few for this test");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
