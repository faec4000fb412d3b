//! The certificate of a running server.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;

use crate::{CertificateFiles, TlsFileError};

/// The certificate in use, read again when its files change. Clones share it.
#[derive(Clone)]
pub struct ServerCertificate(Arc<Shared>);

struct Shared {
    /// The name of the server in the log.
    server: &'static str,
    files: CertificateFiles,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    acceptor: TlsAcceptor,
    changed: [Option<SystemTime>; 2],
}

impl ServerCertificate {
    /// Reads the certificate for the first time. Log lines begin with the name of the server.
    ///
    /// # Errors
    ///
    /// If a file cannot be used, or they do not belong together.
    pub fn read(server: &'static str, files: CertificateFiles) -> Result<Self, TlsFileError> {
        let loaded = Loaded {
            changed: times(&files),
            acceptor: acceptor(&files)?,
        };
        Ok(ServerCertificate(Arc::new(Shared {
            server,
            files,
            loaded: Mutex::new(loaded),
        })))
    }

    /// Returns the acceptor of the next connection. A renewed certificate is used from then on. If it cannot be used, the
    /// old one stays in use, and one log line reports it.
    pub fn acceptor(&self) -> TlsAcceptor {
        let Shared {
            server,
            files,
            loaded,
        } = &*self.0;
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = times(files);
        if changed != loaded.changed {
            loaded.changed = changed;
            match acceptor(files) {
                Ok(acceptor) => {
                    loaded.acceptor = acceptor;
                    tracing::info!("{server}: a new certificate is in use");
                }
                Err(why) => {
                    tracing::error!("{server}: {why}; the certificate before is still used");
                }
            }
        }
        loaded.acceptor.clone()
    }
}

fn acceptor(files: &CertificateFiles) -> Result<TlsAcceptor, TlsFileError> {
    let config = files.server_config()?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The times when the files changed.
fn times(files: &CertificateFiles) -> [Option<SystemTime>; 2] {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified());
    [&files.certificate, &files.key].map(|path| changed(path).ok())
}
