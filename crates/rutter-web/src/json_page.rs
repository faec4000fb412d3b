//! One page of rows as JSON.

use std::io::{self, Write as _};
use std::time::Duration;

use hyper::StatusCode;
use rutter_api::{Backend, Failure, Line, Request, RowSink};

use crate::problem::Problem;
use crate::row_order::RowOrder;

/// The largest answer, bytes: a thousand routes take about one million.
pub(crate) const LONGEST_ANSWER: usize = 16 << 20;

/// Answers a request as `{"rows":[…],"truncated":false}`, with `next` where more pages follow. A page ends after
/// `longest_page`. Blocks while it computes.
pub(crate) fn page(
    request: &Request,
    backend: &dyn Backend,
    longest_page: Duration,
) -> Result<Vec<u8>, Problem> {
    let mut sink = PageSink {
        json: b"{\"rows\":[".to_vec(),
        is_empty: true,
        longest_page,
    };
    let done = rutter_api::answer(request, backend, &mut sink).map_err(failed)?;
    let mut json = sink.json;
    let end = serde_json::json!({"truncated": done.truncated, "next": done.next});
    json.extend_from_slice(b"],\"truncated\":");
    json.extend_from_slice(end["truncated"].to_string().as_bytes());
    if done.next.is_some() {
        json.extend_from_slice(b",\"next\":");
        json.extend_from_slice(end["next"].to_string().as_bytes());
    }
    json.push(b'}');
    Ok(json)
}

/// Answers a request for a short list, with its rows in an order. Blocks while it computes.
pub(crate) fn sorted_page(
    request: &Request,
    order: &RowOrder,
    backend: &dyn Backend,
) -> Result<Vec<u8>, Problem> {
    let rows = rows(request, backend)?;
    let rows = rows.iter().map(serde_json::to_value);
    let mut rows: Vec<serde_json::Value> = rows
        .collect::<Result<_, _>>()
        .map_err(|error| failed(Failure::Disconnected(error.into())))?;
    order.sort(&mut rows)?;
    let page = serde_json::json!({"rows": rows, "truncated": false});
    Ok(page.to_string().into_bytes())
}

/// Returns the rows of a short answer.
pub(crate) fn rows(request: &Request, backend: &dyn Backend) -> Result<Vec<Line>, Problem> {
    let mut rows = RowList(Vec::new());
    rutter_api::answer(request, backend, &mut rows).map_err(failed)?;
    Ok(rows.0)
}

/// The failure of an answer, for the client.
pub(crate) fn failed(failure: Failure) -> Problem {
    match failure {
        Failure::Refused(detail) => Problem::bad(detail),
        Failure::NotFound(detail) => Problem::new(StatusCode::NOT_FOUND, detail),
        Failure::NoNeighbor(wanted) => {
            let detail = Failure::no_neighbor(&wanted, "/api/v1/peers");
            Problem::new(StatusCode::NOT_FOUND, detail)
        }
        Failure::ReadOnly(detail) => Problem::new(StatusCode::FORBIDDEN, detail),
        Failure::ChangesLost(detail) => Problem::new(StatusCode::GONE, detail),
        Failure::Disconnected(error) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        }
    }
}

struct PageSink {
    json: Vec<u8>,
    is_empty: bool,
    longest_page: Duration,
}

impl RowSink for PageSink {
    fn write_row(&mut self, line: &Line) -> io::Result<()> {
        if self.json.len() > LONGEST_ANSWER {
            return Err(io::Error::other(format!(
                "the answer is longer than {LONGEST_ANSWER} bytes: ask for fewer rows"
            )));
        }
        if !self.is_empty {
            self.json.write_all(b",")?;
        }
        self.is_empty = false;
        Ok(serde_json::to_writer(&mut self.json, line)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn client_has_disconnected(&self) -> bool {
        false
    }

    fn longest_page(&self) -> Duration {
        self.longest_page
    }
}

struct RowList(Vec<Line>);

impl RowSink for RowList {
    fn write_row(&mut self, line: &Line) -> io::Result<()> {
        self.0.push(line.clone());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn client_has_disconnected(&self) -> bool {
        false
    }
}
