//! Checks the certificate of a server, as far as the configuration asks for it.

use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rutter_config::{CertificateCheck, ClientTls};

use crate::store::StoreError;

/// Checks certificates, and remembers why it refused one.
#[derive(Debug)]
pub(crate) struct Verifier {
    check: CertificateCheck,
    roots: RootCertStore,
    /// The certificates of `roots`: a server may also present one of them as its own.
    given: Vec<CertificateDer<'static>>,
    /// The name that the configuration demands.
    name: Option<ServerName<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
    fault: Mutex<Option<Error>>,
}

impl Verifier {
    pub(super) fn new(
        settings: &ClientTls,
        roots: RootCertStore,
        given: Vec<CertificateDer<'static>>,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Result<Self, StoreError> {
        let name = settings.server_name.clone().map(ServerName::try_from);
        let name = name
            .transpose()
            .map_err(|_| StoreError("`tls-server-name` is not the name of a server".to_owned()))?;
        Ok(Self {
            check: settings.check,
            roots,
            given,
            name,
            algorithms,
            fault: Mutex::new(None),
        })
    }

    /// Returns why the last certificate was refused, and forgets it.
    pub(crate) fn take_fault(&self) -> Option<Error> {
        self.fault.lock().take()
    }

    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        if self.check == CertificateCheck::Nothing {
            return Ok(());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        let (roots, algorithms) = (&self.roots, self.algorithms.all);
        let signed =
            verify_server_cert_signed_by_trust_anchor(&parsed, roots, others, now, algorithms);
        match signed {
            // A certificate that signed itself is no authority for webpki.
            Err(why) if self.given.contains(certificate) && !is_validity_error(&why) => {}
            // The certificate of an authority, presented by a server, fails with another error.
            Err(Error::InvalidCertificate(CertificateError::Other(_))) => {
                return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
            }
            signed => signed?,
        }
        if self.check == CertificateCheck::AuthorityAndName {
            verify_server_name(&parsed, self.name.as_ref().unwrap_or(name))?;
        }
        Ok(())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.verify(certificate, others, name, now) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(why) => {
                *self.fault.lock() = Some(why.clone());
                Err(why)
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Returns whether a certificate has expired or is not valid yet. This is checked before names and authorities.
fn is_validity_error(why: &Error) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        why,
        Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
        )
    )
}
