//! The rows of an answer, until there are no more, the client cancels, or it takes too long.

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::SendableRecordBatchStream;
use futures::{Stream, StreamExt as _, stream};
use pgwire::api::results::{FieldInfo, QueryResponse};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::data::DataRow;
use tokio::time::Instant;

use super::cancel::Query;
use super::encode;
use crate::QueryError;

/// An error in the protocol's words.
pub fn error(error: &QueryError) -> PgWireError {
    failure("42000", error.to_string())
}

/// An error with its SQLSTATE.
pub fn failure(state: &str, message: String) -> PgWireError {
    PgWireError::UserError(Box::new(ErrorInfo::new(
        "ERROR".into(),
        state.into(),
        message,
    )))
}

/// The query has had its time.
pub fn too_long(limit: Duration) -> PgWireError {
    failure(
        "57014",
        format!("the query took longer than {limit:.0?} (sql.query-timeout)"),
    )
}

/// Answers with the rows of a stream until a time.
pub fn respond(
    batches: SendableRecordBatchStream,
    fields: Arc<Vec<FieldInfo>>,
    query: Query,
    until: Instant,
) -> QueryResponse {
    QueryResponse::new(Arc::clone(&fields), rows(batches, fields, query, until))
}

fn rows(
    batches: SendableRecordBatchStream,
    fields: Arc<Vec<FieldInfo>>,
    query: Query,
    until: Instant,
) -> impl Stream<Item = PgWireResult<DataRow>> + Send {
    let limit = until - Instant::now();
    let state = Some((batches, query));
    let parts = stream::unfold(state, move |state| {
        let fields = Arc::clone(&fields);
        async move {
            let (mut batches, mut query) = state?;
            let rows = tokio::select! {
                batch = batches.next() => match batch? {
                    Ok(batch) => encode::rows(&batch, &fields),
                    Err(failed) => Err(error(&failed.into())),
                },
                () = query.cancelled() => Err(PgWireError::QueryCanceled),
                () = tokio::time::sleep_until(until) => Err(too_long(limit)),
            };
            query.touch();
            let more = rows.is_ok().then_some((batches, query));
            Some((rows, more))
        }
    });
    parts.flat_map(|part| match part {
        Ok(rows) => stream::iter(rows.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(error)]),
    })
}
