//! A certificate that a test has signed itself.

use std::{path::Path, process::Command};

/// Writes `certificate.pem` and `key.pem` for a host name into a folder.
pub(crate) fn create(folder: &Path, host: &str) {
    let created = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
        .args(["-pkeyopt", "ec_paramgen_curve:P-256"])
        .args(["-subj", &format!("/CN={host}")])
        .args(["-addext", &format!("subjectAltName=DNS:{host}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(folder)
        .output()
        .expect("openssl is installed with PostgreSQL");
    assert!(created.status.success(), "{created:?}");
}
