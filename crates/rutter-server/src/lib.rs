//! The parts that listening servers share: sockets, certificates and limits on load that a remote side can cause.
//!
//! [`once_free`] opens a socket whose address another process is about to free, and [`inherit`] keeps the sockets of another
//! process.
//!
//! [`read_certificates`] and [`read_key`] read one PEM file each, and [`check_authorities`] checks one. [`CertificateFiles`]
//! are a certificate and its key. [`ServerCertificate`] is that of a running server, which reads them again when they change.
//!
//! [`ConnectionLimits`] counts connections, in all and for each source. [`RequestRate`] counts the requests of each source.
//! [`LogRateLimit`] suppresses log lines beyond a number in each period. [`FairQueue`] lets the work of each network begin
//! in turns.

mod certificate_files;
mod connection_limits;
mod fair_queue;
mod inherit;
mod log_rate_limit;
mod once_free;
mod pem_file;
mod request_rate;
mod server_certificate;

pub use certificate_files::CertificateFiles;
pub use connection_limits::{ConnectionLimits, ConnectionSlot, LimitReached, network};
pub use fair_queue::{FairQueue, WorkPlace};
pub use inherit::inherit;
pub use log_rate_limit::LogRateLimit;
pub use once_free::{START_PATIENCE, once_free};
pub use pem_file::{TlsFileError, check_authorities, read_certificates, read_key};
pub use request_rate::RequestRate;
pub use server_certificate::ServerCertificate;
