//! The form for a kernel's source.

use super::request::{Request, Triton, arguments};
use crate::browser::{location, share};
use crate::code_area::CodeArea;
use leptos::html::{Input, Select, Textarea};
use leptos::prelude::*;

/// The fields of the form. The elements have the values, so that text entered before the module has loaded is kept.
#[derive(Clone)]
pub(super) struct Fields {
    language: NodeRef<Select>,
    source: NodeRef<Textarea>,
    archs: Vec<(String, NodeRef<Input>)>,
    arguments: NodeRef<Input>,
    kernel: NodeRef<Input>,
    warps: NodeRef<Input>,
    is_triton: RwSignal<bool>,
}

impl Fields {
    pub(super) fn new(archs: &[(String, String, bool)]) -> Self {
        Fields {
            language: NodeRef::new(),
            source: NodeRef::new(),
            archs: archs
                .iter()
                .map(|(name, ..)| (name.clone(), NodeRef::new()))
                .collect(),
            arguments: NodeRef::new(),
            kernel: NodeRef::new(),
            warps: NodeRef::new(),
            is_triton: RwSignal::new(true),
        }
    }

    /// Fills the form from the fragment of the page's address, as the playground writes it. Returns whether it has a source.
    pub(super) async fn load(&self, fragment: &str) -> Result<bool, String> {
        let parameters = location::parameters(fragment);
        let parameter = |name: &str| parameters.get(name).filter(|value| !value.is_empty());
        if let Some(packed) = parameter("code") {
            let text = share::unpack(&packed).await?;
            let language = match parameter("language").as_deref() {
                Some("hip") => "hip",
                _ => "triton",
            };
            if let (Some(source), Some(select), Some(arguments)) = (
                self.source.get_untracked(),
                self.language.get_untracked(),
                self.arguments.get_untracked(),
            ) {
                source.set_value(&text);
                select.set_value(language);
                arguments.set_value("");
            }
            if let Some(arch) = parameter("arch") {
                for (name, input) in &self.archs {
                    if let Some(input) = input.get_untracked() {
                        input.set_checked(*name == arch);
                    }
                }
            }
        }
        self.update_language();
        Ok(parameter("code").is_some())
    }

    /// The request that the form describes.
    pub(super) fn request(&self) -> Request {
        let language = value(&self.language.get_untracked().map(|field| field.value()));
        let source = value(&self.source.get_untracked().map(|field| field.value()));
        let text =
            |field: &NodeRef<Input>| value(&field.get_untracked().map(|field| field.value()));
        let triton = (language == "triton").then(|| Triton {
            arguments: arguments(&text(&self.arguments)),
            kernel: text(&self.kernel).trim().to_owned(),
            num_warps: text(&self.warps).trim().parse().ok(),
        });
        let is_checked =
            |field: &NodeRef<Input>| field.get_untracked().is_some_and(|f| f.checked());
        let archs = self.archs.iter().filter(|(_, field)| is_checked(field));
        Request {
            language,
            source,
            archs: archs.map(|(name, _)| name.clone()).collect(),
            triton,
        }
    }

    fn update_language(&self) {
        let language = self.language.get_untracked().map(|field| field.value());
        self.is_triton.set(language.as_deref() != Some("hip"));
    }
}

fn value(value: &Option<String>) -> String {
    value.clone().unwrap_or_default()
}

/// `source` and `arguments` are the values at first; `archs` are targets with their products, and
/// whether they are selected at first.
#[component]
pub(super) fn CompileForm(
    fields: Fields,
    source: String,
    arguments: String,
    archs: Vec<(String, String, bool)>,
    is_busy: Signal<bool>,
    on_submit: Callback<()>,
) -> impl IntoView {
    let boxes: Vec<_> = archs
        .into_iter()
        .zip(&fields.archs)
        .map(|((name, products, is_selected), (_, node))| {
            view! {
                <label class="switch">
                    <input
                        type="checkbox"
                        name="arch"
                        value=name.clone()
                        checked=is_selected
                        autocomplete="off"
                        node_ref=*node
                    />
                    {name}
                    " "
                    <small>{products}</small>
                </label>
            }
        })
        .collect();
    let is_triton = fields.is_triton;
    let on_language = {
        let fields = fields.clone();
        move |_| fields.update_language()
    };
    view! {
        <form
            class="benchmark"
            data-isa
            on:submit=move |event| {
                event.prevent_default();
                on_submit.run(());
            }
        >
            <p class="needs-js">
                <label>
                    "Language "
                    <select
                        name="language"
                        autocomplete="off"
                        node_ref=fields.language
                        on:change=on_language
                    >
                        <option value="triton">"Triton"</option>
                        <option value="hip">"HIP"</option>
                    </select>
                </label>
            </p>
            <label for="code">"Source of the kernel"</label>
            <CodeArea text=source described_by="source-help" node=fields.source />
            <p id="source-help" class="hint">
                "A whole file with its imports. It is compiled in the same sandbox as a benchmark."
            </p>
            <fieldset class="needs-js">
                <legend>"Compile for"</legend>
                {boxes}
            </fieldset>
            <div class="fields needs-js" hidden=move || !is_triton.get()>
                <label>
                    "Arguments "
                    <input
                        type="text"
                        name="arguments"
                        value=arguments
                        autocomplete="off"
                        spellcheck="false"
                        aria-describedby="arguments-help"
                        node_ref=fields.arguments
                    />
                </label>
                <label>
                    "Kernel "
                    <input
                        type="text"
                        name="kernel"
                        placeholder="the only one"
                        autocomplete="off"
                        spellcheck="false"
                        node_ref=fields.kernel
                    />
                </label>
                <label>
                    "Warps "
                    <input
                        type="number"
                        name="warps"
                        min="1"
                        max="16"
                        placeholder="4"
                        autocomplete="off"
                        node_ref=fields.warps
                    />
                </label>
                <p id="arguments-help" class="hint">
                    "Types and constants, such as " <code>"x_ptr=*bf16, n=i32, BLOCK=1024"</code>
                    ". An argument that is left out is guessed, and the answer marks it as a guess."
                </p>
            </div>
            <p class="needs-js">
                <button type="submit" class="primary" disabled=move || is_busy.get()>
                    "Compile"
                </button>
            </p>
        </form>
    }
}
