//! Requests to the runner's API. Every failure becomes a sentence for the reader.

use super::{json, script};
use gloo_net::http::{Method, Request, RequestBuilder};
use hipward_protocol::Problem;
use serde::Deserialize;

/// The message for an answer that this page cannot parse.
pub(crate) const OLD_PAGE: &str = "This page is older than the runner; reload it.";

/// Whether the runner can run code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// The site has no runner, or it does not answer.
    Absent,
    /// The runner is not ready.
    NotReady,
    Ready,
}

#[derive(Deserialize)]
struct Capabilities {
    ready: bool,
    #[serde(default)]
    hip_compiler: Option<String>,
}

/// Queries the runner. `base` is the address of the site.
pub(crate) async fn readiness(base: &str) -> Readiness {
    compilers(base).await.0
}

/// Queries the runner; also returns its compiler for HIP, if it has one. `base` is the address of the site.
pub(crate) async fn compilers(base: &str) -> (Readiness, Option<String>) {
    let Ok(answer) = Request::get(&format!("{base}api/v1/capabilities"))
        .send()
        .await
    else {
        return (Readiness::Absent, None);
    };
    let body = answer.text().await.unwrap_or_default();
    match json::parse::<Capabilities>(&body) {
        Some(capabilities) if answer.ok() && capabilities.ready => {
            (Readiness::Ready, capabilities.hip_compiler)
        }
        Some(_) if answer.ok() => (Readiness::NotReady, None),
        _ => (Readiness::Absent, None),
    }
}

/// Sends a request and returns the body of a successful answer. If the server requires a token, the reader is asked for it
/// and the request is sent again.
pub(crate) async fn send(
    method: Method,
    address: &str,
    body: Option<&str>,
) -> Result<String, String> {
    loop {
        let token = script::authorization();
        let mut request = RequestBuilder::new(address).method(method.clone());
        if let Some(token) = &token {
            request = request.header("authorization", token);
        }
        let request = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(body),
            None => request.build(),
        };
        let answer = match request {
            Ok(request) => request.send().await,
            Err(error) => Err(error),
        };
        let Ok(answer) = answer else {
            return Err("The runner does not answer. Is hipward serve still running?".to_owned());
        };
        let body = answer.text().await.unwrap_or_default();
        if answer.ok() {
            return Ok(body);
        }
        let Some(problem) = json::parse::<Problem>(&body) else {
            let status = answer.status();
            return Err(format!("The runner answered with status {status}."));
        };
        if problem.code != "token-required" || !script::ask_token(token.is_some()).await.is_truthy()
        {
            return Err(format!("{} {}", problem.detail, problem.help));
        }
    }
}
