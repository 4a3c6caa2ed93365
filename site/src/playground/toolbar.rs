//! The pickers for target and language, and the actions on the whole text.

use super::session::Session;
use hipward_analyzer_core::{Arch, Language, Target, Version};
use leptos::attr::custom::custom_attribute;
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Names of files that can be opened.
const ACCEPTED: &str = ".py,.ipynb,.cu,.cuh,.h,.hpp,.cpp,.cc,.txt,.toml,.cmake,.sh,.env,.yml,.yaml,.dockerfile,.md,.rst,text/plain";

/// Versions to choose from.
const ROCM: [Version; 7] = [
    Version::new(6, 3),
    Version::new(6, 4),
    Version::new(7, 0),
    Version::new(7, 1),
    Version::new(7, 2),
    Version::new(7, 14),
    Version::new(10, 0),
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

#[component]
pub(super) fn Toolbar() -> impl IntoView {
    let session = expect_context::<Session>();
    let target = session.state.target;
    let archs = Arch::ALL
        .into_iter()
        .map(|arch| {
            let label = format!("{} ({})", arch.name(), arch.products());
            (arch.name().to_owned(), label)
        })
        .collect();
    let chosen = move |read: fn(&Target) -> String| Signal::derive(move || target.with(read));
    let on_arch = move |name: String| {
        if let Some(arch) = Arch::ALL.into_iter().find(|arch| arch.name() == name) {
            session.retarget(|target| target.arch = arch);
        }
    };
    let on_version = move |set: fn(&mut Target, Version)| {
        Callback::new(move |text: String| {
            if let Ok(version) = Version::try_from(text) {
                session.retarget(|target| set(target, version));
            }
        })
    };
    let language = session.state.language;
    let language_name = Signal::derive(move || {
        let name = language.get().map(Language::name);
        name.unwrap_or_default().to_owned()
    });
    let on_language = move |name: String| session.read_as(Language::of_name(&name));
    view! {
        <div class="toolbar needs-js">
            <fieldset class="target">
                <legend class="visually-hidden">"Target"</legend>
                <Picker
                    label="GPU"
                    choices=archs
                    chosen=chosen(|target| target.arch.name().to_owned())
                    on_choose=Callback::new(on_arch)
                />
                <Picker
                    label="ROCm"
                    choices=versions(&ROCM)
                    chosen=chosen(|target| target.rocm.to_string())
                    on_choose=on_version(|target, version| target.rocm = version)
                />
                <Picker
                    label="PyTorch"
                    choices=versions(&TORCH)
                    chosen=chosen(|target| target.torch.to_string())
                    on_choose=on_version(|target, version| target.torch = version)
                />
                <Picker
                    label="Python"
                    choices=versions(&PYTHON)
                    chosen=chosen(|target| target.python.to_string())
                    on_choose=on_version(|target, version| target.python = version)
                />
            </fieldset>
            <Picker
                label="Read as"
                choices=languages()
                chosen=language_name
                on_choose=Callback::new(on_language)
            />
            <div class="actions">
                <label class="button">
                    "Open files"
                    <input
                        type="file"
                        class="visually-hidden"
                        accept=ACCEPTED
                        multiple
                        on:change=move |event| session.open_files(&take_files(&event))
                    />
                </label>
                <label class="button">
                    "Check a folder"
                    <input
                        type="file"
                        class="visually-hidden"
                        {..custom_attribute("webkitdirectory", "")}
                        on:change=move |event| session.open_folder(&take_files(&event))
                    />
                </label>
                <button type="button" on:click=move |_| session.reset()>
                    "Reset to the example"
                </button>
                <button type="button" on:click=move |_| session.share()>
                    "Copy a share link"
                </button>
                <label class="switch">
                    <input
                        type="checkbox"
                        autocomplete="off"
                        prop:checked=move || session.editor.is_plain.get()
                        on:change=move |event| session.set_plain(event_target_checked(&event))
                    />
                    "Plain editor"
                </label>
            </div>
        </div>
    }
}

/// A select with a label. `choices` are values with their texts.
#[component]
fn Picker(
    label: &'static str,
    choices: Vec<(String, String)>,
    chosen: Signal<String>,
    on_choose: Callback<String>,
) -> impl IntoView {
    let first = chosen.get_untracked();
    let options: Vec<_> = choices
        .into_iter()
        .map(|(value, text)| {
            let selected = value == first;
            view! { <option value=value selected=selected>{text}</option> }
        })
        .collect();
    view! {
        <label>
            {label}
            " "
            <select
                autocomplete="off"
                prop:value=move || chosen.get()
                on:change=move |event| on_choose.run(event_target_value(&event))
            >
                {options}
            </select>
        </label>
    }
}

fn versions(list: &[Version]) -> Vec<(String, String)> {
    list.iter()
        .map(|version| (version.to_string(), version.to_string()))
        .collect()
}

fn languages() -> Vec<(String, String)> {
    let detected = (String::new(), "What it looks like".to_owned());
    let named = Language::ALL
        .into_iter()
        .map(|language| (language.name().to_owned(), language.title().to_owned()));
    std::iter::once(detected).chain(named).collect()
}

/// The files of an input, which is emptied: the same file may be chosen again after it changed.
fn take_files(event: &ev::Event) -> Vec<web_sys::File> {
    let input = event
        .target()
        .and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok());
    let Some(input) = input else {
        return Vec::new();
    };
    let files = input.files();
    let files = files
        .iter()
        .flat_map(|files| (0..files.length()).filter_map(|at| files.get(at)));
    let files = files.collect();
    input.set_value("");
    files
}
