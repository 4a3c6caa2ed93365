//! `GET /api/v1/jobs/{id}/events`: a job's log as server-sent events. A stream is the stored log
//! from the client's position on, then new events as they are added. Nothing is buffered per client, so
//! a slow client delays only itself.

use super::{
    App,
    hosts::no_host_reason,
    job_id::JobId,
    problem::{ApiError, ApiResult},
};
use crate::{
    jobs::{Newest, Store, StoreError},
    shutdown::Shutdown,
};
use axum::{
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event as SseEvent, KeepAlive},
    },
};
use futures_util::{Stream, StreamExt, stream};
use hipward_protocol::{Event, EventBody, Problem};
use serde::Deserialize;
use std::{convert::Infallible, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::sleep,
};
use utoipa::IntoParams;

/// Events that are read at once.
const BATCH: usize = 256;
/// Delay before browsers reconnect.
const RETRY: Duration = Duration::from_secs(2);
/// Minimum interval between two positions.
const POSITION_EVERY: Duration = Duration::from_millis(500);
/// Interval of the check whether a host can run the job, which joins and leaves without a signal.
const HOSTS_EVERY: Duration = Duration::from_secs(10);
/// `Retry-After` when too many streams are open.
const STREAM_RETRY: Duration = Duration::from_secs(10);
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
/// last event is repeated without an `id` each time its position changes, or the reason why no host can run it. The stream ends after the final event. A
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
        (status = 204, description = "The job has ended, and the client has received every event."),
        (status = 429, description = "Too many streams are open.", content_type = "application/problem+json", body = Problem,
            headers(("Retry-After" = u64, description = "Seconds.")))
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
    // A position after the end means the end.
    let after = after.min(summary.last_seq);
    if summary.state.is_final() && after == summary.last_seq {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let permit = app.streams.open().ok_or_else(|| {
        ApiError::too_many(
            "too-many-streams",
            "Too many event streams",
            "This server has as many open event streams as it allows.".to_owned(),
            STREAM_RETRY,
        )
    })?;
    let cursor = Cursor {
        _permit: permit,
        signal: app.store.watch(&id),
        queue: app.store.watch_queue(),
        queued: None,
        reason: None,
        is_current: false,
        shutdown: app.shutdown.clone(),
        app,
        id,
        after,
    };
    let hello = SseEvent::default().retry(RETRY);
    let events = cursor.events().map(|message| as_sse(&message));
    let stream = stream::iter([hello]).chain(events).map(Ok::<_, Infallible>);
    let sse = Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // Prevents reverse proxies from buffering the stream.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    Ok(([(unbuffered, HeaderValue::from_static("no"))], sse).into_response())
}

/// The last event that the client has received: the header (a reconnecting browser) or the query (a page
/// that was rendered with a part of the log), whichever is larger.
fn position(query: Option<&str>, headers: &HeaderMap) -> ApiResult<u64> {
    let header = headers
        .get("last-event-id")
        .map(|value| value.to_str().unwrap_or("?"));
    let mut furthest = 0;
    for text in [query, header].into_iter().flatten() {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(not_a_position(&format!(
                "{text:?} is not a sequence number."
            )));
        }
        // Only a number that is too large cannot be parsed.
        let seq = text.parse().unwrap_or(u64::MAX);
        furthest = furthest.max(seq);
    }
    Ok(furthest)
}

fn not_a_position(detail: &str) -> ApiError {
    ApiError::bad_request(
        "invalid-position",
        "Not a position in the event log",
        detail,
        "Send the `id` of the last received event, or nothing to get all events.",
    )
}

fn as_sse(message: &Message) -> SseEvent {
    let (sse, event) = match message {
        Message::Event(event) => (SseEvent::default().id(event.seq.to_string()), event),
        // Without an id: it repeats an event, so the client's position stays the same.
        Message::Position(event) => (SseEvent::default(), event),
    };
    // An event contains only strings and numbers, whose serialization cannot fail.
    sse.json_data(event).unwrap_or_default()
}

/// A message to a client.
enum Message {
    /// An event of the log.
    Event(Event),
    /// The last event, `queued`, with the current position, which is computed and not stored.
    Position(Event),
}

