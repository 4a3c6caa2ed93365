//! Access control. The server runs code that is sent to it, so a page of another site must not
//! be able to send code from a visitor's browser: neither directly (checked by `Origin`) nor through a host name that
//! resolves to this server's address (DNS rebinding, checked by `Host`).

use super::problem::ApiError;
use axum::{
    extract::{Query, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::{net::SocketAddr, sync::Arc};
use subtle::ConstantTimeEq;

/// Who may send requests to a server, and who may run code.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessConfig {
    /// The token that is required for running code.
    pub(crate) token: Option<String>,
    /// Further host names under which a proxy forwards requests.
    pub(crate) hosts: Vec<String>,
}

impl AccessConfig {
    /// Whether a server on `address` can be reached from this machine only.
    pub(crate) fn is_local(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback() && self.hosts.is_empty()
    }
}

/// Checks the requests to one server.
#[derive(Debug)]
pub(crate) struct AccessControl {
    bound: SocketAddr,
    access: AccessConfig,
}

impl AccessControl {
    /// The checks for a server that listens on `bound`.
    pub(crate) fn new(bound: SocketAddr, access: AccessConfig) -> Self {
        AccessControl { bound, access }
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
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

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or_default();
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let same = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"))
            .is_some_and(|authority| Some(authority) == host);
        if same {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign-origin",
            "Foreign origin",
            format!("The request comes from a page of {origin}."),
            "Use the pages of this server, or a client that sends no Origin header.",
        ))
    }

    /// Checks that the request may run or cancel code: it has the token, or the cookie of a browser that sent the token before.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(token) = &self.access.token else {
            if self.access.is_local(self.bound) {
                return Ok(());
            }
            return Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "token-not-set",
                "This server runs no code",
                "This server can be reached from a network and has no token, so it runs no code.",
                "Start it without --no-token, or for this machine only: on 127.0.0.1, without --allow-host.",
            ));
        };
        if has_token(headers, token) || self.has_cookie(headers, token) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "token-required",
            "Token required",
            "This server runs code only for requests with its token.",
            "Open the address that `hipward serve` printed, or send the header `Authorization: Bearer <token>`.",
        ))
    }

    /// Checks that the request may see the jobs of others: as [`check_token`](Self::check_token), but the cookie is also
    /// accepted if the browser states that a page of this server, or the reader, sent the request.
    pub(crate) fn check_reader(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let sent_by = headers
            .get("sec-fetch-site")
            .and_then(|site| site.to_str().ok());
        match &self.access.token {
            Some(token)
                if matches!(sent_by, Some("same-origin" | "none"))
                    && self.sends_cookie(headers, token) =>
            {
                Ok(())
            }
            _ => self.check_token(headers),
        }
    }

    /// Whether the request has the cookie. Browsers send cookies with requests of any page, so the request must also have an `Origin`, which was compared
    /// with `Host` before. Browsers always send it with requests that change something.
    fn has_cookie(&self, headers: &HeaderMap, token: &str) -> bool {
        headers.contains_key(header::ORIGIN) && self.sends_cookie(headers, token)
    }

    fn sends_cookie(&self, headers: &HeaderMap, token: &str) -> bool {
        let ours = self.cookie(token);
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .any(|cookie| equal_in_constant_time(cookie.trim(), &ours))
    }

    /// The cookie's name and value. The name contains the port, because browsers share cookies between ports. The value is a hash, because not every token is a valid value.
    fn cookie(&self, token: &str) -> String {
        let mut digest = Sha256::new();
        digest.update("hipward cookie\0");
        digest.update(token);
        let value = HEXLOWER.encode(&digest.finalize());
        format!("hipward-{}={value}", self.bound.port())
    }

    /// The `Set-Cookie` header.
    fn set_cookie(&self, token: &str) -> Option<HeaderValue> {
        let cookie = self.cookie(token);
        HeaderValue::try_from(format!("{cookie}; Path=/; HttpOnly; SameSite=Strict")).ok()
    }

    /// The response to an address with a token, `/?token=…`: sets the cookie and redirects to the address without the token.
    pub(crate) fn enter(&self, uri: &Uri) -> Option<Response> {
        let query: Vec<(String, String)> = Query::try_from_uri(uri).ok()?.0;
        let (_, sent) = query.iter().find(|(name, _)| name == "token")?;
        let rest: Vec<&str> = uri.query().map_or_else(Vec::new, |query| {
            let parts = query.split('&');
            parts.filter(|part| !part.starts_with("token=")).collect()
        });
        // Exactly one slash: two would start the name of another host.
        let path = uri.path().trim_start_matches(['/', '\\']);
        let path = match &rest[..] {
            [] => format!("/{path}"),
            rest => format!("/{path}?{}", rest.join("&")),
        };
        let mut response = Redirect::to(&path).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match &self.access.token {
            Some(token) if equal_in_constant_time(sent, token) => {
                headers.extend(
                    self.set_cookie(token)
                        .map(|cookie| (header::SET_COOKIE, cookie)),
                );
            }
            Some(_) => {
                return Some(
                    ApiError::new(
                        StatusCode::UNAUTHORIZED,
                        "token-required",
                        "Wrong token",
                        "The token in this address is not the token of this server.",
                        "Open the address that `hipward serve` printed at its last start.",
                    )
                    .into_response(),
                );
            }
            // No token is required.
            None => {}
        }
        Some(response)
    }

    /// `localhost:8717`, `127.0.0.1:8717`, `[::1]:8717`, or the bound address itself.
    fn is_ours(&self, host: &str) -> bool {
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

/// Whether the request has the token in its `Authorization` header.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '));
    given.is_some_and(|(scheme, given)| {
        scheme.eq_ignore_ascii_case("bearer") && equal_in_constant_time(given, token)
    })
}

