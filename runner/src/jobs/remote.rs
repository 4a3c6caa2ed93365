//! The source of jobs of `hipward worker`: a server elsewhere, through its API.

use super::{
    lease_messages::{
        AppendRequest, FreeDevice, HandBackRequest, LeasedJob, RenewRequest, WaitRequest,
    },
    runner::Runner,
    store::{Lease, StoreError},
    work_source::{SourceResult, WorkSource},
};
use crate::http_client;
use futures_util::future::BoxFuture;
use hipward_protocol::{Device, EventBody, Problem};
use serde::Serialize;
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{sync::watch, task::spawn_blocking, time::sleep};

/// How long the server waits for a job before it answers that there is none. A host that stops waits for this answer.
const WAIT: Duration = Duration::from_secs(2);
/// Time within which the server must answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Delay after a server could not be reached.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// A server, as the source of jobs of the host with this name.
#[derive(Debug)]
pub(crate) struct RemoteSource {
    agent: ureq::Agent,
    url: String,
    token: Option<String>,
    host: String,
    /// At most one job is leased.
    once: bool,
    state: Mutex<State>,
    /// Incremented after each wait without a job, so that the next one follows.
    waits: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    /// The leased jobs whose end was not sent yet.
    open: HashSet<(String, u32)>,
    /// Whether a job was leased.
    has_claimed: bool,
    /// When the last job ended.
    idle_since: Instant,
}

/// What a host does at present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Whether it has leased a job.
    pub(crate) has_claimed: bool,
    /// For how long it has had no job. None while it has one.
    pub(crate) idle: Option<Duration>,
}

/// The answer of a server.
struct Answer {
    status: u16,
    body: String,
}

impl RemoteSource {
    /// A source for the host with this name.
    pub(crate) fn new(url: &str, token: Option<String>, host: String, once: bool) -> Self {
        let settings = http_client::settings()
            .max_redirects(0)
            .timeout_global(Some(TIMEOUT));
        RemoteSource {
            agent: settings.build().into(),
            url: url.to_owned(),
            token,
            host,
            once,
            state: Mutex::new(State {
                open: HashSet::new(),
                has_claimed: false,
                idle_since: Instant::now(),
            }),
            waits: watch::Sender::new(0),
        }
    }

    /// What the host does at present.
    pub(crate) fn progress(&self) -> Progress {
        let state = self.state();
        Progress {
            has_claimed: state.has_claimed,
            idle: state.open.is_empty().then(|| state.idle_since.elapsed()),
        }
    }

    /// Reports to the server what this host can run. The error is a message for the user, and permanent if the server refuses the host.
    pub(crate) async fn report(&self, runner: &Runner) -> Result<(), ReportError> {
        let mut report = runner.report();
        for device in &mut report.capabilities.devices {
            device.id = self.device_id(device);
            device.current_job = None;
        }
        let path = format!("/api/v1/hosts/{}", self.host);
        let answer = self.send("PUT", path, &report).await;
        let answer = answer.map_err(|error| ReportError::Unreachable(error.to_string()))?;
        match answer.status {
            200..300 => Ok(()),
            status @ (400..=407 | 409..=428) => Err(ReportError::Refused(answer.problem(status))),
            status => Err(ReportError::Unreachable(answer.problem(status))),
        }
    }

    /// The id of a device for the server, whose hosts may have devices of the same name.
    fn device_id(&self, device: &Device) -> String {
        format!("{}/{}", self.host, device.id)
    }

    /// A device as the server gets it.
    fn free(&self, free: &FreeDevice) -> FreeDevice {
        FreeDevice {
            host: self.host.clone(),
            device: Device {
                id: self.device_id(&free.device),
                ..free.device.clone()
            },
            ..free.clone()
        }
    }

    /// Whether this host leases no more jobs.
    fn has_all(&self) -> bool {
        self.once && self.state().has_claimed
    }

