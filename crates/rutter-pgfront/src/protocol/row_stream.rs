//! The rows of an answer, until they end, the client cancels or the query times out.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::{Stream, StreamExt as _, stream};
use pgwire::api::results::{FieldInfo, QueryResponse};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::data::DataRow;
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
        format!(
            "the query took longer than {limit:.0?} (the setting `query-timeout`, or statement_timeout)"
        ),
    )
}

/// Answers with the rows of a stream, until a deadline.
pub fn respond(
    batches: SendableRecordBatchStream,
    fields: Arc<Vec<FieldInfo>>,
    query: Query,
    until: Instant,
) -> QueryResponse {
    QueryResponse::new(Arc::clone(&fields), rows(batches, fields, query, until))
}

/// The remaining rows of an answer.
pub struct RemainingRows {
    batches: SendableRecordBatchStream,
    batch: Option<RecordBatch>,
}

impl RemainingRows {
    /// All rows of a stream.
    pub fn new(batches: SendableRecordBatchStream) -> Self {
        Self {
            batches,
            batch: None,
        }
    }

    /// Returns the next rows, few enough to send them with little memory.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, DataFusionError>> {
        self.next_rows(usize::MAX).await
    }

    /// The same, with at most this many rows.
    pub async fn next_rows(&mut self, most: usize) -> Option<Result<RecordBatch, DataFusionError>> {
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

fn rows(
    batches: SendableRecordBatchStream,
    fields: Arc<Vec<FieldInfo>>,
    query: Query,
    until: Instant,
) -> impl Stream<Item = PgWireResult<DataRow>> + Send {
    let limit = until - Instant::now();
    let state = Some((RemainingRows::new(batches), query));
    let parts = stream::unfold(state, move |state| {
        let fields = Arc::clone(&fields);
        async move {
            let (mut rest, mut query) = state?;
            let rows = tokio::select! {
                batch = rest.next() => match batch? {
                    Ok(batch) => encode::rows(&batch, &fields),
                    Err(failed) => Err(error(&failed.into())),
                },
                () = query.cancelled() => Err(PgWireError::QueryCanceled),
                () = tokio::time::sleep_until(until) => Err(too_long(limit)),
            };
            query.record_activity();
            let more = rows.is_ok().then_some((rest, query));
            Some((rows, more))
        }
    });
    parts.flat_map(|part| match part {
        Ok(rows) => stream::iter(rows.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(error)]),
    })
}
