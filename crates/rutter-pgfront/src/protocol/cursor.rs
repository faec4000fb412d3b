//! Cursors: the rest of an answer, kept for a client that reads it in pieces.
//!
//! A cursor ends with its connection, when it is closed, or with its transaction unless it is `WITH HOLD`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use pgwire::api::ClientInfo;
use pgwire::api::portal::Format;
use pgwire::api::results::{FieldInfo, QueryResponse};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::data::DataRow;

use super::cancel::Query;
use super::declare_cursor::Declared;
use super::encode;
use super::row_stream::{Rest, error, failure, too_long};

/// The most cursors of one client. Each may hold a batch, and keeps old pages of tables in memory.
const MOST: usize = 64;
/// The most bytes of one `FETCH`, which is collected before its first row is sent.
const MOST_FETCHED: usize = 64 * 1024 * 1024;

/// A cursor between two reads.
struct Cursor {
    rest: Rest,
    memory: Arc<dyn MemoryPool>,
}

/// A cursor with its columns.
struct Open {
    schema: SchemaRef,
    cursor: Arc<tokio::sync::Mutex<Cursor>>,
    /// The cursor outlasts its transaction, unless the transaction fails.
    holds: bool,
    /// The transaction has ended.
    is_committed: bool,
}

/// The cursors of a connection.
#[derive(Default)]
pub struct Cursors(Mutex<HashMap<String, Open>>);

impl Cursors {
    /// The cursors of a client.
    pub fn of(client: &impl ClientInfo) -> Arc<Self> {
        client
            .session_extensions()
            .get_or_insert_with(Self::default)
    }

    /// Opens a cursor.
    pub fn open(
        &self,
        declared: &Declared,
        batches: SendableRecordBatchStream,
        memory: Arc<dyn MemoryPool>,
        is_committed: bool,
    ) -> PgWireResult<()> {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = &declared.name;
        if cursors.contains_key(name) {
            return Err(failure(
                "42P03",
                format!("cursor \"{name}\" already exists"),
            ));
        }
        if cursors.len() >= MOST {
            return Err(failure(
                "53400",
                format!("more than {MOST} cursors at once: close some"),
            ));
        }
        let schema = batches.schema();
        let cursor = Cursor {
            rest: Rest::new(batches),
            memory,
        };
        let open = Open {
            schema,
            cursor: Arc::new(tokio::sync::Mutex::new(cursor)),
            holds: declared.holds,
            is_committed,
        };
        cursors.insert(name.clone(), open);
        Ok(())
    }

    /// Closes the cursors that end with their transaction. Returns the names of the others.
    pub fn end(&self, is_committed: bool) -> Vec<String> {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cursors.retain(|_, open| {
            open.is_committed |= is_committed;
            open.holds && open.is_committed
        });
        cursors.keys().cloned().collect()
    }

    /// Closes a cursor, or all.
    pub fn close(&self, name: Option<&str>) -> PgWireResult<()> {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match name {
            None => cursors.clear(),
            Some(name) if cursors.remove(name).is_none() => return Err(unknown(name)),
            Some(_) => {}
        }
        Ok(())
    }

    /// The columns of a cursor.
    pub fn schema(&self, name: &str) -> PgWireResult<SchemaRef> {
        let cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cursors.get(name).map(|open| Arc::clone(&open.schema));
        found.ok_or_else(|| unknown(name))
    }

    fn cursor(&self, name: &str) -> PgWireResult<Arc<tokio::sync::Mutex<Cursor>>> {
        let cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cursors.get(name).map(|open| Arc::clone(&open.cursor));
        found.ok_or_else(|| unknown(name))
    }

    /// Reads the next rows of a cursor; `None`: all remaining rows.
    pub async fn fetch(
        &self,
        name: &str,
        count: Option<usize>,
        format: &Format,
        query: Query,
        limit: Duration,
    ) -> PgWireResult<QueryResponse> {
        let fields = Arc::new(encode::fields(&*self.schema(name)?, format));
        let cursor = self.cursor(name)?;
        let mut cursor = cursor.lock().await;
        let rows = cursor.rows(count.unwrap_or(usize::MAX), &fields);
        let (rows, held) = self.in_time(name, rows, query, limit).await?;
        let rows = rows.into_iter().map(move |row| {
            // Charged until the last row is sent.
            let _ = &held;
            Ok(row)
        });
        let mut response = QueryResponse::new(fields, futures::stream::iter(rows));
        response.set_command_tag("FETCH");
        Ok(response)
    }

    /// Skips the next rows of a cursor; `None`: all remaining rows. Returns their number.
    pub async fn skip(
        &self,
        name: &str,
        count: Option<usize>,
        query: Query,
        limit: Duration,
    ) -> PgWireResult<usize> {
        let cursor = self.cursor(name)?;
        let mut cursor = cursor.lock().await;
        let skipped = cursor.skip(count.unwrap_or(usize::MAX));
        self.in_time(name, skipped, query, limit).await
    }

    /// Handles the result of a read. A failed cursor is closed: rows may be missing.
    async fn in_time<T>(
        &self,
        name: &str,
        read: impl Future<Output = PgWireResult<T>>,
        mut query: Query,
        limit: Duration,
    ) -> PgWireResult<T> {
        let read = tokio::select! {
            read = read => read,
            () = query.cancelled() => Err(PgWireError::QueryCanceled),
            () = tokio::time::sleep(limit) => Err(too_long(limit)),
        };
        read.inspect_err(|_| {
            let _ = self.close(Some(name));
        })
    }
}

impl Cursor {
    /// Skips rows and returns their number.
    async fn skip(&mut self, most: usize) -> PgWireResult<usize> {
        let mut skipped = 0;
        while skipped < most {
            let Some(batch) = self.rest.next_of(most - skipped).await else {
                break;
            };
            skipped += batch.map_err(|failed| error(&failed.into()))?.num_rows();
        }
        Ok(skipped)
    }

    /// Rows with their memory reservation.
    async fn rows(
        &mut self,
        most: usize,
        fields: &Arc<Vec<FieldInfo>>,
    ) -> PgWireResult<(Vec<DataRow>, MemoryReservation)> {
        let held = MemoryConsumer::new("fetch").register(&self.memory);
        let mut rows: Vec<DataRow> = Vec::new();
        while rows.len() < most {
            let Some(batch) = self.rest.next_of(most - rows.len()).await else {
                break;
            };
            let batch = batch.map_err(|failed| error(&failed.into()))?;
            let more = encode::rows(&batch, fields)?;
            let octets = more.iter().map(|row| row.data.len() + size_of::<DataRow>());
            let grown = held.try_grow(octets.sum());
            grown.map_err(|failed| error(&failed.into()))?;
            if held.size() > MOST_FETCHED {
                return Err(too_much());
            }
            rows.extend(more);
        }
        Ok((rows, held))
    }
}

fn too_much() -> PgWireError {
    failure(
        "54000",
        "more than 64 MiB in one FETCH: fetch fewer rows at a time".to_owned(),
    )
}

fn unknown(name: &str) -> PgWireError {
    failure("34000", format!("cursor \"{name}\" does not exist"))
}
