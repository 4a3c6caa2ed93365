//! The number of findings, in a sentence that a screen reader announces, and what was checked if there are none.

use super::counted;
use super::project::severities;
use super::session::Session;
use crate::browser::client_only::client_only;
use hipward_analyzer_core::{Language, Report};
use leptos::prelude::*;

/// Codes of the notes about a source that was not analyzed.
const UNREAD: [&str; 5] = [
    "not-python",
    "not-a-notebook",
    "binary",
    "too-large",
    "too-complex",
];

/// The summary of an empty editor, and of a source that was not analyzed.
const NOTHING: &str = "Nothing was checked.";

/// Whether the source was analyzed.
pub(super) fn was_read(report: &Report) -> bool {
    let mut notes = report.notes.iter();
    !notes.any(|note| UNREAD.contains(&note.code.as_str()))
}

#[component]
pub(super) fn Summary() -> impl IntoView {
    let state = expect_context::<Session>().state;
    let file = Memo::new(move |_| state.document.with(|document| document.file.clone()));
    let source = move || {
        let file = file.get();
        if file.is_empty() && state.project.with(Option::is_some) {
            let sentence =
                "The text in the editor is not from the folder; open a file from the list above. ";
            return Some(client_only(sentence));
        }
        (!file.is_empty()).then(|| client_only(view! { <code>{file}</code> " " }))
    };
    let findings = move || {
        let is_blank = state
            .document
            .with(|document| document.text.trim().is_empty());
        state.report.with(|report| match report {
            Some(_) if is_blank => NOTHING.to_owned(),
            Some(report) => sentence(report),
            None if state.error.with(String::is_empty) => "Reading the code.".to_owned(),
            None => "Not checked.".to_owned(),
        })
    };
    view! { <p>{source} {findings}</p> }
}

fn sentence(report: &Report) -> String {
    if !was_read(report) {
        return NOTHING.to_owned();
    }
    let mut sentence = match report.findings.len() {
        0 => "No findings.".to_owned(),
        count => {
            let counts = severities(&report.findings);
            let parts: Vec<String> = counts
                .into_iter()
                .zip(["error", "warning", "advice", "information"])
                .filter(|(count, _)| *count > 0)
                .map(|(count, name)| match name {
                    "error" | "warning" => counted(count, name),
                    _ => format!("{count} {name}"),
                })
                .collect();
            format!("{}: {}.", counted(count, "finding"), parts.join(", "))
        }
    };
    if report.language != Language::Python {
        sentence.push_str(&format!(" Read as {}.", report.language.title()));
    }
    sentence
}

/// What was checked and what to do next, if there are no findings.
pub(super) fn no_findings(session: Session, report: &Report) -> Vec<String> {
    if !report.findings.is_empty() {
        return Vec::new();
    }
    let document = session.state.document;
    let is_blank = document.with_untracked(|document| document.text.trim().is_empty());
    sentences(report, is_blank, known_rules(report.language))
}

/// `rules` is the number of rules for the language, if it is known.
fn sentences(report: &Report, is_blank: bool, rules: Option<u32>) -> Vec<String> {
    if is_blank {
        return vec!["The editor is empty. Paste code, or drop files or a folder here.".to_owned()];
    }
    if !was_read(report) {
        let help = "Paste PyTorch or CUDA C++ code, or a file of its build. If this is one, choose its kind under “Read as”.";
        return vec![help.to_owned()];
    }
    let target = &report.target;
    let rules = match rules {
        Some(count) => format!("Checked with {count} rules"),
        None => "Checked".to_owned(),
    };
    let checked = format!(
        "{rules} for {}, for {} ({}) with ROCm {}, PyTorch {} and Python {}.",
        report.language.title(),
        target.arch.name(),
        target.arch.products(),
        target.rocm,
        target.torch,
        target.python,
    );
    let next = match report.language {
        Language::Python => {
            "Next: benchmark the model below, or check the whole folder, which also reads build files and headers."
        }
        _ => "Next: check the whole folder, which also reads the files around this one.",
    };
    vec![checked, next.to_owned()]
}

/// The number of rules for each language, for the browser, which has no list of rules: `python 71,cuda-cpp 30`.
#[cfg(feature = "ssr")]
pub(crate) fn rule_counts() -> String {
    let counts = Language::ALL.map(|language| {
        let of = language.checked_as();
        let rules = hipward_analyzer::RULES.iter();
        let rules = rules.filter(|rule| rule.languages.contains(&of) && !rule.on_request);
        format!("{} {}", language.name(), rules.count())
    });
    counts.join(",")
}

/// The number of rules for a language, from the page.
fn known_rules(language: Language) -> Option<u32> {
    let page = document().query_selector("[data-rules]").ok()??;
    let counts = page.get_attribute("data-rules")?;
    let mut counts = counts.split(',').filter_map(|count| count.split_once(' '));
    let (_, count) = counts.find(|(name, _)| *name == language.name())?;
    count.parse().ok()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use hipward_analyzer::{Options, analyze};

    #[test]
    fn clean_code_states_rules_and_target() {
        let report = analyze("x = 1\n", &Options::default());
        let sentences = sentences(&report, false, Some(71));
        assert!(sentences[0].starts_with("Checked with 71 rules for Python, for gfx942 ("));
        assert!(sentences[1].contains("benchmark"));
    }

    #[test]
    fn prose_was_not_checked() {
        let prose = "Dear all,\nthis is a letter; it is not a program!\nYours -> truly\n";
        let report = analyze(&prose.repeat(20), &Options::default());
        assert_eq!(sentence(&report), "Nothing was checked.");
        let help = sentences(&report, false, None).concat();
        assert!(help.ends_with("under “Read as”."), "{help}");
    }

    #[test]
    fn every_language_has_a_number_of_rules() {
        for count in rule_counts().split(',') {
            let number = count
                .split_once(' ')
                .map(|(_, number)| number.parse::<usize>());
            assert!(matches!(number, Some(Ok(1..))), "{count}");
        }
    }
}
