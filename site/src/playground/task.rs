//! The task of a lesson's exercise and its conditions.

use super::session::Session;
use super::state::Task;
use crate::browser::client_only::client_only;
use crate::inline_code::inline_code;
use hipward_analyzer_core::{JudgedCondition, Judgement};
use leptos::prelude::*;

#[component]
pub(super) fn TaskPanel() -> impl IntoView {
    let state = expect_context::<Session>().state;
    move || state.task.with(|task| task.as_ref().map(panel))
}

fn panel(task: &Task) -> AnyView {
    let judgement = task.judgement.as_ref();
    let is_solved = judgement.is_some_and(Judgement::is_solved);
    let (class, label) = match is_solved {
        true => ("task solved", "✓ Solved."),
        false => ("task", "Task."),
    };
    let conditions = match judgement {
        Some(judgement) => {
            let conditions: Vec<_> = judgement.conditions.iter().map(condition).collect();
            client_only(view! {
                <ul class="conditions" role="list" aria-label="Conditions">
                    {conditions}
                </ul>
            })
        }
        None => client_only(view! { <p class="hint">"Checking the conditions."</p> }),
    };
    let back = (!task.lesson.is_empty()).then(|| {
        let class = if is_solved { "button primary" } else { "" };
        view! {
            <p class="back">
                <a class=class href=task.lesson.clone()>
                    "Back to the lesson"
                </a>
            </p>
        }
    });
    client_only(view! {
        <aside class=class>
            <p>
                <strong>{label}</strong>
                " "
                {inline_code(&task.text)}
            </p>
            {conditions}
            {back}
        </aside>
    })
}

fn condition(condition: &JudgedCondition) -> impl IntoView + use<> {
    let (met, mark, word) = match condition.met {
        true => ("yes", "✓", "Met: "),
        false => ("no", "○", "Not met: "),
    };
    let message = (!condition.met).then(|| {
        view! {
            " "
            <small>{inline_code(&condition.message)}</small>
        }
    });
    view! {
        <li data-met=met>
            <span aria-hidden="true">{mark}</span>
            " "
            <span class="visually-hidden">{word}</span>
            {inline_code(&condition.title)}
            {message}
        </li>
    }
}
