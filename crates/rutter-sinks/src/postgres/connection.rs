//! A connection whose answers are not waited for for ever.

use std::future::Future;
use std::io::Cursor;
use std::pin::Pin;
use std::time::Duration;

use futures_util::SinkExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, CopyInSink, Error, NoTls, Row};

use super::store_error;
use crate::store::{StoreError, hangs, no_answer};

/// A session of the server. What is left of a transaction when it is dropped is undone.
pub(super) struct Connection {
    runtime: Runtime,
    /// `None` when it ends.
    client: Option<Client>,
    /// Reads and writes while somebody waits.
    driver: JoinHandle<Result<(), Error>>,
    /// How long an answer may take.
    timeout: Duration,
}

type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

impl Connection {
    /// Connects; afterwards each answer may take as long as `timeout`.
    pub(super) fn open(config: &Config, timeout: Duration) -> Result<Self, StoreError> {
        let what = "cannot connect";
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| StoreError(format!("{what}: {why}")))?;
        let connected = within(&runtime, CONNECT, config.connect(NoTls));
        let (client, driver) = connected
            .ok_or_else(|| no_answer(what, CONNECT))?
            .map_err(store_error(what))?;
        let driver = runtime.spawn(driver);
        Ok(Self {
            runtime,
            client: Some(client),
            driver,
            timeout,
        })
    }

    /// Runs statements that tell nothing. `what` is what has failed if they do.
    pub(super) fn run(&self, sql: &str, what: &str) -> Result<(), StoreError> {
        self.ask(what, self.client()?.batch_execute(sql))
    }

    /// How many rows a statement changed.
    pub(super) fn execute(
        &self,
        sql: &str,
        values: Values<'_>,
        what: &str,
    ) -> Result<u64, StoreError> {
        self.ask(what, self.client()?.execute(sql, values))
    }

    /// The only row of a query.
    pub(super) fn one(&self, sql: &str, values: Values<'_>, what: &str) -> Result<Row, StoreError> {
        self.ask(what, self.client()?.query_one(sql, values))
    }

    /// All rows of a query.
    pub(super) fn all(
        &self,
        sql: &str,
        values: Values<'_>,
        what: &str,
    ) -> Result<Vec<Row>, StoreError> {
        self.ask(what, self.client()?.query(sql, values))
    }

    /// Begins a transaction. One that is not committed ends with the connection.
    pub(super) fn begin(&self) -> Result<(), StoreError> {
        self.run("BEGIN", "cannot begin")
    }

    /// Makes what was done since [`Connection::begin`] last.
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
            None => Err(hangs(what)),
        }
    }
}

impl Drop for Connection {
    /// Says goodbye, so that the server lets go of our locks at once.
    fn drop(&mut self) {
        self.client.take();
        within(&self.runtime, GOODBYE, &mut self.driver);
    }
}

/// A COPY that goes on; without [`CopyIn::finish`] it is undone.
pub(super) struct CopyIn<'c> {
    connection: &'c Connection,
    sink: Pin<Box<CopyInSink<Cursor<Vec<u8>>>>>,
}

impl CopyIn<'_> {
    /// Sends octets on; the server may take a while to want more.
    pub(super) fn send(&mut self, octets: Vec<u8>) -> Result<(), StoreError> {
        self.connection
            .ask(COPY, self.sink.feed(Cursor::new(octets)))
    }

    /// Waits until all rows are in.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.connection
            .ask(COPY, self.sink.as_mut().finish())
            .map(drop)
    }
}

/// The answer, unless it takes longer.
fn within<F: Future>(runtime: &Runtime, timeout: Duration, request: F) -> Option<F::Output> {
    runtime.block_on(async { tokio::time::timeout(timeout, request).await.ok() })
}

const COPY: &str = "COPY failed";
/// How long a server may take to let us in.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may take to let us go.
const GOODBYE: Duration = Duration::from_secs(1);
