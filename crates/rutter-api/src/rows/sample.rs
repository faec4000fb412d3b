//! Samples of the past: the history of routes and updates.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A sample of the history. It is no line of the protocol: the server of the looking glass takes and keeps the samples.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HistorySample {
    /// Of all neighbors.
    Sample(SampleRow),
    /// Of one neighbor.
    NeighborSample(NeighborSampleRow),
}

/// The routes and the traffic of all neighbors at one time.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SampleRow {
    /// Wall time, Unix seconds.
    pub unix_s: u64,
    /// Accepted routes of all neighbors.
    pub accepted: u64,
    /// Rejected routes of all neighbors.
    pub rejected: u64,
    /// Prefixes in the table.
    pub prefixes: u64,
    /// Established sessions.
    pub established: u64,
    /// UPDATEs received a second since the sample before; absent in the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates_received_per_s: Option<f64>,
    /// Bytes sent a second since the sample before; absent in the first sample. UPDATEs are encoded once for many clients,
    /// so their number is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_sent_per_s: Option<f64>,
}

/// The routes and the updates of one neighbor at one time.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NeighborSampleRow {
    /// The neighbor's address.
    pub address: IpAddr,
    /// Wall time, Unix seconds.
    pub unix_s: u64,
    /// Accepted routes.
    pub accepted: u64,
    /// Rejected routes.
    pub rejected: u64,
    /// UPDATEs received a second since the sample before; absent in the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates_received_per_s: Option<f64>,
}
