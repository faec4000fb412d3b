//! The stream of changes as server-sent events.
//!
//! A client costs its place in the log and one part of at most [`PART`] changes, however slowly it reads. A client that
//! falls behind the log is sent `lagged` as its last event, and one whose token is removed `refused`.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::HeaderValue;
use rutter_api::{ChangeFilter, ChangeReader, ChangeRow};
use rutter_config::access::Role;
use rutter_server::{ConnectionLimits, ConnectionSlot};
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::answer_body::PartSource;
use crate::endpoint::{Parameter, Place};
use crate::json_page::failed;
use crate::problem::Problem;
use crate::query::Query;
use crate::responder::Responder;

/// The path of the stream.
pub(crate) const PATH: &str = "/api/v1/events";

/// The role that reads it.
pub(crate) const ROLE: Role = Role::Read;

/// The media type of the stream.
pub(crate) const KIND: &str = "text/event-stream";

/// The largest number of clients at a time, and of those from one network.
const CLIENTS: (usize, usize) = (64, 16);

/// Its parameters.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "within",
        place: Place::Query,
        kind: "string",
        about: "Changes of this prefix and everything inside it.",
    },
    Parameter {
        name: "peer",
        place: Place::Query,
        kind: "string",
        about: "Changes of this neighbor: name, address or AS number.",
    },
    Parameter {
        name: "kind",
        place: Place::Query,
        kind: "string",
        about: "Changes of these kinds, with commas between them: announced, withdrawn, verdict, best, session-up, session-down.",
    },
    Parameter {
        name: "after",
        place: Place::Query,
        kind: "integer",
        about: "Continue after the event with this id, as with the header Last-Event-ID.",
    },
];

/// The changes that one part looks at.
const PART: usize = 64;
/// The bytes that are reserved for a part.
const PART_BYTES: usize = 128 << 10;
/// The time between two looks at the log.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A client that has nothing to read is sent a sign of life in this time, which is shorter than the patience of proxies.
const QUIET: Duration = Duration::from_secs(5);

/// The places of clients.
pub(crate) fn places() -> ConnectionLimits {
    let (total, of_network) = CLIENTS;
    ConnectionLimits::per_network(total, of_network)
}

/// The changes for one client.
pub(crate) struct EventStream {
    responder: Arc<Responder>,
    reader: ChangeReader,
    progress: Progress,
    client: EventClient,
}

/// A client that may read the stream.
pub(crate) struct EventClient {
    pub(crate) address: IpAddr,
    /// Its header `Authorization`. The access rules may change while it reads.
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) _place: ConnectionSlot,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    New,
    Running,
    Ended,
}

impl EventStream {
    /// Opens the stream that a request asks for. `last_id` is its header Last-Event-ID.
    pub(crate) fn open(
        responder: Arc<Responder>,
        query: &Query,
        last_id: Option<&str>,
        client: EventClient,
    ) -> Result<Self, Problem> {
        let kinds = query.text("kind").unwrap_or_default();
        let kinds = kinds
            .split(',')
            .map(str::trim)
            .filter(|kind| !kind.is_empty());
        let filter = ChangeFilter {
            peer: query.text("peer"),
            within: query.value("within")?,
            kinds: kinds.map(str::to_owned).collect(),
        };
        // A browser that connects again sends the same parameters, and the header.
        let after = match last_id {
            Some(id) if !id.trim().is_empty() => Some(id.trim().parse().map_err(|_| {
                Problem::bad(format!("Last-Event-ID: `{id}` is no id of this stream"))
            })?),
            _ => query.number("after")?,
        };
        let rib = responder.backend.rib();
        let reader = ChangeReader::open(rib, filter, after, unix_us()).map_err(failed)?;
        Ok(EventStream {
            reader,
            responder,
            progress: Progress::New,
            client,
        })
    }

    /// Returns the events of the next changes, which may be none, or `None` if nothing has changed.
    fn look(&mut self) -> Option<Vec<u8>> {
        let authorization = self.client.authorization.as_ref();
        if let Err(problem) = self.responder.rules.check(authorization, ROLE) {
            self.progress = Progress::Ended;
            let data = serde_json::json!({
                "status": problem.status.as_u16(),
                "detail": problem.detail,
            });
            return Some(format!("event: refused\ndata: {data}\n\n").into_bytes());
        }
        match self.reader.read(PART, unix_us()) {
            Ok(rows) => rows.map(|rows| rows.iter().flat_map(event).collect()),
            Err(lost) => {
                self.progress = Progress::Ended;
                let data = serde_json::json!({
                    "oldest": lost.oldest,
                    "detail": "this client was too slow, or came back too late: changes were lost. Read the table again, and connect without an id",
                });
                // The empty id makes a browser forget its place. It would come back to it, and be refused again.
                Some(format!("id:\nevent: lagged\ndata: {data}\n\n").into_bytes())
            }
        }
    }
}

impl PartSource for EventStream {
    async fn next_part(&mut self) -> io::Result<Option<Bytes>> {
        match self.progress {
            Progress::Ended => return Ok(None),
            Progress::Running => {}
            Progress::New => {
                self.progress = Progress::Running;
                return Ok(Some(place(&self.reader)));
            }
        }
        let begin = Instant::now();
        let client = self.client.address;
        let reserved = self.responder.waiting.reserve(PART_BYTES, client).await;
        loop {
            let has_changes = match self.look() {
                Some(events) if !events.is_empty() => return Ok(Some(reserved.bytes(events))),
                events => events.is_some(),
            };
            if begin.elapsed() >= QUIET {
                return Ok(Some(place(&self.reader)));
            }
            match has_changes {
                // They did not match the filter. There may be more.
                true => yield_now().await,
                false => sleep(LOOK_EVERY).await,
            }
        }
    }
}

/// The client's place in the log, from which it may continue. It is no event.
fn place(reader: &ChangeReader) -> Bytes {
    Bytes::from(format!("id: {}\n\n", reader.last_number()))
}

fn event(row: &ChangeRow) -> Vec<u8> {
    let data = serde_json::to_string(row).unwrap_or_default();
    let kind = row.change.kind();
    format!("id: {}\nevent: {kind}\ndata: {data}\n\n", row.number).into_bytes()
}

pub(crate) fn unix_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_micros() as u64)
}
