//! TLS, with `psql` as the client and a certificate that `openssl` makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rutter_sql::{Access, CertificateFiles, ConnectionBounds, Server};

use crate::server::{psql_of, settings, start};

/// A folder with a self-signed certificate for 127.0.0.1. It is removed when dropped.
struct Certificate(PathBuf);

impl Certificate {
    fn new(name: &str) -> Self {
        let folder = format!("rutter-tls-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let certificate = Certificate(folder);
        certificate.renew();
        certificate
    }

    /// Replaces the certificate by a new one in the same files.
    fn renew(&self) {
        let made = Command::new("openssl")
            .args("req -x509 -nodes -days 2 -subj /CN=collector -newkey ec".split(' '))
            .args("-pkeyopt ec_paramgen_curve:prime256v1 -addext".split(' '))
            .args("subjectAltName=IP:127.0.0.1 -keyout key -out certificate".split(' '))
            .current_dir(&self.0)
            .output();
        let made = made.expect("openssl runs: tools/install-test-deps installs it");
        let error = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{error}");
    }

    fn files(&self) -> CertificateFiles {
        CertificateFiles {
            certificate: self.0.join("certificate"),
            key: self.0.join("key"),
        }
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn encrypted(certificate: &Certificate) -> Server {
    let access = Access::Password {
        user: "reader".into(),
        password: "sesame".into(),
    };
    start(
        access,
        Some(certificate.files()),
        ConnectionBounds::default(),
    )
}

fn ask(server: &Server, password: &str, mode: &str, root: &Path) -> Output {
    psql_of(server, password)
        .args(["-c", "\\conninfo", "-c", "SELECT count(*) FROM peers"])
        .env("PGSSLMODE", mode)
        .env("PGSSLROOTCERT", root)
        .output()
        .expect("psql runs: install postgresql-client")
}

#[test]
fn psql_logs_in_over_tls() {
    let (certificate, other) = (Certificate::new("good"), Certificate::new("other"));
    let server = encrypted(&certificate);
    let root = certificate.files().certificate;
    for mode in ["require", "verify-ca", "verify-full"] {
        let output = ask(&server, "sesame", mode, &root);
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.contains("TLSv1.3") && text.ends_with("\n2\n"),
            "{text}{error}"
        );
    }
    let wrong = ask(&server, "sesame", "verify-ca", &other.files().certificate);
    let error = String::from_utf8_lossy(&wrong.stderr);
    assert!(error.contains("certificate verify failed"), "{error}");
    let wrong = ask(&server, "open", "require", &root);
    let error = String::from_utf8_lossy(&wrong.stderr);
    assert!(error.contains("authentication failed"), "{error}");
    // Connections from the same machine do not need TLS.
    let plain = ask(&server, "sesame", "disable", &root);
    let text = String::from_utf8_lossy(&plain.stdout);
    assert!(text.ends_with("\n2\n") && !text.contains("TLS"), "{text}");
}

#[test]
fn a_renewed_certificate_is_used() {
    let certificate = Certificate::new("renewed");
    let server = encrypted(&certificate);
    let root = certificate.files().certificate;
    assert!(
        ask(&server, "sesame", "verify-full", &root)
            .status
            .success()
    );
    // If a new certificate cannot be read, the previous one stays in use.
    let before = fs::read(&root).unwrap();
    fs::write(&root, "").unwrap();
    let kept = certificate.0.join("kept");
    fs::write(&kept, before).unwrap();
    assert!(
        ask(&server, "sesame", "verify-full", &kept)
            .status
            .success()
    );
    certificate.renew();
    assert!(
        ask(&server, "sesame", "verify-full", &root)
            .status
            .success()
    );
    assert!(
        !ask(&server, "sesame", "verify-full", &kept)
            .status
            .success()
    );
}

#[test]
fn a_missing_certificate_is_found_before_the_start() {
    let certificate = Certificate::new("missing");
    let bounds = ConnectionBounds::default();
    let settings = settings(Access::Open, Some(certificate.files()), bounds);
    settings.check().expect("a certificate");
    fs::remove_file(certificate.0.join("key")).unwrap();
    let error = settings.check().expect_err("no key").to_string();
    assert!(
        error.contains("missing") && error.contains("key"),
        "{error}"
    );
}
