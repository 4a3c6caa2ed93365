//! The form for a kernel's source.

use super::editor::Editor;
use super::request::{Request, Triton, arguments};
use super::signature;
use crate::browser::{api, location, share};
use crate::code_area::CodeArea;
use crate::inline_code::inline_code;
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
    editor: Editor,
    /// Whether the runner is ready and has no compiler for HIP.
    lacks_hip: RwSignal<bool>,
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
            editor: Editor::new(),
            lacks_hip: RwSignal::new(false),
        }
    }

    pub(super) fn set_compilers(&self, readiness: api::Readiness, hip: Option<String>) {
        self.lacks_hip
            .set(readiness == api::Readiness::Ready && hip.is_none());
    }

    /// Replaces the text area of the source with the editor.
    pub(super) async fn mount_editor(&self) {
        if let Some(area) = self.source.get_untracked() {
            let fields = self.clone();
            let is_triton = self.is_triton.get_untracked();
            let on_change = move || fields.follow_source();
            self.editor.mount(area, is_triton, on_change).await;
        }
    }

    /// Fits the arguments to the source.
    fn follow_source(&self) {
        if !self.is_triton.get_untracked() {
            return;
        }
        if let (Some(source), Some(field), Some(kernel)) = (
            self.source.get_untracked(),
            self.arguments.get_untracked(),
            self.kernel.get_untracked(),
        ) {
            let text = field.value();
            let fitted = signature::follow(&text, &source.value(), kernel.value().trim());
            if fitted != text {
                field.set_value(&fitted);
            }
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
                self.editor.show(&text, language == "triton");
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
        let has_source = parameter("code").is_some();
        if has_source {
            self.follow_source();
        }
        Ok(has_source)
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
        let is_triton = language.as_deref() != Some("hip");
        self.is_triton.set(is_triton);
        self.editor.set_language(is_triton);
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
    let (is_triton, lacks_hip) = (fields.is_triton, fields.lacks_hip);
    let on_language = {
        let fields = fields.clone();
        move |_| {
            fields.update_language();
            fields.follow_source();
        }
    };
    let on_input = {
        let fields = fields.clone();
        Callback::new(move |_: String| fields.follow_source())
    };
    let on_kernel = {
        let fields = fields.clone();
        move |_| fields.follow_source()
    };
    let hip = move || {
        if lacks_hip.get() {
            "HIP (no compiler on this host)"
        } else {
            "HIP"
        }
    };
    let missing = move || {
        (lacks_hip.get() && !is_triton.get()).then(|| {
            inline_code("This host has no clang with an AMD GPU target. Install clang 22 or later, such as Debian's package `clang-22`, or ROCm's own clang, and start `hipward serve` again.")
        })
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
                        <option value="hip">{hip}</option>
                    </select>
                </label>
            </p>
            <p class="hint" role="status" data-missing>
                {missing}
            </p>
            <label for="code">"Source of the kernel"</label>
            <CodeArea text=source described_by="source-help" node=fields.source on_input />
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
                        on:change=on_kernel
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
                    ". An argument that is left out is guessed, and the answer marks it as a guess. They follow the source; what you type stays while the kernel has the argument."
                </p>
            </div>
            <p class="needs-js">
                <button type="submit" class="primary" disabled=move || is_busy.get() || (lacks_hip.get() && !is_triton.get())>
                    "Compile"
                </button>
            </p>
        </form>
    }
}
