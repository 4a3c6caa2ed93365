//! The playground's page: a text area with an example, the pickers, and the island that makes
//! them work.

use super::frame::Page;
use crate::content::highlight::escape;
use crate::playground::Playground;
use crate::{Route, Site};
use hipward_analyzer_core::{Arch, Language, Target, Version};
use leptos::prelude::*;

/// What the editor holds at first: a small transformer block with what is typical for NVIDIA
/// code in it, and complete enough to be benchmarked.
pub(super) const EXAMPLE: &str = include_str!("example.py");

pub(super) fn page(site: &Site) -> Page {
    let main = view! {
        <h1>"Playground"</h1>
        <p class="lead">
            "Paste PyTorch code, or drop a whole folder, and see what breaks or crawls on ROCm, with fixes to approve. Nothing you paste or drop leaves this page. "
            <a href=site.href(&Route::Rules)>"All rules"</a>"."
        </p>
        <noscript>
            <p class="admonition note">
                "The check runs in your browser and needs JavaScript. In a terminal, "
                <code>"hipward check FILE --diff"</code>
                " says the same."
            </p>
        </noscript>
        <div id="playground" class="playground">
            <div data-region="task" role="status"></div>
            {toolbar()}
            <div data-region="notice" role="status"></div>
            <div data-region="project-state" role="status" class="visually-hidden"></div>
            <div data-region="project"></div>
            <div class="panes">
                <div class="pane">
                    <label for="code" class="visually-hidden">"Code to check"</label>
                    {textarea(EXAMPLE, "editor-help")}
                    <p id="editor-help" class="hint needs-js">
                        "Tab indents; press Esc, then Tab, to leave the editor. F8 goes to the next finding, Ctrl-F searches. A file or a whole folder can be dropped here."
                    </p>
                </div>
                <div class="pane needs-js"><Playground /></div>
            </div>
            <div data-region="changes"></div>
        </div>
    };
    Page {
        title: "Playground".to_owned(),
        description: "Paste PyTorch code and see, in the browser, what breaks or crawls on ROCm."
            .to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

/// A text area for code.
pub(super) fn textarea(text: &str, described_by: &'static str) -> AnyView {
    // Leptos does not escape inside a text area, and a parser drops a first line feed.
    let inside = format!("\n{}", escape(text));
    view! {
        <textarea
            id="code"
            name="code"
            class="code"
            rows="26"
            wrap="off"
            spellcheck="false"
            autocomplete="off"
            autocapitalize="off"
            aria-describedby=described_by
            inner_html=inside
        ></textarea>
    }
    .into_any()
}

fn toolbar() -> AnyView {
    let target = Target::default();
    let archs: Vec<(String, String)> = Arch::ALL
        .into_iter()
        .map(|arch| {
            let label = format!("{} ({})", arch.name(), arch.products());
            (arch.name().to_owned(), label)
        })
        .collect();
    view! {
        <div class="toolbar needs-js">
            <fieldset class="target">
                <legend class="visually-hidden">"Target"</legend>
                {picker("GPU", "arch", archs, target.arch.name())}
                {picker("ROCm", "rocm", versions(&ROCM), &target.rocm.to_string())}
                {picker("PyTorch", "torch", versions(&TORCH), &target.torch.to_string())}
                {picker("Python", "python", versions(&PYTHON), &target.python.to_string())}
            </fieldset>
            {picker("Read as", "language", languages(), "")}
            <div class="actions">
                <label class="button">
                    "Open a file"
                    <input type="file" class="visually-hidden" accept=".py,.ipynb,.cu,.cuh,.h,.hpp,.cpp,.cc,.txt,.toml,.cmake,.sh,.env,.yml,.yaml,.dockerfile,text/plain" />
                </label>
                <label class="button">
                    "Check a folder"
                    <input type="file" class="visually-hidden" webkitdirectory="" />
                </label>
                <button type="button" data-act="reset">"Reset to the example"</button>
                <button type="button" data-act="share">"Copy a share link"</button>
                <label class="switch"><input type="checkbox" data-plain />"Plain editor"</label>
            </div>
        </div>
    }
    .into_any()
}

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

fn languages() -> Vec<(String, String)> {
    let by_itself = (String::new(), "What it looks like".to_owned());
    let named = Language::ALL
        .into_iter()
        .map(|language| (language.name().to_owned(), language.title().to_owned()));
    std::iter::once(by_itself).chain(named).collect()
}

fn versions(list: &[Version]) -> Vec<(String, String)> {
    list.iter()
        .map(|version| (version.to_string(), version.to_string()))
        .collect()
}

fn picker(
    label: &'static str,
    act: &'static str,
    choices: Vec<(String, String)>,
    chosen: &str,
) -> AnyView {
    let options: Vec<AnyView> = choices
        .into_iter()
        .map(|(value, label)| {
            let selected = value == chosen;
            view! { <option value=value selected=selected>{label}</option> }.into_any()
        })
        .collect();
    view! { <label>{label}" "<select data-act=act autocomplete="off">{options}</select></label> }
        .into_any()
}
