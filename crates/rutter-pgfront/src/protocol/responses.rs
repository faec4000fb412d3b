//! Sends responses, and keeps the state of the transaction.

use futures::{Sink, SinkExt as _, StreamExt as _};
use pgwire::api::ClientInfo;
use pgwire::api::query::{send_execution_response, send_query_response};
use pgwire::api::results::{CopyResponse, Response, Tag};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyOutResponse};
use pgwire::messages::response::{EmptyQueryResponse, TransactionStatus};

use super::copy::copied;

/// Sends a response. A description precedes rows.
pub async fn send<C>(client: &mut C, response: Response) -> PgWireResult<()>
where
    C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
    C::Error: std::fmt::Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    match response {
        Response::Query(rows) => send_query_response(client, rows, true).await,
        Response::CopyOut(copy) => copy_out(client, copy).await,
        Response::Execution(tag) => send_execution_response(client, tag).await,
        Response::TransactionStart(tag) => {
            client.set_transaction_status(TransactionStatus::Transaction);
            send_execution_response(client, tag).await
        }
        Response::TransactionEnd(tag) => {
            client.set_transaction_status(TransactionStatus::Idle);
            send_execution_response(client, tag).await
        }
        Response::EmptyQuery => nothing(client).await,
        Response::Error(why) => Err(PgWireError::UserError(why)),
        // Clients cannot copy data in.
        Response::CopyIn(_) | Response::CopyBoth(_) => Err(PgWireError::NotReadyForQuery),
    }
}

/// Sends EmptyQueryResponse.
pub async fn nothing<C>(client: &mut C) -> PgWireResult<()>
where
    C: Sink<PgWireBackendMessage> + Unpin,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    let empty = PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new());
    Ok(client.feed(empty).await?)
}

/// Sends a copy. If it fails, the error ends it: the library would send a message that only clients may send.
async fn copy_out<C>(client: &mut C, copy: CopyResponse) -> PgWireResult<()>
where
    C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
    C::Error: std::fmt::Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    let formats = copy.column_formats();
    let columns = i16::try_from(copy.columns).unwrap_or(i16::MAX);
    let begin = CopyOutResponse::new(copy.format, columns, formats);
    client
        .feed(PgWireBackendMessage::CopyOutResponse(begin))
        .await?;
    let mut rows = copy.data_stream;
    while let Some(row) = rows.next().await {
        client.feed(PgWireBackendMessage::CopyData(row?)).await?;
    }
    client
        .feed(PgWireBackendMessage::CopyDone(CopyDone::new()))
        .await?;
    let tag = Tag::new("COPY").with_rows(copied(client));
    send_execution_response(client, tag).await
}
