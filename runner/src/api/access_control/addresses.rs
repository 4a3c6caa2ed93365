//! The addresses of a request: the host that it is for, and the origin of the page that sent it.

use super::AccessControl;
use crate::api::problem::ApiError;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use std::net::SocketAddr;

impl AccessControl {
    pub(super) fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        // The host names of a server on a network are unknown, unless they were passed with --allow-host.
        let is_open = !self.bound.ip().is_loopback() && self.access.hosts.is_empty();
        if is_open || host.is_some_and(|host| self.is_ours(host) || self.is_allowed_host(host)) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign-host",
            "Foreign host",
            format!(
                "The request is for the host {:?}, which is not this server.",
                host.unwrap_or_default()
            ),
            format!(
                "Open http://{}/ instead; for a server behind a proxy, start it with --allow-host.",
                self.bound
            ),
        ))
    }

    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or_default();
        let is_allowed = self.access.origins.iter().any(|allowed| allowed == origin);
        if is_allowed || has_own_origin(headers) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign-origin",
            "Foreign origin",
            format!("The request comes from a page of {origin}."),
            "Use the pages of this server, or a client that sends no Origin header. For pages of another site, start the server with --allow-origin.",
        ))
    }

    /// `localhost:8717`, `127.0.0.1:8717`, `[::1]:8717`, or the bound address itself.
    pub(super) fn is_ours(&self, host: &str) -> bool {
        let port = self.bound.port();
        let without_port = match host.strip_suffix(&format!(":{port}")) {
            Some(name) => name,
            None if port == 80 => host,
            None => return false,
        };
        let bound = match self.bound {
            SocketAddr::V4(v4) => v4.ip().to_string(),
            SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
        };
        ["localhost", "127.0.0.1", "[::1]", bound.as_str()]
            .iter()
            .any(|name| without_port.eq_ignore_ascii_case(name))
    }

    /// Whether a host name was passed with `--allow-host`. A name without a port allows any port.
    fn is_allowed_host(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        self.access
            .hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name))
    }
}

/// Whether a page of this server sent the request: the `Origin` is `Host` with a scheme.
pub(in crate::api) fn has_own_origin(headers: &HeaderMap) -> bool {
    let value = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    value(header::ORIGIN)
        .and_then(|origin| {
            origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"))
        })
        .is_some_and(|authority| Some(authority) == value(header::HOST))
}

/// Which page caused a request, as the browser states it.
pub(super) fn sent_by(headers: &HeaderMap) -> Option<&str> {
    headers.get("sec-fetch-site")?.to_str().ok()
}
