//! Each rule's page is correct: its example has a finding, its fix produces "Use instead", and "Use instead" has no
//! findings, except information: `torch` in requirements, for instance, depends on what is installed.

mod common;

use std::collections::HashSet;
use std::fs;

use common::{all_fixtures, blocks, first_blocks, language, options};
use hipward_analyzer::{
    Applicability, Arch, Finding, Language, Options, RULES, Severity, analyze, fix_all, rule,
    rule_page,
};

const HEADINGS: [&str; 6] = [
    "What it does",
    "Why on ROCm",
    "Example",
    "Use instead",
    "Fix safety",
    "References",
];

#[test]
fn every_page_has_every_heading_in_order() {
    for rule in RULES {
        let page = rule_page(rule);
        let found: Vec<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        assert_eq!(found, HEADINGS, "{}", rule.name);
        for section in page.split("## ").skip(1) {
            let (heading, body) = section.split_once('\n').expect("a body");
            assert!(
                !body.trim().is_empty(),
                "{}: nothing under {heading}; write it",
                rule.name
            );
        }
        let references = page.split("## References").nth(1).expect("checked above");
        assert!(
            references.contains("](https://"),
            "{}: link a source under References",
            rule.name
        );
    }
}

#[test]
fn every_example_fires_only_its_own_rule() {
    for rule in RULES {
        let examples = blocks(&rule_page(rule), "Example");
        assert!(!examples.is_empty(), "{}: show an example", rule.name);
        for example in examples {
            let report = analyze(&example.code, &example.options());
            let fired: HashSet<_> = report
                .findings
                .iter()
                .filter(|found| found.rule == rule.name || found.severity != Severity::Info)
                .map(|finding| finding.rule.as_str())
                .collect();
            assert_eq!(
                fired,
                HashSet::from([rule.name]),
                "{}: the example of its page must have a finding of this rule only:\n{}",
                rule.name,
                example.code
            );
            assert!(
                report.notes.is_empty(),
                "{}: the example is no {}: {:?}",
                rule.name,
                example.language.title(),
                report.notes
            );
        }
    }
}

/// The first example of each language corresponds to the first block of that language under "Use instead".
#[test]
fn fix_of_an_example_produces_use_instead() {
    for rule in RULES {
        let page = rule_page(rule);
        let examples = first_blocks(&page, "Example");
        let best = examples
            .iter()
            .flat_map(|example| analyze(&example.code, &example.options()).findings)
            .filter_map(|finding| finding.fix.map(|fix| fix.applicability))
            .min();
        assert_eq!(
            best,
            Some(rule.applicability),
            "{}: the examples show the rule's best fix",
            rule.name
        );
        let instead = first_blocks(&page, "Use instead");
        for example in examples {
            let title = example.language.title();
            let shown = instead
                .iter()
                .find(|block| block.language == example.language)
                .unwrap_or_else(|| panic!("{}: show what to use instead in {title}", rule.name));
            let fixed = fix_all(&example.code, &example.options(), rule.applicability);
            if rule.applicability != Applicability::DisplayOnly && fixed.applied > 0 {
                assert_eq!(fixed.source, shown.code, "{}, {title}", rule.name);
            }
        }
    }
}

#[test]
fn use_instead_has_no_findings() {
    for rule in RULES {
        for instead in blocks(&rule_page(rule), "Use instead") {
            let mut report = analyze(&instead.code, &instead.options());
            report
                .findings
                .retain(|found| found.severity != Severity::Info);
            assert_eq!(report.findings, [], "{}:\n{}", rule.name, instead.code);
        }
    }
}

#[test]
fn ids_and_names_are_unique_and_match_their_family() {
    let mut seen = HashSet::new();
    for found in RULES {
        assert!(
            seen.insert(found.id) && seen.insert(found.name),
            "{} is taken",
            found.id
        );
        let digits = found.id.strip_prefix("HW").expect("HW and three digits");
        assert!(
            digits.len() == 3 && digits.starts_with(found.family.digit()),
            "{}",
            found.id
        );
        assert!(
            found
                .name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit())
        );
        assert_eq!(rule(found.id).map(|rule| rule.name), Some(found.name));
        assert_eq!(rule(found.name).map(|rule| rule.id), Some(found.id));
    }
}

