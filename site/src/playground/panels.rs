//! What the playground shows around the text. Views of a [`Session`], nothing else.

use super::session::{Runner, Session};
use crate::diff::diff_table;
use hipward_analyzer::{Applicability, Arch, Finding, HandledBy, Severity, Version};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

/// The task of the lesson that linked here, and whether it is solved.
pub(super) fn task(session: Session) -> impl IntoView {
    move || {
        session.task.get().map(|task| {
            let solved = session.solved(&task);
            view! {
                <aside class="task" class:solved=solved>
                    <p><strong>{if solved { "✓ Solved: " } else { "Task: " }}</strong>{task.text}</p>
                </aside>
            }
            .into_any()
        })
    }
}

/// Buttons, target and preferences.
pub(super) fn toolbar(session: Session) -> impl IntoView {
    let open = move |event: leptos::ev::Event| {
        let input: Option<HtmlInputElement> = event.target().and_then(|t| t.dyn_into().ok());
        if let Some(file) = input.and_then(|input| input.files()).and_then(|files| files.get(0)) {
            session.open(file);
        }
    };
    view! {
        <div class="toolbar needs-js">
            <fieldset class="target">
                <legend>"Target"</legend>
                <label>
                    "GPU "
                    <select on:change=move |event| {
                        let name = event_target_value(&event);
                        if let Some(arch) = Arch::ALL.into_iter().find(|arch| arch.name() == name) {
                            session.target.update(|target| target.arch = arch);
                            session.analyze_later(0);
                        }
                    }>
                        {Arch::ALL
                            .map(|arch| {
                                let label = format!("{} · {}", arch.name(), arch.products());
                                option(arch.name().to_owned(), label, move || session.target.read().arch == arch)
                            })
                            .into_iter()
                            .collect::<Vec<_>>()}
                    </select>
                </label>
                {version(session, "ROCm ", &ROCM, |target| &mut target.rocm)}
                {version(session, "PyTorch ", &TORCH, |target| &mut target.torch)}
                {version(session, "Python ", &PYTHON, |target| &mut target.python)}
            </fieldset>
            <div class="actions">
                <label class="button">
                    "Open a file"
                    <input type="file" class="visually-hidden" accept=".py,text/plain,text/x-python" on:change=open />
                </label>
                <button type="button" on:click=move |_| session.reset()>"Reset to the example"</button>
                <button type="button" on:click=move |_| session.share()>"Copy a share link"</button>
                <label class="switch">
                    <input
                        type="checkbox"
                        prop:checked=session.plain
                        on:change=move |event| session.set_plain(event_target_checked(&event))
                    />
                    "Plain editor"
                </label>
            </div>
            <p class="notice" role="status">{session.notice}</p>
        </div>
    }
}

const ROCM: [Version; 6] = [
    Version::new(6, 2),
    Version::new(6, 3),
    Version::new(6, 4),
    Version::new(7, 0),
    Version::new(7, 1),
    Version::new(7, 2),
];
const TORCH: [Version; 10] = [
    Version::new(2, 6),
    Version::new(2, 7),
    Version::new(2, 8),
    Version::new(2, 9),
    Version::new(2, 10),
    Version::new(2, 11),
    Version::new(2, 12),
    Version::new(2, 13),
    Version::new(2, 14),
    Version::new(2, 15),
];
const PYTHON: [Version; 6] = [
    Version::new(3, 9),
    Version::new(3, 10),
    Version::new(3, 11),
    Version::new(3, 12),
    Version::new(3, 13),
    Version::new(3, 14),
];

fn version(
    session: Session,
    label: &'static str,
    choices: &'static [Version],
    field: fn(&mut hipward_analyzer::Target) -> &mut Version,
) -> AnyView {
    let options: Vec<AnyView> = choices
        .iter()
        .map(|&choice| {
            option(choice.to_string(), choice.to_string(), move || {
                *field(&mut session.target.get()) == choice
            })
        })
        .collect();
    let changed = move |event| {
        if let Ok(version) = Version::try_from(event_target_value(&event)) {
            session.target.update(|target| *field(target) = version);
            session.analyze_later(0);
        }
    };
    view! { <label>{label}<select on:change=changed>{options}</select></label> }.into_any()
}

fn option(
    value: String,
    label: String,
    selected: impl Fn() -> bool + Copy + Send + Sync + 'static,
) -> AnyView {
    // The attribute is for the page as it is served, the property for what happens later.
    view! { <option value=value selected=selected prop:selected=selected>{label}</option> }.into_any()
}

