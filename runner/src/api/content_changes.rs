//! Changes of a watched content folder, for its pages: the script and the event stream.

use super::{App, page};
use crate::{shutdown::Shutdown, web::pages::CONTENT_WATCHER};
use axum::{
    extract::State,
    http::header,
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::stream;
use std::{convert::Infallible, time::Duration};
use tokio::sync::watch::Receiver;

const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// `GET /content-changes.js`
pub(super) async fn script(State(app): State<App>) -> Response {
    if app.pages.versions().is_none() {
        return page::not_found(&app);
    }
    let headers = [
        (header::CONTENT_TYPE, "text/javascript"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, CONTENT_WATCHER).into_response()
}

/// `GET /content-changes`: the version of the content, and each new one, as server-sent events.
pub(super) async fn stream(State(app): State<App>) -> Response {
    let Some(mut versions) = app.pages.versions() else {
        return page::not_found(&app);
    };
    versions.mark_changed();
    let next = async |(mut versions, mut shutdown): (Receiver<u64>, Shutdown)| {
        tokio::select! {
            changed = versions.changed() => changed.ok()?,
            () = shutdown.requested() => return None,
        }
        let version = *versions.borrow_and_update();
        let event = Event::default().data(version.to_string());
        Some((Ok::<_, Infallible>(event), (versions, shutdown)))
    };
    let events = stream::unfold((versions, app.shutdown), next);
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}
