//! The islands of a job's page: they follow the event stream and update the result.

use super::status::state_word;
use super::view::JobResult;
use crate::browser::{api, focus::keep_focus, script};
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

/// Milliseconds until the next attempt to connect to a runner that does not answer.
const RECONNECT_DELAY: u32 = 3000;

const UNREACHABLE: &str = "The runner does not answer. The results so far stay on this page, which continues when the runner is back.";

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
/// `view` is the job as the server rendered it, and `api` the address of the job. The heading of the page is the job's title.
#[island]
pub(crate) fn JobLive(view: Served, api: String) -> impl IntoView {
    let Served::Job(view) = view;
    let (view, set_view) = signal(view);
    let job = cfg!(feature = "island-job").then_some(api);
    live(job, view, set_view)
}

/// The result of a job of another runner, rendered from the events that the runner sends. The address of the page names the
/// runner and the job.
#[island]
pub(crate) fn RemoteJob() -> impl IntoView {
    let (view, set_view) = signal(JobView::default());
    let job = match cfg!(feature = "island-job") {
        true => script::remote_job(),
        false => None,
    };
    live(job, view, set_view)
}

/// A result that follows the events of the job at the address `job`. None on the server.
fn live(
    job: Option<String>,
    view: ReadSignal<JobView>,
    set_view: WriteSignal<JobView>,
) -> impl IntoView {
    let (error, set_error) = signal(String::new());
    if let Some(job) = job.clone() {
        let stream = Stream {
            job: job.into(),
            view,
            set_view,
            set_error,
        };
        stream.follow();
        Effect::new(move || {
            let state = view.with(|view| view.state);
            let heading = document().query_selector("h1").ok().flatten();
            let title = heading.and_then(|heading| heading.text_content());
            let title = title.unwrap_or_default();
            document().set_title(&format!("{title}: {} · Hipward", state_word(state)));
            if state.is_final()
                && let Some(links) = document().get_element_by_id(DOWNLOADS)
            {
                let _ = links.remove_attribute("hidden");
            }
        });
    }
    let on_cancel = Callback::new(move |()| {
        let Some(job) = job.clone() else {
            return;
        };
        spawn_local(async move {
            if let Err(sentence) = api::send(Method::DELETE, &job, None).await {
                set_error.set(sentence);
            }
        });
    });
    view! {
        <div data-region="trouble" role="alert">
            {move || error.with(|error| inline_code(error))}
        </div>
        <div hidden=move || view.with(|view| view.last_seq == 0)>
            <Elapsed view />
            <JobResult view=view.into() on_cancel />
        </div>
    }
}

/// How long a running job has taken, its limit, and how long its step has. It changes each second, so screen readers do not announce it.
#[component]
fn Elapsed(view: ReadSignal<JobView>) -> impl IntoView {
    let now = RwSignal::new(None::<f64>);
    if cfg!(feature = "island-job") {
        Interval::new(1000, move || now.set(Some(js_sys::Date::now()))).forget();
    }
    move || {
        let now = now.get()?;
        view.with(|view| {
            let limit = view.environment.as_ref()?.time_limit_s?;
            let since = |at: &str| ((now - js_sys::Date::parse(at)) / 1000.0).clamp(0.0, limit);
            let passed = since(view.started_at.as_deref()?);
            (view.state == JobState::Running).then(|| {
                let mut text = format!("{} of at most {}", clock(passed), clock(limit));
                if let Some(step) = &view.step {
                    text = format!("{text}, {} in this step", clock(since(&step.since)));
                }
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

/// The event stream of a job.
#[derive(Clone)]
struct Stream {
    /// The address of the job.
    job: Rc<str>,
    view: ReadSignal<JobView>,
    set_view: WriteSignal<JobView>,
    set_error: WriteSignal<String>,
}

impl Stream {
    /// Applies each event after the last one of the view, until the final event. While the connection is broken, the page
    /// keeps the view and connects again, until the runner answers.
    fn follow(self) {
        let after = self.view.with_untracked(|view| view.last_seq);
        let Ok(source) = EventSource::new(&format!("{}/events?after={after}", self.job)) else {
            return;
        };
        let pending: Rc<RefCell<Vec<Event>>> = Rc::default();
        let (set_view, set_error) = (self.set_view, self.set_error);
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
                            set_view
                                .update(|view| events.iter().for_each(|event| view.apply(event)));
                        });
                    })
                    .forget();
                }
            }
        };
        EventListener::new(&source, "message", on_message).forget();
        EventListener::new(&source, "open", move |_| set_error.set(String::new())).forget();
        let closed = source.clone();
        EventListener::new(&source, "error", move |_| {
            let has_results = self.view.with_untracked(|view| view.last_seq > 0);
            set_error.set(match has_results {
                true => UNREACHABLE.to_owned(),
                false => api::OTHER_ORIGIN.to_owned(),
            });
            // Otherwise the browser connects again by itself, with the `seq` of the last event.
            if closed.ready_state() == EventSource::CLOSED {
                spawn_local(self.clone().reconnect());
            }
        })
        .forget();
    }

    /// Connects again, unless the runner no longer has the job.
    async fn reconnect(self) {
        if api::status(&self.job).await == Some(404) {
            let sentence = "The runner has no such job; it may have been deleted.";
            self.set_error.set(sentence.to_owned());
            return;
        }
        Timeout::new(RECONNECT_DELAY, move || self.follow()).forget();
    }
}
