//! One row.

use std::sync::Arc;

use rutter_net::{Family, PerFamily, Prefix};

use crate::{AttrColumns, Peer};

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The peer announced the prefix with these attributes.
    Announce,
    /// The route is gone: withdrawn by the peer, or swept after a restart of it.
    Withdraw,
    /// The peer's session was established.
    PeerUp,
    /// The peer's session ended. Its routes of the families that are not retained are gone.
    PeerDown {
        /// Per family (index order): its routes stay until withdrawn one by one.
        retained: PerFamily<bool>,
    },
    /// The peer has said all it has of a family (RFC 4724 §2).
    EndOfRib(Family),
    /// Events are missing here; what follows is complete again only after a state is read anew.
    Gap {
        /// How many.
        lost: u64,
    },
    /// The collector started.
    Start,
    /// The collector stopped in order.
    Stop,
    /// The wall clock was set.
    ClockStep {
        /// By how much, in microseconds; negative: back.
        by_us: i64,
    },
    /// The route is in the table: a row of a snapshot.
    State,
}

impl Kind {
    /// The name in every table and message, such as `announce` or `peer-down`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Announce => "announce",
            Self::Withdraw => "withdraw",
            Self::PeerUp => "peer-up",
            Self::PeerDown { .. } => "peer-down",
            Self::EndOfRib(_) => "end-of-rib",
            Self::Gap { .. } => "gap",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::ClockStep { .. } => "clock-step",
            Self::State => "state",
        }
    }
}

/// One row, borrowed from the decoder.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The run of the collector: wall time of its start in microseconds since 1970. With `seq` it names an event.
    pub run: u64,
    /// Number of the event in this run, from 0 without holes. Rows of a snapshot all have the number of the last
    /// event that was decoded before it.
    pub seq: u64,
    /// Wall time in microseconds since 1970.
    pub time_us: u64,
    /// Name of the collector.
    pub collector: &'a str,
    /// Whose; `None` for events of the collector itself.
    pub peer: Option<&'a Arc<Peer>>,
    /// What happened.
    pub kind: Kind,
    /// To which prefix.
    pub prefix: Option<Prefix>,
    /// RFC 7911 path identifier, 0 without Add-Path.
    pub path_id: u32,
    /// With which attributes. The same allocation for all rows of one update, and mostly for all rows with equal
    /// attributes, so what is made of it is worth keeping.
    pub attrs: Option<&'a Arc<AttrColumns>>,
    /// In words: why a session ended, the reason of a rejection in a snapshot, how much is missing. Mostly empty.
    pub detail: &'a str,
}
