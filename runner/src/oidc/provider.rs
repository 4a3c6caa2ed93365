//! Requests to the identity provider, and the tokens that it has signed.

use super::{
    claims::Claims,
    keys::{KeySet, Keys, lock},
    signatures::{ALGORITHMS, use_ring},
};
use crate::http_client;
use data_encoding::BASE64;
use jsonwebtoken::{Validation, decode, decode_header, errors::ErrorKind};
use serde::Deserialize;
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use ureq::{Agent, http::Response};
use url::{Host, Url, form_urlencoded};

/// Time within which the provider must answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an answer, bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// Age at which the provider's addresses are requested again.
const METADATA_AGE: Duration = Duration::from_hours(1);

/// Why a sign-in or a token of the provider failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    /// The provider does not answer as it should.
    #[error("The identity provider cannot be used: {0}.")]
    Unreachable(String),
    /// The provider did not sign the user in.
    #[error("The identity provider has refused the sign-in: {0}.")]
    Refused(String),
    /// A token that is not valid here.
    #[error("The token of the identity provider is not valid here: {0}.")]
    Token(String),
    /// The browser has no cookie of this sign-in, or too late.
    #[error("This sign-in was not begun in this browser, or more than ten minutes ago.")]
    Stale,
    /// A user without a role.
    #[error("{name} is signed in at the identity provider, but has no role on this server.")]
    NoRole { name: String },
    /// Something that does not depend on the provider.
    #[error("The sign-in has failed: {0}.")]
    Internal(String),
}

/// The provider's addresses, from its discovery document.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    pub(super) authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// The tokens for a code.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) id_token: String,
    pub(super) access_token: String,
}

#[derive(Default, Deserialize)]
struct TokenRefusal {
    error: Option<String>,
    error_description: Option<String>,
}

/// A provider, with what is known about it.
pub(super) struct Provider {
    issuer: String,
    agent: Agent,
    metadata: Mutex<Option<(Arc<Metadata>, Instant)>>,
    keys: Keys,
}

impl Provider {
    pub(super) fn new(issuer: &str) -> Self {
        use_ring();
        // A redirect could lead to an address inside of this network.
        let settings = http_client::settings()
            .timeout_global(Some(ANSWER_TIMEOUT))
            .max_redirects(0);
        Provider {
            issuer: issuer.to_owned(),
            agent: settings.build().into(),
            metadata: Mutex::default(),
            keys: Keys::default(),
        }
    }

    /// The provider's addresses.
    pub(super) fn metadata(&self) -> Result<Arc<Metadata>, SignInError> {
        let known = lock(&self.metadata).clone();
        if let Some((metadata, at)) = &known
            && at.elapsed() < METADATA_AGE
        {
            return Ok(metadata.clone());
        }
        match self.discover() {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                *lock(&self.metadata) = Some((metadata.clone(), Instant::now()));
                Ok(metadata)
            }
            Err(error) => known.map(|(metadata, _)| metadata).ok_or(error),
        }
    }

    fn discover(&self) -> Result<Metadata, SignInError> {
        let base = self.issuer.trim_end_matches('/');
        let address = format!("{base}/.well-known/openid-configuration");
        let metadata: Metadata = parse(&address, &self.get(&address)?)?;
        if metadata.issuer != self.issuer {
            return Err(SignInError::Unreachable(format!(
                "{address} states the issuer {}; pass exactly this to --oidc-issuer if it is the right one",
                metadata.issuer
            )));
        }
        for endpoint in [
            &metadata.authorization_endpoint,
            &metadata.token_endpoint,
            &metadata.jwks_uri,
        ]
        .into_iter()
        .chain(&metadata.userinfo_endpoint)
        {
            if !is_protected(endpoint) {
                return Err(SignInError::Unreachable(format!(
                    "{address} has the address {endpoint}, which is not https"
                )));
            }
        }
        Ok(metadata)
    }

    fn get(&self, address: &str) -> Result<String, SignInError> {
        body(address, self.agent.get(address).call())
    }

    /// The claims of the user at the provider. None if it has no such address.
    pub(super) fn user_info(&self, access_token: &str) -> Result<Option<Claims>, SignInError> {
        let metadata = self.metadata()?;
        let Some(address) = &metadata.userinfo_endpoint else {
            return Ok(None);
        };
        let request = self
            .agent
            .get(address)
            .header("accept", "application/json")
            .header("authorization", format!("Bearer {access_token}"));
        parse(address, &body(address, request.call())?).map(Some)
    }

    /// Exchanges a code for the tokens of the user.
    pub(super) fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect: &str,
        (client, secret): (&str, &str),
    ) -> Result<Tokens, SignInError> {
        let metadata = self.metadata()?;
        let address = &metadata.token_endpoint;
        // Basic is the default of the specification.
        let methods = metadata.token_endpoint_auth_methods_supported.as_ref();
        let is_basic = methods
            .is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect)
            .append_pair("code_verifier", verifier);
        let mut request = self
            .agent
            .post(address)
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded");
        if is_basic {
            let encode =
                |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encode(client), encode(secret));
            let pair = BASE64.encode(pair.as_bytes());
            request = request.header("authorization", format!("Basic {pair}"));
        } else {
            form.append_pair("client_id", client)
                .append_pair("client_secret", secret);
        }
        let (status, body) = read(address, request.send(form.finish()))?;
        if status != 200 {
            let refusal: TokenRefusal = serde_json::from_str(&body).unwrap_or_default();
            let reason = refusal.error_description.or(refusal.error);
            return Err(match reason {
                Some(reason) => SignInError::Refused(reason),
                None => {
                    SignInError::Unreachable(format!("{address} answered with status {status}"))
                }
            });
        }
        parse(address, &body)
    }

    /// The claims of a token that this provider has signed for one of these audiences and that is valid now.
    pub(super) fn verify(&self, token: &str, audiences: &[String]) -> Result<Claims, SignInError> {
        let header = decode_header(token).map_err(invalid)?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(SignInError::Token(format!(
                "it is signed with {:?}",
                header.alg
            )));
        }
        let key = self.keys.find(&header, || {
            let address = self.metadata()?.jwks_uri.clone();
            KeySet::parse(&self.get(&address)?)
                .map_err(|error| SignInError::Unreachable(format!("{address}: {error}")))
        })?;
        let mut validation = Validation::new(header.alg);
        validation.set_audience(audiences);
        validation.set_issuer(&[&self.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        let token = decode(token, &key, &validation).map_err(invalid)?;
        Ok(token.claims)
    }
}

