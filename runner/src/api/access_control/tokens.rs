//! The token of a request: in its header, as a cookie, or in the address that the server printed.

use super::AccessControl;
use crate::{
    api::{
        identity::Identity,
        problem::{ApiError, ApiResult},
    },
    jobs::{StoreError, cookie_value},
};
use axum::{
    extract::Query,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};
use subtle::ConstantTimeEq;

/// A token that a request has.
pub(super) struct PresentedToken {
    pub(super) identity: Identity,
    pub(super) is_expired: bool,
}

impl AccessControl {
    /// Whether any token is valid here.
    pub(super) async fn accepts_tokens(&self) -> ApiResult<bool> {
        Ok(self.access.token.is_some()
            || self.access.proxy.is_some()
            || self.signs_in()
            || !self.store.with(|store| store.tokens()).await?.is_empty())
    }

    /// The token that a request has in its header, or whose cookie it has.
    pub(super) async fn identify(
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
    pub(super) async fn is_valid(&self, secret: &str) -> bool {
        let found = self.identify(Some(secret.to_owned()), Vec::new()).await;
        matches!(found, Ok(Some(token)) if !token.is_expired)
    }

    /// The response to an address with a token, `/?token=…`: sets the cookie and redirects to the address without the token.
    pub(crate) async fn enter(&self, uri: &Uri) -> Option<Response> {
        // Most addresses have no query.
        uri.query()?;
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
}

/// The token in the `Authorization` header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Compares secrets in a time that depends on their lengths only.
fn equal_in_constant_time(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}
