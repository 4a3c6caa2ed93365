//! Each rule's page is true: its example fires, its fix gives what "Use instead" shows, and that is quiet.

mod common;

use std::collections::HashSet;

use common::blocks;
use hipward_analyzer::{Applicability, RULES, analyze, fix_all, rule};

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
        let page = rule.doc();
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
fn every_example_fires_its_rule_and_nothing_else() {
    for rule in RULES {
        for example in blocks(&rule.doc(), "Example") {
            let report = analyze(&example.code, &example.options());
            let fired: HashSet<_> = report
                .findings
                .iter()
                .map(|finding| finding.rule.as_str())
                .collect();
            assert_eq!(
                fired,
                HashSet::from([rule.name]),
                "{}: make the example of its page fire it, and it alone:\n{}",
                rule.name,
                example.code
            );
            assert!(
                report.notes.is_empty(),
                "{}: the example can't be read: {:?}",
                rule.name,
                report.notes
            );
        }
    }
}

#[test]
fn the_fix_of_an_example_is_what_use_instead_shows() {
    for rule in RULES {
        let page = rule.doc();
        let example = blocks(&page, "Example").remove(0);
        let instead = blocks(&page, "Use instead").remove(0);
        let report = analyze(&example.code, &example.options());
        let best = report
            .findings
            .iter()
            .filter_map(|finding| finding.fix.as_ref().map(|fix| fix.applicability))
            .min();
        assert_eq!(
            best,
            Some(rule.applicability),
            "{}: the example shows the rule's best fix",
            rule.name
        );
        if rule.applicability != Applicability::DisplayOnly {
            let fixed = fix_all(&example.code, &example.options(), rule.applicability).source;
            assert_eq!(fixed, instead.code, "{}", rule.name);
        }
    }
}

#[test]
fn use_instead_is_quiet() {
    for rule in RULES {
        for instead in blocks(&rule.doc(), "Use instead") {
            let report = analyze(&instead.code, &instead.options());
            // A gate that is guarded may still leave a note, never more.
            assert_eq!(report.findings, [], "{}:\n{}", rule.name, instead.code);
        }
    }
}

#[test]
fn ids_and_names_are_unique_and_belong_to_their_family() {
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
