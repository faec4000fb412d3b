//! One client: its filters, its queue, and the thread that serves it.

use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::http::{HeaderValue, StatusCode};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use super::admission::Place;
use super::connection::Connection;
use super::filter::Filter;
use super::message::{Update, error, gap};
use super::origin::may_connect;
use crate::io_timeout::is_timeout;
use crate::keepalive::keep_alive;
use rutter_service::ShutdownSignal;

/// The part of a client that the publisher uses.
pub(super) struct Client {
    filters: Mutex<Vec<Filter>>,
    queue: Mutex<Queue>,
    capacity: usize,
    /// The web sites whose pages may connect.
    origins: Vec<String>,
    gone: AtomicBool,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Arc<str>>,
    /// The bytes of all messages.
    octets: usize,
    /// The messages that were dropped because the queue was full.
    lost: u64,
}

/// The time that a client has for its WebSocket handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest message of a client, in bytes.
const LONGEST: usize = 64 * 1024;
/// The most bytes of a client's queued messages, independent of their number.
const MAX_QUEUED_BYTES: usize = 16 << 20;
/// The number of subscriptions of one client.
const MAX_FILTERS: usize = 100;
/// The number of prefixes in all its subscriptions. Each UPDATE is compared with each of them.
const MAX_FILTER_PREFIXES: usize = 1_000;

fn forbidden() -> ErrorResponse {
    let why = "this web site may not connect: see stream.origins\n";
    refusal(StatusCode::FORBIDDEN, why)
}

fn full() -> ErrorResponse {
    let why = "there are as many clients as stream.max-clients allows\n";
    refusal(StatusCode::SERVICE_UNAVAILABLE, why)
}

fn refusal(status: StatusCode, why: &str) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(why.to_owned()));
    *response.status_mut() = status;
    response
}

impl Client {
    pub fn new(capacity: usize, origins: &[String]) -> Self {
        Client {
            capacity,
            origins: origins.to_vec(),
            filters: Mutex::default(),
            queue: Mutex::default(),
            gone: AtomicBool::new(false),
        }
    }

    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Returns whether any of its subscriptions matches a message.
    pub fn wants(&self, update: &Update) -> bool {
        self.filters
            .lock()
            .iter()
            .any(|filter| filter.matches(update))
    }

    /// Queues a message. If the queue is full, this message and all further ones are lost until the queue is empty.
    pub fn push(&self, message: &Arc<str>) {
        let mut queue = self.queue.lock();
        let full = queue.messages.len() >= self.capacity
            || queue.octets + message.len() > MAX_QUEUED_BYTES && !queue.messages.is_empty();
        if queue.lost > 0 || full {
            queue.lost += 1;
        } else {
            queue.octets += message.len();
            queue.messages.push_back(Arc::clone(message));
        }
    }

    /// Counts events that the server itself missed.
    pub fn count_lost(&self, lost: u64) {
        if !self.filters.lock().is_empty() {
            self.queue.lock().lost += lost;
        }
    }

    fn pop(&self) -> Option<Arc<str>> {
        let mut queue = self.queue.lock();
        let next = queue.messages.pop_front();
        queue.octets -= next.as_ref().map_or(0, |message| message.len());
        if next.is_none() && queue.lost > 0 {
            return Some(gap(std::mem::take(&mut queue.lost)).into());
        }
        next
    }

    /// Serves the client until it disconnects or the collector stops. Calls `admit` after the handshake.
    pub fn run(
        &self,
        socket: TcpStream,
        shutdown: &ShutdownSignal,
        mut place: Place,
        admit: impl FnOnce(),
    ) {
        if let Err(error) = self.serve(socket, shutdown, &mut place, admit) {
            tracing::debug!(%error, "stream client disconnected");
        }
        self.gone.store(true, Ordering::Release);
    }

    /// Only browsers send an Origin header.
    fn may_connect(&self, request: &Request) -> bool {
        let header = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
        header("origin").is_none_or(|origin| may_connect(origin, header("host"), &self.origins))
    }

