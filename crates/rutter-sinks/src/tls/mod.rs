//! Encrypted connections to databases and brokers: the files, read for each connection, and what is checked.

mod channel_binding;
mod connector;
mod fault;
mod verifier;

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rutter_config::{CertificateCheck, ClientTls, Tls};
use rutter_server::{CertificateFiles, TlsFileError, read_certificates};

use crate::store::StoreError;
pub use connector::{Connector, TlsSocket};
pub(crate) use fault::{NO_TLS, explain, explain_error, explain_text};
pub(crate) use verifier::Verifier;

/// The content of the files that a connection needs.
pub(crate) struct TlsFiles {
    /// The trusted authorities; empty if the certificate is not checked.
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
}

impl TlsFiles {
    /// Reads the files. The error names the file and what to do.
    pub(crate) fn read(settings: &ClientTls) -> Result<Self, StoreError> {
        let authorities = match (&settings.ca_file, settings.check) {
            (_, CertificateCheck::Nothing) => Vec::new(),
            (Some(path), _) => read_certificates(path).map_err(unusable)?,
            (None, _) => authorities_of_machine()?,
        };
        let own = settings.own.as_ref().map(own_certificate).transpose()?;
        Ok(Self { authorities, own })
    }

    /// Makes the configuration of a connection, and the verifier in it, which remembers the last fault.
    pub(crate) fn client_config(
        self,
        settings: &ClientTls,
    ) -> Result<(Arc<ClientConfig>, Arc<Verifier>), StoreError> {
        let roots = self.roots(settings)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let verifier = Verifier::new(settings, roots, self.authorities, algorithms)?;
        let verifier = Arc::new(verifier);
        let failed = |why: rustls::Error| StoreError(format!("cannot use TLS: {why}"));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as _);
        let config = match self.own {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(failed)?,
        };
        Ok((Arc::new(config), verifier))
    }

    fn roots(&self, settings: &ClientTls) -> Result<RootCertStore, StoreError> {
        let mut roots = RootCertStore::empty();
        match &settings.ca_file {
            Some(path) => {
                for certificate in &self.authorities {
                    let added = roots.add(certificate.clone());
                    added.map_err(|why| {
                        StoreError(format!("cannot use {} for TLS: {why}", path.display()))
                    })?;
                }
            }
            // Some of the machine's certificates may be older than what rustls reads.
            None => drop(roots.add_parsable_certificates(self.authorities.iter().cloned())),
        }
        Ok(roots)
    }
}

fn own_certificate(
    files: &Tls,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), StoreError> {
    let files = CertificateFiles {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
    };
    files.read().map_err(unusable)
}

fn authorities_of_machine() -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs);
    }
    let why = found.errors.first().map(|why| format!(" ({why})"));
    Err(StoreError(format!(
        "this machine trusts no authority{}: install the package ca-certificates, or set `tls-ca-file`",
        why.unwrap_or_default()
    )))
}

fn unusable(why: TlsFileError) -> StoreError {
    StoreError(format!("{why}; it is read again for the next connection"))
}