/// Compares secrets in a time that depends on their lengths only.
fn equal_in_constant_time(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Rejects requests for other hosts and from other origins, before any other processing.
pub(crate) async fn reject_foreign(
    State(access): State<Arc<AccessControl>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = access
        .check_host(request.headers())
        .and_then(|()| access.check_origin(request.headers()));
    if let Err(refused) = checked {
        return refused.into_response();
    }
    // A page that sent the token gets it as a cookie, which scripts cannot read.
    let headers = request.headers();
    let token = access.access.token.as_deref();
    let cookie = token
        .filter(|token| headers.contains_key(header::ORIGIN) && has_token(headers, token))
        .and_then(|token| access.set_cookie(token));
    let mut response = next.run(request).await;
    response
        .headers_mut()
        .extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn access(bound: &str, token: Option<&str>) -> AccessControl {
        let bound = bound.parse().expect("an address");
        let access = AccessConfig {
            token: token.map(str::to_owned),
            hosts: Vec::new(),
        };
        AccessControl::new(bound, access)
    }

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn own_names_require_the_own_port() {
        let access = access("127.0.0.1:8717", None);
        for host in [
            "127.0.0.1:8717",
            "localhost:8717",
            "LOCALHOST:8717",
            "[::1]:8717",
        ] {
            assert!(access.is_ours(host), "{host}");
        }
        for host in [
            "127.0.0.1",
            "localhost:80",
            "evil.example:8717",
            "localhost.evil.example:8717",
            "",
        ] {
            assert!(!access.is_ours(host), "{host}");
        }
        assert!(
            access.check_host(&HeaderMap::new()).is_err(),
            "no Host at all"
        );
    }

    #[test]
    fn allowed_hosts_are_accepted_behind_a_proxy() {
        let access = AccessConfig {
            token: None,
            hosts: vec!["hip.example".to_owned(), "gpu.example:8443".to_owned()],
        };
        for bound in ["127.0.0.1:8717", "0.0.0.0:8717"] {
            let access = AccessControl::new(bound.parse().expect("an address"), access.clone());
            let check = |host| access.check_host(&headers(&[(header::HOST, host)]));
            for host in ["hip.example", "HIP.example:443", "gpu.example:8443"] {
                assert!(check(host).is_ok(), "{host}");
            }
            for host in [
                "gpu.example",
                "evil.example",
                "hip.example.evil.example",
                "",
            ] {
                assert!(check(host).is_err(), "{host}");
            }
            let error = access.check_token(&HeaderMap::new()).expect_err("no token");
            assert_eq!(error.status(), StatusCode::FORBIDDEN);
        }
    }

    #[test]
    fn other_origins_are_rejected() {
        let access = access("127.0.0.1:8717", None);
        let from = |origin| {
            access.check_origin(&headers(&[
                (header::HOST, "localhost:8717"),
                (header::ORIGIN, origin),
            ]))
        };
        assert!(from("http://localhost:8717").is_ok());
        for origin in ["http://localhost:3000", "https://evil.example", "null", ""] {
            assert!(from(origin).is_err(), "{origin}");
        }
    }

    #[test]
    fn server_on_a_network_requires_its_token() {
        let open = access("0.0.0.0:8717", None);
        let error = open
            .check_token(&HeaderMap::new())
            .expect_err("no token is set");
        assert_eq!(error.status(), StatusCode::FORBIDDEN);

        let closed = access("0.0.0.0:8717", Some("secret"));
        let with = |value| closed.check_token(&headers(&[(header::AUTHORIZATION, value)]));
        for value in ["Bearer secret", "bearer secret", "BEARER secret"] {
            assert!(with(value).is_ok(), "{value}");
        }
        for value in ["Bearer secre", "Bearer Secret", "Basic secret", "secret"] {
            let error = with(value).expect_err(value);
            assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
        }
        assert!(
            access("127.0.0.1:1", None)
                .check_token(&HeaderMap::new())
                .is_ok()
        );
    }
}
