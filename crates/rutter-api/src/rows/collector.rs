//! What a collector's services do: sinks and monitored routers.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A database or broker that is kept up to date.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SinkRow {
    /// Its name.
    pub name: String,
    /// `connecting`, `loading`, `live`, `away` while it cannot be reached or takes nothing, or `dropping` while it is
    /// there, but the spool takes nothing.
    pub state: String,
    /// The run of the collector that `taken` and `committed` count in.
    pub run: u64,
    /// Rows of this run that are safe in the spool, or were.
    pub spooled: u64,
    /// Rows of this run that the sink has committed.
    pub committed: u64,
    /// Rows of earlier runs in the spool that it is not known to have committed: what it has is not known before it is
    /// reached.
    #[serde(default)]
    pub earlier: u64,
    /// Seconds since the oldest row happened that it has not committed; 0 where it has all.
    pub behind_s: u64,
    /// Octets in the spool.
    pub spool_bytes: u64,
    /// Events committed since the start of the process, those of earlier runs too.
    pub events: u64,
    /// Routes committed by loads of whole tables.
    pub loaded_routes: u64,
    /// Loads finished.
    pub loads: u64,
    /// Batches committed.
    pub batches: u64,
    /// Gaps told.
    pub gaps: u64,
    /// Rows and messages that gaps hid.
    pub lost: u64,
    /// What the last gap says of itself: which rows are missing, from when to when, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_gap: Option<String>,
    /// Failures of the sink.
    pub failures: u64,
    /// The last failure, in words; it stays when all is well again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Why rows are being dropped, while they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropping: Option<String>,
}

impl SinkRow {
    /// All rows that it has yet to commit.
    pub fn pending(&self) -> u64 {
        self.spooled.saturating_sub(self.committed) + self.earlier
    }
}

/// A router that reports by BMP.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouterRow {
    /// What it calls itself, or its address.
    pub name: String,
    /// Where it connects from.
    pub address: SocketAddr,
    /// Hardware and software as it says.
    pub description: String,
    /// Seconds since it connected.
    pub connected_for_s: u64,
    /// Monitored sessions that are up.
    pub peers: u64,
    /// Messages taken.
    pub messages: u64,
    /// Messages that could not be read and were passed over.
    pub faults: u64,
    /// UPDATEs passed over because no Peer Up was heard of their peer, or because of the limit of peers.
    pub unknown: u64,
    /// UPDATEs that were malformed.
    pub malformed: u64,
    /// Messages that were mirrored.
    pub mirrored: u64,
}
