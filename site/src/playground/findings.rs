//! The list of findings, each with its place, rule, message and fix.

use super::session::Session;
use super::state::BY_LINE;
use super::summary::no_findings;
use crate::browser::client_only::client_only;
use crate::diff::DiffTable;
use crate::inline_code::inline_code;
use gloo_timers::callback::Timeout;
use hipward_analyzer_core::rule::Family;
use hipward_analyzer_core::{Applicability, DiffLine, Finding, Fix, HandledBy, Report, Severity};
use leptos::prelude::*;
use wasm_bindgen::JsCast;

const FAMILIES: [Family; 10] = [
    Family::BuildFiles,
    Family::VendorLibraries,
    Family::Environment,
    Family::BackendCode,
    Family::PythonVersion,
    Family::Compile,
    Family::ModelPerformance,
    Family::Triton,
    Family::Measuring,
    Family::CudaCpp,
];

/// Stands for the rules of a team in [`family`].
const TEAM: char = 't';

/// The family of a finding: the digit in its id, or [`TEAM`].
pub(super) fn family(finding: &Finding) -> char {
    match finding.id.strip_prefix("HW") {
        Some(digits) => digits.chars().next().unwrap_or(TEAM),
        None => TEAM,
    }
}

fn family_title(family: char) -> &'static str {
    let known = FAMILIES.into_iter().find(|known| known.digit() == family);
    known.map_or("Team rules", Family::title)
}

/// The indices of the findings to show, in their order. `listing` is as in `State`; every finding is shown if none is of its
/// family.
fn shown(report: &Report, listing: &str) -> Vec<usize> {
    let findings = &report.findings;
    if listing == BY_LINE {
        return (0..findings.len()).collect();
    }
    let only = listing.chars().next();
    let only = only.filter(|only| findings.iter().any(|finding| family(finding) == *only));
    let mut indices = Vec::with_capacity(findings.len());
    // A sort would be more code than this, which every visitor loads.
    for severity in [
        Severity::Error,
        Severity::Warning,
        Severity::Advice,
        Severity::Info,
    ] {
        for (index, finding) in findings.iter().enumerate() {
            if finding.severity == severity && only.is_none_or(|only| family(finding) == only) {
                indices.push(index);
            }
        }
    }
    indices
}

/// The indices of the findings whose fixes are of the same rule and applicability as that at `index`.
fn of_one_kind(report: &Report, index: usize) -> Vec<usize> {
    let kind = |finding: &Finding| {
        let fix = finding.fix.as_ref().filter(|fix| !fix.edits.is_empty())?;
        Some((finding.rule.clone(), fix.applicability))
    };
    let wanted = kind(&report.findings[index]);
    let findings = report.findings.iter().enumerate();
    findings
        .filter(|(_, finding)| wanted.is_some() && kind(finding) == wanted)
        .map(|(index, _)| index)
        .collect()
}

#[component]
pub(super) fn Findings() -> impl IntoView {
    let session = expect_context::<Session>();
    let state = session.state;
    // The families of the findings; empty for fewer than two findings. A memo, so that a new report with the same families
    // does not replace the select.
    let families = Memo::new(move |_| {
        state.report.with(|report| {
            let mut families = String::new();
            let findings = report.as_ref().map(|report| &report.findings);
            for finding in findings
                .filter(|findings| findings.len() > 1)
                .into_iter()
                .flatten()
            {
                let family = family(finding);
                if !families.contains(family) {
                    families.push(family);
                }
            }
            families
        })
    });
    let controls = move || families.with(|families| controls(session, families));
    let list = move || {
        let listing = state.listing.get();
        state.report.with(|report| {
            report
                .as_ref()
                .map(|report| list(session, report, &shown(report, &listing)))
        })
    };
    view! {
        {controls}
        {list}
    }
}

/// The select for the order and the family of the findings.
fn controls(session: Session, families: &str) -> Option<AnyView> {
    if families.is_empty() {
        return None;
    }
    let listing = session.state.listing;
    let mut choices = vec![
        (String::new(), "All, errors first"),
        (BY_LINE.to_owned(), "All, by line"),
    ];
    if families.chars().nth(1).is_some() {
        choices.extend(
            families
                .chars()
                .map(|family| (family.to_string(), family_title(family))),
        );
    }
    let now = listing.get_untracked();
    let options: Vec<_> = choices
        .into_iter()
        .map(|(value, text)| {
            let selected = value == now;
            view! { <option value=value selected=selected>{text}</option> }
        })
        .collect();
    let view = view! {
        <p class="order">
            <label>
                "Show "
                <select
                    autocomplete="off"
                    on:change=move |event| listing.set(event_target_value(&event))
                >
                    {options}
                </select>
            </label>
        </p>
    };
    Some(client_only(view))
}

fn list(session: Session, report: &Report, shown: &[usize]) -> AnyView {
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
    let findings: Vec<_> = shown
        .iter()
        .map(|index| item(session, report, *index, &base))
        .collect();
    let empty: Vec<_> = no_findings(session, report)
        .iter()
        .map(|sentence| view! { <p>{inline_code(sentence)}</p> })
        .collect();
    let suppressed = (report.suppressed > 0).then(|| {
        let text = format!("Silenced by comments: {}.", report.suppressed);
        view! { <p class="hint">{text}</p> }
    });
    client_only(view! {
        {notes}
        {safe_fixes}
        <ul class="findings" role="list" aria-label="Findings">
            {findings}
        </ul>
        {empty}
        {suppressed}
    })
}

