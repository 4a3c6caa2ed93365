//! A diff of two texts as a table, in lessons and in the playground.

use hipward_analyzer_core::{DiffKind, DiffLine};
use leptos::prelude::*;

/// A diff as a table: line numbers before and after, a sign, and the line.
#[component]
pub(crate) fn DiffTable(#[prop(into)] caption: String, lines: Vec<DiffLine>) -> impl IntoView {
    let rows: Vec<_> = lines.into_iter().map(row).collect();
    let label = caption.clone();
    view! {
        <div class="scroll diff" tabindex="0" role="group" aria-label=label>
            <table>
                <caption>{caption}</caption>
                <thead class="visually-hidden">
                    <tr>
                        <th scope="col">"Line before"</th>
                        <th scope="col">"Line after"</th>
                        <th scope="col">"Change"</th>
                        <th scope="col">"Text"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn row(line: DiffLine) -> impl IntoView + use<> {
    // The sign is for sighted readers, the word for screen readers.
    let (class, sign, word) = match line.kind {
        DiffKind::Equal => ("equal", "", ""),
        DiffKind::Removed => ("removed", "−", "Removed"),
        DiffKind::Added => ("added", "+", "Added"),
        DiffKind::Gap => ("gap", "⋯", "Lines left out"),
    };
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    view! {
        <tr class=class>
            <td class="line">{number(line.old)}</td>
            <td class="line">{number(line.new)}</td>
            <td class="sign">
                <span aria-hidden="true">{sign}</span>
                <span class="visually-hidden">{word}</span>
            </td>
            <td>
                <code>{line.text}</code>
            </td>
        </tr>
    }
}
