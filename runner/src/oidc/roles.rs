//! Which users of the provider have which role.

use super::claims::Claims;
use crate::jobs::Role;
use clap::ValueEnum;
use std::str::FromStr;

/// Users whose claim has this value have this role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoleRule {
    claim: String,
    /// `*` for every value.
    value: String,
    role: Role,
}

impl RoleRule {
    /// The claim that it reads.
    pub(super) fn claim(&self) -> &str {
        &self.claim
    }
}

impl FromStr for RoleRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .rsplit_once(':')
            .and_then(|(claim, role)| Some((claim.split_once('=')?, role)));
        let Some(((claim, value), role)) =
            parts.filter(|((claim, value), _)| !claim.is_empty() && !value.is_empty())
        else {
            return Err("write CLAIM=VALUE:ROLE, as in groups=gpu-team:submit".to_owned());
        };
        match Role::from_str(role, false) {
            Ok(role) if role != Role::Worker => Ok(RoleRule {
                claim: claim.to_owned(),
                value: value.to_owned(),
                role,
            }),
            _ => Err(format!(
                "`{role}` is no role; write read, submit or operate"
            )),
        }
    }
}

/// The highest role that a rule gives to the user.
pub(super) fn best(rules: &[RoleRule], claims: &Claims) -> Option<Role> {
    let matching = rules.iter().filter(|rule| {
        let values = claims.texts(&rule.claim);
        values
            .into_iter()
            .any(|value| rule.value == "*" || value == rule.value)
    });
    matching.map(|rule| rule.role).max()
}

#[cfg(test)]
mod tests {
    use super::{super::claims::claims, *};
    use serde_json::json;

    fn rules(texts: &[&str]) -> Vec<RoleRule> {
        texts.iter().map(|text| text.parse().expect(text)).collect()
    }

    #[test]
    fn highest_role_of_all_rules_counts() {
        let rules = rules(&[
            "groups=gpu-ops:operate",
            "groups=gpu:submit",
            "email=bob@example.org:operate",
            "realm_access.roles=reader:read",
            "https://example.org/team=a:b:submit",
        ]);
        for (user, role) in [
            (json!({"groups": ["gpu", "gpu-ops"]}), Some(Role::Operate)),
            (json!({"groups": "gpu"}), Some(Role::Submit)),
            (json!({"groups": ["gpu-ops-2"]}), None),
            (json!({"email": "bob@example.org"}), None),
            (
                json!({"email": "bob@example.org", "email_verified": true}),
                Some(Role::Operate),
            ),
            (
                json!({"realm_access": {"roles": ["reader"]}}),
                Some(Role::Read),
            ),
            (
                json!({"https://example.org/team": "a:b"}),
                Some(Role::Submit),
            ),
            (json!({"groups": null}), None),
        ] {
            assert_eq!(best(&rules, &claims(user.clone())), role, "{user}");
        }
    }

    #[test]
    fn star_matches_every_user_with_the_claim() {
        let rules = rules(&["sub=*:read"]);
        assert_eq!(best(&rules, &claims(json!({"sub": "7"}))), Some(Role::Read));
        assert_eq!(best(&rules, &claims(json!({}))), None);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "groups",
            "groups=ops",
            "=ops:read",
            "groups=:read",
            "a=b:worker",
            "a=b:root",
        ] {
            assert!(text.parse::<RoleRule>().is_err(), "{text}");
        }
    }
}
