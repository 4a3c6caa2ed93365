//! The users who have signed in with the identity provider.

use super::{AccessControl, addresses::sent_by, cookies::cookies};
use crate::{
    api::problem::ApiError,
    oidc::{Oidc, User},
};
use axum::{
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Redirect, Response},
};
use url::form_urlencoded;

/// The page on which a user signs in.
pub(in crate::api) const SIGN_IN: &str = "/sign-in";

impl AccessControl {
    /// The identity provider, if users sign in there.
    pub(in crate::api) fn oidc(&self) -> Option<&Oidc> {
        self.access.oidc.as_ref()
    }

    /// Whether users can sign in.
    pub(in crate::api) fn signs_in(&self) -> bool {
        self.access.oidc.is_some()
    }

    /// The origin at which browsers reach this server.
    pub(in crate::api) fn origin(&self) -> String {
        let named = self.oidc().and_then(Oidc::origin);
        named.map_or_else(|| format!("http://{}", self.bound), str::to_owned)
    }

    /// The user who is signed in, if the cookie counts.
    pub(in crate::api) fn session(&self, headers: &HeaderMap) -> Option<User> {
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
}