    fn serve(
        &self,
        socket: TcpStream,
        shutdown: &ShutdownSignal,
        place: &mut Place,
        admit: impl FnOnce(),
    ) -> Result<(), tungstenite::Error> {
        keep_alive(&socket)?;
        let connection = Connection::new(socket, shutdown, Instant::now() + HANDSHAKE_TIMEOUT)?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(LONGEST))
            .max_frame_size(Some(LONGEST));
        #[expect(clippy::result_large_err, reason = "tungstenite wants it so")]
        let check = |request: &Request, response: Response| match self.may_connect(request) {
            true if place.admit_client() => Ok(response),
            true => Err(full()),
            false => Err(forbidden()),
        };
        let mut socket = tungstenite::accept_hdr_with_config(connection, check, Some(limits))
            .map_err(|error| io::Error::other(format!("no WebSocket: {error}")))?;
        socket.get_mut().finish_handshake();
        admit();
        while !shutdown.is_triggered() {
            self.write_queued(&mut socket)?;
            socket.flush()?;
            match socket.read() {
                Ok(Message::Text(text)) => self.command(text.as_str(), &mut socket)?,
                Ok(Message::Binary(_)) => {
                    let answer = error("this is a binary message; write JSON as text");
                    socket.send(Message::text(answer))?;
                }
                Ok(Message::Close(_)) => break,
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        // The client may have disconnected already.
        let _ = socket.close(None);
        let _ = socket.flush();
        Ok(())
    }

    fn write_queued(&self, socket: &mut WebSocket<Connection>) -> Result<(), tungstenite::Error> {
        while let Some(message) = self.pop() {
            socket.write(Message::text(&*message))?;
        }
        Ok(())
    }

    /// Sends the answer after all queued messages. A pong then confirms that the client has received all of them.
    fn command(
        &self,
        text: &str,
        socket: &mut WebSocket<Connection>,
    ) -> Result<(), tungstenite::Error> {
        if let Some(answer) = self.execute(text) {
            self.write_queued(socket)?;
            socket.send(Message::text(answer))?;
        }
        Ok(())
    }

    /// Executes a message of the client and returns the answer.
    fn execute(&self, text: &str) -> Option<String> {
        let command: Value = match serde_json::from_str(text) {
            Ok(command) => command,
            Err(why) => return Some(error(&format!("this is not JSON: {why}"))),
        };
        let data = &command["data"];
        let filter = Filter::read(data);
        let mut filters = self.filters.lock();
        match (command["type"].as_str().unwrap_or_default(), filter) {
            ("ping", _) => Some(json!({"type": "pong", "data": data}).to_string()),
            ("ris_subscribe" | "ris_unsubscribe", Err(why)) => Some(error(&why.to_string())),
            ("ris_subscribe", Ok(_)) if filters.len() >= MAX_FILTERS => {
                Some(error("this client has 100 subscriptions already"))
            }
            ("ris_subscribe", Ok(filter))
                if prefixes(&filters) + filter.prefixes.len() > MAX_FILTER_PREFIXES =>
            {
                Some(error(
                    "a client's subscriptions name at most 1000 prefixes: subscribe to one that holds them",
                ))
            }
            ("ris_subscribe", Ok(filter)) => {
                filters.push(filter);
                let acknowledge = &data["socketOptions"]["acknowledge"];
                let answer = || json!({"type": "ris_subscribe_ok", "data": data}).to_string();
                acknowledge.as_bool().unwrap_or(false).then(answer)
            }
            ("ris_unsubscribe", Ok(filter)) => {
                filters.retain(|held| *held != filter);
                None
            }
            (other, _) => Some(error(&format!(
                "`{other}` is not known; send ris_subscribe, ris_unsubscribe or ping"
            ))),
        }
    }
}

/// The number of prefixes in all subscriptions.
fn prefixes(filters: &[Filter]) -> usize {
    filters.iter().map(|filter| filter.prefixes.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_client_receives_its_gap_in_order() {
        let client = Client::new(2, &[]);
        let message = |n: u8| Arc::<str>::from(n.to_string());
        (0..5).for_each(|n| client.push(&message(n)));
        let next = || client.pop().map(|text| text.to_string());
        assert_eq!(next().as_deref(), Some("0"));
        client.push(&message(5));
        assert_eq!(next().as_deref(), Some("1"));
        assert_eq!(next(), Some(gap(4)));
        client.push(&message(6));
        assert_eq!(next().as_deref(), Some("6"));
        assert_eq!(next(), None);
    }

    #[test]
    fn the_queue_of_a_client_has_a_size() {
        let client = Client::new(1_000, &[]);
        let large = Arc::<str>::from("x".repeat(MAX_QUEUED_BYTES / 2 + 1));
        (0..3).for_each(|_| client.push(&large));
        assert_eq!(client.pop().map(|text| text.len()), Some(large.len()));
        assert_eq!(client.pop().as_deref(), Some(&*gap(2)));
        client.push(&large);
        assert!(client.pop().is_some() && client.pop().is_none());
    }

    #[test]
    fn a_client_names_so_many_prefixes_and_no_more() {
        let client = Client::new(2, &[]);
        let some: Vec<String> = (0..250).map(|n| format!("10.0.{n}.0/24")).collect();
        let text = json!({"type": "ris_subscribe", "data": {"prefix": some}}).to_string();
        (0..4).for_each(|_| assert_eq!(client.execute(&text), None));
        let answer = client.execute(&text).unwrap_or_default();
        assert!(answer.contains("at most 1000 prefixes"), "{answer}");
        assert_eq!(prefixes(&client.filters.lock()), 1_000);
    }

    #[test]
    fn an_unknown_command_is_answered_with_an_error() {
        let client = Client::new(2, &[]);
        let answer_to = |text: &str| client.execute(text).unwrap_or_default();
        assert!(answer_to("{").contains("not JSON"));
        assert!(answer_to(r#"{"type":"shout"}"#).contains("`shout` is not known"));
        let prefix = r#"{"type":"ris_subscribe","data":{"prefix":"192.0.2.0"}}"#;
        assert!(answer_to(prefix).contains("prefix: `192.0.2.0`"));
        for (data, words) in [
            (r#"{"prefx":"192.0.2.0/24"}"#, "`prefx` is not known"),
            (
                r#"{"moreSpecific":"no"}"#,
                "moreSpecific: `\"no\"` is not true or false",
            ),
            (
                r#"{"type":"UPDATES"}"#,
                "type: `UPDATES` is not UPDATE, RIS_PEER_STATE",
            ),
            (r#"{"prefix":[7]}"#, "prefix: `7` is not a text"),
            (r#"{"prefix":[]}"#, "prefix: `[]` is not a prefix"),
            (r#""all""#, "`data` is not an object"),
        ] {
            let text = format!(r#"{{"type":"ris_subscribe","data":{data}}}"#);
            let answer = answer_to(&text);
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["type"], "ris_error");
            let message = answer["data"]["message"].as_str().unwrap();
            assert!(message.contains(words), "{message}");
        }
        assert!(client.filters.lock().is_empty());
        assert!(answer_to(r#"{"type":"ping","data":7}"#).contains("pong"));
        assert_eq!(answer_to(r#"{"type":"ris_subscribe","data":{}}"#), "");
        assert_eq!(client.filters.lock().len(), 1);
        assert_eq!(answer_to(r#"{"type":"ris_unsubscribe","data":{}}"#), "");
        assert!(client.filters.lock().is_empty());
    }
}