    /// The error that an answer means.
    fn error(&self, answer: &Answer) -> StoreError {
        StoreError::remote(&self.url, &answer.problem(answer.status))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the end of a lease, if the answer means that.
    fn note_end(&self, lease: &Lease, result: &SourceResult<()>, is_end: bool) {
        let has_ended = match result {
            Ok(()) => is_end,
            Err(error) => matches!(error, StoreError::Fenced),
        };
        if !has_ended {
            return;
        }
        let mut state = self.state();
        if state.open.remove(&(lease.job.clone(), lease.attempt)) {
            state.idle_since = Instant::now();
        }
    }

    async fn lease_request(
        &self,
        method: &'static str,
        lease: &Lease,
        suffix: &str,
        body: &impl Serialize,
    ) -> SourceResult<()> {
        let path = format!("/api/v1/leases/{}/{}{suffix}", lease.job, lease.attempt);
        let answer = self.send(method, path, body).await?;
        match answer.status {
            200..300 => Ok(()),
            409 => Err(StoreError::Fenced),
            status => Err(StoreError::remote(&self.url, &answer.problem(status))),
        }
    }

    async fn send(
        &self,
        method: &'static str,
        path: String,
        body: &impl Serialize,
    ) -> SourceResult<Answer> {
        let body = serde_json::to_vec(body)?;
        let (agent, token) = (self.agent.clone(), self.token.clone());
        let url = format!("{}{path}", self.url);
        let sent = spawn_blocking(move || -> Result<Answer, String> {
            let mut request = ureq::http::Request::builder()
                .method(method)
                .uri(url)
                .header("content-type", "application/json");
            if let Some(token) = token {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            let request = request.body(body).map_err(|error| error.to_string())?;
            let mut response = agent.run(request).map_err(|error| error.to_string())?;
            let body = response.body_mut().read_to_string();
            Ok(Answer {
                status: response.status().as_u16(),
                body: body.map_err(|error| error.to_string())?,
            })
        });
        let answer = sent
            .await
            .unwrap_or_else(|stopped| Err(stopped.to_string()));
        answer.map_err(|reason| StoreError::remote(&self.url, &reason))
    }
}

/// Why a server did not accept the report of a host.
#[derive(Debug)]
pub(crate) enum ReportError {
    /// The server refuses it, and will do so again.
    Refused(String),
    /// The server cannot be reached at present.
    Unreachable(String),
}

impl Answer {
    /// What the server states as the reason of an error.
    fn problem(&self, status: u16) -> String {
        match serde_json::from_str::<Problem>(&self.body) {
            Ok(problem) => format!("{} {}", problem.detail, problem.help),
            Err(_) => format!("it answers with status {status}"),
        }
    }
}

impl WorkSource for RemoteSource {
    fn has_work<'a>(&'a self, free: &'a FreeDevice) -> BoxFuture<'a, SourceResult<bool>> {
        Box::pin(async move {
            if self.has_all() {
                return Ok(false);
            }
            let request = WaitRequest {
                free: self.free(free),
                wait_s: WAIT.as_secs_f64(),
            };
            let answer = self.send("POST", "/api/v1/leases/wait".to_owned(), &request);
            let waits = match answer.await {
                Ok(answer) if answer.status == 200 => return Ok(true),
                Ok(answer) if answer.status == 204 => Ok(false),
                Ok(answer) => Err(self.error(&answer)),
                Err(error) => Err(error),
            };
            if waits.is_err() {
                sleep(RETRY_DELAY).await;
            }
            self.waits.send_modify(|count| *count += 1);
            waits
        })
    }

    fn claim<'a>(&'a self, free: &'a FreeDevice) -> BoxFuture<'a, SourceResult<Option<Lease>>> {
        Box::pin(async move {
            if self.has_all() {
                return Ok(None);
            }
            let request = self.free(free);
            let answer = self.send("POST", "/api/v1/leases".to_owned(), &request);
            let answer = answer.await?;
            match answer.status {
                200 => {}
                204 => return Ok(None),
                _ => return Err(self.error(&answer)),
            }
            let leased: LeasedJob = serde_json::from_str(&answer.body)?;
            let lease = Lease::from(leased);
            let mut state = self.state();
            state.open.insert((lease.job.clone(), lease.attempt));
            state.has_claimed = true;
            Ok(Some(lease))
        })
    }

    fn append<'a>(
        &'a self,
        lease: &'a Lease,
        after: usize,
        events: Vec<EventBody>,
    ) -> BoxFuture<'a, SourceResult<()>> {
        Box::pin(async move {
            let is_end = events.last().is_some_and(EventBody::is_final);
            let request = AppendRequest { after, events };
            let result = self.lease_request("POST", lease, "/events", &request).await;
            self.note_end(lease, &result, is_end);
            result
        })
    }

    fn mark_begun<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, SourceResult<()>> {
        let request = RenewRequest { begun: true };
        Box::pin(async move { self.lease_request("PUT", lease, "", &request).await })
    }

    fn requeue<'a>(&'a self, lease: &'a Lease, reason: String) -> BoxFuture<'a, SourceResult<()>> {
        Box::pin(async move {
            let request = HandBackRequest { reason };
            let result = self
                .lease_request("POST", lease, "/hand-back", &request)
                .await;
            self.note_end(lease, &result, true);
            result
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, SourceResult<()>> {
        Box::pin(async move {
            let request = RenewRequest { begun: false };
            let result = self.lease_request("PUT", lease, "", &request).await;
            self.note_end(lease, &result, false);
            result
        })
    }

    fn leases_expire(&self) -> bool {
        true
    }

    fn watch_work(&self) -> watch::Receiver<u64> {
        self.waits.subscribe()
    }
}