/// The position of one client in one event log.
struct Cursor {
    app: App,
    id: String,
    after: u64,
    signal: watch::Receiver<Newest>,
    queue: watch::Receiver<u64>,
    /// While the job is queued: its last event, with the position that was sent last.
    queued: Option<Event>,
    /// The reason in that event, as it is stored.
    reason: Option<String>,
    /// Whether there was no signal since the last read, and that returned all events.
    is_current: bool,
    shutdown: Shutdown,
    /// Counts this stream until it ends.
    _permit: OwnedSemaphorePermit,
}

impl Cursor {
    fn events(self) -> impl Stream<Item = Message> {
        let batches = stream::unfold(Some(self), async |cursor| {
            let mut cursor = cursor?;
            let batch = cursor.next_batch().await?;
            let mut go_on = true;
            if let Some(Message::Event(last)) = batch.last() {
                cursor.after = last.seq;
                cursor.queued = None;
                if let EventBody::Queued { reason, .. } = &last.body {
                    cursor.reason.clone_from(reason);
                    cursor.queued = Some(last.clone());
                }
                go_on = !last.body.is_final();
            }
            Some((stream::iter(batch), go_on.then_some(cursor)))
        });
        batches.flatten()
    }

    /// Waits for events, or for a new position in the queue. None when the server stops.
    async fn next_batch(&mut self) -> Option<Vec<Message>> {
        loop {
            if !self.is_current {
                match self.read().await {
                    Ok(events) if events.is_empty() => {
                        if self.is_removed().await {
                            return None;
                        }
                    }
                    Ok(events) => return Some(events.into_iter().map(Message::Event).collect()),
                    Err(error) => {
                        tracing::error!("ending an event stream: {error}");
                        return None;
                    }
                }
            }
            self.queue.mark_unchanged();
            if let Some(moved) = self.moved().await {
                return Some(vec![Message::Position(moved)]);
            }
            tokio::select! {
                changed = self.signal.changed() => {
                    changed.ok()?;
                    self.is_current = false;
                }
                changed = self.queue.changed(), if self.queued.is_some() => {
                    changed.ok()?;
                    // Combines changes in quick succession.
                    tokio::select! {
                        () = sleep(POSITION_EVERY) => {}
                        changed = self.signal.changed() => {
                            changed.ok()?;
                            self.is_current = false;
                        }
                        () = self.shutdown.requested() => return None,
                    }
                }
                () = sleep(HOSTS_EVERY), if self.queued.is_some() => {}
                () = self.shutdown.requested() => return None,
            }
        }
    }

    /// The next events, from the signal if it has them.
    async fn read(&mut self) -> Result<Vec<Event>, StoreError> {
        // Events that are added from here on set the signal again.
        let newest = self.signal.borrow_and_update().clone();
        if let Some(events) = newest.after(self.after) {
            self.is_current = true;
            return Ok(events);
        }
        let (id, after) = (self.id.clone(), self.after);
        let read = move |store: &Store| store.events_after(&id, after, BATCH);
        let events = self.app.store.with(read).await?;
        self.is_current = events.len() < BATCH;
        Ok(events)
    }

    /// Whether the job was deleted.
    async fn is_removed(&self) -> bool {
        let id = self.id.clone();
        let owner = self.app.store.with(move |store| store.owner(&id)).await;
        matches!(owner, Ok(None))
    }

    /// The last event with the new position and reason, if the job is still queued and one of them has changed.
    async fn moved(&mut self) -> Option<Event> {
        let queued = self.queued.as_mut()?;
        let id = self.id.clone();
        let found = self.app.store.with(move |store| store.position(&id)).await;
        let new_position = found.ok().flatten()?;
        let no_host = no_host_reason(&self.app, &self.id).await;
        let new_reason = no_host.or_else(|| self.reason.clone());
        match &mut queued.body {
            EventBody::Queued { position, reason }
                if (*position, &*reason) != (new_position, &new_reason) =>
            {
                (*position, *reason) = (new_position, new_reason);
                Some(queued.clone())
            }
            _ => None,
        }
    }
}
