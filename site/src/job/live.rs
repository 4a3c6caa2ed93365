//! The island of a job's page: follows the event stream and fills the page's regions again.

#![expect(
    unreachable_pub,
    reason = "the macro of an island makes public functions"
)]

use super::status::state_word;
use super::view::regions;
use crate::browser;
use crate::regions::Painter;
use crate::wire::Decode;
use hipward_protocol::{Event, JobView};
use leptos::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Keeps the page of a job up to date until the job ends. The page itself is complete without.
#[island]
pub(crate) fn JobLive() -> impl IntoView {
    if cfg!(feature = "hydrate")
        && let Some(seq) = browser::served_seq()
    {
        follow(seq);
    }
    view! { <div data-region="trouble" role="alert"></div> }
}

/// Folds the log from its start: the browser then holds the same value as the server, and the page
/// need not carry it. Nothing is drawn before the page's own state is reached.
fn follow(served: u32) {
    let view = Rc::new(RefCell::new(JobView::default()));
    let painter = Rc::new(RefCell::new(Painter::default()));
    let drawing = Rc::new(Cell::new(false));
    let on_event = Closure::new(move |json: JsValue| {
        let Some(event) = Event::decode(&json) else {
            browser::fill("trouble", "This page is older than the runner; reload it.");
            return true;
        };
        view.borrow_mut().apply(&event);
        if event.seq >= u64::from(served) && !drawing.replace(true) {
            // Samples come in bursts; more than one drawing a frame is not seen.
            let (view, painter, drawing) = (view.clone(), painter.clone(), drawing.clone());
            browser::next_frame(Closure::once_into_js(move || {
                drawing.set(false);
                let view = view.borrow();
                painter.borrow_mut().paint(regions(&view));
                browser::entitle(state_word(view.state));
            }));
        }
        event.body.is_final()
    });
    browser::follow(&on_event);
    // It lives as long as the page.
    on_event.forget();
}
