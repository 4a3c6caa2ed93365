//! Sign-in with a team's identity provider (OpenID Connect): the authorization code flow with PKCE, sessions in signed cookies, and
//! tokens of the same provider on the API.
//!
//! Nothing is stored. What a browser must bring back is in cookies that are signed with a key derived from the client secret, so each
//! server with the same options accepts them.

mod claims;
mod keys;
mod provider;
mod roles;
mod sealed;
mod signatures;

pub(crate) use claims::User;
pub(crate) use provider::{SignInError, issuer};
pub(crate) use roles::RoleRule;

use claims::Claims;
use data_encoding::BASE64URL_NOPAD;
use provider::Provider;
use sealed::{Seal, now};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fmt, sync::Arc, time::Duration};
use subtle::ConstantTimeEq;
use tokio::{sync::Semaphore, task::spawn_blocking};
use url::Url;

/// Time within which a user must sign in at the provider.
const SIGN_IN_TIME: Duration = Duration::from_mins(10);
/// Time for which a session is valid. A role that the provider takes away counts until then.
pub(crate) const SESSION_TIME: Duration = Duration::from_hours(8);

/// Maximum number of requests of each kind that may wait for the provider at the same time. Others wait without a thread, so that a
/// slow provider does not take the threads of the store.
const PARALLEL: usize = 16;

/// The options of the operator.
pub(crate) struct OidcSettings {
    /// The issuer's address, as it writes it.
    pub(crate) issuer: String,
    /// The name of this server at the provider.
    pub(crate) client_id: String,
    /// Its secret.
    pub(crate) client_secret: String,
    /// Which users have which role.
    pub(crate) roles: Vec<RoleRule>,
    /// Scopes to request besides `openid`, `email` and `profile`.
    pub(crate) scopes: Vec<String>,
    /// Audiences of tokens on the API, besides the client.
    pub(crate) audiences: Vec<String>,
    /// The public origin of this server. None: the address on which it listens.
    pub(crate) origin: Option<String>,
}

/// Sign-in at one provider.
#[derive(Clone)]
pub(crate) struct Oidc(Arc<Inner>);

struct Inner {
    settings: OidcSettings,
    provider: Provider,
    seal: Seal,
    sign_ins: Semaphore,
    bearers: Semaphore,
}

impl fmt::Debug for Oidc {
    // Without the secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Oidc")
            .field(&self.0.settings.issuer)
            .finish()
    }
}

/// A user who is signed in, as the session's cookie states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    user: User,
    /// When it ends, in seconds since 1970.
    until: u64,
}

/// A sign-in that has begun, as its cookie states it.
#[derive(Debug, Serialize, Deserialize)]
struct Attempt {
    state: String,
    nonce: String,
    /// The secret of PKCE.
    verifier: String,
    /// The path to show afterwards.
    back: String,
    until: u64,
}

/// What the provider sends with the browser.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Callback {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
    /// The issuer, RFC 9207.
    iss: Option<String>,
}

impl Oidc {
    /// Sign-in with these options. Sends no request.
    pub(crate) fn new(settings: OidcSettings) -> Self {
        let provider = Provider::new(&settings.issuer);
        // A session has its role, so it ends when the rules change.
        let seal = Seal::new(
            settings.client_secret.as_bytes(),
            &[
                &settings.issuer,
                &settings.client_id,
                &format!("{:?}", settings.roles),
            ],
        );
        Oidc(Arc::new(Inner {
            settings,
            provider,
            seal,
            sign_ins: Semaphore::new(PARALLEL),
            bearers: Semaphore::new(PARALLEL),
        }))
    }

    /// The public origin, if the operator has named it.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.0.settings.origin.as_deref()
    }

    /// Checks that the provider answers.
    pub(crate) async fn check(&self) -> Result<(), SignInError> {
        self.blocking(&self.0.sign_ins, |inner| {
            inner.provider.metadata().map(drop)
        })
        .await
    }

    /// Begins a sign-in. Returns the address at the provider and the value of the cookie.
    pub(crate) async fn begin(
        &self,
        callback: String,
        back: &str,
    ) -> Result<(String, String), SignInError> {
        let back = own_path(back).unwrap_or("/").to_owned();
        self.blocking(&self.0.sign_ins, move |inner| {
            let attempt = Attempt {
                state: random()?,
                nonce: random()?,
                verifier: random()?,
                back,
                until: now() + SIGN_IN_TIME.as_secs(),
            };
            let url = inner.authorization_url(&callback, &attempt)?;
            Ok((url, inner.seal.close("sign-in", &attempt)))
        })
        .await
    }

    /// Ends a sign-in. Returns the user, the value of the session's cookie, and the path to show.
    pub(crate) async fn finish(
        &self,
        redirect: String,
        callback: Callback,
        cookie: Option<String>,
    ) -> Result<(User, String, String), SignInError> {
        self.blocking(&self.0.sign_ins, move |inner| {
            inner.finish(&redirect, callback, cookie.as_deref())
        })
        .await
    }

    /// The user of a session.
    pub(crate) fn session(&self, cookie: &str) -> Option<User> {
        let session: Session = self.0.seal.open("session", cookie)?;
        (session.until > now()).then_some(session.user)
    }

    /// The user of a token of the provider. None if the text is no such token, so another kind of token.
    pub(crate) async fn bearer(&self, token: &str) -> Option<Result<User, SignInError>> {
        if token.split('.').count() != 3 {
            return None;
        }
        let token = token.to_owned();
        let user = self.blocking(&self.0.bearers, move |inner| {
            let settings = &inner.settings;
            let client = std::slice::from_ref(&settings.client_id);
            let audiences = [&settings.audiences[..], client].concat();
            let claims = inner.provider.verify(&token, &audiences)?;
            inner.user(&claims)
        });
        Some(user.await)
    }

    /// Runs a request to the provider on a thread where blocking is allowed.
    async fn blocking<T: Send + 'static>(
        &self,
        gate: &Semaphore,
        act: impl FnOnce(&Inner) -> Result<T, SignInError> + Send + 'static,
    ) -> Result<T, SignInError> {
        // Fails only if the semaphore is closed, which it never is.
        let _permit = gate.acquire().await;
        let inner = self.0.clone();
        let done = spawn_blocking(move || act(&inner)).await;
        done.unwrap_or_else(|error| Err(SignInError::Internal(error.to_string())))
    }
}

