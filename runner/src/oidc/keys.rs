//! The provider's public keys. They are requested again for a key that is not among them, but only a few times a minute, because
//! everybody can send a token that names an unknown key.

use super::provider::SignInError;
use jsonwebtoken::{
    DecodingKey, Header,
    jwk::{Jwk, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Age at which keys are requested again, so that one that the provider has withdrawn is forgotten.
const MAX_AGE: Duration = Duration::from_hours(1);
/// Age up to which keys are used while the provider does not answer.
const MAX_AGE_UNREACHABLE: Duration = Duration::from_hours(24);
/// Maximum number of requests in [`WINDOW`].
const MAX_REQUESTS: usize = 6;
const WINDOW: Duration = Duration::from_mins(1);

/// Keys from one answer.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<Jwk>,
    received: Instant,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Parses a JWK set. Keys of unknown kinds are left out.
    pub(super) fn parse(body: &str) -> Result<Self, serde_json::Error> {
        let document: Document = serde_json::from_str(body)?;
        let keys = document.keys.into_iter();
        Ok(KeySet {
            keys: keys
                .filter_map(|key| serde_json::from_value(key).ok())
                .collect(),
            received: Instant::now(),
        })
    }

    /// The key of a token. A token that names none can use the only key.
    fn find(&self, header: &Header) -> Option<DecodingKey> {
        let mut usable = self.keys.iter().filter(|key| {
            let common = &key.common;
            let signs = !matches!(common.public_key_use, Some(PublicKeyUse::Encryption));
            let is_named = header
                .kid
                .as_ref()
                .is_none_or(|id| common.key_id.as_ref() == Some(id));
            signs && is_named
        });
        let key = usable.next()?;
        match usable.next() {
            None => DecodingKey::from_jwk(key).ok(),
            Some(_) => None,
        }
    }
}

/// The keys of a provider, with the requests for them.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: Mutex<Option<Arc<KeySet>>>,
    /// The times of the last requests. Locked during a request, so that there is one at a time.
    requests: Mutex<VecDeque<Instant>>,
}

impl Keys {
    /// The key of a token. `request` gets the keys from the provider.
    pub(super) fn find(
        &self,
        header: &Header,
        request: impl FnOnce() -> Result<KeySet, SignInError>,
    ) -> Result<DecodingKey, SignInError> {
        let before = lock(&self.known).clone();
        if let Some(set) = &before
            && set.received.elapsed() < MAX_AGE
            && let Some(key) = set.find(header)
        {
            return Ok(key);
        }
        self.renew(before, request)?
            .find(header)
            .ok_or_else(|| SignInError::Token("its key is none of the provider's".to_owned()))
    }

    fn renew(
        &self,
        before: Option<Arc<KeySet>>,
        request: impl FnOnce() -> Result<KeySet, SignInError>,
    ) -> Result<Arc<KeySet>, SignInError> {
        let mut requests = lock(&self.requests);
        let known = lock(&self.known).clone();
        // Another thread has renewed them meanwhile.
        if let Some(known) = &known
            && before.is_none_or(|before| !Arc::ptr_eq(&before, known))
        {
            return Ok(known.clone());
        }
        let usable = known.filter(|set| set.received.elapsed() < MAX_AGE_UNREACHABLE);
        while requests.front().is_some_and(|at| at.elapsed() > WINDOW) {
            requests.pop_front();
        }
        if requests.len() >= MAX_REQUESTS {
            return usable.ok_or_else(|| {
                SignInError::Unreachable("its keys were requested too often".to_owned())
            });
        }
        requests.push_back(Instant::now());
        match request() {
            Ok(set) => {
                let set = Arc::new(set);
                *lock(&self.known) = Some(set.clone());
                Ok(set)
            }
            Err(error) => usable.ok_or(error),
        }
    }
}

/// Locks, also after another thread has panicked: the values are always whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsonwebtoken::Algorithm;
    use std::cell::Cell;

    fn header(key: &str) -> Header {
        Header {
            kid: Some(key.to_owned()),
            ..Header::new(Algorithm::EdDSA)
        }
    }

    fn set(ids: &[&str]) -> KeySet {
        let keys: Vec<Value> = ids
            .iter()
            .map(|id| serde_json::json!({"kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": id}))
            .collect();
        KeySet::parse(&serde_json::json!({ "keys": keys }).to_string()).expect("a set")
    }

    #[test]
    fn keys_are_requested_for_an_unknown_id_and_not_without_limit() {
        let keys = Keys::default();
        let requests = Cell::new(0);
        let find = |id: &str, offered: &[&str]| {
            keys.find(&header(id), || {
                requests.set(requests.get() + 1);
                Ok(set(offered))
            })
        };
        assert!(find("a", &["a"]).is_ok());
        assert!(find("a", &[]).is_ok());
        assert_eq!(requests.get(), 1, "a known key needs no request");
        assert!(find("b", &["a", "b"]).is_ok());
        assert_eq!(requests.get(), 2);
        for _ in 0..100 {
            assert!(matches!(find("c", &["b"]), Err(SignInError::Token(_))));
        }
        assert_eq!(requests.get(), MAX_REQUESTS);
        assert!(find("b", &[]).is_ok(), "known keys still count");
    }

    #[test]
    fn known_keys_count_while_the_provider_is_down() {
        let keys = Keys::default();
        let down = || Err(SignInError::Unreachable("refused".to_owned()));
        assert!(matches!(
            keys.find(&header("a"), down),
            Err(SignInError::Unreachable(_))
        ));
        assert!(keys.find(&header("a"), || Ok(set(&["a"]))).is_ok());
        assert!(keys.find(&header("a"), down).is_ok());
        assert!(matches!(
            keys.find(&header("b"), down),
            Err(SignInError::Token(_))
        ));
    }

    #[test]
    fn token_without_a_key_id_needs_a_provider_with_one_key() {
        let header = Header::new(Algorithm::EdDSA);
        assert!(set(&["a"]).find(&header).is_some());
        assert!(set(&["a", "b"]).find(&header).is_none());
    }

    #[test]
    fn unknown_kinds_of_keys_are_left_out() {
        let body = r#"{"keys": [{"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA", "kid": "x"}, {"kid": 7},
            {"kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "a"}]}"#;
        let set = KeySet::parse(body).expect("a set");
        assert!(set.find(&header("a")).is_some());
        assert!(set.find(&header("x")).is_none());
    }
}
