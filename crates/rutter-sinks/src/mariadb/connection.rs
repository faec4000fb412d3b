//! A connection with a timeout for each answer.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{StreamExt as _, unfold};
use mysql_async::prelude::{FromRow, Queryable as _};
use mysql_async::{
    ClientIdentity, Conn, Error, IoError, Opts, OptsBuilder, Params, Result, SslOpts,
};
use rutter_config::{CertificateCheck, ClientTls, Database, Password};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::Receiver;

use super::store_error;
use crate::store::{StoreError, no_answer};
use crate::tls::{NO_TLS, TlsFiles, explain_error};

/// A session of the server. Dropping it undoes an open transaction.
pub(super) struct Connection {
    runtime: Runtime,
    /// `None` when the connection ends.
    conn: Option<Conn>,
    /// The timeout for an answer.
    timeout: Duration,
}

impl Connection {
    /// Connects, encrypted if the settings say so.
    pub(super) fn open(settings: &Database) -> std::result::Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| StoreError(format!("{CANNOT}: {why}")))?;
        let options = options(settings)?;
        let connected = within(&runtime, CONNECT, Conn::new(options));
        let conn = connected
            .ok_or_else(|| no_answer(CANNOT, CONNECT))?
            .map_err(|why| match tls_fault(&why, settings) {
                Some(fault) => StoreError(format!("{CANNOT}: {fault}")),
                None => store_error(CANNOT)(why),
            })?;
        Ok(Self {
            runtime,
            conn: Some(conn),
            timeout: Duration::from_secs(settings.answer_timeout_s),
        })
    }

    /// Runs a statement without parameters.
    pub(super) fn query_drop(&mut self, sql: impl AsRef<str>) -> Result<()> {
        self.ask(async |conn| conn.query_drop(sql.as_ref()).await)
    }

    /// Returns the first row of a query without parameters.
    pub(super) fn query_first<T: FromRow + Send + 'static>(
        &mut self,
        sql: &str,
    ) -> Result<Option<T>> {
        self.ask(async |conn| conn.query_first(sql).await)
    }

    /// Returns all rows of a query without parameters.
    pub(super) fn query<T: FromRow + Send + 'static>(&mut self, sql: &str) -> Result<Vec<T>> {
        self.ask(async |conn| conn.query(sql).await)
    }

    /// Runs a statement.
    pub(super) fn exec_drop(
        &mut self,
        sql: impl AsRef<str>,
        values: impl Into<Params>,
    ) -> Result<()> {
        let values = values.into();
        self.ask(async |conn| conn.exec_drop(sql.as_ref(), values).await)
    }

    /// Returns the first row of a query.
    pub(super) fn exec_first<T: FromRow + Send + 'static>(
        &mut self,
        sql: impl AsRef<str>,
        values: impl Into<Params>,
    ) -> Result<Option<T>> {
        let values = values.into();
        self.ask(async |conn| conn.exec_first(sql.as_ref(), values).await)
    }

    /// Returns all rows of a query.
    pub(super) fn exec<T: FromRow + Send + 'static>(
        &mut self,
        sql: &str,
        values: impl Into<Params>,
    ) -> Result<Vec<T>> {
        let values = values.into();
        self.ask(async |conn| conn.exec(sql, values).await)
    }

    /// The number of rows that the last statement changed.
    pub(super) fn affected_rows(&self) -> u64 {
        self.conn.as_ref().map_or(0, Conn::affected_rows)
    }

    /// The number of warnings about the last statement.
    pub(super) fn warnings(&self) -> u16 {
        self.conn.as_ref().map_or(0, Conn::get_warnings)
    }

    /// Runs LOAD DATA LOCAL, and answers the server's request for the file with the bytes that arrive. The timeout counts
    /// from the last bytes that the server accepted.
    pub(super) fn load(&mut self, sql: &str, arriving: Receiver<Vec<u8>>) -> Result<()> {
        let Self {
            runtime,
            conn,
            timeout,
        } = self;
        let conn = conn.as_mut().ok_or_else(not_connected)?;
        let progress = Arc::new(AtomicU64::new(0));
        let file = unfold((arriving, Arc::clone(&progress)), next_bytes);
        conn.set_infile_handler(async { Ok(file.boxed()) });
        let loaded = runtime.block_on(async {
            let loading = conn.query_drop(sql);
            let mut loading = std::pin::pin!(loading);
            let mut before = 0;
            loop {
                if let Ok(done) = tokio::time::timeout(*timeout, &mut loading).await {
                    return done;
                }
                let now = progress.load(Ordering::Relaxed);
                if now == before && !is_waiting_for_us(now) {
                    return Err(timed_out());
                }
                before = now;
            }
        });
        // The server may not ask for any other file. If it never asked for this one, its sender stops waiting.
        conn.set_infile_handler(async { Err(Error::from(io::Error::other("there is no file"))) });
        loaded
    }

    fn ask<T>(&mut self, request: impl AsyncFnOnce(&mut Conn) -> Result<T>) -> Result<T> {
        let conn = self.conn.as_mut().ok_or_else(not_connected)?;
        let answer = within(&self.runtime, self.timeout, request(conn));
        answer.unwrap_or_else(|| Err(timed_out()))
    }
}

