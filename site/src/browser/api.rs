//! Requests to the runner's API. Every failure becomes a sentence for the reader.

use super::{json, script};
use gloo_net::http::{Method, Request, RequestBuilder};
use hipward_protocol::Problem;
use serde::Deserialize;

/// The message for an answer that this page cannot parse.
pub(crate) const OLD_PAGE: &str = "This page is older than the runner; reload it.";

/// The message for a request to another site without an answer. A browser does not tell the two reasons apart.
pub(crate) const OTHER_ORIGIN: &str = "The runner does not answer, or it does not allow pages of this site (`hipward serve --allow-origin`).";

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

/// Queries the runner at an address that ends with a slash.
pub(crate) async fn readiness(runner: &str) -> Readiness {
    compilers(runner).await.0
}

/// Queries the runner at an address that ends with a slash; also returns its compiler for HIP, if it has one.
pub(crate) async fn compilers(runner: &str) -> (Readiness, Option<String>) {
    let Ok(answer) = Request::get(&format!("{runner}api/v1/capabilities"))
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

/// The status of the answer to a GET request. None without an answer.
pub(crate) async fn status(address: &str) -> Option<u16> {
    let answer = Request::get(address).send().await.ok()?;
    Some(answer.status())
}

/// Sends a request and returns the body of a successful answer. If the server requires a token, the reader is asked for it
/// and the request is sent again.
pub(crate) async fn send(
    method: Method,
    address: &str,
    body: Option<&str>,
) -> Result<String, String> {
    loop {
        let token = script::authorization(address);
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
            return Err(match address.starts_with("http") {
                true => OTHER_ORIGIN.to_owned(),
                false => "The runner does not answer. Is hipward serve still running?".to_owned(),
            });
        };
        let body = answer.text().await.unwrap_or_default();
        if answer.ok() {
            return Ok(body);
        }
        let Some(problem) = json::parse::<Problem>(&body) else {
            let status = answer.status();
            return Err(format!("The runner answered with status {status}."));
        };
        let needs_token = matches!(problem.code.as_str(), "token-required" | "token-expired");
        if !needs_token
            || !script::ask_token(token.is_some(), address)
                .await
                .is_truthy()
        {
            return Err(format!("{} {}", problem.detail, problem.help));
        }
    }
}
