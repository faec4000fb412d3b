//! Encrypted connections to databases and brokers: the files, read for each connection, and what is checked.

mod channel_binding;
mod connector;
mod fault;
mod verifier;

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rutter_config::{CertificateCheck, ClientTls, Tls};

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
            (Some(path), _) => certificates(path)?,
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
            Some((chain, key)) => config
                .with_client_auth_cert(chain, key)
                .map_err(|why| wrong_pair(settings, &why))?,
        };
        Ok((Arc::new(config), verifier))
    }

    fn roots(&self, settings: &ClientTls) -> Result<RootCertStore, StoreError> {
        let mut roots = RootCertStore::empty();
        match &settings.ca_file {
            Some(path) => {
                for certificate in &self.authorities {
                    let added = roots.add(certificate.clone());
                    added.map_err(|why| unusable(path, &why))?;
                }
            }
            // Some of the machine's certificates may be older than what rustls reads.
            None => drop(roots.add_parsable_certificates(self.authorities.iter().cloned())),
        }
        Ok(roots)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let text = fs::read(path).map_err(|why| unusable(path, &why))?;
    let found = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|why| unusable(path, &why))?;
    match found.is_empty() {
        true => Err(unusable(path, &"there is no certificate in it (PEM)")),
        false => Ok(found),
    }
}

fn own_certificate(
    files: &Tls,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), StoreError> {
    let chain = certificates(&files.certificate)?;
    let key = fs::read(&files.key).map_err(|why| unusable(&files.key, &why))?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|why| unusable(&files.key, &why))?;
    Ok((chain, key))
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

fn unusable(path: &Path, why: &dyn Display) -> StoreError {
    StoreError(format!(
        "cannot use {} for TLS: {why}; mend the file, it is read again for the next connection",
        path.display()
    ))
}

fn wrong_pair(settings: &ClientTls, why: &rustls::Error) -> StoreError {
    let files = settings.own.as_ref();
    let [certificate, key] = files.map_or_else(Default::default, |files| {
        [&files.certificate, &files.key].map(|path| path.display().to_string())
    });
    StoreError(match why {
        rustls::Error::InconsistentKeys(_) => {
            format!("the key in {key} does not belong to the certificate in {certificate}")
        }
        why => format!("cannot use {certificate} and {key} for TLS: {why}"),
    })
}