/// The list of findings with their fixes.
pub(super) fn findings(session: Session) -> Option<AnyView> {
    let report = session.report.get();
    let (_, report) = report?;
    let notes: Vec<AnyView> = report
        .notes
        .into_iter()
        .map(|note| view! { <p class="note">{note.message}</p> }.into_any())
        .collect();
    let safe = report
        .findings
        .iter()
        .filter(|f| f.fix.as_ref().is_some_and(|fix| fix.applicability == Applicability::Safe))
        .count();
    let all = (safe > 0).then(|| {
        view! {
            <button type="button" class="primary" on:click=move |_| session.fix_all_safe()>
                {match safe {
                    1 => "Apply the safe fix".to_owned(),
                    n => format!("Apply all {n} safe fixes"),
                }}
            </button>
        }
    });
    let suppressed = (report.suppressed > 0)
        .then(|| format!("{} silenced by comments.", report.suppressed));
    let items: Vec<AnyView> = report
        .findings
        .iter()
        .enumerate()
        .map(|(index, f)| finding(session, index, f))
        .collect();
    Some(
        view! {
            {notes}
            {all}
            <ul class="findings" role="list">{items}</ul>
            <p class="hint">{suppressed}</p>
        }
        .into_any(),
    )
}

fn finding(session: Session, index: usize, finding: &Finding) -> AnyView {
    let (class, icon, word) = match finding.severity {
        Severity::Error => ("error", "✕", "Error"),
        Severity::Warning => ("warning", "▲", "Warning"),
        Severity::Advice => ("advice", "➜", "Advice"),
        Severity::Info => ("info", "ℹ", "Info"),
    };
    let handled = match finding.handled_by {
        HandledBy::You => None,
        HandledBy::Hipify => Some("Hipify deals with it at build time."),
        HandledBy::RocmWheel => Some("The ROCm build of PyTorch deals with it."),
    };
    let (from, to) = (finding.span.start.utf16, finding.span.end.utf16);
    let fix = finding.fix.as_ref().map(|fix| {
        let how = match fix.applicability {
            Applicability::Safe => "safe: keeps behaviour",
            Applicability::Unsafe => "look first: behaviour may change",
            Applicability::DisplayOnly => "for you to do",
        };
        if fix.edits.is_empty() {
            view! { <p class="fix">{fix.title.clone()}" "<small>{how}</small></p> }.into_any()
        } else {
            view! {
                <p class="fix">
                    <button type="button" on:click=move |_| session.fix(index)>{fix.title.clone()}</button>
                    " "<small>{how}</small>
                </p>
            }
            .into_any()
        }
    });
    view! {
        <li class=class>
            <p>
                <span class="severity"><span aria-hidden="true">{icon}</span>" "{word}</span>
                " "
                <button type="button" class="link" on:click=move |_| session.go_to(from, to)>
                    "Line "{finding.span.start.line}
                </button>
                " "
                <a href=session.href(&format!("rules/{}/", finding.rule))>{finding.rule.clone()}</a>
            </p>
            <p>{finding.message.clone()}" "{handled}</p>
            {fix}
        </li>
    }
    .into_any()
}

/// What is missing for a benchmark, or the button that starts one.
pub(super) fn contract(session: Session) -> Option<AnyView> {
    let contract = session.report.read().as_ref().map(|(_, report)| report.contract.clone())?;
    let body = if contract.is_complete() {
        let runner = session.runner.get();
        let explanation = match runner {
            Runner::Asking => "Looking for a runner.",
            Runner::Absent => {
                "This copy of the site has no runner. Run `hipward serve` on a machine with PyTorch, and open the playground there."
            }
            Runner::NotReady => {
                "The runner of this site is not ready; the benchmark page says what it lacks."
            }
            Runner::Ready => {
                "Checks precision first, then times eager against the optimized variants."
            }
            Runner::Sending => "Sending the code.",
        };
        view! {
            <button
                type="button"
                class="primary"
                disabled=runner != Runner::Ready
                on:click=move |_| session.benchmark()
            >
                "Benchmark this"
            </button>
            <p class="hint">{explanation}</p>
        }
        .into_any()
    } else {
        let parts = [
            (contract.model, "class Model(nn.Module)"),
            (contract.get_inputs, "def get_inputs()"),
            (contract.get_init_inputs, "def get_init_inputs()"),
        ];
        let missing: Vec<AnyView> = parts
            .into_iter()
            .filter(|(there, _)| !there)
            .map(|(_, what)| view! { <li><code>{what}</code></li> }.into_any())
            .collect();
        view! {
            <p>"To be benchmarked, the code must also have:"</p>
            <ul>{missing}</ul>
            <button type="button" on:click=move |_| session.add_skeleton()>"Add a skeleton"</button>
        }
        .into_any()
    };
    Some(
        view! {
            <section class="contract" aria-labelledby="contract">
                <h2 id="contract">"Benchmark"</h2>
                {body}
            </section>
        }
        .into_any(),
    )
}

/// What changed since the paste.
pub(super) fn changes(session: Session) -> Option<AnyView> {
    let lines = session.diff.get();
    if lines.is_empty() {
        return None;
    }
    Some(
        view! {
            <section class="changes" aria-labelledby="changes">
                <h2 id="changes">"Changes"</h2>
                {diff_table("From your paste to the text above".to_owned(), &lines)}
                <button type="button" on:click=move |_| session.compare_from_here()>
                    "Compare from here on"
                </button>
            </section>
        }
        .into_any(),
    )
}
