//! A proxy in front of the server that authenticates users.

use super::identity::Identity;
use crate::jobs::Role;
use axum::http::{HeaderMap, HeaderName};
use std::net::IpAddr;

/// A proxy that authenticates users and sends their names in a header.
#[derive(Clone, Debug)]
pub(crate) struct ProxyAuth {
    /// The header with the name of the user.
    pub(crate) header: HeaderName,
    /// The addresses from which the header is accepted. Empty: this machine's.
    pub(crate) proxies: Vec<IpAddr>,
    /// The users with the role `operate`. All others have the role `submit`.
    pub(crate) operators: Vec<String>,
}

impl ProxyAuth {
    /// Whether the header is accepted from a connection of this address.
    pub(super) fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        match &self.proxies[..] {
            [] => peer.is_loopback(),
            proxies => proxies.iter().any(|proxy| proxy.to_canonical() == peer),
        }
    }

    /// The user whom a request names. Call it after the header was removed from the requests of others.
    pub(super) fn user(&self, headers: &HeaderMap) -> Option<Identity> {
        let mut values = headers.get_all(&self.header).iter();
        let name = values.next()?.to_str().ok()?;
        // A second header could be from the client.
        if values.next().is_some() || !is_user_name(name) {
            return None;
        }
        let is_operator = self.operators.iter().any(|operator| operator == name);
        Some(Identity {
            name: Some(name.to_owned()),
            role: if is_operator {
                Role::Operate
            } else {
                Role::Submit
            },
        })
    }
}

/// Whether jobs can be stored with this name as their owner.
pub(crate) fn is_user_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@+".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(is_plain) && text != Identity::ANONYMOUS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_header_is_trusted_from_the_proxy_only() {
        let trusts = |proxies: &[&str], peer: &str| {
            let proxy = ProxyAuth {
                header: HeaderName::from_static("x-user"),
                proxies: proxies
                    .iter()
                    .map(|proxy| proxy.parse().expect("an address"))
                    .collect(),
                operators: Vec::new(),
            };
            proxy.trusts(peer.parse().expect("an address"))
        };
        for peer in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(trusts(&[], peer), "{peer}");
            assert!(!trusts(&["10.0.0.7"], peer), "{peer}");
        }
        assert!(!trusts(&[], "10.0.0.7"));
        assert!(trusts(&["10.0.0.7"], "::ffff:10.0.0.7"));
    }
}
