//! The page for machine code: a form for a kernel's source, and the compiler's answer to it.
//!
//! The server renders the form and the recorded example; the [`MachineCode`] island sends the form and shows the new answer
//! in place of the example.

mod answer;
mod editor;
mod explorer;
mod form;
mod listing;
mod request;
mod signature;
mod view;

use crate::browser::{api, location};
use crate::inline_code::inline_code;
use answer::Answer;
use explorer::{Explorer, Gpu};
use form::{CompileForm, Fields};
use gloo_events::EventListener;
use gloo_net::http::Method;
use leptos::prelude::*;
use leptos::task::spawn_local;
use view::CompilerAnswer;

#[cfg(feature = "ssr")]
pub(crate) use {
    answer::Recorded,
    explorer::{LAUNCHES, Launches},
    view::CompilerAnswer as RecordedAnswer,
};

/// The form and its result. `children` is the recorded example, which is shown until the reader compiles a source.
///
/// `base` is the address of the site, `source` and `arguments` the first contents of the form, and `archs` the targets with
/// their products. `examples` are the recorded launches, and `gpus` figures for lower bounds.
#[island]
pub(crate) fn MachineCode(
    base: String,
    source: String,
    arguments: String,
    archs: Vec<(String, String, bool)>,
    examples: Vec<(String, String, String)>,
    gpus: Vec<Gpu>,
    children: Children,
) -> impl IntoView {
    let fields = Fields::new(&archs);
    let state = RwSignal::new("");
    let error = RwSignal::new(String::new());
    let result = RwSignal::new(None::<(Answer, String)>);
    let shows_example = RwSignal::new(true);
    // The compiler is not known to be ready before the server has answered.
    let is_busy = RwSignal::new(true);
    let load_fragment = {
        let fields = fields.clone();
        move || {
            let fields = fields.clone();
            async move {
                match fields.load(&location::fragment()).await {
                    // The example is the code of another kernel.
                    Ok(true) => {
                        shows_example.set(false);
                        result.set(None);
                    }
                    Ok(false) => {}
                    Err(sentence) => error.set(sentence),
                }
            }
        }
    };
    if cfg!(feature = "island-isa") {
        EventListener::new(&window(), "hashchange", {
            let load_fragment = load_fragment.clone();
            move |_| spawn_local(load_fragment())
        })
        .forget();
        let base = base.clone();
        let fields = fields.clone();
        Effect::new(move || {
            let (load_fragment, base) = (load_fragment.clone(), base.clone());
            let fields = fields.clone();
            spawn_local(async move {
                load_fragment().await;
                let (readiness, hip) = api::compilers(&base).await;
                is_busy.set(readiness != api::Readiness::Ready);
                fields.set_compilers(readiness, hip);
                fields.mount_editor().await;
            });
        });
    }
    let explorer_base = base.clone();
    let on_submit = {
        let fields = fields.clone();
        Callback::new(move |()| {
            error.set(String::new());
            state.set("Compiling. The first time takes a few seconds.");
            shows_example.set(false);
            result.set(None);
            is_busy.set(true);
            let (request, address) = (fields.request(), format!("{base}api/v1/compile"));
            spawn_local(async move {
                match compile(&address, &request).await {
                    Ok(answer) => {
                        state.set("The answer is below.");
                        result.set(Some((answer, request.source)));
                    }
                    Err(sentence) => {
                        state.set("");
                        error.set(sentence);
                    }
                }
                is_busy.set(false);
            });
        })
    };
    let mut example = Some(children);
    view! {
        <CompileForm fields source arguments archs is_busy=is_busy.into() on_submit />
        <div data-region="isa-state" role="status">{move || state.get()}</div>
        <div data-region="trouble" role="alert">
            {move || error.with(|error| inline_code(error))}
        </div>
        <section aria-labelledby="result">
            <h2 id="result">"What it becomes"</h2>
            <div data-region="isa">
                {move || {
                    shows_example
                        .get()
                        .then(|| example.take())
                        .flatten()
                        .map(|example| view! { <div>{example()}</div> })
                }}
                {move || {
                    result
                        .get()
                        .map(|(answer, source)| view! { <CompilerAnswer answer source /> })
                }}
            </div>
        </section>
        <Explorer base=explorer_base examples gpus answer=result />
    }
}

async fn compile(address: &str, request: &request::Request) -> Result<Answer, String> {
    let body = serde_json::to_string(request).map_err(|error| error.to_string())?;
    let answer = api::send(Method::POST, address, Some(&body)).await?;
    serde_json::from_str(&answer).map_err(|_| api::OLD_PAGE.to_owned())
}
