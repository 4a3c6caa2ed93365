//! Encrypted connections to PostgreSQL.

use crate::jobs::store::error::{Result, StoreError};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;
use std::{fmt::Display, path::Path, sync::Arc};
use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Encrypts connections if the address requires it, and then checks the certificate and the host name of the server.
/// `authority` is a file with the certificates of the authorities to trust instead of the machine's.
pub(super) fn connector(
    config: &mut Config,
    authority: Option<&Path>,
) -> Result<MakeRustlsConnect> {
    let is_required = config.get_ssl_mode() == SslMode::Require;
    if !is_required {
        if authority.is_some() {
            return Err(StoreError::DatabaseUrl {
                reason: "--database-ca has an effect with sslmode=require only".to_owned(),
            });
        }
        // Not `prefer`: many servers offer a certificate that no authority has signed.
        config.ssl_mode(SslMode::Disable);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::unreachable(&error))?;
    let tls = if is_required && authority.is_none() {
        let verified = builder
            .with_platform_verifier()
            .map_err(|error| StoreError::unreachable(&error))?;
        verified.with_no_client_auth()
    } else {
        let roots = authority.map_or_else(|| Ok(RootCertStore::empty()), read)?;
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    Ok(MakeRustlsConnect::new(tls))
}

/// Reads the certificates of a PEM file.
fn read(file: &Path) -> Result<RootCertStore> {
    let invalid = |reason: &dyn Display| StoreError::DatabaseCertificates {
        path: file.to_owned(),
        reason: reason.to_string(),
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| invalid(&error))? {
        let certificate = certificate.map_err(|error| invalid(&error))?;
        roots.add(certificate).map_err(|error| invalid(&error))?;
    }
    match roots.is_empty() {
        true => Err(invalid(&"it contains no certificate")),
        false => Ok(roots),
    }
}
