//! Webhooks: a request to the operator's addresses when a job has ended.
//!
//! The body is JSON without the job's code. Its HMAC-SHA256 with the operator's secret is in the header `Hipward-Signature-256`,
//! as `sha256=` and hexadecimal digits. A delivery is repeated until the receiver answers with a status of 200 to 299, so it can
//! arrive more than once; its number is in the header `Hipward-Delivery`.

use crate::{
    http_client,
    jobs::{Delivery, Store, StoreError},
    secret_file,
    shutdown::Shutdown,
};
use data_encoding::HEXLOWER;
use hipward_protocol::{ListedJob, Verdict};
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;
use std::{path::Path, time::Duration};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};
use ureq::Agent;
use url::Url;

/// Number of deliveries that are sent at the same time.
const PARALLEL: usize = 4;
/// Time within which a receiver must answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval at which due deliveries are looked up, besides each change of a job's state.
const INTERVAL: Duration = Duration::from_secs(2);

/// The secret and the client of a server's webhooks.
#[derive(Clone)]
pub(crate) struct Webhooks {
    secret: Vec<u8>,
    agent: Agent,
}

impl Webhooks {
    /// Webhooks with the secret in a file.
    pub(crate) fn with_secret_file(file: &Path) -> Result<Self, String> {
        let advice = format!(
            "write at least {} characters into it, for example with `openssl rand -hex 32`",
            secret_file::MIN_LENGTH
        );
        let secret = secret_file::read(file, &advice)?.into_bytes();
        // A redirect would lead to an address that the operator has not named.
        let settings = http_client::settings()
            .timeout_global(Some(ANSWER_TIMEOUT))
            .max_redirects(0);
        Ok(Webhooks {
            secret,
            agent: settings.build().into(),
        })
    }

    /// The signature of a body.
    fn signature(&self, body: &[u8]) -> String {
        // HMAC accepts keys of every length.
        let mac = Hmac::<Sha256>::new_from_slice(&self.secret).map(|mac| mac.chain_update(body));
        let digest = mac.map_or_else(|_| Vec::new(), |mac| mac.finalize().into_bytes().to_vec());
        format!("sha256={}", HEXLOWER.encode(&digest))
    }

    /// Sends a delivery. Fails with the reason, for the log.
    fn send(&self, delivery: &Delivery, body: &str) -> Result<(), String> {
        let request = self
            .agent
            .post(&delivery.url)
            .header("content-type", "application/json")
            .header("user-agent", concat!("hipward/", env!("CARGO_PKG_VERSION")))
            .header("hipward-delivery", delivery.number.to_string())
            .header("hipward-signature-256", self.signature(body.as_bytes()));
        let answer = request.send(body).map_err(|error| error.to_string())?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("it answered with status {}", status.as_u16())),
        }
    }
}

/// Parses the address of a webhook.
pub(crate) fn address(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    });
    let url = url.ok_or("it must be an address such as https://chat.example/hooks/hipward")?;
    Ok(url.into())
}

/// The body of a delivery.
#[derive(Serialize)]
struct Body {
    /// `job-ended`.
    event: &'static str,
    /// The job, as in the list of jobs.
    job: ListedJob,
    /// The verdict, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// The path of the job's page on the server.
    page: String,
}

/// Starts tasks that send deliveries as soon as they are due, until the server stops.
pub(crate) fn deliver(store: &Store, webhooks: &Webhooks, shutdown: &Shutdown) {
    for _ in 0..PARALLEL {
        tokio::spawn(deliver_in_turn(
            store.clone(),
            webhooks.clone(),
            shutdown.clone(),
        ));
    }
}

async fn deliver_in_turn(store: Store, webhooks: Webhooks, mut shutdown: Shutdown) {
    let mut changes = store.watch_queue();
    loop {
        changes.mark_unchanged();
        let is_idle = match deliver_next(&store, &webhooks).await {
            Ok(was_due) => !was_due,
            Err(error) => {
                tracing::error!("cannot deliver webhooks: {error}");
                // Without a pause an unreachable database would fill the log.
                sleep(INTERVAL).await;
                true
            }
        };
        if shutdown.is_requested() {
            return;
        }
        if is_idle {
            tokio::select! {
                // Fails once the store has been dropped, and after the interval.
                _ = timeout(INTERVAL, changes.changed()) => {}
                () = shutdown.requested() => return,
            }
        }
    }
}

/// Sends the next delivery. Returns whether one was due.
async fn deliver_next(store: &Store, webhooks: &Webhooks) -> Result<bool, StoreError> {
    let Some(delivery) = store.with(|store| store.claim_delivery()).await? else {
        return Ok(false);
    };
    let (job, webhooks) = (delivery.job.clone(), webhooks.clone());
    let Some(body) = store.with(move |store| body(store, &job)).await? else {
        // The job was deleted.
        store
            .with(move |store| store.end_delivery(&delivery))
            .await?;
        return Ok(true);
    };
    let sending = delivery.clone();
    let sent = spawn_blocking(move || webhooks.send(&sending, &body)).await;
    let sent = sent.unwrap_or_else(|error| Err(error.to_string()));
    match sent {
        Ok(()) => {
            store
                .with(move |store| store.end_delivery(&delivery))
                .await?
        }
        Err(reason) => {
            let (url, job) = (delivery.url.clone(), delivery.job.clone());
            let delay = store
                .with(move |store| store.retry_delivery(&delivery))
                .await?;
            match delay {
                Some(delay) => tracing::warn!(
                    "webhook {url} for job {job} failed: {reason}; it is sent again in {} seconds",
                    delay.as_secs()
                ),
                None => tracing::error!("webhook {url} for job {job} is given up: {reason}"),
            }
        }
    }
    Ok(true)
}

/// The body for a job, if the job still exists.
fn body(store: &Store, id: &str) -> Result<Option<String>, StoreError> {
    let Some(job) = store.listed(id)? else {
        return Ok(None);
    };
    let run = store.run(id)?;
    let body = Body {
        event: "job-ended",
        page: format!("/jobs/{id}/"),
        verdict: run.and_then(|run| run.view.verdict),
        job,
    };
    Ok(Some(serde_json::to_string(&body)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn signature_is_the_hmac_of_the_body() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        fs::write(&file, "Jefe\n").expect("a file");
        let short = Webhooks::with_secret_file(&file).map(drop);
        assert!(short.is_err_and(|error| error.contains("too short")));
        fs::write(&file, "0123456789abcdef\n").expect("a file");
        let webhooks = Webhooks::with_secret_file(&file).expect("a secret");
        assert_eq!(
            webhooks.signature(b"{}"),
            "sha256=f91e3e9f05cc2df64ac1c26f8adccdffda8d1e4a7a8c50a1a08eeadac6ddfec5"
        );
    }

    #[test]
    fn addresses_are_checked() {
        for text in ["https://chat.example/hooks/1?key=2", "http://127.0.0.1:9/"] {
            assert_eq!(address(text).as_deref(), Ok(text));
        }
        for text in [
            "chat.example",
            "ftp://chat.example/",
            "https://ann:b@chat.example/",
            "file:///etc/passwd",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
