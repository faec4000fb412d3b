//! TLS for a query of a collector on another machine.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

use crate::failure::Failure;

/// Encrypts, and believes those certificates that hang on the given ones.
#[derive(Clone)]
pub(super) struct Verifying(TlsConnector);

impl Verifying {
    /// With the certificates of a PEM file.
    pub(super) fn with(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: &dyn std::fmt::Display| {
            Failure::text(format!(
                "cannot use {} as root certificate: {why}",
                path.display()
            ))
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(path).map_err(|why| wrong(&why))? {
            let certificate = certificate.map_err(|why| wrong(&why))?;
            roots.add(certificate).map_err(|why| wrong(&why))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|why| wrong(&why))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Verifying(TlsConnector::from(Arc::new(config))))
    }
}

impl MakeTlsConnect<Socket> for Verifying {
    type Stream = Encrypted;
    type TlsConnect = ToServer;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, server: &str) -> Result<ToServer, InvalidDnsNameError> {
        let name = ServerName::try_from(server.to_owned())?;
        Ok(ToServer(self.0.clone(), name))
    }
}

/// A connection to a server of this name, in the making.
pub(super) struct ToServer(TlsConnector, ServerName<'static>);

impl TlsConnect<Socket> for ToServer {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { Ok(Encrypted(self.0.connect(self.1, stream).await?)) })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
