//! The rows of an answer, until they end, the client cancels or the query times out.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::{StreamExt as _, stream};
use pgwire::api::results::{FieldInfo, QueryResponse};
use pgwire::error::{ErrorInfo, PgWireError};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use super::cancel::Query;
use super::encode;
use crate::QueryError;
use crate::limits::memory::octets;

/// Converts an error to one of the protocol.
pub fn error(error: &QueryError) -> PgWireError {
    failure(error.state(), error.to_string())
}

/// An error with its SQLSTATE.
pub fn failure(state: &str, message: String) -> PgWireError {
    // NUL would end the string early.
    let message = message.replace('\0', "");
    PgWireError::UserError(Box::new(ErrorInfo::new(
        "ERROR".into(),
        state.into(),
        message,
    )))
}

/// The error of a query that timed out.
pub fn too_long(limit: Duration) -> PgWireError {
    failure(
        "57014",
        format!("the query took longer than {limit:.0?} (the setting `query-timeout`)"),
    )
}

/// The rows of a stream that are not sent yet. A cursor keeps them between two reads.
pub struct RemainingRows {
    batches: SendableRecordBatchStream,
    batch: Option<RecordBatch>,
    /// An error ended the stream: rows may be missing.
    has_failed: bool,
}

impl RemainingRows {
    /// All rows of a stream.
    pub fn new(batches: SendableRecordBatchStream) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            batches,
            batch: None,
            has_failed: false,
        }))
    }

    /// Returns the next rows, at most this many, and few enough to send them with little memory.
    async fn next(&mut self, most: usize) -> Option<Result<RecordBatch, DataFusionError>> {
        if self.has_failed {
            let why = "the cursor has ended with an error: declare it again".to_owned();
            return Some(Err(DataFusionError::Execution(why)));
        }
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => match self.batches.next().await? {
                Ok(batch) => batch,
                failed => return Some(failed),
            },
        };
        let fitting = PIECE.saturating_mul(batch.num_rows()) / octets(&batch).max(1);
        let rows = fitting.clamp(1, MAX_ROWS).min(most);
        if rows >= batch.num_rows() {
            return Some(Ok(batch));
        }
        self.batch = Some(batch.slice(rows, batch.num_rows() - rows));
        Some(Ok(batch.slice(0, rows)))
    }
}

/// The most bytes and rows that are encoded at once.
const PIECE: usize = 256 * 1024;
const MAX_ROWS: usize = 8192;

/// Answers with the next rows, at most `most`, until the query times out.
pub fn respond(
    rest: OwnedMutexGuard<RemainingRows>,
    most: usize,
    fields: Vec<FieldInfo>,
    query: Query,
    limit: Duration,
) -> QueryResponse {
    let fields = Arc::new(fields);
    let until = Instant::now() + limit;
    let columns = Arc::clone(&fields);
    let state = Some((rest, query, most));
    let parts = stream::unfold(state, move |state| {
        let columns = Arc::clone(&columns);
        async move {
            let (mut rest, mut query, most) = state?;
            if most == 0 {
                return None;
            }
            let batch = tokio::select! {
                batch = rest.next(most) => batch?.map_err(|failed| error(&failed.into())),
                () = query.cancelled() => Err(PgWireError::QueryCanceled),
                () = tokio::time::sleep_until(until) => Err(too_long(limit)),
            };
            let left = batch.as_ref().map_or(0, |batch| most - batch.num_rows());
            let rows = batch.and_then(|batch| encode::rows(&batch, &columns));
            rest.has_failed |= rows.is_err();
            query.record_activity();
            let more = rows.is_ok().then_some((rest, query, left));
            Some((rows, more))
        }
    });
    let rows = parts.flat_map(|part| match part {
        Ok(rows) => stream::iter(rows.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(error)]),
    });
    QueryResponse::new(fields, rows)
}
