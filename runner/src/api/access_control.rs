//! Access control. The server runs code that is sent to it, so a page of another site must not
//! be able to send code from a visitor's browser: neither directly (checked by `Origin`) nor through a host name that
//! resolves to this server's address (DNS rebinding, checked by `Host`). The operator can allow single origins; their pages
//! need a token in the header, because the cookie counts for pages of this server only.

use super::{
    identity::Identity,
    problem::{ApiError, ApiResult},
    proxy_auth::ProxyAuth,
};
use crate::{
    jobs::{Role, Store, StoreError, cookie_value},
    oidc::{Oidc, User},
};
use axum::{
    extract::{Query, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use subtle::ConstantTimeEq;
use url::form_urlencoded;

/// The address of the client's end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Who may send requests to a server, and who may run code.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessConfig {
    /// The operator's token, which permits everything.
    pub(crate) token: Option<String>,
    /// Further host names under which a proxy forwards requests.
    pub(crate) hosts: Vec<String>,
    /// Other origins whose pages may send requests, as browsers send them: `https://wiki.example`.
    pub(crate) origins: Vec<String>,
    /// Whether code waits until an operator has approved it.
    pub(crate) approve: bool,
    /// Whether requests without a token may run the benchmarks of the site's pages.
    pub(crate) anonymous_benchmarks: bool,
    /// The proxy that authenticates users, if there is one.
    pub(crate) proxy: Option<ProxyAuth>,
    /// The identity provider, if there is one.
    pub(crate) oidc: Option<Oidc>,
}

impl AccessConfig {
    /// Whether a server on `address` can be reached from this machine only.
    pub(crate) fn is_local(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback()
            && self.hosts.is_empty()
            && self.proxy.is_none()
            && self.oidc.is_none()
    }
}

/// The page on which a user signs in.
pub(super) const SIGN_IN: &str = "/sign-in";

/// A token that a request has.
struct PresentedToken {
    identity: Identity,
    is_expired: bool,
}

/// Maximum number of cookies of a request that are looked up.
const MAX_COOKIES: usize = 4;

/// Checks the requests to one server.
#[derive(Debug)]
pub(crate) struct AccessControl {
    bound: SocketAddr,
    access: AccessConfig,
    /// Has the tokens besides the operator's.
    store: Store,
}

impl AccessControl {
    /// The checks for a server that listens on `bound`.
    pub(crate) fn new(bound: SocketAddr, access: AccessConfig, store: Store) -> Self {
        AccessControl {
            bound,
            access,
            store,
        }
    }

    /// The origins besides this server's whose pages may send requests.
    pub(crate) fn origins(&self) -> &[String] {
        &self.access.origins
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

    /// Checks that the request may do what the role permits: it has a token in its header, or the cookie of a browser that sent
    /// one before.
    pub(crate) async fn authorize(&self, headers: &HeaderMap, role: Role) -> ApiResult<Identity> {
        // Browsers send cookies with requests of any page, so the request must also have this server's `Origin`. Browsers always
        // send it with requests that change something.
        self.check(headers, role, has_own_origin(headers)).await
    }

    /// Checks that the request may run code: as [`authorize`](Self::authorize), but without a token it may run the benchmarks of the
    /// site's pages if the server permits that.
    pub(crate) async fn authorize_job(
        &self,
        headers: &HeaderMap,
        is_site_benchmark: bool,
    ) -> ApiResult<Identity> {
        match self.authorize(headers, Role::Submit).await {
            Err(error) if is_site_benchmark && self.may_be_anonymous(&error) => {
                Ok(Identity::anonymous())
            }
            result => result,
        }
    }

    /// Checks that the request may run a job, before its body is read. The code decides about a request without a token.
    pub(crate) async fn precheck_job(&self, headers: &HeaderMap) -> ApiResult<()> {
        match self.authorize(headers, Role::Submit).await {
            Err(error) if !self.may_be_anonymous(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a request that was refused with this error may still run a benchmark of the site.
    fn may_be_anonymous(&self, error: &ApiError) -> bool {
        self.access.anonymous_benchmarks
            && ["token-required", "token-not-set"].contains(&error.code())
    }

    /// Whether code of this sender waits for approval. An operator's does not, unless the server requires no token, because
    /// then everybody is its operator.
    pub(crate) fn needs_approval(&self, identity: &Identity) -> bool {
        self.access.approve && (identity.role < Role::Operate || self.requires_no_token())
    }

    /// Fails if code of this sender waits for approval, for requests that cannot wait.
    pub(crate) fn check_runs_unapproved(&self, identity: &Identity) -> ApiResult<()> {
        if !self.needs_approval(identity) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "approval-required",
            "Only approved code runs here",
            "On this server an operator must approve code before it runs, which is possible for benchmark jobs only.",
            "Run it on your own machine: `hipward serve`.",
        ))
    }

    /// The identity provider, if users sign in there.
    pub(super) fn oidc(&self) -> Option<&Oidc> {
        self.access.oidc.as_ref()
    }

    /// Whether users can sign in.
    pub(super) fn signs_in(&self) -> bool {
        self.access.oidc.is_some()
    }

    /// The origin at which browsers reach this server.
    pub(super) fn origin(&self) -> String {
        let named = self.oidc().and_then(Oidc::origin);
        named.map_or_else(|| format!("http://{}", self.bound), str::to_owned)
    }

    /// The name of a cookie of the sign-in. Over https, a browser accepts it from this host only.
    pub(super) fn sign_in_cookie(&self, purpose: &str) -> String {
        let origin = self.origin();
        match origin.rsplit_once(':') {
            _ if origin.starts_with("https://") => format!("__Host-hipward-{purpose}"),
            // Browsers share cookies between ports.
            Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("hipward-{purpose}-{port}")
            }
            _ => format!("hipward-{purpose}"),
        }
    }

    /// The user who is signed in, if the cookie counts.
    pub(super) fn session(&self, headers: &HeaderMap) -> Option<User> {
        let oidc = self.oidc()?;
        let cookies = cookies(headers, &self.sign_in_cookie("session"));
        cookies.iter().find_map(|cookie| oidc.session(cookie))
    }

    /// The redirect to the sign-in for a reader whom a page was refused, if signing in could change that.
    pub(crate) fn sign_in_first(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
        error: &ApiError,
    ) -> Option<Response> {
        // After a sign-in the browser states one of these. Without them the cookie would not count, and the reader would be
        // sent to the sign-in for ever.
        let counts = matches!(sent_by(headers), Some("same-origin" | "none"));
        if !self.signs_in() || !counts || error.status() != StatusCode::UNAUTHORIZED {
            return None;
        }
        let back = uri.path_and_query().map_or("/", |path| path.as_str());
        let query: String = form_urlencoded::byte_serialize(back.as_bytes()).collect();
        Some(Redirect::to(&format!("{SIGN_IN}?return={query}")).into_response())
    }

    /// Whether every request is the operator's.
    fn requires_no_token(&self) -> bool {
        self.access.token.is_none() && self.access.is_local(self.bound)
    }

    /// Checks that the request may see the jobs of others: as [`authorize`](Self::authorize), but the cookie is also accepted if
    /// the browser states that a page of this server, or the reader, sent the request.
    pub(crate) async fn authorize_reader(
        &self,
        headers: &HeaderMap,
        role: Role,
    ) -> ApiResult<Identity> {
        let accepts_cookie =
            has_own_origin(headers) || matches!(sent_by(headers), Some("same-origin" | "none"));
        self.check(headers, role, accepts_cookie).await
    }

    async fn check(
        &self,
        headers: &HeaderMap,
        role: Role,
        accepts_cookie: bool,
    ) -> ApiResult<Identity> {
        if self.requires_no_token() {
            return Ok(Identity::OPERATOR);
        }
        let secret = bearer(headers);
        let cookies = match accepts_cookie {
            true => cookies(headers, &self.cookie_name()),
            false => Vec::new(),
        };
        let mut presented = self.identify(secret.map(str::to_owned), cookies).await?;
        if let (None, Some(oidc), Some(secret)) = (&presented, &self.access.oidc, secret)
            && let Some(user) = oidc.bearer(secret).await
        {
            presented = Some(PresentedToken {
                identity: user?.into(),
                is_expired: false,
            });
        }
        // As for cookies: the proxy adds the header to the requests of every page in its user's browser.
        let user = match &self.access.proxy {
            Some(proxy) if accepts_cookie => proxy.user(headers),
            _ => None,
        };
        let user = match user {
            None if accepts_cookie => self.session(headers).map(Identity::from),
            user => user,
        };
        let presented = match (presented, user) {
            (Some(token), _) if !token.is_expired => Some(token),
            (_, Some(identity)) => Some(PresentedToken {
                identity,
                is_expired: false,
            }),
            (token, None) => token,
        };
        match presented {
            Some(token) if token.is_expired => Err(ApiError::new(
                StatusCode::UNAUTHORIZED,
                "token-expired",
                "The token has expired",
                "The time for which this token was created is over.",
                "Get a new one from the operator of this server, who runs `hipward token add`.",
            )),
            Some(token) if !token.identity.permits(role) => Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "role-too-low",
                "This token does not permit that",
                format!(
                    "The token has the role `{}`; this request needs `{}`.",
                    token.identity.role.name(),
                    role.name()
                ),
                "Use a token with that role. The operator of this server creates it with `hipward token add`.",
            )),
            Some(token) => Ok(token.identity),
            // A page shows this text. It would ask for a token otherwise.
            None if self.signs_in() && has_own_origin(headers) => Err(ApiError::new(
                StatusCode::UNAUTHORIZED,
                "sign-in-required",
                "You are not signed in",
                "This server runs code only for members of its team.",
                format!("Open {SIGN_IN} on this server, sign in, and send the request again."),
            )),
            None if self.accepts_tokens().await? => Err(ApiError::new(
                StatusCode::UNAUTHORIZED,
                "token-required",
                "Token required",
                "This server runs code only for requests with one of its tokens.",
                "Open the address that `hipward serve` printed, or send the header `Authorization: Bearer <token>`.",
            )),
            None => Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "token-not-set",
                "This server runs no code",
                "This server can be reached from a network and has no token, so it runs no code.",
                "Start it without --no-token, create tokens with `hipward token add`, or start it for this machine only: on \
                 127.0.0.1, without --allow-host.",
            )),
        }
    }

    /// Whether any token is valid here.
    async fn accepts_tokens(&self) -> ApiResult<bool> {
        Ok(self.access.token.is_some()
            || self.access.proxy.is_some()
            || self.signs_in()
            || !self.store.with(|store| store.tokens()).await?.is_empty())
    }

    /// The token that a request has in its header, or whose cookie it has.
    async fn identify(
        &self,
        secret: Option<String>,
        cookies: Vec<String>,
    ) -> ApiResult<Option<PresentedToken>> {
        let is_operator = |token: &String| {
            let cookie = cookie_value(token);
            secret
                .as_ref()
                .is_some_and(|secret| equal_in_constant_time(secret, token))
                || cookies
                    .iter()
                    .any(|value| equal_in_constant_time(value, &cookie))
        };
        if self.access.token.as_ref().is_some_and(is_operator) {
            return Ok(Some(PresentedToken {
                identity: Identity::OPERATOR,
                is_expired: false,
            }));
        }
        if secret.is_none() && cookies.is_empty() {
            return Ok(None);
        }
        let found = self
            .store
            .with(move |store| {
                if let Some(secret) = secret
                    && let Some(found) = store.find_token(&secret)?
                {
                    return Ok(Some(found));
                }
                for cookie in cookies {
                    if let Some(found) = store.find_token_by_cookie(&cookie)? {
                        return Ok(Some(found));
                    }
                }
                Ok::<_, StoreError>(None)
            })
            .await?;
        Ok(found.map(|token| PresentedToken {
            is_expired: token.is_expired(),
            identity: Identity {
                name: Some(token.name),
                role: token.role,
            },
        }))
    }

    /// Whether a token is valid now.
    async fn is_valid(&self, secret: &str) -> bool {
        let found = self.identify(Some(secret.to_owned()), Vec::new()).await;
        matches!(found, Ok(Some(token)) if !token.is_expired)
    }

    /// The name of the cookie. It contains the port, because browsers share cookies between ports.
    pub(super) fn cookie_name(&self) -> String {
        format!("hipward-{}", self.bound.port())
    }

    /// The `Set-Cookie` header.
    fn set_cookie(&self, token: &str) -> Option<HeaderValue> {
        let (name, value) = (self.cookie_name(), cookie_value(token));
        HeaderValue::try_from(format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict")).ok()
    }

    /// The response to an address with a token, `/?token=…`: sets the cookie and redirects to the address without the token.
    pub(crate) async fn enter(&self, uri: &Uri) -> Option<Response> {
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
        if self.is_valid(sent).await {
            headers.extend(
                self.set_cookie(sent)
                    .map(|cookie| (header::SET_COOKIE, cookie)),
            );
        } else if self.access.token.is_some() || !self.access.is_local(self.bound) {
            return Some(
                ApiError::new(
                    StatusCode::UNAUTHORIZED,
                    "token-required",
                    "Wrong token",
                    "The token in this address is not a valid token of this server.",
                    "Open the address that `hipward serve` printed at its last start, or use a token that has not expired.",
                )
                .into_response(),
            );
        }
        // Otherwise no token is required.
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

/// The values of a cookie in a request.
pub(super) fn cookies(headers: &HeaderMap, name: &str) -> Vec<String> {
    let name = format!("{name}=");
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().strip_prefix(&name).map(str::to_owned))
        .take(MAX_COOKIES)
        .collect()
}

/// Whether a page of this server sent the request: the `Origin` is `Host` with a scheme.
pub(super) fn has_own_origin(headers: &HeaderMap) -> bool {
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
fn sent_by(headers: &HeaderMap) -> Option<&str> {
    headers.get("sec-fetch-site")?.to_str().ok()
}

/// The token in the `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Compares secrets in a time that depends on their lengths only.
fn equal_in_constant_time(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Whether a request is a browser's for a page.
fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| accepted.contains("text/html"))
}

/// Rejects requests for other hosts and from other origins, before any other processing.
pub(crate) async fn reject_foreign(
    State(access): State<Arc<AccessControl>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(proxy) = &access.access.proxy {
        let peer = request.extensions().get::<Peer>();
        if !peer.is_some_and(|peer| proxy.trusts(peer.0)) {
            while request.headers_mut().remove(&proxy.header).is_some() {}
        }
    }
    let checked = access
        .check_host(request.headers())
        .and_then(|()| access.check_origin(request.headers()));
    if let Err(refused) = checked {
        return match wants_page(request.headers()) {
            true => refused.into_page(),
            false => refused.into_response(),
        };
    }
    // A page that sent the token gets it as a cookie, which scripts cannot read.
    let headers = request.headers();
    let cookie = match bearer(headers).filter(|_| has_own_origin(headers)) {
        Some(token) if access.is_valid(token).await => access.set_cookie(token),
        _ => None,
    };
    let mut response = next.run(request).await;
    response
        .headers_mut()
        .extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;
    use std::time::Duration;
    use tempfile::TempDir;

    /// The checks of a server, and its data folder.
    fn access(bound: &str, token: Option<&str>) -> (AccessControl, TempDir) {
        let access = AccessConfig {
            token: token.map(str::to_owned),
            ..AccessConfig::default()
        };
        control(bound, access)
    }

    fn control(bound: &str, access: AccessConfig) -> (AccessControl, TempDir) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let bound = bound.parse().expect("an address");
        (AccessControl::new(bound, access, store), folder)
    }

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn own_names_require_the_own_port() {
        let (access, _folder) = access("127.0.0.1:8717", None);
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

    #[tokio::test]
    async fn allowed_hosts_are_accepted_behind_a_proxy() {
        let access = AccessConfig {
            token: None,
            hosts: vec!["hip.example".to_owned(), "gpu.example:8443".to_owned()],
            ..AccessConfig::default()
        };
        for bound in ["127.0.0.1:8717", "0.0.0.0:8717"] {
            let (access, _folder) = control(bound, access.clone());
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
            let refused = access.authorize(&HeaderMap::new(), Role::Submit).await;
            let error = refused.expect_err("no token");
            assert_eq!(error.status(), StatusCode::FORBIDDEN);
        }
    }

    #[test]
    fn other_origins_are_rejected() {
        let (access, _folder) = access("127.0.0.1:8717", None);
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

    #[tokio::test]
    async fn pages_of_an_allowed_origin_need_the_token_in_the_header() {
        let config = AccessConfig {
            token: Some("secret".to_owned()),
            origins: vec!["https://wiki.example".to_owned()],
            ..AccessConfig::default()
        };
        let (access, _folder) = control("127.0.0.1:8717", config);
        let host = (header::HOST, "127.0.0.1:8717");
        for (origin, is_allowed) in [
            ("https://wiki.example", true),
            ("http://wiki.example", false),
            ("https://wiki.example.evil.example", false),
        ] {
            let checked = access.check_origin(&headers(&[host.clone(), (header::ORIGIN, origin)]));
            assert_eq!(checked.is_ok(), is_allowed, "{origin}");
        }
        let cookie = access.set_cookie("secret").expect("a header");
        let mut request = headers(&[host, (header::ORIGIN, "https://wiki.example")]);
        request.insert(header::COOKIE, cookie);
        let refused = access.authorize(&request, Role::Submit).await;
        let error = refused.expect_err("has only the cookie");
        assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
        request.insert(
            header::AUTHORIZATION,
            HeaderValue::from_static("Bearer secret"),
        );
        assert!(access.authorize(&request, Role::Submit).await.is_ok());
    }

    fn with_token(value: &'static str) -> HeaderMap {
        headers(&[(header::AUTHORIZATION, value)])
    }

    #[tokio::test]
    async fn server_on_a_network_requires_its_token() {
        let (open, _folder) = access("0.0.0.0:8717", None);
        let refused = open.authorize(&HeaderMap::new(), Role::Submit).await;
        let error = refused.expect_err("no token is set");
        assert_eq!(error.status(), StatusCode::FORBIDDEN);

        let (closed, _folder) = access("0.0.0.0:8717", Some("secret"));
        for value in ["Bearer secret", "bearer secret", "BEARER secret"] {
            let accepted = closed.authorize(&with_token(value), Role::Operate).await;
            assert_eq!(accepted.expect(value), Identity::OPERATOR);
        }
        for value in ["Bearer secre", "Bearer Secret", "Basic secret", "secret"] {
            let refused = closed.authorize(&with_token(value), Role::Read).await;
            let error = refused.expect_err(value);
            assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
        }
        let (local, _folder) = access("127.0.0.1:1", None);
        let accepted = local.authorize(&HeaderMap::new(), Role::Operate).await;
        assert!(accepted.is_ok());
    }

    fn proxy() -> ProxyAuth {
        ProxyAuth {
            header: HeaderName::from_static("x-user"),
            proxies: Vec::new(),
            operators: vec!["carl@example.org".to_owned()],
        }
    }

    #[tokio::test]
    async fn user_of_a_proxy_has_a_name_and_a_role() {
        let access = AccessConfig {
            proxy: Some(proxy()),
            ..AccessConfig::default()
        };
        let (access, _folder) = control("127.0.0.1:8717", access);
        let user = |name: &'static str| {
            let mut headers = headers(&[
                (header::HOST, "hip.example"),
                (header::ORIGIN, "https://hip.example"),
            ]);
            headers.append("x-user", HeaderValue::from_static(name));
            headers
        };
        let ann = access
            .authorize(&user("ann"), Role::Submit)
            .await
            .expect("may");
        assert_eq!(ann.name.as_deref(), Some("ann"));
        assert!(access.authorize(&user("ann"), Role::Operate).await.is_err());
        let carl = user("carl@example.org");
        assert!(access.authorize(&carl, Role::Operate).await.is_ok());
        for name in ["", "anonymous", "a b", "<b>"] {
            let refused = access.authorize(&user(name), Role::Submit).await;
            let error = refused.expect_err(name);
            assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
        }
        let mut twice = user("ann");
        twice.append("x-user", HeaderValue::from_static("carl@example.org"));
        assert!(access.authorize(&twice, Role::Submit).await.is_err());
        let mut from_elsewhere = user("ann");
        from_elsewhere.remove(header::ORIGIN);
        let refused = access.authorize(&from_elsewhere, Role::Submit).await;
        assert!(refused.is_err(), "no Origin");
    }

    #[tokio::test]
    async fn without_a_token_only_site_benchmarks_run_and_only_if_permitted() {
        for (permitted, is_site_benchmark, runs) in [
            (true, true, true),
            (true, false, false),
            (false, true, false),
        ] {
            let access = AccessConfig {
                token: Some("secret".to_owned()),
                anonymous_benchmarks: permitted,
                ..AccessConfig::default()
            };
            let (access, _folder) = control("127.0.0.1:8717", access);
            let none = HeaderMap::new();
            let identity = access.authorize_job(&none, is_site_benchmark).await;
            assert_eq!(identity.is_ok(), runs);
            assert_eq!(access.precheck_job(&none).await.is_ok(), permitted);
            let wrong = with_token("Bearer wrong");
            assert_eq!(access.authorize_job(&wrong, true).await.is_ok(), permitted);
            for role in [Role::Read, Role::Submit] {
                assert!(access.authorize(&none, role).await.is_err());
            }
        }
    }

    #[tokio::test]
    async fn code_of_others_than_the_operator_needs_approval() {
        let needs = async |bound: &str, token: Option<&str>, headers: HeaderMap| {
            let access = AccessConfig {
                token: token.map(str::to_owned),
                approve: true,
                ..AccessConfig::default()
            };
            let (access, _folder) = control(bound, access);
            let ann = access.store.add_token("ann", Role::Submit, None);
            let ann = format!("Bearer {}", ann.expect("is new"));
            let ann = HeaderValue::try_from(ann).expect("a header");
            let ann = HeaderMap::from_iter([(header::AUTHORIZATION, ann)]);
            let ann = access.authorize(&ann, Role::Submit).await.expect("may");
            let operator = access
                .authorize(&headers, Role::Operate)
                .await
                .expect("may");
            assert_eq!(
                access.check_runs_unapproved(&operator).is_err(),
                access.needs_approval(&operator)
            );
            (
                access.needs_approval(&ann),
                access.needs_approval(&operator),
            )
        };
        let operator = with_token("Bearer secret");
        assert_eq!(
            needs("127.0.0.1:1", Some("secret"), operator).await,
            (true, false)
        );
        // Everybody is the operator there.
        let none = HeaderMap::new();
        assert_eq!(needs("127.0.0.1:1", None, none).await, (true, true));
    }

    #[tokio::test]
    async fn stored_tokens_have_roles_owners_and_an_expiry() {
        let (access, _folder) = access("0.0.0.0:8717", None);
        let bearer = |secret: &str| {
            let value = HeaderValue::try_from(format!("Bearer {secret}")).expect("a header");
            HeaderMap::from_iter([(header::AUTHORIZATION, value)])
        };
        let add = |name, role, valid_for| {
            let added = access.store.add_token(name, role, valid_for);
            added.expect("is new")
        };
        let ann = add("ann", Role::Submit, None);
        let reader = add("reader", Role::Read, None);
        let old = add("old", Role::Operate, Some(Duration::ZERO));

        let identity = access.authorize(&bearer(&ann), Role::Submit).await;
        let identity = identity.expect("may submit");
        assert_eq!(identity.name.as_deref(), Some("ann"));
        assert!(identity.check_owner(Some("ann")).is_ok());
        for other in [Some("bob"), None] {
            let error = identity.check_owner(other).expect_err("is another's");
            assert_eq!(error.status(), StatusCode::FORBIDDEN);
        }
        let refused = access.authorize(&bearer(&reader), Role::Submit).await;
        assert_eq!(
            refused.expect_err("may only read").status(),
            StatusCode::FORBIDDEN
        );
        assert!(access.authorize(&bearer(&reader), Role::Read).await.is_ok());
        let refused = access.authorize(&bearer(&old), Role::Read).await;
        assert_eq!(
            refused.expect_err("has expired").status(),
            StatusCode::UNAUTHORIZED
        );

        let cookie = access.set_cookie(&ann).expect("a header");
        let cookie = cookie
            .to_str()
            .expect("text")
            .split(';')
            .next()
            .expect("a pair");
        let mut with_cookie = HeaderMap::new();
        with_cookie.insert(
            header::COOKIE,
            HeaderValue::try_from(cookie).expect("a header"),
        );
        assert!(
            access.authorize(&with_cookie, Role::Submit).await.is_err(),
            "no Origin"
        );
        with_cookie.insert(header::HOST, HeaderValue::from_static("0.0.0.0:8717"));
        with_cookie.insert(
            header::ORIGIN,
            HeaderValue::from_static("http://0.0.0.0:8717"),
        );
        assert_eq!(
            access.authorize(&with_cookie, Role::Submit).await.ok(),
            Some(identity)
        );

        assert!(access.store.remove_token("ann").expect("works"));
        let refused = access.authorize(&with_cookie, Role::Submit).await;
        assert_eq!(
            refused.expect_err("was removed").status(),
            StatusCode::UNAUTHORIZED
        );
    }
}
