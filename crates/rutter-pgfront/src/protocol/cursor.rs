//! Cursors: the rest of an answer, kept for a client that reads it in pieces.
//!
//! A cursor ends with its transaction, with its connection, or when it is closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use pgwire::api::ClientInfo;
use pgwire::api::portal::Format;
use pgwire::api::results::QueryResponse;
use pgwire::error::{PgWireError, PgWireResult};

use super::cancel::Query;
use super::encode;
use super::row_stream::{RemainingRows, failure, respond};

/// The most cursors of one client. Each may hold a batch, and keeps old pages of tables in memory.
const MAX_CURSORS: usize = 64;

/// A cursor: its columns, and its rows that are not read yet.
type Cursor = (SchemaRef, Arc<tokio::sync::Mutex<RemainingRows>>);

/// The cursors of a connection.
#[derive(Default)]
pub struct Cursors(Mutex<HashMap<String, Cursor>>);

impl Cursors {
    /// The cursors of a client.
    pub fn of(client: &impl ClientInfo) -> Arc<Self> {
        client
            .session_extensions()
            .get_or_insert_with(Self::default)
    }

    /// Opens a cursor.
    pub fn open(&self, name: &str, batches: SendableRecordBatchStream) -> PgWireResult<()> {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cursors.contains_key(name) {
            let why = format!("cursor \"{name}\" already exists");
            return Err(failure("42P03", why));
        }
        if cursors.len() >= MAX_CURSORS {
            let why = format!("more than {MAX_CURSORS} cursors at once: close some");
            return Err(failure("53400", why));
        }
        let schema = batches.schema();
        cursors.insert(name.to_owned(), (schema, RemainingRows::new(batches)));
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
        Ok(self.cursor(name)?.0)
    }

    fn cursor(&self, name: &str) -> PgWireResult<Cursor> {
        let cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cursors.get(name).cloned().ok_or_else(|| unknown(name))
    }

    /// Reads the next rows of a cursor; `None`: all remaining rows.
    pub fn fetch(
        &self,
        name: &str,
        count: Option<usize>,
        format: &Format,
        query: Query,
        limit: Duration,
    ) -> PgWireResult<QueryResponse> {
        let (schema, rest) = self.cursor(name)?;
        let Ok(rest) = rest.try_lock_owned() else {
            let why = format!("cursor \"{name}\" is being read: fetch its other rows first");
            return Err(failure("55006", why));
        };
        let fields = encode::fields(&schema, format);
        let mut response = respond(rest, count.unwrap_or(usize::MAX), fields, query, limit);
        response.set_command_tag("FETCH");
        Ok(response)
    }
}

fn unknown(name: &str) -> PgWireError {
    failure("34000", format!("cursor \"{name}\" does not exist"))
}
