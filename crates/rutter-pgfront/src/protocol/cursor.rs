//! Cursors: the rest of an answer, kept for a client that reads it in pieces.
//!
//! A cursor ends with its transaction, with its connection, or when it is closed.

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
use super::encode;
use super::row_stream::{RemainingRows, error, failure, too_long};

/// The most cursors of one client. Each may hold a batch, and keeps old pages of tables in memory.
const MAX_CURSORS: usize = 64;
/// The most bytes of one `FETCH`, which is collected before its first row is sent.
const MAX_FETCHED_BYTES: usize = 64 * 1024 * 1024;

/// A cursor between two reads.
struct Cursor {
    rest: RemainingRows,
    memory: Arc<dyn MemoryPool>,
}

/// A cursor with its columns.
struct OpenCursor {
    schema: SchemaRef,
    cursor: Arc<tokio::sync::Mutex<Cursor>>,
}

/// The cursors of a connection.
#[derive(Default)]
pub struct Cursors(Mutex<HashMap<String, OpenCursor>>);

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
        name: &str,
        batches: SendableRecordBatchStream,
        memory: Arc<dyn MemoryPool>,
    ) -> PgWireResult<()> {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cursors.contains_key(name) {
            return Err(failure(
                "42P03",
                format!("cursor \"{name}\" already exists"),
            ));
        }
        if cursors.len() >= MAX_CURSORS {
            return Err(failure(
                "53400",
                format!("more than {MAX_CURSORS} cursors at once: close some"),
            ));
        }
        let schema = batches.schema();
        let cursor = Cursor {
            rest: RemainingRows::new(batches),
            memory,
        };
        let open = OpenCursor {
            schema,
            cursor: Arc::new(tokio::sync::Mutex::new(cursor)),
        };
        cursors.insert(name.to_owned(), open);
        Ok(())
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
        mut query: Query,
        limit: Duration,
    ) -> PgWireResult<QueryResponse> {
        let fields = Arc::new(encode::fields(&*self.schema(name)?, format));
        let cursor = self.cursor(name)?;
        let mut cursor = cursor.lock().await;
        let read = tokio::select! {
            read = cursor.rows(count.unwrap_or(usize::MAX), &fields) => read,
            () = query.cancelled() => Err(PgWireError::QueryCanceled),
            () = tokio::time::sleep(limit) => Err(too_long(limit)),
        };
        // A failed cursor is closed: rows may be missing.
        let (rows, held) = read.inspect_err(|_| {
            let _ = self.close(Some(name));
        })?;
        let rows = rows.into_iter().map(move |row| {
            // Charged until the last row is sent.
            let _ = &held;
            Ok(row)
        });
        let mut response = QueryResponse::new(fields, futures::stream::iter(rows));
        response.set_command_tag("FETCH");
        Ok(response)
    }
}

impl Cursor {
    /// Rows with their memory reservation.
    async fn rows(
        &mut self,
        most: usize,
        fields: &Arc<Vec<FieldInfo>>,
    ) -> PgWireResult<(Vec<DataRow>, MemoryReservation)> {
        let held = MemoryConsumer::new("fetch").register(&self.memory);
        let mut rows: Vec<DataRow> = Vec::new();
        while rows.len() < most {
            let Some(batch) = self.rest.next_rows(most - rows.len()).await else {
                break;
            };
            let batch = batch.map_err(|failed| error(&failed.into()))?;
            let more = encode::rows(&batch, fields)?;
            let octets = more.iter().map(|row| row.data.len() + size_of::<DataRow>());
            let grown = held.try_grow(octets.sum());
            grown.map_err(|failed| error(&failed.into()))?;
            if held.size() > MAX_FETCHED_BYTES {
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
