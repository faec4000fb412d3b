//! A connection with a timeout for each answer.

use std::future::Future;
use std::io::Cursor;
use std::pin::Pin;
use std::time::Duration;

use futures_util::SinkExt as _;
use rutter_config::ClientTls;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, CopyInSink, Error, NoTls, Row};

use super::store_error;
use crate::store::{StoreError, no_answer, timeout_error};
use crate::tls::{Connector, NO_TLS, TlsFiles, explain_error};

/// A session of the server. Dropping it undoes an open transaction.
pub(super) struct Connection {
    runtime: Runtime,
    /// `None` when the connection ends.
    client: Option<Client>,
    /// The task that reads and writes while a caller waits.
    driver: JoinHandle<Result<(), Error>>,
    /// The timeout for an answer.
    timeout: Duration,
}

type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

impl Connection {
    /// Connects, with `tls` encrypted. Each later answer may take up to `timeout`.
    pub(super) fn open(
        config: &mut Config,
        tls: Option<&ClientTls>,
        timeout: Duration,
    ) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| StoreError(format!("{CANNOT}: {why}")))?;
        let (client, driver) = match tls {
            None => plain(&runtime, config)?,
            Some(tls) => encrypted(&runtime, config, tls)?,
        };
        Ok(Self {
            runtime,
            client: Some(client),
            driver,
            timeout,
        })
    }

    /// Runs statements without results. `what` is the failed action in an error.
    pub(super) fn run(&self, sql: &str, what: &str) -> Result<(), StoreError> {
        self.ask(what, self.client()?.batch_execute(sql))
    }

    /// Runs a statement and returns the number of changed rows.
    pub(super) fn execute(
        &self,
        sql: &str,
        values: Values<'_>,
        what: &str,
    ) -> Result<u64, StoreError> {
        self.ask(what, self.client()?.execute(sql, values))
    }

    /// Returns the only row of a query.
    pub(super) fn one(&self, sql: &str, values: Values<'_>, what: &str) -> Result<Row, StoreError> {
        self.ask(what, self.client()?.query_one(sql, values))
    }

    /// Returns all rows of a query.
    pub(super) fn all(
        &self,
        sql: &str,
        values: Values<'_>,
        what: &str,
    ) -> Result<Vec<Row>, StoreError> {
        self.ask(what, self.client()?.query(sql, values))
    }

    /// Begins a transaction. Without a commit, it is undone when the connection ends.
    pub(super) fn begin(&self) -> Result<(), StoreError> {
        self.run("BEGIN", "cannot begin")
    }

    /// Commits the changes since the last [`Connection::begin`].
    pub(super) fn commit(&self) -> Result<(), StoreError> {
        self.run("COMMIT", "cannot commit")
    }

    /// Begins a `COPY … FROM STDIN`.
    pub(super) fn copy_in(&self, sql: &str) -> Result<CopyIn<'_>, StoreError> {
        let sink = self.ask("cannot begin COPY", self.client()?.copy_in(sql))?;
        Ok(CopyIn {
            connection: self,
            sink: Box::pin(sink),
        })
    }

    fn client(&self) -> Result<&Client, StoreError> {
        self.client
            .as_ref()
            .ok_or_else(|| StoreError("not connected".into()))
    }

    fn ask<T>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        match within(&self.runtime, self.timeout, request) {
            Some(answer) => answer.map_err(store_error(what)),
            None => Err(timeout_error(what)),
        }
    }
}

type Connected = (Client, JoinHandle<Result<(), Error>>);

fn plain(runtime: &Runtime, config: &mut Config) -> Result<Connected, StoreError> {
    config.ssl_mode(SslMode::Disable);
    let connected = within(runtime, CONNECT, config.connect(NoTls));
    let (client, driver) = connected
        .ok_or_else(|| no_answer(CANNOT, CONNECT))?
        .map_err(store_error(CANNOT))?;
    Ok((client, runtime.spawn(driver)))
}

fn encrypted(
    runtime: &Runtime,
    config: &mut Config,
    tls: &ClientTls,
) -> Result<Connected, StoreError> {
    let (client_config, _) = TlsFiles::read(tls)?.client_config(tls)?;
    let connector = Connector::new(client_config, tls.server_name.clone());
    // Without TLS there is no connection.
    config.ssl_mode(SslMode::Require);
    let connected = within(runtime, CONNECT, config.connect(connector));
    let (client, driver) = connected
        .ok_or_else(|| no_answer(CANNOT, CONNECT))?
        .map_err(|why| match tls_fault(&why, tls) {
            Some(fault) => StoreError(format!("{CANNOT}: {fault}")),
            None => store_error(CANNOT)(why),
        })?;
    Ok((client, runtime.spawn(driver)))
}

/// Explains an error of the handshake.
fn tls_fault(why: &Error, tls: &ClientTls) -> Option<String> {
    let refused = std::error::Error::source(why).map(ToString::to_string);
    match refused.as_deref() {
        Some("server does not support TLS") => Some(NO_TLS.to_owned()),
        _ => explain_error(why, tls),
    }
}

impl Drop for Connection {
    /// Closes the connection in order, so that the server releases our locks at once.
    fn drop(&mut self) {
        self.client.take();
        within(&self.runtime, CLOSE_TIMEOUT, &mut self.driver);
    }
}

/// A COPY in progress; without [`CopyIn::finish`] it is undone.
pub(super) struct CopyIn<'c> {
    connection: &'c Connection,
    sink: Pin<Box<CopyInSink<Cursor<Vec<u8>>>>>,
}

impl CopyIn<'_> {
    /// Sends bytes, and waits if the server does not accept more yet.
    pub(super) fn send(&mut self, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.connection
            .ask(COPY, self.sink.feed(Cursor::new(bytes)))
    }

    /// Waits until the server has all rows.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.connection
            .ask(COPY, self.sink.as_mut().finish())
            .map(drop)
    }
}

/// Returns the answer, or `None` after the timeout.
fn within<F: Future>(runtime: &Runtime, timeout: Duration, request: F) -> Option<F::Output> {
    runtime.block_on(async { tokio::time::timeout(timeout, request).await.ok() })
}

const CANNOT: &str = "cannot connect";
const COPY: &str = "COPY failed";
/// The longest time for a login.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest time for closing the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
