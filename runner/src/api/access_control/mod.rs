//! Access control. The server runs code that is sent to it, so a page of another site must not
//! be able to send code from a visitor's browser: neither directly (checked by `Origin`) nor through a host name that
//! resolves to this server's address (DNS rebinding, checked by `Host`). The operator can allow single origins; their pages
//! need a token in the header, because the cookie counts for pages of this server only.

mod addresses;
mod approval;
mod authorization;
mod cookies;
mod sessions;
#[cfg(test)]
mod tests;
mod tokens;

pub(super) use addresses::has_own_origin;
pub(super) use cookies::cookies;
pub(super) use sessions::SIGN_IN;

use super::proxy_auth::ProxyAuth;
use crate::{jobs::Store, oidc::Oidc};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use tokens::bearer;

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
