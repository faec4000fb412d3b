//! TLS: the certificate of the server, read again when its files change.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The files of a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The certificate and its chain, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// The certificate in use.
pub(crate) struct Certificate {
    files: TlsFiles,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    acceptor: TlsAcceptor,
    changed: [Option<SystemTime>; 2],
    looked: Instant,
}

/// The time between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(10);

impl Certificate {
    /// Reads the certificate for the first time.
    pub(crate) fn read(files: TlsFiles) -> io::Result<Self> {
        let loaded = Loaded {
            changed: files.changed(),
            acceptor: files.acceptor()?,
            looked: Instant::now(),
        };
        Ok(Certificate {
            files,
            loaded: Mutex::new(loaded),
        })
    }

    /// Returns the acceptor of the next connection. If a renewed certificate cannot be read, the old one stays in use.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.looked.elapsed() >= LOOK_EVERY {
            loaded.looked = Instant::now();
            let changed = self.files.changed();
            if changed != loaded.changed {
                loaded.changed = changed;
                match self.files.acceptor() {
                    Ok(acceptor) => {
                        loaded.acceptor = acceptor;
                        tracing::info!("web: a new certificate is in use");
                    }
                    Err(error) => {
                        tracing::error!("web: {error}; the certificate before is still used");
                    }
                }
            }
        }
        loaded.acceptor.clone()
    }
}

impl TlsFiles {
    fn changed(&self) -> [Option<SystemTime>; 2] {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified());
        [&self.certificate, &self.key].map(|path| changed(path).ok())
    }

    fn acceptor(&self) -> io::Result<TlsAcceptor> {
        let wrong = |path: &Path, why: &dyn Display| {
            let path = path.display();
            io::Error::other(format!("{path} cannot be used for TLS: {why}"))
        };
        let read = |path| std::fs::read(path).map_err(|why| wrong(path, &why));
        let chain = CertificateDer::pem_slice_iter(&read(&self.certificate)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| wrong(&self.certificate, &why))?;
        if chain.is_empty() {
            return Err(wrong(&self.certificate, &"there is no certificate in it"));
        }
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?)
            .map_err(|why| wrong(&self.key, &why))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        let config = config.map_err(|why| wrong(&self.certificate, &why))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
