//! One row.

use std::sync::Arc;

use rutter_net::{Family, PerFamily, Prefix};

use crate::{AttrColumns, Peer};

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The peer announced the prefix with these attributes.
    Announce,
    /// The route was withdrawn by the peer, or swept after its restart.
    Withdraw,
    /// The peer's session was established.
    PeerUp,
    /// The peer's session went down. Its routes are removed, except in retained families.
    PeerDown {
        /// For each family, whether its routes stay until they are withdrawn one by one.
        retained: PerFamily<bool>,
    },
    /// The peer has advertised all its routes of a family (RFC 4724 §2).
    EndOfRib(Family),
    /// Events were lost here. The rows are complete again only after the next state.
    Gap {
        /// The number of lost events.
        lost: u64,
    },
    /// The collector started.
    Start,
    /// The collector stopped in an orderly way.
    Stop,
    /// The wall clock was set.
    ClockStep {
        /// The step in microseconds; negative if the clock was set back.
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
    /// The number of the event in this run, from 0 without gaps. All rows of a snapshot have the number of the last
    /// event that was decoded before it.
    pub seq: u64,
    /// Wall time in microseconds since 1970.
    pub time_us: u64,
    /// Name of the collector.
    pub collector: &'a str,
    /// The peer; `None` for events of the collector itself.
    pub peer: Option<&'a Arc<Peer>>,
    /// The kind of event.
    pub kind: Kind,
    /// The prefix of a route.
    pub prefix: Option<Prefix>,
    /// RFC 7911 path identifier, 0 without Add-Path.
    pub path_id: u32,
    /// The attributes. All rows of one update, and most rows with equal attributes, share one allocation. So it pays
    /// to cache what is derived from it.
    pub attrs: Option<&'a Arc<AttrColumns>>,
    /// A text: why a session ended, why a route is rejected, how many rows are lost. Mostly empty.
    pub detail: &'a str,
}