fn invalid(error: jsonwebtoken::errors::Error) -> SignInError {
    SignInError::Token(match error.kind() {
        ErrorKind::ExpiredSignature => "it has expired".to_owned(),
        ErrorKind::ImmatureSignature => "it is not valid yet".to_owned(),
        ErrorKind::InvalidAudience => "it is for another client".to_owned(),
        ErrorKind::InvalidIssuer => "it is from another issuer".to_owned(),
        ErrorKind::InvalidSignature => "its signature is wrong".to_owned(),
        _ => error.to_string(),
    })
}

/// The body of an answer with status 200.
fn body(
    address: &str,
    answer: Result<Response<ureq::Body>, ureq::Error>,
) -> Result<String, SignInError> {
    match read(address, answer)? {
        (200, body) => Ok(body),
        (status, _) => Err(SignInError::Unreachable(format!(
            "{address} answered with status {status}"
        ))),
    }
}

fn read(
    address: &str,
    answer: Result<Response<ureq::Body>, ureq::Error>,
) -> Result<(u16, String), SignInError> {
    let failed = |error| SignInError::Unreachable(format!("{address}: {error}"));
    let mut answer = answer.map_err(failed)?;
    let body = answer.body_mut().with_config().limit(MAX_ANSWER);
    let body = body.read_to_string().map_err(failed)?;
    Ok((answer.status().as_u16(), body))
}

fn parse<T: for<'de> Deserialize<'de>>(address: &str, body: &str) -> Result<T, SignInError> {
    serde_json::from_str(body)
        .map_err(|error| SignInError::Unreachable(format!("{address}: {error}")))
}

/// Whether requests to an address are protected against changes on the network.
fn is_protected(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else {
        return false;
    };
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_local)
}

/// Checks the address of an issuer. It must stay as the provider writes it, with or without a slash at its end.
pub(crate) fn issuer(text: &str) -> Result<String, String> {
    let is_plain = Url::parse(text).is_ok_and(|url| {
        url.query().is_none() && url.fragment().is_none() && url.username().is_empty()
    });
    match is_plain && is_protected(text) {
        true => Ok(text.to_owned()),
        false => Err("it must be an address such as https://login.example/realms/team".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_need_https_except_on_this_machine() {
        for text in [
            "https://login.example",
            "https://login.example/realms/team/",
            "http://127.0.0.1:9000",
            "http://localhost:9000/dex",
        ] {
            assert_eq!(issuer(text).as_deref(), Ok(text));
        }
        for text in [
            "http://login.example",
            "login.example",
            "https://login.example?a=b",
            "https://ann@login.example",
        ] {
            assert!(issuer(text).is_err(), "{text}");
        }
    }
}
