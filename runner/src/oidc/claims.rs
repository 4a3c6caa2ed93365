//! The claims of a token, and the user whom they name.

use crate::{api::is_user_name, jobs::Role};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// A user of the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct User {
    /// The name under which jobs are stored.
    pub(crate) name: String,
    pub(crate) role: Role,
}

/// The claims of a token whose signature was verified.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    /// A claim that is a text.
    pub(super) fn text(&self, claim: &str) -> Option<&str> {
        self.0.get(claim)?.as_str()
    }

    /// The texts of a claim: one, or a list. A claim inside of another is written with a dot, such as `realm_access.roles`.
    pub(super) fn texts(&self, claim: &str) -> Vec<&str> {
        // Everybody can enter any address at some providers.
        if claim == "email" && !self.email_is_verified() {
            return Vec::new();
        }
        match self.find(claim) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a claim is present.
    pub(super) fn has(&self, claim: &str) -> bool {
        self.find(claim).is_some()
    }

    fn find(&self, claim: &str) -> Option<&Value> {
        self.0.get(claim).or_else(|| {
            let (first, rest) = claim.split_once('.')?;
            let pointer = format!("/{}", rest.replace('.', "/"));
            self.0.get(first)?.pointer(&pointer)
        })
    }

    /// These claims of a token, completed by the provider's user info. None if that is about another user.
    pub(super) fn with(self, more: Claims) -> Option<Claims> {
        if self.text("sub")? != more.text("sub")? {
            return None;
        }
        let mut all = more.0;
        all.extend(self.0);
        Some(Claims(all))
    }

    fn email_is_verified(&self) -> bool {
        match self.0.get("email_verified") {
            Some(Value::Bool(is_verified)) => *is_verified,
            Some(Value::String(text)) => text == "true",
            _ => false,
        }
    }

    /// The verified email address, or else the provider's id of the user. Other names can be changed by the user at some
    /// providers, and who has the name owns the jobs.
    pub(super) fn user_name(&self) -> String {
        let email = self.texts("email").into_iter().next();
        let subject = self.text("sub").unwrap_or_default();
        [email, Some(subject)]
            .into_iter()
            .flatten()
            .find(|name| is_user_name(name))
            .map_or_else(
                || {
                    let hash = HEXLOWER.encode(&Sha256::digest(subject.as_bytes()));
                    format!("user-{}", &hash[..32])
                },
                str::to_owned,
            )
    }
}

#[cfg(test)]
pub(super) fn claims(value: Value) -> Claims {
    serde_json::from_value(value).expect("an object")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn name_is_the_verified_address_or_the_subject() {
        let name = |value| claims(value).user_name();
        let ann = json!({"sub": "7", "email": "ann@example.org", "email_verified": true});
        assert_eq!(name(ann), "ann@example.org");
        for unverified in [json!(false), json!(null), json!("no")] {
            let ann = json!({"sub": "7", "email": "ann@example.org", "email_verified": unverified});
            assert_eq!(name(ann), "7");
        }
        let name = name(json!({"sub": "auth|a b"}));
        assert!(is_user_name(&name) && name.starts_with("user-"), "{name}");
    }
}