impl Drop for Connection {
    /// Closes the connection in order, so that the server releases our locks at once.
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            within(&self.runtime, CLOSE_TIMEOUT, conn.disconnect());
        }
    }
}

/// The rest of a file, and the number of times that we began and ended to wait for its bytes.
type Arriving = (Receiver<Vec<u8>>, Arc<AtomicU64>);

async fn next_bytes((mut file, progress): Arriving) -> Option<(io::Result<Bytes>, Arriving)> {
    progress.fetch_add(1, Ordering::Relaxed);
    let bytes = file.recv().await;
    progress.fetch_add(1, Ordering::Relaxed);
    Some((Ok(Bytes::from(bytes?)), (file, progress)))
}

/// Returns whether the server has what there is, and we have not made the next bytes yet.
fn is_waiting_for_us(progress: u64) -> bool {
    progress % 2 == 1
}

fn options(settings: &Database) -> std::result::Result<Opts, StoreError> {
    let password = settings.password.as_ref().map(Password::current);
    let password = password.transpose().map_err(StoreError)?;
    let password = password.map(|text| String::from_utf8_lossy(text.reveal()).into_owned());
    let options = OptsBuilder::default()
        .prefer_socket(false)
        .user(Some(&settings.user))
        .pass(password)
        .db_name(Some(&settings.database))
        .tcp_keepalive(Some(Duration::from_secs(30)));
    let options = match settings.host.starts_with('/') {
        true => options.socket(Some(&settings.host)),
        false => options
            .ip_or_hostname(&settings.host)
            .tcp_port(settings.port),
    };
    let tls = settings.tls.as_ref().map(tls_options).transpose()?;
    Ok(options.ssl_opts(tls).into())
}

/// The library reads our own certificate itself. We read it too, for errors that people understand.
fn tls_options(tls: &ClientTls) -> std::result::Result<SslOpts, StoreError> {
    let files = TlsFiles::read(tls)?;
    let roots: Vec<Vec<u8>> = files.authorities.iter().map(|one| one.to_vec()).collect();
    files.client_config(tls)?;
    let own = tls.own.as_ref().map(|own| {
        let [certificate, key] = [&own.certificate, &own.key].map(|path| path.clone().into());
        ClientIdentity::new(certificate, key)
    });
    Ok(SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(roots.into_iter().map(Into::into).collect())
        .with_client_identity(own)
        .with_danger_accept_invalid_certs(tls.check == CertificateCheck::Nothing)
        .with_danger_skip_domain_validation(tls.check == CertificateCheck::Authority)
        .with_danger_tls_hostname_override(tls.server_name.clone()))
}

/// Explains an error of the handshake.
fn tls_fault(why: &Error, settings: &Database) -> Option<String> {
    let tls = settings.tls.as_ref()?;
    match why {
        Error::Driver(mysql_async::DriverError::NoClientSslFlagFromServer) => {
            Some(NO_TLS.to_owned())
        }
        why => explain_error(why, tls),
    }
}

fn not_connected() -> Error {
    Error::from(io::Error::from(io::ErrorKind::NotConnected))
}

fn timed_out() -> Error {
    Error::Io(IoError::Io(io::Error::from(io::ErrorKind::TimedOut)))
}

/// Returns the answer, or `None` after the timeout.
fn within<F: Future>(runtime: &Runtime, timeout: Duration, request: F) -> Option<F::Output> {
    runtime.block_on(async { tokio::time::timeout(timeout, request).await.ok() })
}

const CANNOT: &str = "cannot connect";
/// The longest time for a login. A statement may take long, but a login may not.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest time for closing the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
