//! Certificates and private keys in PEM files, with errors that name the file and what to do.
//!
//! [`read_certificates`] and [`read_key`] read one file each, and [`check_authorities`] checks one. [`CertificateFiles`] are a certificate and its key, and
//! [`ServerCertificate`] is that of a running server, which reads them again when they change.

mod certificate_files;
mod pem_file;
mod server_certificate;

pub use certificate_files::CertificateFiles;
pub use pem_file::{TlsFileError, check_authorities, read_certificates, read_key};
pub use server_certificate::ServerCertificate;
