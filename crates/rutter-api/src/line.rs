//! One line of an answer.

use serde::{Deserialize, Serialize};

use crate::rows::*;

/// One line of an answer, tagged by `kind`. The last line is [`Line::Done`] or [`Line::Error`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The process.
    Status(Box<StatusRow>),
    /// A session.
    Peer(Box<PeerRow>),
    /// A route.
    Route(Box<RouteRow>),
    /// A route as a client is sent it.
    Advertised(Box<AdvertisedRow>),
    /// A route that a client is not sent.
    Withheld(Box<WithheldRouteRow>),
    /// The number of routes that a client is sent and not sent.
    AdvertisedCount(Box<AdvertisedCountRow>),
    /// A rejected route.
    Rejected(Box<RejectedRow>),
    /// A distinct attribute set.
    AttributeSet(Box<AttributeSetRow>),
    /// The route for an address.
    Lookup(Box<LookupRow>),
    /// An attribute set of a table.
    TableSet(Box<TableSetRow>),
    /// Routes of a table.
    TableRoutes(TableRoutesRow),
    /// The memory use of one purpose.
    Memory(MemoryRow),
    /// A database or broker.
    Sink(Box<SinkRow>),
    /// A monitored router.
    Router(Box<RouterRow>),
    /// A source of outside data.
    Source(Box<SourceRow>),
    /// A BMP station to which the daemon reports.
    Station(Box<StationRow>),
    /// The explanation of a destination.
    Explain(Box<ExplainRow>),
    /// A change of the table.
    Change {
        /// The change. It has a `kind` of its own.
        change: Box<ChangeRow>,
    },
    /// All changes up to this number have been sent, if they match the filter.
    ChangesRead {
        /// The number of the last change.
        number: u64,
    },
    /// A log line.
    Log(LogRow),
    /// An error or warning in a configuration file.
    ConfigError(ConfigErrorRow),
    /// The differences between configurations.
    Diff(Box<DiffRow>),
    /// A configuration that ran.
    History(HistoryRow),
    /// A prefix limit that a configuration or new data change.
    LimitChange(Box<LimitChangeRow>),
    /// The routes of a neighbor whose verdict a configuration changes.
    RouteChanges(Box<RouteChangesRow>),
    /// A route whose verdict a configuration changes.
    RouteChange(Box<RouteChangeRow>),
    /// The end: the request succeeded.
    Done(Done),
    /// The end: the request failed.
    Error {
        /// The error, for the user.
        message: String,
        /// The reason, for programs. Absent in JSON: [`ErrorReason::Refused`].
        #[serde(default, skip_serializing_if = "ErrorReason::is_refused")]
        reason: ErrorReason,
    },
}

/// The reason why a request failed, for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorReason {
    /// The request is wrong, or the daemon cannot carry it out.
    #[default]
    Refused,
    /// The request names something that does not exist.
    NotFound,
    /// The socket only reads.
    ReadOnly,
    /// The client read changes too slowly, or came back too late: some are not kept any more.
    ChangesLost,
}

impl ErrorReason {
    fn is_refused(&self) -> bool {
        *self == ErrorReason::Refused
    }
}

/// The end of an answer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// Number of rows sent.
    pub rows: u64,
    /// The limit cut off further rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The place where the next page begins, for [`crate::RouteFilter::after`]; absent after the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The result, for the user (`2 sessions reset`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
