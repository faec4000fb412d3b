//! The daemon as a process: status, memory, log.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// The process.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatusRow {
    /// Version of the program.
    pub version: String,
    /// Process id.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Our AS.
    pub asn: u32,
    /// Our BGP Identifier.
    pub router_id: Ipv4Addr,
    /// I/O threads.
    pub threads: u32,
    /// The configuration file.
    pub config_file: String,
    /// Unix seconds at which the configuration in force was read.
    pub config_loaded_at: u64,
    /// Why the last reload was refused, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reload_error: Option<String>,
    /// Sessions configured or accepted.
    pub peers: u32,
    /// Sessions in Established.
    pub established: u32,
    /// CPU seconds used, user and system.
    pub cpu_s: f64,
    /// Resident set size, octets.
    pub rss_bytes: u64,
}

/// Bytes of one purpose.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryRow {
    /// The purpose.
    pub what: String,
    /// How many things.
    pub count: u64,
    /// Octets.
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
    /// The session it is about, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The text, with its fields.
    pub message: String,
}
