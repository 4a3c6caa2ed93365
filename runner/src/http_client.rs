//! The HTTP client of the commands that use a server elsewhere: `hipward bench --host` and `hipward worker --join`.

use ureq::{
    Agent,
    config::ConfigBuilder,
    tls::{RootCerts, TlsConfig},
    typestate::AgentScope,
};
use url::Url;

/// Settings of all clients. TLS trusts the certificate authorities of this machine, so a company's own works once it is
/// installed. An answer with an error status is no error, because its body has the reason.
pub(crate) fn settings() -> ConfigBuilder<AgentScope> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
}

/// Parses the address of a server: `https://hipward.example`, `http://gpu-host:8717`, or `gpu-host:8717` for http. The
/// result does not end with a slash.
pub(crate) fn server_address(text: &str) -> Result<String, String> {
    let whole = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let url = Url::parse(&whole).ok().filter(|url| {
        let rest = &url[url::Position::BeforePath..];
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && matches!(rest, "" | "/")
    });
    let url =
        url.ok_or("it must be an address such as https://hipward.example or http://gpu-host:8717")?;
    Ok(url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        for text in ["gpu:8717", "http://gpu:8717", "http://gpu:8717/"] {
            assert_eq!(
                server_address(text).as_deref(),
                Ok("http://gpu:8717"),
                "{text}"
            );
        }
        for text in ["https://gpu.example", "https://GPU.example:443/"] {
            assert_eq!(
                server_address(text).as_deref(),
                Ok("https://gpu.example"),
                "{text}"
            );
        }
        for text in [
            "ftp://gpu",
            "http://",
            "",
            "https://ann@gpu",
            "https://gpu/jobs/",
            "https://gpu/?a=b",
        ] {
            assert!(server_address(text).is_err(), "{text}");
        }
    }
}