impl Inner {
    fn authorization_url(&self, callback: &str, attempt: &Attempt) -> Result<String, SignInError> {
        let metadata = self.provider.metadata()?;
        let mut url = Url::parse(&metadata.authorization_endpoint)
            .map_err(|error| SignInError::Unreachable(error.to_string()))?;
        let mut scopes = vec!["openid", "email", "profile"];
        scopes.extend(self.settings.scopes.iter().map(String::as_str));
        let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(attempt.verifier.as_bytes()));
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", callback)
            .append_pair("scope", &scopes.join(" "))
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(url.into())
    }

    fn finish(
        &self,
        redirect: &str,
        callback: Callback,
        cookie: Option<&str>,
    ) -> Result<(User, String, String), SignInError> {
        let attempt: Attempt = cookie
            .and_then(|cookie| self.seal.open("sign-in", cookie))
            .ok_or(SignInError::Stale)?;
        let state = callback.state.unwrap_or_default();
        if attempt.until <= now() || !equal(&state, &attempt.state) {
            return Err(SignInError::Stale);
        }
        if callback.iss.is_some_and(|iss| iss != self.settings.issuer) {
            return Err(SignInError::Token("another issuer has answered".to_owned()));
        }
        if let Some(error) = callback.error {
            return Err(SignInError::Refused(
                callback.error_description.unwrap_or(error),
            ));
        }
        let code = callback.code.ok_or(SignInError::Stale)?;
        let settings = &self.settings;
        let tokens = self.provider.exchange(
            &code,
            &attempt.verifier,
            redirect,
            (&settings.client_id, &settings.client_secret),
        )?;
        let audience = std::slice::from_ref(&settings.client_id);
        let mut claims = self.provider.verify(&tokens.id_token, audience)?;
        if !equal(claims.text("nonce").unwrap_or_default(), &attempt.nonce) {
            return Err(SignInError::Token("it is for another sign-in".to_owned()));
        }
        // A token for several clients states which one has requested it.
        if claims
            .text("azp")
            .is_some_and(|client| client != settings.client_id)
        {
            return Err(SignInError::Token("it is for another client".to_owned()));
        }
        // Many providers leave the claims of scopes out of the ID token (OpenID Connect Core 5.4).
        if !self.is_complete(&claims)
            && let Some(more) = self.provider.user_info(&tokens.access_token)?
        {
            claims = claims.with(more).ok_or_else(|| {
                SignInError::Token("the provider's user info is about another user".to_owned())
            })?;
        }
        let user = self.user(&claims)?;
        let session = Session {
            user: user.clone(),
            until: now() + SESSION_TIME.as_secs(),
        };
        Ok((user, self.seal.close("session", &session), attempt.back))
    }

    /// Whether these are all the claims on which name and role depend.
    fn is_complete(&self, claims: &Claims) -> bool {
        let of_roles = self.settings.roles.iter().map(RoleRule::claim);
        of_roles.chain(["email"]).all(|claim| claims.has(claim))
    }

    fn user(&self, claims: &Claims) -> Result<User, SignInError> {
        let name = claims.user_name();
        match roles::best(&self.settings.roles, claims) {
            Some(role) => Ok(User { name, role }),
            None => Err(SignInError::NoRole { name }),
        }
    }
}

/// The path, if it leads to this server, so that a link to the sign-in cannot lead to another site.
fn own_path(text: &str) -> Option<&str> {
    let is_plain = text.bytes().all(|byte| {
        matches!(byte, b'!'..=b'~') && !matches!(byte, b'\\' | b'"' | b'\'' | b'<' | b'>')
    });
    let is_own = text.starts_with('/') && !text.starts_with("//") && !text.starts_with("/sign-");
    (is_plain && is_own).then_some(text)
}

/// 256 random bits.
fn random() -> Result<String, SignInError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| SignInError::Internal(error.to_string()))?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

/// Compares secrets in a time that depends on their lengths only.
fn equal(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_follow_a_sign_in() {
        for path in ["/", "/jobs/?label=main&q=a%20b", "/fleet/"] {
            assert_eq!(own_path(path), Some(path));
        }
        for elsewhere in [
            "",
            "jobs/",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\nb",
            "/\t/evil.example",
            "/\"onload",
            "/sign-in",
        ] {
            assert_eq!(own_path(elsewhere), None, "{elsewhere:?}");
        }
    }
}
