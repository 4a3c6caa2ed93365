//! Who may ask at all. The server runs code that is sent to it, so a page of another site must not
//! be able to send some from a visitor's browser: neither directly (Origin) nor by a name of its
//! own that leads to our address (Host, "DNS rebinding").

use super::problem::ApiError;
use axum::{
    extract::{Query, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use sha2::{Digest, Sha256};
use std::{net::SocketAddr, sync::Arc};

/// Who may ask a server, and who may have it run code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// Runs code only for those who have it.
    pub(crate) token: Option<String>,
    /// Names by which a proxy passes on what others ask.
    pub(crate) hosts: Vec<String>,
}

impl Access {
    /// True when everybody who can reach a server on `address` is on this machine.
    pub(crate) fn is_local(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback() && self.hosts.is_empty()
    }
}

/// The rules of one server.
#[derive(Debug)]
pub(crate) struct Guard {
    bound: SocketAddr,
    access: Access,
}

impl Guard {
    /// The rules of a server that listens on `bound`.
    pub(crate) fn new(bound: SocketAddr, access: Access) -> Self {
        Guard { bound, access }
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        // Whoever opened the server to a network has given it names that we cannot know, or told us.
        let is_open = !self.bound.ip().is_loopback() && self.access.hosts.is_empty();
        if is_open || host.is_some_and(|host| self.is_ours(host) || self.is_told(host)) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign-host",
            "Foreign host",
            format!(
                "The request was meant for the host {:?}.",
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
            format!("The request was made by a page of {origin}."),
            "Use the pages of this server, or a program that sends no Origin header.",
        ))
    }

    /// Whether the request may run or stop code: it carries the token, or the cookie of a browser that had it.
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
                "Start it without --no-token, or for this machine alone: on 127.0.0.1, without --allow-host.",
            ));
        };
        if has_token(headers, token) || self.has_cookie(headers, token) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "token-required",
            "Token required",
            "This server runs code only for those who have its token.",
            "Open the address that `hipward serve` printed, or send the header `Authorization: Bearer <token>`.",
        ))
    }

    /// A browser sends its cookies whatever page asks it to. One of this server says so in `Origin`, which was compared
    /// with `Host` before, and which no browser leaves out where something is changed.
    fn has_cookie(&self, headers: &HeaderMap, token: &str) -> bool {
        let ours = self.cookie(token);
        headers.contains_key(header::ORIGIN)
            && headers
                .get_all(header::COOKIE)
                .iter()
                .filter_map(|cookies| cookies.to_str().ok())
                .flat_map(|cookies| cookies.split(';'))
                .any(|cookie| equal_in_constant_time(cookie.trim(), &ours))
    }

    /// Name and value. Browsers keep one jar for all ports of a host; and not every token can be a cookie's value.
    fn cookie(&self, token: &str) -> String {
        let mut digest = Sha256::new();
        digest.update("hipward cookie\0");
        digest.update(token);
        let value = crate::hex(&digest.finalize());
        format!("hipward-{}={value}", self.bound.port())
    }

    /// The header that gives a browser the cookie.
    fn set_cookie(&self, token: &str) -> Option<HeaderValue> {
        let cookie = self.cookie(token);
        HeaderValue::try_from(format!("{cookie}; Path=/; HttpOnly; SameSite=Strict")).ok()
    }

    /// The answer to a page's address with a token in it, `/?token=…`: the cookie, and the address without the token.
    pub(crate) fn enter(&self, uri: &Uri) -> Option<Response> {
        let query: Vec<(String, String)> = Query::try_from_uri(uri).ok()?.0;
        let (_, given) = query.iter().find(|(name, _)| name == "token")?;
        let rest: Vec<&str> = uri.query().map_or_else(Vec::new, |query| {
            let parts = query.split('&');
            parts.filter(|part| !part.starts_with("token=")).collect()
        });
        // One slash: two would begin the name of another host.
        let path = uri.path().trim_start_matches(['/', '\\']);
        let path = match &rest[..] {
            [] => format!("/{path}"),
            rest => format!("/{path}?{}", rest.join("&")),
        };
        let mut response = Redirect::to(&path).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match &self.access.token {
            Some(token) if equal_in_constant_time(given, token) => {
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
                        "Another token",
                        "The token in this address is not the one of this server.",
                        "Open the address that `hipward serve` printed at its last start.",
                    )
                    .into_response(),
                );
            }
            // No token is needed.
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

    /// A name that we were told, on any port where it was told without one.
    fn is_told(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        self.access
            .hosts
            .iter()
            .any(|told| told.eq_ignore_ascii_case(host) || told.eq_ignore_ascii_case(name))
    }
}

