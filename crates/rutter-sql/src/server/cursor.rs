//! Cursors: the rest of an answer, kept for a client that reads it a piece at a time.
//!
//! They last as long as their connection, or until they are closed or a transaction ends.

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

use super::answer::{Rest, error, failure, too_long};
use super::cancel::Query;
use super::encode;

/// Cursors of one client at once; each may hold a batch and shares pages of the table.
const MOST: usize = 64;
/// Octets of one `FETCH`: they are gathered before the first is sent.
const MOST_FETCHED: usize = 64 * 1024 * 1024;

/// A cursor between two reads.
struct Cursor {
    rest: Rest,
    memory: Arc<dyn MemoryPool>,
}

/// A cursor with its columns.
type Open = (SchemaRef, Arc<tokio::sync::Mutex<Cursor>>);

/// The cursors of a connection.
#[derive(Default)]
pub struct Cursors(Mutex<HashMap<String, Open>>);

impl Cursors {
    /// Those of a client.
    pub fn of(client: &impl ClientInfo) -> Arc<Self> {
        client
            .session_extensions()
            .get_or_insert_with(Self::default)
    }

    /// Opens one.
    pub fn open(
        &self,
        name: String,
        batches: SendableRecordBatchStream,
        memory: Arc<dyn MemoryPool>,
    ) -> PgWireResult<()> {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cursors.contains_key(&name) {
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
        cursors.insert(name, (schema, Arc::new(tokio::sync::Mutex::new(cursor))));
        Ok(())
    }

    /// Closes one, or all.
    pub fn close(&self, name: Option<&str>) -> PgWireResult<()> {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match name {
            None => cursors.clear(),
            Some(name) if cursors.remove(name).is_none() => return Err(unknown(name)),
            Some(_) => {}
        }
        Ok(())
    }

    /// The columns of one.
    pub fn schema(&self, name: &str) -> PgWireResult<SchemaRef> {
        let cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cursors.get(name).map(|(schema, _)| Arc::clone(schema));
        found.ok_or_else(|| unknown(name))
    }

    /// The next rows of one; `None`: all that are left.
    pub async fn fetch(
        &self,
        name: &str,
        count: Option<usize>,
        format: &Format,
        mut query: Query,
        limit: Duration,
    ) -> PgWireResult<QueryResponse> {
        let schema = self.schema(name)?;
        let cursor = {
            let cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            cursors.get(name).map(|(_, cursor)| Arc::clone(cursor))
        };
        let cursor = cursor.ok_or_else(|| unknown(name))?;
        let fields = Arc::new(encode::fields(&schema, format));
        let mut cursor = cursor.lock().await;
        let rows = tokio::select! {
            rows = cursor.rows(count.unwrap_or(usize::MAX), &fields) => rows,
            () = query.cancelled() => Err(PgWireError::QueryCanceled),
            () = tokio::time::sleep(limit) => Err(too_long(limit)),
        };
        let rows = rows.inspect_err(|_| {
            // Rows may be missing from here on.
            let _ = self.close(Some(name));
        })?;
        let (rows, held) = rows;
        let rows = rows.into_iter().map(move |row| {
            // Charged until the last of them is gone.
            let _ = &held;
            Ok(row)
        });
        let mut response = QueryResponse::new(fields, futures::stream::iter(rows));
        response.set_command_tag("FETCH");
        Ok(response)
    }
}

impl Cursor {
    /// Rows, and the memory that they are charged.
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
