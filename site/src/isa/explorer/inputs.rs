//! The arguments and sizes of the launch.

use super::launch::Argument;
use super::state::State;
use leptos::prelude::*;

const TYPES: [&str; 10] = [
    "f32", "f16", "bf16", "f64", "i32", "u32", "i64", "i16", "i8", "u8",
];
const FILLS: [(&str, &str); 6] = [
    ("index", "0, 1, 2, …"),
    ("alternating", "1, -2, 3, -4, …"),
    ("random", "random"),
    ("ones", "ones"),
    ("zeros", "zeros"),
    ("unwritten", "not written"),
];

/// The fields for the launch of the loaded kernel.
pub(super) fn inputs(state: State) -> Option<AnyView> {
    state.kernel.get()?;
    let rows: Vec<AnyView> = state
        .arguments
        .get_untracked()
        .into_iter()
        .enumerate()
        .map(|(at, argument)| row(state, at, argument))
        .collect();
    let sizes = state.sizes.get_untracked();
    let sizes: Vec<AnyView> = [("Workgroups", 0), ("Work-items of a workgroup", 1)]
        .into_iter()
        .map(|(label, which)| {
            let fields: Vec<AnyView> = ["x", "y", "z"]
                .into_iter()
                .enumerate()
                .map(|(axis, name)| {
                    let set = move |text: String| {
                        state
                            .sizes
                            .update(|sizes| sizes[which][axis] = text.parse().unwrap_or(0));
                    };
                    number(
                        format!("{label}, {name}"),
                        sizes[which][axis].to_string(),
                        set,
                    )
                })
                .collect();
            view! {
                <tr>
                    <th scope="row">{label}</th>
                    <td colspan="3">
                        <span class="sizes">{fields}</span>
                    </td>
                </tr>
            }
            .into_any()
        })
        .collect();
    let view = view! {
        <details class="inputs">
            <summary>"Inputs of the launch; change them and run again"</summary>
            <div class="scroll">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Argument"</th>
                            <th scope="col">"Type"</th>
                            <th scope="col">"Elements or value"</th>
                            <th scope="col">"Contents"</th>
                        </tr>
                    </thead>
                    <tbody>{rows} {sizes}</tbody>
                </table>
            </div>
        </details>
    };
    Some(view.into_any())
}

fn row(state: State, at: usize, argument: Argument) -> AnyView {
    let change = move |change: &dyn Fn(&mut Argument)| {
        state.arguments.update(|arguments| {
            if let Some(argument) = arguments.get_mut(at) {
                change(argument);
            }
        });
    };
    let name = argument.name.clone();
    let Some(kind) = argument.kind else {
        return view! {
            <tr>
                <th scope="row">{name}</th>
                <td colspan="3">"null"</td>
            </tr>
        }
        .into_any();
    };
    let kinds = TYPES.map(|name| (name, name));
    let kind = choice(format!("Type of {name}"), &kinds, &kind, move |value| {
        change(&|argument| argument.kind = Some(value.clone()));
    });
    let amount = match argument.count {
        Some(count) => number(
            format!("Elements of {name}"),
            count.to_string(),
            move |text| {
                change(&|argument| argument.count = Some(text.parse().unwrap_or(0)));
            },
        ),
        None => number(
            format!("Value of {name}"),
            argument.value.unwrap_or_default(),
            move |text| change(&|argument| argument.value = Some(text.clone())),
        ),
    };
    let fill = argument.fill.map(|fill| {
        choice(format!("Contents of {name}"), &FILLS, &fill, move |value| {
            change(&|argument| argument.fill = Some(value.clone()));
        })
    });
    view! {
        <tr>
            <th scope="row">{name}</th>
            <td>{kind}</td>
            <td>{amount}</td>
            <td>{fill}</td>
        </tr>
    }
    .into_any()
}

fn number(label: String, value: String, set: impl Fn(String) + 'static) -> AnyView {
    view! {
        <input
            type="text"
            inputmode="decimal"
            autocomplete="off"
            aria-label=label
            value=value
            on:change=move |event| set(event_target_value(&event))
        />
    }
    .into_any()
}

pub(super) fn choice(
    label: String,
    options: &[(&'static str, &'static str)],
    selected: &str,
    set: impl Fn(String) + 'static,
) -> AnyView {
    let options: Vec<AnyView> = options
        .iter()
        .map(|(value, title)| {
            let is_selected = *value == selected;
            view! { <option value=*value selected=is_selected>{*title}</option> }.into_any()
        })
        .collect();
    view! {
        <select autocomplete="off" aria-label=label on:change=move |event| set(event_target_value(&event))>
            {options}
        </select>
    }
    .into_any()
}
