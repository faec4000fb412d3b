//! The state of a collector's services: sinks and monitored routers.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A database or broker that is kept up to date.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SinkRow {
    /// Its name.
    pub name: String,
    /// `connecting`, `loading`, `live`; `away` while the sink is unreachable or accepts nothing; `dropping` while the
    /// sink is reachable, but the spool accepts no rows.
    pub state: String,
    /// The run of the collector that `spooled` and `committed` count in.
    pub run: u64,
    /// Rows of this run that were written to the spool.
    pub spooled: u64,
    /// Rows of this run that the sink has committed.
    pub committed: u64,
    /// Rows of earlier runs in the spool that the sink may not have committed. Its position is unknown until it is
    /// reachable.
    #[serde(default)]
    pub earlier: u64,
    /// Age of the oldest row that the sink has not committed, seconds; 0 if it has committed all.
    pub behind_s: u64,
    /// Bytes in the spool.
    pub spool_bytes: u64,
    /// Events committed since the start of the process, including events of earlier runs.
    pub events: u64,
    /// Routes committed by full table loads.
    pub loaded_routes: u64,
    /// Full table loads completed.
    pub loads: u64,
    /// Batches committed.
    pub batches: u64,
    /// Gaps reported.
    pub gaps: u64,
    /// Rows and messages lost in gaps.
    pub lost: u64,
    /// The last gap: the missing rows, their time span, and the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_gap: Option<String>,
    /// Failures of the sink.
    pub failures: u64,
    /// The last failure, as text. It stays after the sink has recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The reason why rows are dropped, while they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropping: Option<String>,
}

impl SinkRow {
    /// Returns the number of rows that the sink has yet to commit.
    pub fn pending(&self) -> u64 {
        self.spooled.saturating_sub(self.committed) + self.earlier
    }
}

/// A router that reports by BMP.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouterRow {
    /// Its sysName, or its address.
    pub name: String,
    /// The address that it connects from.
    pub address: SocketAddr,
    /// Its sysDescr: hardware and software.
    pub description: String,
    /// Seconds since it connected.
    pub connected_for_s: u64,
    /// Monitored sessions that are up.
    pub peers: u64,
    /// Messages received.
    pub messages: u64,
    /// Messages that could not be read and were skipped.
    pub faults: u64,
    /// UPDATEs skipped because their peer had no Peer Up, or is above the limit.
    pub unknown: u64,
    /// Malformed UPDATEs. Their readable parts are in the table.
    pub malformed: u64,
    /// UPDATEs that announced routes without a next hop. The routes are in the table.
    #[serde(default)]
    pub without_next_hop: u64,
    /// UPDATEs of a Loc-RIB for which the router sent no Peer Up. Their routes are in the table.
    #[serde(default)]
    pub without_peer_up: u64,
    /// UPDATEs with routes of families that Rutter does not keep. These routes are left out.
    #[serde(default)]
    pub other_families: Vec<OtherFamilyRow>,
    /// Mirrored messages.
    pub mirrored: u64,
}

/// A family that Rutter does not keep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct OtherFamilyRow {
    /// Its name; `other` for all families that are not counted one by one.
    pub family: String,
    /// UPDATEs with its routes.
    pub updates: u64,
}

impl RouterRow {
    /// The number of UPDATEs with routes of families that Rutter does not keep.
    pub fn updates_of_other_families(&self) -> u64 {
        self.other_families.iter().map(|one| one.updates).sum()
    }
}
