//! The BMP stations to which this daemon reports.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The state of the report to a BMP station.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StationState {
    /// An attempt to connect is made.
    Connecting,
    /// The station is sent a table.
    Loading,
    /// The station has the tables and is sent every change.
    Live,
    /// Changes were lost, so the station is sent the tables again after a pause.
    Paused,
    /// There is no connection. Another attempt follows.
    Away,
}

/// A BMP station to which this daemon reports.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StationRow {
    /// Its name, or its address.
    pub name: String,
    /// Its address.
    pub address: SocketAddr,
    /// The state of the report.
    pub state: StationState,
    /// Seconds in that state.
    pub state_for_s: u64,
    /// Sessions that the station knows.
    pub sessions: u64,
    /// BMP messages made for the station.
    pub messages: u64,
    /// Bytes that the station has taken.
    pub bytes: u64,
    /// Changed routes that the station has not been sent yet.
    pub waiting_routes: u64,
    /// Bytes of messages that wait for the station's socket.
    pub unsent_bytes: u64,
    /// Connections so far.
    pub connects: u64,
    /// The number of times that changes were lost, so that the tables were sent again.
    pub resyncs: u64,
    /// The last error. It stays after the station has recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Seconds since the last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error_ago_s: Option<u64>,
}

impl StationState {
    /// All states.
    pub const ALL: [StationState; 5] = [
        StationState::Connecting,
        StationState::Loading,
        StationState::Live,
        StationState::Paused,
        StationState::Away,
    ];
}

impl fmt::Display for StationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StationState::Connecting => "connecting",
            StationState::Loading => "loading",
            StationState::Live => "live",
            StationState::Paused => "paused",
            StationState::Away => "away",
        })
    }
}