/// Whether the request carries the token itself.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '));
    given.is_some_and(|(scheme, given)| {
        scheme.eq_ignore_ascii_case("bearer") && equal_in_constant_time(given, token)
    })
}

/// Takes as long for a wrong guess as for a right one of the same length.
fn equal_in_constant_time(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .fold(0, |diff, (a, b)| diff | (a ^ b))
            == 0
}

/// Refuses what comes from elsewhere, before anything else looks at it.
pub(crate) async fn refuse_foreign(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = guard
        .check_host(request.headers())
        .and_then(|()| guard.check_origin(request.headers()));
    if let Err(refused) = checked {
        return refused.into_response();
    }
    // A page that was given the token keeps it as a cookie, which scripts cannot read.
    let headers = request.headers();
    let token = guard.access.token.as_deref();
    let cookie = token
        .filter(|token| headers.contains_key(header::ORIGIN) && has_token(headers, token))
        .and_then(|token| guard.set_cookie(token));
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

    fn guard(bound: &str, token: Option<&str>) -> Guard {
        let bound = bound.parse().expect("an address");
        let access = Access {
            token: token.map(str::to_owned),
            hosts: Vec::new(),
        };
        Guard::new(bound, access)
    }

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn only_our_own_names_with_our_own_port_are_served() {
        let guard = guard("127.0.0.1:8717", None);
        for host in [
            "127.0.0.1:8717",
            "localhost:8717",
            "LOCALHOST:8717",
            "[::1]:8717",
        ] {
            assert!(guard.is_ours(host), "{host}");
        }
        for host in [
            "127.0.0.1",
            "localhost:80",
            "evil.example:8717",
            "localhost.evil.example:8717",
            "",
        ] {
            assert!(!guard.is_ours(host), "{host}");
        }
        assert!(
            guard.check_host(&HeaderMap::new()).is_err(),
            "no Host at all"
        );
    }

    #[test]
    fn a_server_behind_a_proxy_answers_to_the_names_it_was_told() {
        let access = Access {
            token: None,
            hosts: vec!["hip.example".to_owned(), "gpu.example:8443".to_owned()],
        };
        for bound in ["127.0.0.1:8717", "0.0.0.0:8717"] {
            let guard = Guard::new(bound.parse().expect("an address"), access.clone());
            let asks = |host| guard.check_host(&headers(&[(header::HOST, host)]));
            for host in ["hip.example", "HIP.example:443", "gpu.example:8443"] {
                assert!(asks(host).is_ok(), "{host}");
            }
            for host in [
                "gpu.example",
                "evil.example",
                "hip.example.evil.example",
                "",
            ] {
                assert!(asks(host).is_err(), "{host}");
            }
            let error = guard.check_token(&HeaderMap::new()).expect_err("no token");
            assert_eq!(error.status(), StatusCode::FORBIDDEN);
        }
    }

    #[test]
    fn a_page_of_another_site_or_port_or_a_file_is_foreign() {
        let guard = guard("127.0.0.1:8717", None);
        let from = |origin| {
            guard.check_origin(&headers(&[
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
    fn a_server_on_the_network_runs_code_only_for_its_token() {
        let open = guard("0.0.0.0:8717", None);
        let error = open
            .check_token(&HeaderMap::new())
            .expect_err("no token is set");
        assert_eq!(error.status(), StatusCode::FORBIDDEN);

        let closed = guard("0.0.0.0:8717", Some("secret"));
        let with = |value| closed.check_token(&headers(&[(header::AUTHORIZATION, value)]));
        for value in ["Bearer secret", "bearer secret", "BEARER secret"] {
            assert!(with(value).is_ok(), "{value}");
        }
        for value in ["Bearer secre", "Bearer Secret", "Basic secret", "secret"] {
            let error = with(value).expect_err(value);
            assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
        }
        assert!(
            guard("127.0.0.1:1", None)
                .check_token(&HeaderMap::new())
                .is_ok()
        );
    }
}