/// Whether the finding has a fix that keeps behaviour.
pub(super) fn has_safe_fix(finding: &Finding) -> bool {
    finding
        .fix
        .as_ref()
        .is_some_and(|fix| fix.applicability == Applicability::Safe && !fix.edits.is_empty())
}

fn item(session: Session, report: &Report, index: usize, base: &str) -> impl IntoView + use<> {
    let finding = &report.findings[index];
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
                    on:click=move |_| session.select_finding(index, from, to)
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
            {finding.fix.as_ref().map(|fix| fix_part(session, report, index, fix))}
        </li>
    }
}

/// The id of the button of a fix.
pub(super) fn fix_id(index: usize) -> String {
    format!("fix-{index}")
}

fn change_id(index: usize) -> String {
    format!("change-{index}")
}

/// Shows the changes of the fix of a finding.
pub(super) fn open_change(index: usize) {
    let summary = document().get_element_by_id(&change_id(index));
    let Some(summary) = summary.and_then(|summary| summary.dyn_into::<web_sys::HtmlElement>().ok())
    else {
        return;
    };
    let details = summary.parent_element();
    if details.is_some_and(|details| !details.has_attribute("open")) {
        // After the event that is being handled: Leptos handles no event inside another.
        Timeout::new(0, move || summary.click()).forget();
    }
}

/// A fix: a button that applies it if it keeps behaviour, and its changes.
fn fix_part(session: Session, report: &Report, index: usize, fix: &Fix) -> AnyView {
    let title = inline_code(&fix.title);
    let applicability = match fix.applicability {
        Applicability::Safe => "safe: keeps behaviour",
        Applicability::Unsafe => "look first: behaviour may change",
        Applicability::DisplayOnly => "for you to do",
    };
    if fix.edits.is_empty() {
        let view = view! { <p class="fix">{title} " " <small>{applicability}</small></p> };
        return client_only(view);
    }
    let kind = of_one_kind(report, index);
    let rule = report.findings[index].rule.clone();
    let lines = RwSignal::new(Vec::new());
    client_only(view! {
        <p class="fix">
            <button type="button" id=fix_id(index) on:click=move |_| session.choose_fix(index)>
                {title}
            </button>
            " "
            <small>{applicability}</small>
        </p>
        <details class="change" open=move || lines.with(|lines: &Vec<DiffLine>| !lines.is_empty())>
            <summary
                id=change_id(index)
                on:click=move |event| {
                    // The details open when the change is there.
                    event.prevent_default();
                    session.toggle_change(index, lines);
                }
            >
                "Show the change"
            </summary>
            {move || lines.with(|lines| changes(session, index, lines, &kind, &rule))}
        </details>
    })
}

/// The changes of a fix, with the buttons that apply it. `kind` are the findings with the same kind of fix.
fn changes(
    session: Session,
    index: usize,
    lines: &[DiffLine],
    kind: &[usize],
    rule: &str,
) -> Option<AnyView> {
    if lines.is_empty() {
        return None;
    }
    let all = (kind.len() > 1).then(|| {
        let text = format!("Apply all {} of {rule}", kind.len());
        let (kind, rule) = (kind.to_vec(), rule.to_owned());
        view! {
            <button type="button" on:click=move |_| session.apply_fixes(kind.clone(), &rule)>
                {text}
            </button>
        }
    });
    let view = view! {
        <DiffTable caption="The change" lines=lines.to_vec() />
        <p class="actions">
            <button type="button" class="primary" on:click=move |_| session.apply_fix(index)>
                "Apply"
            </button>
            {all}
        </p>
    };
    Some(client_only(view))
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use hipward_analyzer::{Options, analyze};

    const SOURCE: &str = "import os\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"a:1\"\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"a:2\"\nimport pynvml\n";

    fn rules(report: &Report, indices: &[usize]) -> Vec<(String, u32)> {
        let findings = indices.iter().map(|index| &report.findings[*index]);
        findings
            .map(|finding| (finding.rule.clone(), finding.span.start.line))
            .collect()
    }

    #[test]
    fn error_precedes_a_warning_of_an_earlier_line() {
        let report = analyze(SOURCE, &Options::default());
        let by_severity = rules(&report, &shown(&report, ""));
        assert_eq!(by_severity[0], ("pynvml".to_owned(), 4));
        let by_line = rules(&report, &shown(&report, BY_LINE));
        assert_eq!(
            by_line.iter().map(|(_, line)| *line).collect::<Vec<_>>(),
            [2, 3, 4]
        );
    }

    #[test]
    fn family_without_findings_hides_nothing() {
        let report = analyze(SOURCE, &Options::default());
        let environment = rules(&report, &shown(&report, "2"));
        assert_eq!(
            environment
                .iter()
                .map(|(_, line)| *line)
                .collect::<Vec<_>>(),
            [2, 3]
        );
        assert_eq!(shown(&report, "9").len(), 3);
        assert_eq!(family_title('2'), "Environment");
    }

    #[test]
    fn fixes_of_one_rule_are_one_kind() {
        let report = analyze(SOURCE, &Options::default());
        let of_line = |line| {
            let mut findings = report.findings.iter();
            let index = findings.position(|finding| finding.span.start.line == line);
            of_one_kind(&report, index.expect("a finding"))
        };
        assert_eq!(of_line(2), [0, 1]);
        assert_eq!(of_line(4), [2]);
    }
}
