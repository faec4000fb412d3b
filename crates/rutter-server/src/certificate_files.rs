//! A certificate and its key.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, sign::CertifiedKey};

use crate::{TlsFileError, read_certificates, read_key};

/// The files of a certificate and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateFiles {
    /// The certificate and its chain, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// A chain of certificates, and the key of the first one.
type ChainAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl CertificateFiles {
    /// Returns an error if the files cannot be used or do not belong together.
    pub fn check(&self) -> Result<(), TlsFileError> {
        self.read().map(drop)
    }

    /// Reads both files.
    ///
    /// # Errors
    ///
    /// If a file cannot be used, or they do not belong together.
    pub fn read(&self) -> Result<ChainAndKey, TlsFileError> {
        let chain = read_certificates(&self.certificate)?;
        let key = read_key(&self.key)?;
        let provider = rustls::crypto::ring::default_provider();
        let pair = CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider);
        match pair {
            Ok(_) => Ok((chain, key)),
            Err(rustls::Error::InconsistentKeys(_)) => {
                let certificate = self.certificate.display();
                let why = format!("it is not the key of {certificate}");
                let hint = "name a certificate and the key that was made for it";
                Err(TlsFileError::new(&self.key, why, hint))
            }
            Err(why @ rustls::Error::InvalidCertificate(_)) => {
                Err(TlsFileError::content(&self.certificate, why))
            }
            Err(why) => Err(TlsFileError::content(&self.key, why)),
        }
    }

    /// Returns the configuration of a server with this certificate, which asks clients for none.
    pub fn server_config(&self) -> Result<ServerConfig, TlsFileError> {
        let (chain, key) = self.read()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|why| TlsFileError::content(&self.certificate, why))
    }
}
