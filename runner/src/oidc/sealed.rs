//! Values in cookies that only a server with the same key can have written.

use data_encoding::BASE64URL_NOPAD;
use ring::hmac;
use serde::{Serialize, de::DeserializeOwned};
use std::time::{SystemTime, UNIX_EPOCH};

/// Signs and checks values.
pub(super) struct Seal(hmac::Key);

impl Seal {
    /// A key from a secret. Servers whose context differs do not accept each other's values.
    pub(super) fn new(secret: &[u8], context: &[&str]) -> Self {
        let mut derived = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
        for part in ["hipward cookie"].iter().chain(context) {
            derived.update(part.as_bytes());
            derived.update(b"\0");
        }
        Seal(hmac::Key::new(hmac::HMAC_SHA256, derived.sign().as_ref()))
    }

    /// The value as text for a cookie. Readable, but not changeable.
    pub(super) fn close(&self, purpose: &str, value: &impl Serialize) -> String {
        let json = serde_json::to_vec(value).expect("its keys are strings");
        let text = BASE64URL_NOPAD.encode(&json);
        let tag = hmac::sign(&self.0, format!("{purpose}\0{text}").as_bytes());
        format!("{text}.{}", BASE64URL_NOPAD.encode(tag.as_ref()))
    }

    /// The value of a cookie, if it was written for this purpose.
    pub(super) fn open<T: DeserializeOwned>(&self, purpose: &str, cookie: &str) -> Option<T> {
        let (text, tag) = cookie.split_once('.')?;
        let tag = BASE64URL_NOPAD.decode(tag.as_bytes()).ok()?;
        hmac::verify(&self.0, format!("{purpose}\0{text}").as_bytes(), &tag).ok()?;
        serde_json::from_slice(&BASE64URL_NOPAD.decode(text.as_bytes()).ok()?).ok()
    }
}

/// The time, in seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_values_and_those_of_others_are_not_accepted() {
        let seal = Seal::new(b"secret", &["issuer", "client"]);
        let cookie = seal.close("session", &("ann", 7));
        let opened: Option<(String, u64)> = seal.open("session", &cookie);
        assert_eq!(opened, Some(("ann".to_owned(), 7)));
        let same = Seal::new(b"secret", &["issuer", "client"]);
        assert!(same.open::<(String, u64)>("session", &cookie).is_some());
        assert!(seal.open::<(String, u64)>("sign-in", &cookie).is_none());
        for other in [
            Seal::new(b"other", &["issuer", "client"]),
            Seal::new(b"secret", &["issuerclient"]),
        ] {
            assert!(other.open::<(String, u64)>("session", &cookie).is_none());
        }
        let (_, tag) = cookie.split_once('.').expect("two parts");
        let forged = BASE64URL_NOPAD.encode(br#"["ann",8]"#);
        let forged = format!("{forged}.{tag}");
        assert!(seal.open::<(String, u64)>("session", &forged).is_none());
    }
}
