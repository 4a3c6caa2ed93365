//! What a request may do: the role of its token, of the proxy's user, or of the user who has signed in.

use super::{
    AccessControl,
    addresses::{has_own_origin, sent_by},
    cookies::cookies,
    sessions::SIGN_IN,
    tokens::{PresentedToken, bearer},
};
use crate::{
    api::{
        identity::Identity,
        problem::{ApiError, ApiResult},
    },
    jobs::Role,
};
use axum::http::{HeaderMap, StatusCode};

impl AccessControl {
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

    /// Whether every request is the operator's.
    pub(super) fn requires_no_token(&self) -> bool {
        self.access.token.is_none() && self.access.is_local(self.bound)
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
                "This server runs code and lists jobs only for members of its team.",
                format!("Open {SIGN_IN} on this server, sign in, and send the request again."),
            )),
            None if self.accepts_tokens().await? => Err(ApiError::new(
                StatusCode::UNAUTHORIZED,
                "token-required",
                "Token required",
                "This server runs code and lists jobs only for requests with one of its tokens.",
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
}
