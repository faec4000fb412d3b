//! The interface of birdwatcher, which Alice-LG and IXP Manager read: Rutter's answers with BIRD's names.
//!
//! A session is a protocol `R64511_192_0_2_11` with a table `T64511_192_0_2_11` of its own. A pipe `M64511_192_0_2_11`
//! leads from there to the main tables `master4` and `master6`. So Alice-LG may be configured for one table or for many. Filtered routes, and routes that are not exported, carry their reason as a large community.

mod protocols;
mod question;
mod reasons;
mod route_list;
mod route_row;
mod sessions;

use std::time::{SystemTime, UNIX_EPOCH};

use rutter_api::{Backend, units};
use serde_json::{Value, json};

use crate::problem::Problem;
use question::Question;
pub(crate) use route_list::RouteList;

/// How the interface of birdwatcher is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BirdwatcherSettings {
    /// The path below which it is served: `/birdwatcher`.
    pub path: String,
    /// The numbers of reject reasons.
    pub reasons: ReasonNumbers,
}

/// The numbers of reject reasons that a looking glass knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReasonNumbers {
    /// The numbers of ARouteServer, as `AS:65520:n`.
    ARouteServer,
    /// The numbers of IXP Manager, as `AS:1101:n`.
    IxpManager,
}

/// A looking glass may keep an answer for so long, seconds.
const KEEP_S: u64 = 60;

/// The answer to a question.
pub(crate) enum Reply {
    /// All of it.
    Whole(Vec<u8>),
    /// A list of routes or their number, which is made in parts.
    List(Box<RouteList>),
}

/// Answers a question: the path below that of the interface, and the parameters. Blocks while it computes.
pub(crate) fn reply(
    path: &str,
    query: &str,
    numbers: ReasonNumbers,
    backend: &dyn Backend,
) -> Result<Reply, Problem> {
    let (name, value) = match Question::read(path, query, numbers, backend)? {
        Question::Status => ("status", status(backend)),
        Question::Protocols { with_pipes } => ("protocols", protocols::full(backend, with_pipes)),
        Question::ProtocolsShort => ("protocols", protocols::short(backend)),
        Question::Symbols(kind) => ("symbols", protocols::symbols(backend, kind)),
        Question::Nothing { is_count: true } => ("routes", json!(0)),
        Question::Nothing { is_count: false } => ("routes", json!([])),
        Question::Routes(list) => return Ok(Reply::List(list)),
    };
    let mut answer = envelope();
    answer[name] = value;
    Ok(Reply::Whole(answer.to_string().into_bytes()))
}

/// The members that each answer has.
fn envelope() -> Value {
    let now_s = unix_s();
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "api": {
            "Version": version,
            "version": version,
            "result_from_cache": false,
            "cache_status": {"cached_at": {
                "date": rfc3339(now_s),
                "timezone_type": "UTC",
                "timezone": "UTC",
            }},
        },
        "ttl": rfc3339(now_s + KEEP_S),
    })
}

fn status(backend: &dyn Backend) -> Value {
    let status = backend.status();
    json!({
        "version": format!("Rutter {}", status.version),
        "router_id": status.router_id.to_string(),
        "current_server": iso_long(unix_s()),
        "last_reboot": iso_long(status.started_at),
        "last_reconfig": iso_long(status.config_loaded_at),
        "message": "Rutter is up and running",
    })
}

fn unix_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

/// Formats `2026-11-25T22:40:00Z`.
fn rfc3339(unix_s: u64) -> String {
    let text = units::timestamp(unix_s * 1_000_000);
    format!("{}Z", &text[..SECONDS_END])
}

/// Formats `2026-11-25 22:40:00`, which BIRD calls `iso long`.
fn iso_long(unix_s: u64) -> String {
    rfc3339(unix_s)[..SECONDS_END].replace('T', " ")
}

/// The length of a time up to its seconds.
const SECONDS_END: usize = "2026-11-25T22:40:00".len();
