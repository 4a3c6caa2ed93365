//! `GET /api/v1/jobs/{id}/events`: a job's log as server-sent events. A stream is the stored log
//! from where the client left it, then whatever is added; nothing is kept in memory for anyone, so
//! a slow client holds up only itself.

use super::{
    App,
    job_id::JobId,
    problem::{ApiError, ApiResult},
};
use crate::{jobs::Store, shutdown::Shutdown};
use axum::{
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event as SseEvent, KeepAlive},
    },
};
use futures_util::{Stream, StreamExt, stream};
use hipward_protocol::{Event, EventBody};
use serde::Deserialize;
use std::{convert::Infallible, time::Duration};
use tokio::{sync::watch, time::sleep};
use utoipa::IntoParams;

/// Events read at a time.
const BATCH: usize = 256;
/// What browsers wait before they reconnect.
const RETRY: Duration = Duration::from_secs(2);
/// A position is sent this often at most.
const POSITION_EVERY: Duration = Duration::from_millis(500);
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Where a stream starts.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Resume {
    /// Sequence number of the last event that the client has received.
    #[param(value_type = Option<u64>)]
    after: Option<String>,
}

/// Follow a job's event log.
///
/// Server-sent events. The `id` of each is its sequence number, its `data` an `Event`. While the job is queued, its
/// last event is repeated without an `id` each time its position changes. The stream ends after the final event. A
/// client that reconnects after that gets a 204, on which a browser's `EventSource` stops reconnecting.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}/events",
    params(
        JobId,
        Resume,
        ("Last-Event-ID" = Option<u64>, Header, description = "Same as `after`, as browsers send it. The larger of the two applies.")
    ),
    responses(
        ApiError,
        (status = 200, description = "The events after that position.", content_type = "text/event-stream", body = Event),
        (status = 204, description = "The job has ended, and the client has received every event.")
    )
)]
pub(crate) async fn stream(
    State(app): State<App>,
    JobId(id): JobId,
    resume: Result<Query<Resume>, QueryRejection>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let Query(resume) = resume.map_err(|rejection| not_a_position(&rejection.body_text()))?;
    let after = position(resume.after.as_deref(), &headers)?;
    let job = id.clone();
    let summary = app.store.with(move |store| store.summary(&job)).await?;
    let summary = summary.ok_or_else(ApiError::job_not_found)?;
    // Past the end is the end: a stream from there would wait for events that never come.
    let after = after.min(summary.last_seq);
    if summary.state.is_final() && after == summary.last_seq {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let cursor = Cursor {
        signal: app.store.watch(&id),
        queue: app.store.watch_queue(),
        queued: None,
        store: app.store,
        id,
        after,
        shutdown: app.shutdown,
    };
    let hello = SseEvent::default().retry(RETRY);
    let events = cursor.events().map(|message| as_sse(&message));
    let stream = stream::iter([hello]).chain(events).map(Ok::<_, Infallible>);
    let sse = Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // Reverse proxies hold a stream back otherwise.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    Ok(([(unbuffered, HeaderValue::from_static("no"))], sse).into_response())
}

/// The last event the client has seen: the header (a reconnecting browser) or the query (a page
/// that was loaded with a part of the log in it), whichever is further.
fn position(query: Option<&str>, headers: &HeaderMap) -> ApiResult<u64> {
    let header = headers
        .get("last-event-id")
        .map(|value| value.to_str().unwrap_or("?"));
    let mut furthest = 0;
    for text in [query, header]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
    {
        let seq: u64 = text
            .parse()
            .map_err(|_| not_a_position(&format!("{text:?} is not a sequence number.")))?;
        furthest = furthest.max(seq);
    }
    Ok(furthest)
}

fn not_a_position(detail: &str) -> ApiError {
    ApiError::bad_request(
        "invalid-position",
        "Not a position in the log",
        detail,
        "Send the `id` of the last event you have seen, or nothing to get all of them.",
    )
}

fn as_sse(message: &Message) -> SseEvent {
    let (sse, event) = match message {
        Message::Event(event) => (SseEvent::default().id(event.seq.to_string()), event),
        // It is in the log already: a client goes on from where it was.
        Message::Position(event) => (SseEvent::default(), event),
    };
    // An event is made of strings and numbers only, and those can always be written.
    sse.json_data(event).unwrap_or_default()
}

/// What is sent to a client.
enum Message {
    /// An event of the log.
    Event(Event),
    /// The log's last event, `queued`, with the position of now: that is computed when it is asked for, and stored nowhere.
    Position(Event),
}

/// Where one client stands in one log.
struct Cursor {
    store: Store,
    id: String,
    after: u64,
    signal: watch::Receiver<u64>,
    queue: watch::Receiver<u64>,
    /// While the job waits: its last event, with the position that the client knows.
    queued: Option<Event>,
    shutdown: Shutdown,
}

impl Cursor {
    fn events(self) -> impl Stream<Item = Message> {
        let batches = stream::unfold(Some(self), async |cursor| {
            let mut cursor = cursor?;
            let batch = cursor.next_batch().await?;
            let mut go_on = true;
            if let Some(Message::Event(last)) = batch.last() {
                cursor.after = last.seq;
                cursor.queued = matches!(last.body, EventBody::Queued { .. }).then(|| last.clone());
                go_on = !last.body.is_final();
            }
            Some((stream::iter(batch), go_on.then_some(cursor)))
        });
        batches.flatten()
    }

    /// Waits for events, or for another position in the queue; nothing when the server stops.
    async fn next_batch(&mut self) -> Option<Vec<Message>> {
        loop {
            // Whatever is added from here on raises the signals again.
            self.signal.mark_unchanged();
            self.queue.mark_unchanged();
            let (id, after) = (self.id.clone(), self.after);
            let read = self
                .store
                .with(move |store| store.events_after(&id, after, BATCH))
                .await;
            match read {
                Ok(events) if events.is_empty() => {}
                Ok(events) => return Some(events.into_iter().map(Message::Event).collect()),
                Err(error) => {
                    tracing::error!("a stream ends: {error}");
                    return None;
                }
            }
            if let Some(moved) = self.moved().await {
                return Some(vec![Message::Position(moved)]);
            }
            tokio::select! {
                changed = self.signal.changed() => changed.ok()?,
                changed = self.queue.changed(), if self.queued.is_some() => {
                    changed.ok()?;
                    // Many may come and go at once.
                    tokio::select! {
                        () = sleep(POSITION_EVERY) => {}
                        changed = self.signal.changed() => changed.ok()?,
                        () = self.shutdown.requested() => return None,
                    }
                }
                () = self.shutdown.requested() => return None,
            }
        }
    }

    /// The last event with its new position, if the job still waits and that has changed.
    async fn moved(&mut self) -> Option<Event> {
        let queued = self.queued.as_mut()?;
        let id = self.id.clone();
        let position = self.store.with(move |store| store.position(&id)).await;
        let now = position.ok().flatten()?;
        match &mut queued.body {
            EventBody::Queued { position, .. } if *position != now => {
                *position = now;
                Some(queued.clone())
            }
            _ => None,
        }
    }
}
