//! The daemon process: status, memory, log.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

/// The process.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatusRow {
    /// Version of the program.
    pub version: String,
    /// Process id.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// When it started, Unix seconds.
    #[serde(default)]
    pub started_at: u64,
    /// Our AS.
    pub asn: u32,
    /// Our BGP Identifier.
    pub router_id: Ipv4Addr,
    /// I/O threads.
    pub threads: u32,
    /// The configuration file.
    pub config_file: String,
    /// Time when the configuration in force was read, Unix seconds.
    pub config_loaded_at: u64,
    /// The error of the last reload, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reload_error: Option<String>,
    /// Configured and accepted sessions.
    pub peers: u32,
    /// Established sessions.
    pub established: u32,
    /// CPU time used, user and system, seconds.
    pub cpu_s: f64,
    /// Resident set size, bytes.
    pub rss_bytes: u64,
    /// About the bytes of the table, as `daemon.max-memory` counts them.
    #[serde(default)]
    pub table_bytes: u64,
    /// The most bytes for the table.
    #[serde(default)]
    pub table_limit_bytes: u64,
    /// Sessions that were reset, and neighbors whose stale routes were removed, because the table exceeded that.
    #[serde(default)]
    pub table_limit_exceeded: u64,
    /// After a restart, while nothing is advertised because neighbors have yet to come back (RFC 4724).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection_deferral: Option<SelectionDeferralRow>,
}

/// The wait for neighbors after a restart.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SelectionDeferralRow {
    /// Seconds until it ends at the latest.
    pub remaining_s: u64,
    /// The neighbors that have not sent End-of-RIB.
    pub awaited: Vec<AwaitedNeighbor>,
}

/// A neighbor that Rutter waits for after a restart.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AwaitedNeighbor {
    /// Its address.
    pub address: IpAddr,
    /// The families without End-of-RIB: `ipv4-unicast`, `ipv6-unicast`.
    pub families: Vec<String>,
}

/// Bytes of one purpose.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryRow {
    /// The purpose.
    pub what: String,
    /// The number of items.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A log line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LogRow {
    /// Wall time, microseconds since 1970.
    pub unix_us: u64,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// The part of the program.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The name of the session that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The message, with its fields.
    pub message: String,
}
