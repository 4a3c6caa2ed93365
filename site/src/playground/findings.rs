//! The list of findings, each with its place, rule, message and fix.

use super::session::Session;
use crate::inline_code::inline_code;
use hipward_analyzer_core::{Applicability, Finding, Fix, HandledBy, Report, Severity};
use leptos::prelude::*;

#[component]
pub(super) fn Findings() -> impl IntoView {
    let session = expect_context::<Session>();
    move || {
        let report = session.state.report;
        report.with(|report| report.as_ref().map(|report| list(session, report)))
    }
}

fn list(session: Session, report: &Report) -> AnyView {
    let notes: Vec<_> = report
        .notes
        .iter()
        .map(|note| view! { <p class="report-note">{inline_code(&note.message)}</p> })
        .collect();
    let safe_fixes = report.findings.iter().any(has_safe_fix).then(|| {
        view! {
            <p>
                <button
                    type="button"
                    id="fix-safe"
                    class="primary"
                    on:click=move |_| session.apply_safe_fixes()
                >
                    "Apply all safe fixes"
                </button>
            </p>
        }
    });
    let base = session.base.get_value();
    let findings: Vec<_> = report
        .findings
        .iter()
        .enumerate()
        .map(|(index, finding)| item(session, index, finding, &base))
        .collect();
    let suppressed = (report.suppressed > 0).then(|| {
        let text = format!("Silenced by comments: {}.", report.suppressed);
        view! { <p class="hint">{text}</p> }
    });
    view! {
        {notes}
        {safe_fixes}
        <ul class="findings" role="list" aria-label="Findings">
            {findings}
        </ul>
        {suppressed}
    }
    .into_any()
}

/// Whether the finding has a fix that keeps behaviour.
pub(super) fn has_safe_fix(finding: &Finding) -> bool {
    finding
        .fix
        .as_ref()
        .is_some_and(|fix| fix.applicability == Applicability::Safe && !fix.edits.is_empty())
}

fn item(session: Session, index: usize, finding: &Finding, base: &str) -> impl IntoView + use<> {
    let (severity, mark, word) = match finding.severity {
        Severity::Error => ("error", "✕", "Error"),
        Severity::Warning => ("warning", "▲", "Warning"),
        Severity::Advice => ("advice", "➜", "Advice"),
        Severity::Info => ("info", "ℹ", "Info"),
    };
    let (from, to) = (finding.span.start.utf16, finding.span.end.utf16);
    // A team's own rule is explained elsewhere.
    let rule_page = match &finding.link {
        Some(link) => link.clone(),
        None => format!("{base}rules/{}/", finding.rule),
    };
    let handled_by = match finding.handled_by {
        HandledBy::You => "",
        HandledBy::Hipify => " Hipify handles it at build time.",
        HandledBy::RocmWheel => " The ROCm build of PyTorch handles it.",
    };
    view! {
        <li data-severity=severity>
            <p>
                <strong>
                    <span aria-hidden="true">{mark}</span>
                    " "
                    {word}
                </strong>
                " "
                <button
                    type="button"
                    class="link"
                    id=format!("go-{index}")
                    on:click=move |_| session.select(from, to)
                >
                    {format!("Line {}", finding.span.start.line)}
                </button>
                " "
                // In a new tab, because the browser forgets an open folder when its page is left.
                <a target="_blank" href=rule_page>
                    {finding.rule.to_string()}
                </a>
            </p>
            <p>{inline_code(&finding.message)} {handled_by}</p>
            {finding.fix.as_ref().map(|fix| fix_line(session, index, fix))}
        </li>
    }
}

fn fix_line(session: Session, index: usize, fix: &Fix) -> AnyView {
    let title = inline_code(&fix.title);
    let title = if fix.edits.is_empty() {
        title.into_any()
    } else {
        let apply = move |_| session.apply_fix(index);
        view! {
            <button type="button" id=format!("fix-{index}") on:click=apply>
                {title}
            </button>
        }
        .into_any()
    };
    let applicability = match fix.applicability {
        Applicability::Safe => "safe: keeps behaviour",
        Applicability::Unsafe => "look first: behaviour may change",
        Applicability::DisplayOnly => "for you to do",
    };
    view! {
        <p class="fix">
            {title}
            " "
            <small>{applicability}</small>
        </p>
    }
    .into_any()
}
