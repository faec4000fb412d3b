//! TLS for a query of a collector on another machine.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use rutter_server::read_certificates;
use rutter_sinks::tls::Connector;

use crate::failure::Failure;

/// Returns a TLS connector that accepts the certificates of a PEM file, and the certificates that they signed.
pub(super) fn connector(path: &Path) -> Result<Connector, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::text(format!("cannot use {} for TLS: {why}", path.display()))
    };
    let given = read_certificates(path).map_err(|why| Failure::text(why.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in &given {
        roots.add(certificate.clone()).map_err(|why| wrong(&why))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chains =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let chains = chains.build().map_err(|why| wrong(&why))?;
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config
        .map_err(|why| wrong(&why))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(GivenOrChained { given, chains }))
        .with_no_client_auth();
    Ok(Connector::new(Arc::new(config), None))
}

/// A verifier that accepts two kinds of certificates. One kind chains to a given certificate and has the name of the
/// server. The other kind is a given certificate itself. It may be self-signed, and its names and CA flag do not
/// matter.
#[derive(Debug)]
struct GivenOrChained {
    given: Vec<CertificateDer<'static>>,
    chains: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for GivenOrChained {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self
            .chains
            .verify_server_cert(certificate, others, name, ocsp, now);
        match verified {
            Err(why) if self.given.contains(certificate) && !is_validity_error(&why) => {
                Ok(ServerCertVerified::assertion())
            }
            // An unknown CA certificate fails with another error. The useful error is that the issuer is unknown.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_))) => Err(
                rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer),
            ),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Returns whether a certificate has expired or is not valid yet. The verifier checks this before names and
/// authorities.
fn is_validity_error(why: &rustls::Error) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        why,
        rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
        )
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::Command;

    use postgres::config::SslMode;
    use rutter_sql::CertificateFiles;

    use super::super::server;
    use super::*;

    /// A folder that is removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("rutter-collect-tls-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        /// Creates a self-signed certificate. `openssl req` marks it as a CA by default.
        fn certificate(&self, name: &str, more: &[&str]) -> CertificateFiles {
            let (certificate, key) = (format!("{name}.crt"), format!("{name}.key"));
            let made = Command::new("openssl")
                .args(
                    "req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1".split(' '),
                )
                .args([
                    "-subj",
                    "/CN=collector",
                    "-keyout",
                    &key,
                    "-out",
                    &certificate,
                ])
                .args(more)
                .current_dir(&self.0)
                .output();
            let made = made.expect("openssl runs: tools/install-test-deps installs it");
            let error = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "{error}");
            CertificateFiles {
                certificate: self.0.join(certificate),
                key: self.0.join(key),
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Queries a server with this certificate. Returns the error.
    fn ask(tls: &CertificateFiles, root: &Path) -> Result<(), String> {
        let (_server, address) = server::start(Some(tls.clone()));
        let connector = connector(root).map_err(|failure| format!("{failure:?}"))?;
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(address.port());
        config.user("reader").ssl_mode(SslMode::Require);
        let client = config.connect(connector);
        let mut client = client.map_err(|why| format!("{why:?}"))?;
        client.simple_query("SELECT 1").unwrap();
        Ok(())
    }

    #[test]
    fn a_certificate_in_the_file_is_believed_and_no_other() {
        let folder = Folder::new("given");
        // The first certificate is a CA without the name of the server. The last is no CA.
        let own = folder.certificate("own", &[]);
        let other = folder.certificate("other", &["-addext", "subjectAltName=IP:127.0.0.1"]);
        let leaf = folder.certificate("leaf", &["-addext", "basicConstraints=critical,CA:FALSE"]);
        for tls in [&own, &other, &leaf] {
            ask(tls, &tls.certificate).unwrap();
        }
        for root in [&other, &leaf] {
            let error = ask(&own, &root.certificate).unwrap_err();
            assert!(error.contains("UnknownIssuer"), "{error}");
        }
    }

    #[test]
    fn a_file_without_a_certificate_is_refused() {
        let folder = Folder::new("empty");
        let tls = folder.certificate("own", &[]);
        let error = ask(&tls, &tls.key).unwrap_err();
        assert!(error.contains("there is no certificate in it"), "{error}");
        let error = ask(&tls, Path::new("/dev/null")).unwrap_err();
        assert!(error.contains("there is no certificate in it"), "{error}");
    }
}
