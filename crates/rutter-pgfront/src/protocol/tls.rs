//! The certificate of the server, reloaded when its files change.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The files of the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate and its chain, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// A certificate that cannot be used.
#[derive(Debug)]
pub struct TlsError {
    path: PathBuf,
    why: String,
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "{path} cannot be used for TLS: {}", self.why)
    }
}

impl std::error::Error for TlsError {}

/// The certificate in use.
#[derive(Clone)]
pub struct Certificate(Arc<(Tls, Mutex<LoadedFiles>)>);

struct LoadedFiles {
    acceptor: TlsAcceptor,
    changed: [Option<SystemTime>; 2],
}

impl Certificate {
    /// Reads the certificate for the first time.
    pub fn read(files: Tls) -> Result<Self, TlsError> {
        let used = LoadedFiles {
            changed: files.changed(),
            acceptor: files.acceptor()?,
        };
        Ok(Self(Arc::new((files, Mutex::new(used)))))
    }

    /// The acceptor of the next connection. A renewed certificate is used from then on. If it cannot be read, the old one
    /// stays in use and one log line reports it.
    pub fn acceptor(&self) -> TlsAcceptor {
        let (files, used) = &*self.0;
        let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = files.changed();
        if changed != used.changed {
            used.changed = changed;
            match files.acceptor() {
                Ok(acceptor) => {
                    used.acceptor = acceptor;
                    tracing::info!("SQL uses a new certificate");
                }
                Err(error) => tracing::error!("SQL: {error}; the certificate before is still used"),
            }
        }
        used.acceptor.clone()
    }
}

impl Tls {
    /// Returns an error if the files cannot be used or do not belong together.
    pub fn check(&self) -> Result<(), TlsError> {
        self.acceptor().map(drop)
    }

    fn changed(&self) -> [Option<SystemTime>; 2] {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified());
        [&self.certificate, &self.key].map(|path| changed(path).ok())
    }

    fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let wrong = |path: &Path, why: &dyn fmt::Display| TlsError {
            path: path.to_owned(),
            why: why.to_string(),
        };
        let read = |path| std::fs::read(path).map_err(|why: io::Error| wrong(path, &why));
        let chain = CertificateDer::pem_slice_iter(&read(&self.certificate)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| wrong(&self.certificate, &why))?;
        if chain.is_empty() {
            return Err(wrong(&self.certificate, &"there is no certificate in it"));
        }
        let key = read(&self.key)?;
        if is_encrypted(&key) {
            let path = self.key.display();
            let remedy =
                "the key is encrypted, and nobody can enter its passphrase; decrypt it with";
            return Err(wrong(
                &self.key,
                &format!("{remedy} `openssl pkey -in {path} -out NEW`, and name the new file"),
            ));
        }
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|why| wrong(&self.key, &why))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        let config = config.map_err(|why| match why {
            rustls::Error::InconsistentKeys(_) => {
                let certificate = self.certificate.display();
                wrong(&self.key, &format!("it is not the key of {certificate}"))
            }
            why => wrong(&self.certificate, &why),
        })?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// Returns whether a key is encrypted: as PKCS #8 (RFC 5958), or with the headers of RFC 1421, as older tools write it.
fn is_encrypted(key: &[u8]) -> bool {
    let key = String::from_utf8_lossy(key);
    key.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || key.contains("Proc-Type: 4,ENCRYPTED")
}
