//! The island of a running job's page: follows the event stream and updates the result.

use super::status::state_word;
use super::view::JobResult;
use crate::browser::{api, focus::keep_focus};
use crate::inline_code::inline_code;
use gloo_events::EventListener;
use gloo_net::http::Method;
use gloo_timers::callback::{Interval, Timeout};
use hipward_protocol::{Event, JobState, JobView};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{EventSource, MessageEvent};

/// Milliseconds between two updates. Samples arrive in bursts, and more updates than this are not visible.
const UPDATE_INTERVAL: u32 = 16;

/// The id of the links to the reports, which the page hides until the job has ended.
pub(crate) const DOWNLOADS: &str = "downloads";

/// The job of a page in its island's properties.
///
/// The tag makes serde buffer the value, as it does for an event. Both then use one deserializer, which keeps the module
/// small.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Served {
    /// The job as the server rendered it.
    Job(JobView),
}

/// The result of a job that has not ended. It is complete without a script; with one it is updated until the job ends.
///
/// `view` is the job as the server rendered it, `api` the address of the job, and `title` the page's title without the
/// state.
#[island]
pub(crate) fn JobLive(view: Served, api: String, title: String) -> impl IntoView {
    let Served::Job(view) = view;
    let (view, set_view) = signal(view);
    let (error, set_error) = signal(String::new());
    if cfg!(feature = "island-job") {
        let after = view.with_untracked(|view| view.last_seq);
        follow(&format!("{api}/events?after={after}"), set_view, set_error);
        Effect::new(move || {
            let state = view.with(|view| view.state);
            document().set_title(&format!("{title}: {} · Hipward", state_word(state)));
            if state.is_final()
                && let Some(links) = document().get_element_by_id(DOWNLOADS)
            {
                let _ = links.remove_attribute("hidden");
            }
        });
    }
    let on_cancel = Callback::new(move |()| {
        let api = api.clone();
        spawn_local(async move {
            if let Err(sentence) = api::send(Method::DELETE, &api, None).await {
                set_error.set(sentence);
            }
        });
    });
    view! {
        <div data-region="trouble" role="alert">
            {move || error.with(|error| inline_code(error))}
        </div>
        <Elapsed view />
        <JobResult view=view.into() on_cancel />
    }
}

/// How long a running job has taken, and its limit. It changes each second, so screen readers do not announce it.
#[component]
fn Elapsed(view: ReadSignal<JobView>) -> impl IntoView {
    let now = RwSignal::new(None::<f64>);
    if cfg!(feature = "island-job") {
        Interval::new(1000, move || now.set(Some(js_sys::Date::now()))).forget();
    }
    move || {
        let now = now.get()?;
        view.with(|view| {
            let started = js_sys::Date::parse(view.started_at.as_deref()?);
            let limit = view.environment.as_ref()?.time_limit_s?;
            (view.state == JobState::Running).then(|| {
                let passed = ((now - started) / 1000.0).clamp(0.0, limit);
                let text = format!("{} of at most {}", clock(passed), clock(limit));
                view! { <p class="hint number">{text}</p> }
            })
        })
    }
}

/// `1:05` for 65 seconds.
fn clock(seconds: f64) -> String {
    let seconds = seconds as u32;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Applies each event to the view until the last one. The browser reconnects by itself and sends the `seq` of the last
/// event it received.
fn follow(address: &str, set_view: WriteSignal<JobView>, set_error: WriteSignal<String>) {
    let Ok(source) = EventSource::new(address) else {
        return;
    };
    let pending: Rc<RefCell<Vec<Event>>> = Rc::default();
    let on_message = {
        let source = source.clone();
        move |message: &web_sys::Event| {
            let data = message
                .dyn_ref::<MessageEvent>()
                .and_then(|message| message.data().as_string());
            let Ok(event) = serde_json::from_str::<Event>(&data.unwrap_or_default()) else {
                source.close();
                set_error.set(api::OLD_PAGE.to_owned());
                return;
            };
            if event.body.is_final() {
                source.close();
            }
            let mut waiting = pending.borrow_mut();
            waiting.push(event);
            if waiting.len() == 1 {
                let pending = pending.clone();
                // A timer and not an animation frame: the title of a tab in the background changes too.
                Timeout::new(UPDATE_INTERVAL, move || {
                    let events = pending.take();
                    keep_focus(|| {
                        set_view.update(|view| events.iter().for_each(|event| view.apply(event)));
                    });
                })
                .forget();
            }
        }
    };
    EventListener::new(&source, "message", on_message).forget();
    EventListener::new(&source, "open", move |_| set_error.set(String::new())).forget();
    let stream = source.clone();
    EventListener::new(&source, "error", move |_| {
        let sentence = if stream.ready_state() == EventSource::CLOSED {
            "The connection to the runner broke. The job goes on; reload the page to see it."
        } else {
            "The connection to the runner broke. Connecting again."
        };
        set_error.set(sentence.to_owned());
    })
    .forget();
}
