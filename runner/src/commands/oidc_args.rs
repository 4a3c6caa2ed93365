//! Options for sign-in with a team's identity provider.

use crate::{
    oidc::{self, Oidc, OidcSettings, RoleRule},
    secret_file,
    web::addresses,
};
use std::{net::SocketAddr, path::PathBuf};

#[derive(Clone, Debug, clap::Args)]
pub(super) struct OidcArgs {
    /// Let users sign in with this OpenID Connect provider, such as https://login.example/realms/team
    #[arg(long, value_name = "URL", value_parser = oidc::issuer, requires_all = ["oidc_client_id", "oidc_client_secret_file", "oidc_role"])]
    oidc_issuer: Option<String>,
    /// Name of this server at the provider; its redirect address there is the public origin with /sign-in/callback
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    oidc_client_id: Option<String>,
    /// File with the secret for that name
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_client_secret_file: Option<PathBuf>,
    /// Give users with this value of a claim a role (read, submit or operate), as in groups=gpu-team:submit; `*` is any value; may be repeated
    #[arg(long, value_name = "CLAIM=VALUE:ROLE", requires = "oidc_issuer")]
    oidc_role: Vec<RoleRule>,
    /// Request this scope too, if the provider needs it for the claims; may be repeated
    #[arg(long, value_name = "SCOPE", requires = "oidc_issuer")]
    oidc_scope: Vec<String>,
    /// Accept the provider's tokens for this audience on the API, as for CI jobs, besides those for the client; may be repeated
    #[arg(long, value_name = "AUDIENCE", requires = "oidc_issuer")]
    oidc_audience: Vec<String>,
}

impl OidcArgs {
    /// The provider, if one was named, for a server with this public origin.
    pub(super) fn read(
        self,
        origin: Option<&str>,
        bind: SocketAddr,
    ) -> Result<Option<Oidc>, String> {
        let (Some(issuer), Some(client_id), Some(file)) = (
            self.oidc_issuer,
            self.oidc_client_id,
            self.oidc_client_secret_file,
        ) else {
            return Ok(None);
        };
        if origin.is_none() && !bind.ip().is_loopback() {
            return Err(
                "--oidc-issuer needs the address to which the provider sends browsers back; add --public-origin, as in \
                 --public-origin https://hipward.example"
                    .to_owned(),
            );
        }
        let origin = origin.map(addresses::origin).transpose()?;
        let advice = format!(
            "it must have at least {} characters, because sessions are signed with it",
            secret_file::MIN_LENGTH
        );
        let client_secret = secret_file::read(&file, &advice)?;
        Ok(Some(Oidc::new(OidcSettings {
            issuer,
            client_id,
            client_secret,
            roles: self.oidc_role,
            scopes: self.oidc_scope,
            audiences: self.oidc_audience,
            origin,
        })))
    }
}
