//! The list of findings, each with its place, rule, message and fix.

use super::session::Session;
use super::state::{Order, Preview};
use super::toolbar::Picker;
use crate::diff::DiffTable;
use crate::inline_code::inline_code;
use hipward_analyzer_core::rule::Family;
use hipward_analyzer_core::{Applicability, Finding, Fix, HandledBy, Report, Severity};
use leptos::prelude::*;

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

/// The indices of the findings to show, in their order. Every finding is shown if none is of `only`.
fn shown(report: &Report, order: Order, only: Option<char>) -> Vec<usize> {
    let findings = &report.findings;
    let only = only.filter(|only| findings.iter().any(|finding| family(finding) == *only));
    let is_shown = |index: &usize| only.is_none_or(|only| family(&findings[*index]) == only);
    let mut indices: Vec<usize> = (0..findings.len()).filter(is_shown).collect();
    if order == Order::Severity {
        indices.sort_by_key(|index| findings[*index].severity);
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
    view! {
        <Controls session />
        {move || {
            let (order, family) = (state.order.get(), state.family.get());
            state.report.with(|report| {
                report.as_ref().map(|report| list(session, report, &shown(report, order, family)))
            })
        }}
    }
}

/// The order and the family of the findings; nothing for fewer than two findings.
#[component]
fn Controls(session: Session) -> impl IntoView {
    let state = session.state;
    // Empty for fewer than two findings. A memo, so that a new report with the same families does not replace the pickers.
    let families = Memo::new(move |_| {
        state.report.with(|report| {
            let findings = report.as_ref().map(|report| &report.findings);
            let findings = findings.filter(|findings| findings.len() > 1);
            let mut families: Vec<char> = findings.into_iter().flatten().map(family).collect();
            families.sort_unstable();
            families.dedup();
            families
        })
    });
    let order = Signal::derive(move || {
        let is_by_line = state.order.get() == Order::Line;
        if is_by_line { "line" } else { "severity" }.to_owned()
    });
    let on_order = Callback::new(move |order: String| {
        let is_by_line = order == "line";
        state.order.set(if is_by_line {
            Order::Line
        } else {
            Order::Severity
        });
    });
    let chosen = Signal::derive(move || {
        let family = state.family.get();
        let family = family.filter(|family| families.with(|families| families.contains(family)));
        family.map_or_else(String::new, String::from)
    });
    let on_family = Callback::new(move |family: String| state.family.set(family.chars().next()));
    let choice = |value: &str, text: &str| (value.to_owned(), text.to_owned());
    move || {
        let families = families.get();
        if families.is_empty() {
            return None;
        }
        let mut choices = vec![choice("", "All")];
        choices.extend(
            families
                .iter()
                .map(|family| (family.to_string(), family_title(*family).to_owned())),
        );
        let family = (families.len() > 1).then(|| {
            view! { <Picker label="Show" choices chosen on_choose=on_family /> }
        });
        let orders = vec![choice("severity", "Severity"), choice("line", "Line")];
        let view = view! {
            <p class="actions order">
                <Picker label="Order by" choices=orders chosen=order on_choose=on_order />
                {family}
            </p>
        };
        Some(view.into_any())
    }
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

/// Whether the changes of the fix of a finding are shown.
pub(super) fn is_open(preview: RwSignal<Option<Preview>>, index: usize) -> bool {
    preview.with_untracked(|preview| preview.as_ref().is_some_and(|open| open.index == index))
}

/// A fix: a button that applies it if it keeps behaviour, and a button that shows its changes.
fn fix_part(session: Session, report: &Report, index: usize, fix: &Fix) -> AnyView {
    let title = inline_code(&fix.title);
    let applicability = match fix.applicability {
        Applicability::Safe => "safe: keeps behaviour",
        Applicability::Unsafe => "look first: behaviour may change",
        Applicability::DisplayOnly => "for you to do",
    };
    if fix.edits.is_empty() {
        let view = view! { <p class="fix">{title} " " <small>{applicability}</small></p> };
        return view.into_any();
    }
    let preview = session.state.preview;
    let is_open = Memo::new(move |_| {
        preview.with(|preview| preview.as_ref().is_some_and(|open| open.index == index))
    });
    let kind = of_one_kind(report, index);
    let rule = report.findings[index].rule.clone();
    let changes = move || {
        preview.with(|preview| {
            let open = preview.as_ref().filter(|open| open.index == index)?;
            Some(changes(session, open, &kind, &rule))
        })
    };
    view! {
        <p class="fix">
            <button type="button" id=fix_id(index) on:click=move |_| session.choose_fix(index)>
                {title}
            </button>
            " "
            <small>{applicability}</small>
            " "
            <button
                type="button"
                class="link"
                id=format!("show-{index}")
                aria-expanded=move || if is_open.get() { "true" } else { "false" }
                on:click=move |_| session.toggle_preview(index)
            >
                {move || if is_open.get() { "Hide the change" } else { "Show the change" }}
            </button>
        </p>
        {changes}
    }
    .into_any()
}

/// The changes of a fix, with the buttons that apply it. `kind` are the findings with the same kind of fix.
fn changes(session: Session, preview: &Preview, kind: &[usize], rule: &str) -> AnyView {
    let Preview { index, lines } = preview.clone();
    if lines.is_empty() {
        return view! { <p class="hint">"Reading the change."</p> }.into_any();
    }
    let all = (kind.len() > 1).then(|| {
        let text = format!("Apply all {} of {rule}", kind.len());
        let (kind, rule) = (kind.to_vec(), rule.to_owned());
        view! {
            <button
                type="button"
                id=format!("all-{index}")
                on:click=move |_| session.apply_fixes(kind.clone(), &rule)
            >
                {text}
            </button>
        }
    });
    view! {
        <DiffTable caption="The change" lines />
        <p class="actions">
            <button
                type="button"
                class="primary"
                id=format!("apply-{index}")
                on:click=move |_| session.apply_fix(index)
            >
                "Apply"
            </button>
            {all}
        </p>
    }
    .into_any()
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
        let by_severity = rules(&report, &shown(&report, Order::Severity, None));
        assert_eq!(by_severity[0], ("pynvml".to_owned(), 4));
        let by_line = rules(&report, &shown(&report, Order::Line, None));
        assert_eq!(
            by_line.iter().map(|(_, line)| *line).collect::<Vec<_>>(),
            [2, 3, 4]
        );
    }

    #[test]
    fn family_without_findings_hides_nothing() {
        let report = analyze(SOURCE, &Options::default());
        let environment = rules(&report, &shown(&report, Order::Line, Some('2')));
        assert_eq!(
            environment
                .iter()
                .map(|(_, line)| *line)
                .collect::<Vec<_>>(),
            [2, 3]
        );
        assert_eq!(shown(&report, Order::Line, Some('9')).len(), 3);
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
        assert_eq!(of_line(4), [0; 0]);
    }
}