/// All findings in the fixtures and the pages' examples, on each architecture.
fn findings() -> Vec<Finding> {
    findings_on(|_| true)
}

/// All findings in the fixtures and the pages' examples, on each architecture for which `selects` is true.
fn findings_on(selects: fn(Arch) -> bool) -> Vec<Finding> {
    let mut sources: Vec<(String, Options)> = Vec::new();
    for path in all_fixtures() {
        let text = fs::read_to_string(&path).expect("a fixture");
        let target = text
            .lines()
            .next()
            .and_then(|line| line.split_once(" target: "))
            .map_or("", |(_, target)| target);
        let language = language(&path);
        // A notebook is JSON: its target is in the sidecar, and is not needed here.
        let target = if language == Language::Notebook {
            ""
        } else {
            target
        };
        sources.push((text.clone(), options(language, target)));
    }
    for rule in RULES {
        for example in blocks(&rule_page(rule), "Example") {
            let options = example.options();
            sources.push((example.code, options));
        }
    }
    let mut found = Vec::new();
    for (source, mut options) in sources {
        for arch in Arch::ALL.into_iter().filter(|arch| selects(*arch)) {
            options.target.arch = arch;
            found.extend(analyze(&source, &options).findings);
        }
    }
    found
}

#[test]
fn page_lists_the_severities_of_its_findings() {
    let found = findings();
    let mut wrong = Vec::new();
    for finding in &found {
        let rule = rule(&finding.rule).expect("a built-in rule");
        let named = rule.severities();
        if !named
            .iter()
            .any(|(severity, _)| *severity == finding.severity)
        {
            wrong.push(format!(
                "{}: {:?}: {}",
                rule.name, finding.severity, finding.message
            ));
        }
    }
    for rule in RULES {
        let named = std::iter::once(rule.severity).chain(rule.also.iter().map(|(also, _)| *also));
        for severity in named {
            let is_given = found
                .iter()
                .any(|finding| finding.rule == rule.name && finding.severity == severity);
            if !is_given {
                wrong.push(format!("{}: no finding is {severity:?}", rule.name));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_message_on_a_target_with_32_lanes_mentions_64() {
    let mut wrong: Vec<String> = findings_on(|arch| arch.wavefront() == 32)
        .into_iter()
        .filter(|finding| {
            let fix = finding.fix.as_ref().map_or("", |fix| &fix.title);
            [finding.message.as_str(), fix].iter().any(|text| {
                ["64 lanes", "64 threads", "wavefront of 64", "MFMA"]
                    .iter()
                    .any(|words| text.contains(words))
            })
        })
        .map(|finding| format!("{}: {}", finding.rule, finding.message))
        .collect();
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Words of messages about code that fails, and the rules that may use them for a case that depends on other code.
const FAILURES: &[(&str, &[&str])] = &[
    ("import fails", &[]),
    ("does not import", &[]),
    ("does not compile", &[]),
    ("does not start", &[]),
    ("stops at", &[]),
    ("stops here", &[]),
    ("link fails", &[]),
    // The finding is on the type, and the failure is in the multiplication.
    ("raises", &["fp8-dtype"]),
];

#[test]
fn finding_about_a_failure_is_an_error() {
    let mut wrong: Vec<String> = findings()
        .into_iter()
        .filter(|finding| finding.severity != Severity::Error)
        .filter(|finding| {
            FAILURES.iter().any(|(words, but)| {
                finding.message.contains(words) && !but.contains(&finding.rule.as_str())
            })
        })
        .map(|finding| {
            format!(
                "{}: {:?}: {}",
                finding.rule, finding.severity, finding.message
            )
        })
        .collect();
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
