//! A client of the API. Blocking calls, each on a thread where blocking is allowed.

use crate::http_client;
use hipward_protocol::{Event, JobRequest, JobSummary, Problem};
use std::{
    io::{BufRead, BufReader},
    thread,
    time::Duration,
};
use tokio::{sync::mpsc, task};
use ureq::{Agent, Body, RequestBuilder, http::Response};

/// Number of attempts to resume a lost stream without an event in between. A restarted server first probes its
/// Python for PyTorch, which takes long on a cold disk.
const MAX_RETRIES: u32 = 120;
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum size of a report. Larger than the samples of all variants.
const REPORT_BYTES: u64 = 256 << 20;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("no answer from {url}: {source}")]
    Unreachable {
        url: String,
        source: Box<ureq::Error>,
    },
    #[error("{}: {} {}", .0.title, .0.detail, .0.help)]
    Refused(Box<Problem>),
    #[error("{url} answered with status {status}, but not like a Hipward server")]
    Foreign { url: String, status: u16 },
    #[error("the server ended the stream of events")]
    Ended,
    #[error("the call was aborted: {0}")]
    Stopped(#[from] task::JoinError),
}

/// A client of one server.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    base: String,
    authorization: Option<String>,
}

impl Client {
    pub(super) fn new(base: &str, token: Option<String>) -> Client {
        let settings = http_client::settings().timeout_connect(Some(Duration::from_secs(10)));
        Client {
            agent: settings.build().into(),
            base: base.to_owned(),
            authorization: token.map(|token| format!("Bearer {token}")),
        }
    }

    /// Adds the token, which is required for running and cancelling jobs.
    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    }

    /// The address of a job's page.
    pub(super) fn page(&self, job: &str) -> String {
        format!("{}/jobs/{job}/", self.base)
    }

    pub(super) async fn submit(self, request: JobRequest) -> Result<JobSummary, ClientError> {
        let url = format!("{}/api/v1/jobs", self.base);
        task::spawn_blocking(move || {
            let post = self.authorized(self.agent.post(&url));
            read(&url, post.send_json(&request))
        })
        .await?
    }

    pub(super) async fn cancel(self, job: &str) -> Result<JobSummary, ClientError> {
        let url = format!("{}/api/v1/jobs/{job}", self.base);
        task::spawn_blocking(move || {
            let delete = self.authorized(self.agent.delete(&url));
            read(&url, delete.call())
        })
        .await?
    }

    /// Downloads a report of a job.
    pub(super) async fn report(self, job: &str, name: &str) -> Result<String, ClientError> {
        let url = format!("{}/api/v1/jobs/{job}/{name}", self.base);
        task::spawn_blocking(move || {
            let mut answer = accepted(&url, self.agent.get(&url).call())?;
            let body = answer.body_mut().with_config().limit(REPORT_BYTES);
            body.read_to_string()
                .map_err(|source| unreachable(&url, source))
        })
        .await?
    }

    /// Streams a job's events from the first to the final one. Resumes after a lost connection.
    pub(super) fn follow(&self, job: &str) -> mpsc::UnboundedReceiver<Result<Event, ClientError>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (client, url) = (
            self.clone(),
            format!("{}/api/v1/jobs/{job}/events", self.base),
        );
        task::spawn_blocking(move || {
            let mut after = 0;
            let mut tries = MAX_RETRIES;
            loop {
                let before = after;
                let lost = match client.stream(&url, &mut after, &sender) {
                    Ok(Streamed::Ended | Streamed::ReceiverDropped) => return,
                    Ok(Streamed::Broken) => ClientError::Ended,
                    Err(error) => error,
                };
                tries = if after > before {
                    MAX_RETRIES
                } else {
                    tries - 1
                };
                if tries == 0
                    || !matches!(lost, ClientError::Ended | ClientError::Unreachable { .. })
                {
                    // Fails if the receiver was dropped.
                    let _ = sender.send(Err(lost));
                    return;
                }
                thread::sleep(PAUSE);
            }
        });
        receiver
    }

    fn stream(
        &self,
        url: &str,
        after: &mut u64,
        sender: &mpsc::UnboundedSender<Result<Event, ClientError>>,
    ) -> Result<Streamed, ClientError> {
        let call = self.agent.get(format!("{url}?after={after}")).call();
        let answer = accepted(url, call)?;
        for line in BufReader::new(answer.into_body().into_reader()).lines() {
            let Ok(line) = line else {
                return Ok(Streamed::Broken);
            };
            let Some(data) = line.strip_prefix("data:") else {
                continue;
            };
            let Ok(event) = serde_json::from_str::<Event>(data.trim()) else {
                return Err(ClientError::Foreign {
                    url: url.to_owned(),
                    status: 200,
                });
            };
            *after = event.seq;
            let is_final = event.body.is_final();
            if sender.send(Ok(event)).is_err() {
                return Ok(Streamed::ReceiverDropped);
            }
            if is_final {
                return Ok(Streamed::Ended);
            }
        }
        Ok(Streamed::Broken)
    }
}

/// How a stream ended.
enum Streamed {
    /// With the final event.
    Ended,
    /// The connection was lost.
    Broken,
    /// The receiver was dropped.
    ReceiverDropped,
}

type Answer = Result<Response<Body>, ureq::Error>;

/// Parses the job in a response.
fn read(url: &str, answer: Answer) -> Result<JobSummary, ClientError> {
    let mut answer = accepted(url, answer)?;
    let status = answer.status().as_u16();
    answer
        .body_mut()
        .read_json()
        .map_err(|_| ClientError::Foreign {
            url: url.to_owned(),
            status,
        })
}

/// Checks the status of a response.
fn accepted(url: &str, answer: Answer) -> Result<Response<Body>, ClientError> {
    let mut answer = answer.map_err(|source| unreachable(url, source))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    Err(match answer.body_mut().read_json() {
        Ok(problem) => ClientError::Refused(Box::new(problem)),
        Err(_) => ClientError::Foreign {
            url: url.to_owned(),
            status: status.as_u16(),
        },
    })
}

fn unreachable(url: &str, source: ureq::Error) -> ClientError {
    ClientError::Unreachable {
        url: url.to_owned(),
        source: Box::new(source),
    }
}
