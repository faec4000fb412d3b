//! One PEM file.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A file that cannot be used for TLS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub hint: String,
}

impl TlsFileError {
    pub(crate) fn new(path: &Path, why: impl fmt::Display, hint: impl Into<String>) -> Self {
        TlsFileError {
            path: path.to_owned(),
            why: why.to_string(),
            hint: hint.into(),
        }
    }

    /// A file with content that cannot be used.
    pub(crate) fn content(path: &Path, why: impl fmt::Display) -> Self {
        Self::new(path, why, "write the file again, in PEM")
    }
}

impl fmt::Display for TlsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "cannot use {path} for TLS: {}; {}", self.why, self.hint)
    }
}

impl std::error::Error for TlsFileError {}

/// Reads all certificates of a file.
///
/// # Errors
///
/// If the file cannot be read, or there is no certificate in it.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let text = read(path)?;
    let found = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|why| TlsFileError::content(path, why))?;
    match found.is_empty() {
        true => Err(TlsFileError::new(path, NO_CERTIFICATE, PEM)),
        false => Ok(found),
    }
}

/// Checks that the certificates of a file can sign those of others.
///
/// # Errors
///
/// If the file cannot be read, or there is no certificate in it, or one that cannot be used.
pub fn check_authorities(path: &Path) -> Result<(), TlsFileError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        roots
            .add(certificate)
            .map_err(|why| TlsFileError::content(path, why))?;
    }
    Ok(())
}

/// Reads the first private key of a file.
///
/// # Errors
///
/// If the file cannot be read, or there is no private key in it, or it is encrypted.
pub fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsFileError> {
    let text = read(path)?;
    if is_encrypted(&text) {
        let path_text = path.display();
        return Err(TlsFileError::new(
            path,
            "the key is encrypted, and nobody can enter its passphrase",
            format!(
                "decrypt it with `openssl pkey -in {path_text} -out NEW`, and name the new file"
            ),
        ));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|why| match why {
        pem::Error::NoItemsFound => TlsFileError::new(path, NO_KEY, PEM),
        why => TlsFileError::content(path, why),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsFileError> {
    fs::read(path).map_err(|why| TlsFileError::new(path, why, THERE))
}

/// Returns whether a key is encrypted: as PKCS #8 (RFC 5958), or with the headers of RFC 1421, as older tools write it.
fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| line == PKCS8 || line.starts_with(RFC1421))
}

const PKCS8: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const RFC1421: &str = "Proc-Type: 4,ENCRYPTED";
const NO_CERTIFICATE: &str = "there is no certificate in it";
const NO_KEY: &str = "there is no private key in it";
const PEM: &str = "name a PEM file, with a line `-----BEGIN …-----`";
const THERE: &str = "make sure that the file exists and is readable";
