//! The `write` block: task, editor, hints and solution. js/exercise.js adds the check; without it the block shows how to
//! check a file on the command line.

use super::blocks::program;
use crate::Site;
use crate::content::document::inline;
use crate::content::written::Written;
use crate::content::{Lesson, Part};
use crate::downloads::file_href;
use crate::escape::escape;
use leptos::prelude::*;

/// The exercise as a section with the attributes `data-exercise`, its address `part/lesson/id`, and `data-judge`, which
/// changes with the judge.
pub(super) fn view(site: &Site, part: &Part, lesson: &Lesson, exercise: &Written) -> AnyView {
    let id = &exercise.id;
    let address = format!("{}/{id}", part.address(lesson));
    let (title_id, code_id) = (format!("{id}-title"), format!("{id}-code"));
    let labelled_by = title_id.clone();
    let start_name = exercise.start_name;
    let start_file = file_href(site, part, lesson, &format!("{id}/{start_name}"));
    let command = format!("hipward try {address} {start_name}");
    let needs = (exercise.language == "cpp")
        .then_some(" It needs clang 22, and a Python with PyTorch and Triton.");
    let cases: Vec<AnyView> = exercise
        .cases
        .iter()
        .map(|case| view! { <li inner_html=inline(case, site.base())></li> }.into_any())
        .collect();
    let rows = (exercise.start.lines().count() + 1).clamp(6, 30);
    // Leptos does not escape text inside a text area, and a parser drops the first line feed.
    let code = format!("\n{}", escape(&exercise.start));
    view! {
        <section class="block write" data-exercise=address data-file=start_name data-judge=exercise.judge.clone() aria-labelledby=labelled_by>
            <p class="block-title" id=title_id>
                "Exercise: "
                <span inner_html=inline(&exercise.title, site.base())></span>
                {format!(" ({} min)", exercise.minutes)}
            </p>
            <p inner_html=inline(&exercise.task, site.base())></p>
            <details class="cases">
                <summary>{format!("{} cases are checked", exercise.cases.len())}</summary>
                <ul>{cases}</ul>
            </details>
            <label class="visually-hidden" for=code_id.clone()>"Your program"</label>
            <textarea
                id=code_id
                class="code"
                rows=rows.to_string()
                wrap="off"
                spellcheck="false"
                autocomplete="off"
                autocapitalize="off"
                inner_html=code
            ></textarea>
            <p class="actions" data-actions>
                <a class="button" href=start_file download>{format!("Download {start_name}")}</a>
            </p>
            <p class="hint" data-without-runner>
                "To check the file on your computer: "<code>{command}</code>{needs}
            </p>
            <div data-result></div>
            {hints(site, exercise)}
        </section>
    }
    .into_any()
}

/// The first hint, which contains the next one, folded; the last one contains the solution.
fn hints(site: &Site, exercise: &Written) -> AnyView {
    let hints = &exercise.hints;
    let mut inner: AnyView = view! {
        <details class="solution">
            <summary>"Solution"</summary>
            <div inner_html=program(exercise.language, &exercise.solution)></div>
        </details>
    }
    .into_any();
    for (index, hint) in hints.iter().enumerate().rev() {
        let number = index + 1;
        inner = view! {
            <details class="hint-step" data-hint=number.to_string()>
                <summary>{format!("Hint {number} of {}", hints.len())}</summary>
                <p inner_html=inline(hint, site.base())></p>
                {inner}
            </details>
        }
        .into_any();
    }
    inner
}
