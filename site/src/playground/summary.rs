//! The number of findings, in a sentence that a screen reader announces.

use super::counted;
use super::project::severities;
use super::session::Session;
use hipward_analyzer_core::{Language, Report};
use leptos::prelude::*;

#[component]
pub(super) fn Summary() -> impl IntoView {
    let state = expect_context::<Session>().state;
    let file = Memo::new(move |_| state.document.with(|document| document.file.clone()));
    let source = move || {
        let file = file.get();
        if file.is_empty() && state.project.with(Option::is_some) {
            return Some("The text in the editor is not from the folder. ".into_any());
        }
        (!file.is_empty()).then(|| view! { <code>{file}</code> " " }.into_any())
    };
    let findings = move || {
        state.report.with(|report| match report {
            Some(report) => sentence(report),
            None if state.error.with(String::is_empty) => "Reading the code.".to_owned(),
            None => "Not checked.".to_owned(),
        })
    };
    view! { <p>{source} {findings}</p> }
}

fn sentence(report: &Report) -> String {
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
