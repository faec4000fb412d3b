//! One line of an answer.

use serde::{Deserialize, Serialize};

use crate::rows::*;

/// One line of an answer, told apart by `kind`. The last line is [`Line::Done`] or [`Line::Error`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The process.
    Status(Box<StatusRow>),
    /// A session.
    Peer(Box<PeerRow>),
    /// A route.
    Route(Box<RouteRow>),
    /// A rejected route.
    Rejected(Box<RejectedRow>),
    /// A distinct attribute set.
    AttributeSet(Box<AttributeSetRow>),
    /// Where packets to an address go.
    Lookup(Box<LookupRow>),
    /// An attribute set of a table.
    TableSet(Box<TableSetRow>),
    /// Routes of a table.
    TableRoutes(TableRoutesRow),
    /// Bytes of one purpose.
    Memory(MemoryRow),
    /// A database or broker.
    Sink(Box<SinkRow>),
    /// A monitored router.
    Router(Box<RouterRow>),
    /// Why a destination goes where it goes.
    Explain(Box<ExplainRow>),
    /// A log line.
    Log(LogRow),
    /// A finding in a configuration file.
    ConfigError(ConfigErrorRow),
    /// What changes between configurations.
    Diff(Box<DiffRow>),
    /// The end: all went well.
    Done(Done),
    /// The end: the request failed.
    Error {
        /// Why, for a person.
        message: String,
    },
}

/// The end of an answer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// Rows sent before.
    pub rows: u64,
    /// More rows matched than the limit allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What was done, for a person (`2 sessions reset`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
