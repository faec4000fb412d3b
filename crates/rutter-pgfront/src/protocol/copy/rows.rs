//! The rows of a copy on their way to the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures::{StreamExt as _, stream};
use pgwire::api::ClientInfo;
use pgwire::api::results::{CopyResponse, QueryResponse};
use pgwire::error::PgWireResult;
use pgwire::messages::copy::CopyData;
use tokio_util::bytes::{Bytes, BytesMut};

use super::Copy;

/// The number of rows that a connection's COPY has sent, without the header and the trailer.
#[derive(Default)]
struct Rows(AtomicUsize);

impl Rows {
    fn of(client: &impl ClientInfo) -> Arc<Self> {
        client
            .session_extensions()
            .get_or_insert_with(Self::default)
    }
}

/// How many rows the last copy of a connection has brought.
pub fn copied(client: &impl ClientInfo) -> usize {
    Rows::of(client).0.load(Relaxed)
}

/// Copies the rows of an answer, which are in the format that the copy asks for.
pub fn respond(client: &impl ClientInfo, copy: &Copy, answer: QueryResponse) -> CopyResponse {
    let count = Rows::of(client);
    count.0.store(0, Relaxed);
    let fields = answer.row_schema();
    let writer = copy.form.clone().writer(fields.len());
    let header = stream::iter(
        writer
            .header(&fields)
            .map(|header| Ok(CopyData::new(header))),
    );
    let (begin, end) = (writer.begin(), writer.end());
    let rows = answer.data_rows.map(move |row| -> PgWireResult<Bytes> {
        let row = writer.row(&row?.data);
        count.0.fetch_add(1, Relaxed);
        Ok(row)
    });
    let rows = rows.chain(stream::iter(end.map(Ok))).enumerate();
    let rows = rows.map(|(at, row)| match at {
        0 => Ok(CopyData::new(behind(begin, row?))),
        _ => Ok(CopyData::new(row?)),
    });
    let mut response = CopyResponse::new(TEXT, fields.len(), header.chain(rows));
    response.format = copy.form.code();
    response
}

fn behind(begin: &[u8], row: Bytes) -> Bytes {
    match begin.is_empty() {
        true => row,
        false => {
            let mut all = BytesMut::from(begin);
            all.extend_from_slice(&row);
            all.freeze()
        }
    }
}

/// The text format. In other formats the library appends the trailer itself.
const TEXT: i8 = 0;
