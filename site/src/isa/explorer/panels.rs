//! The state of a wavefront after an instruction: lanes, registers, memory access, LDS.

use super::calls::{Access, Lds, View};
use super::state::State;
use leptos::prelude::*;

/// A table whose first column has row headings.
pub(super) fn table(caption: &str, head: &[&str], rows: Vec<Vec<String>>) -> AnyView {
    let head = head.iter().map(|text| (*text).to_owned()).collect();
    wide_table(caption, head, rows)
}

fn wide_table(caption: &str, head: Vec<String>, rows: Vec<Vec<String>>) -> AnyView {
    let head: Vec<AnyView> = head
        .into_iter()
        .map(|text| view! { <th scope="col">{text}</th> }.into_any())
        .collect();
    let rows: Vec<AnyView> = rows
        .into_iter()
        .map(|row| {
            let cells: Vec<AnyView> = row
                .into_iter()
                .enumerate()
                .map(|(at, text)| match at {
                    0 => view! { <th scope="row">{text}</th> }.into_any(),
                    _ => view! { <td class="number">{text}</td> }.into_any(),
                })
                .collect();
            view! { <tr>{cells}</tr> }.into_any()
        })
        .collect();
    view! {
        <table class="values">
            <caption>{caption.to_owned()}</caption>
            <thead>
                <tr>{head}</tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

fn folded(summary: String, content: AnyView) -> AnyView {
    view! {
        <details>
            <summary>{summary}</summary>
            <div class="scroll" tabindex="0">{content}</div>
        </details>
    }
    .into_any()
}

/// A drawing of the lanes under EXEC. The table of the registers has the same for screen readers.
pub(super) fn lanes(view: &View) -> AnyView {
    let cells: Vec<AnyView> = view
        .active
        .iter()
        .enumerate()
        .map(|(lane, active)| {
            view! { <span class:off=(!*active)>{lane.to_string()}</span> }.into_any()
        })
        .collect();
    let [exec, vcc, scc] = view.masks.clone();
    view! {
        <h4>"Lanes"</h4>
        <div class="cells lanes" aria-hidden="true">{cells}</div>
        <p class="hint masks">
            "EXEC " <code>{exec}</code> ", VCC " <code>{vcc}</code> ", SCC " <code>{scc}</code>
            ". Hatched lanes are masked: the instruction does not change their registers or memory."
        </p>
    }
    .into_any()
}

/// The registers that the instruction names, after it.
pub(super) fn registers(view: &View) -> AnyView {
    let scalars = (!view.scalars.is_empty()).then(|| {
        let rows = view.scalars.iter();
        let rows = rows
            .map(|(name, value)| vec![name.clone(), value.clone()])
            .collect();
        table(
            "Scalar registers of the instruction",
            &["Register", "Value"],
            rows,
        )
    });
    let mut head = vec!["Lane".to_owned(), "Active".to_owned()];
    head.extend(view.vectors.iter().map(|(name, _)| name.clone()));
    let rows = view.active.iter().enumerate().map(|(lane, active)| {
        let mut row = vec![
            lane.to_string(),
            if *active { "yes" } else { "masked" }.to_owned(),
        ];
        row.extend(
            view.vectors
                .iter()
                .filter_map(|(_, lanes)| lanes.get(lane).cloned()),
        );
        row
    });
    view! {
        <h4>"Registers after the instruction"</h4>
        {scalars}
        <div class="scroll tall" tabindex="0" role="region" aria-label="Registers of each lane">
            {wide_table("Registers of each lane", head, rows.collect())}
        </div>
    }
    .into_any()
}

/// The memory access of the instruction.
pub(super) fn access(access: &Access) -> AnyView {
    let (drawing, sentence) = if access.in_lds {
        let sentence = format!(
            "{} bytes of LDS. Bank conflicts add {} cycles.",
            access.bytes, access.conflicts
        );
        (banks(access), sentence)
    } else {
        let hidden = access.segment_count - access.segments.len();
        let rest = if hidden > 0 {
            format!(" {hidden} more are not drawn.")
        } else {
            String::new()
        };
        let sentence = format!(
            "{} bytes in {} segments of 64 bytes.{rest}",
            access.bytes, access.segment_count
        );
        (segments(access), sentence)
    };
    let lanes = access.lanes.iter();
    let lanes =
        lanes.map(|(lane, place, bytes)| vec![lane.to_string(), place.clone(), bytes.to_string()]);
    let list = table(
        "Access of each lane",
        &["Lane", "Place", "Bytes"],
        lanes.collect(),
    );
    let drawn = folded(
        "The drawing as a table".to_owned(),
        table(
            "Lanes of each place",
            &["Place", "Lanes"],
            drawn_lanes(access),
        ),
    );
    view! {
        <h4>"Memory access"</h4>
        <p data-region="access">{sentence}</p>
        <div class="scroll">{drawing}</div>
        {drawn}
        {folded("The access of each lane as a table".to_owned(), list)}
    }
    .into_any()
}

/// The lanes of each bank, or of each segment, that the instruction accesses.
fn drawn_lanes(access: &Access) -> Vec<Vec<String>> {
    let row = |place: String, lanes: Vec<usize>| {
        let text: Vec<String> = lanes.iter().map(usize::to_string).collect();
        (!lanes.is_empty()).then(|| vec![place, text.join(", ")])
    };
    let banks = access.banks.iter().enumerate();
    let banks = banks.filter_map(|(bank, lanes)| row(format!("bank {bank}"), lanes.clone()));
    let segments = access.segments.iter().filter_map(|(place, words)| {
        let mut lanes = words.concat();
        lanes.dedup();
        row(place.clone(), lanes)
    });
    match access.in_lds {
        true => banks.collect(),
        false => segments.collect(),
    }
}

/// One row for each segment, with a cell for each of its 16 words.
fn segments(access: &Access) -> AnyView {
    let rows: Vec<AnyView> = access
        .segments
        .iter()
        .map(|(place, words)| {
            view! {
                <div class="segment">
                    <span class="place">{place.clone()}</span>
                    <div class="cells words">{cells(words)}</div>
                </div>
            }
            .into_any()
        })
        .collect();
    view! { <div aria-hidden="true">{rows}</div> }.into_any()
}

/// One cell for each bank.
fn banks(access: &Access) -> AnyView {
    let cells: Vec<AnyView> = access
        .banks
        .iter()
        .enumerate()
        .map(|(bank, lanes)| {
            let count = lanes.len();
            view! {
                <span class:off=(count == 0) class:many=(count > 2)>
                    <small>{format!("bank {bank}")}</small>
                    {match count {
                        0 => "–".to_owned(),
                        1 => "1 lane".to_owned(),
                        _ => format!("{count} lanes"),
                    }}
                </span>
            }
            .into_any()
        })
        .collect();
    view! { <div class="cells banks" aria-hidden="true">{cells}</div> }.into_any()
}

/// The lanes of each word: the first one, and the number of others.
fn cells(words: &[Vec<usize>]) -> Vec<AnyView> {
    words
        .iter()
        .map(|lanes| {
            let text = match lanes.as_slice() {
                [] => String::new(),
                [lane] => lane.to_string(),
                [lane, rest @ ..] => format!("{lane}+{}", rest.len()),
            };
            view! { <span class:off=(lanes.is_empty())>{text}</span> }.into_any()
        })
        .collect()
}

/// A part of the LDS: a row has one word of each bank.
pub(super) fn lds(state: State, lds: &Lds) -> AnyView {
    let banks = lds.rows.first().map_or(0, Vec::len);
    let mut head = vec!["Row".to_owned()];
    head.extend((0..banks).map(|bank| bank.to_string()));
    let rows = (lds.first..).zip(&lds.rows).map(|(number, row)| {
        let mut cells = vec![number.to_string()];
        cells.extend(row.iter().cloned());
        cells
    });
    let content = wide_table("LDS: one column for each bank", head, rows.collect());
    let (first, total, shown) = (lds.first, lds.total, lds.rows.len());
    let (is_first, is_last) = (first == 0, first + shown >= total);
    let move_to = move |row: usize| {
        state.lds_row.set(Some(row));
        state.refresh();
    };
    view! {
        <h4>"LDS"</h4>
        <p>
            {format!("{} bytes; rows {first} to {} of {total}. ", lds.bytes, (first + shown).saturating_sub(1))}
            <button type="button" disabled=is_first on:click=move |_| move_to(first.saturating_sub(shown))>
                "Rows before"
            </button>
            " "
            <button type="button" disabled=is_last on:click=move |_| move_to(first + shown)>
                "Rows after"
            </button>
        </p>
        <div class="scroll tall" tabindex="0" role="region" aria-label="Contents of the LDS">{content}</div>
    }
    .into_any()
}

/// The wavefronts of the workgroup.
pub(super) fn wavefronts(view: &View) -> AnyView {
    let rows = view.wavefronts.iter().map(|(number, state, line)| {
        let line = line.map_or_else(String::new, |line| format!(", line {line}"));
        vec![number.to_string(), format!("{state}{line}")]
    });
    folded(
        "Wavefronts of the workgroup".to_owned(),
        table(
            "Wavefronts of the workgroup",
            &["Wavefront", "State"],
            rows.collect(),
        ),
    )
}
