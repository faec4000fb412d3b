//! The sources of outside data.

use serde::{Deserialize, Serialize};

/// A source of outside data that filters use: an RTR cache, an IRR server, a file.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SourceRow {
    /// The name: `rpki`, `irr`, or that of one server or file of them.
    pub name: String,
    /// Where the data come from: servers or files.
    pub location: String,
    /// `starting`, `live`, `stale`, `failing` or `refused`.
    pub state: String,
    /// The number of entries in force.
    pub entries: u64,
    /// Time of the last success, Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<u64>,
    /// Age of the data in force, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_s: Option<u64>,
    /// Session and serial number of an RTR cache, and the like.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The error of the last attempt; absent if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The change that the source refused because the data shrank too much; it waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl SourceRow {
    /// The values of `state`.
    pub const STATES: [&str; 5] = ["starting", "live", "stale", "failing", "refused"];
}

/// An action on a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceAction {
    /// Ask for new data now.
    Refresh,
    /// Accept the data that were refused because they shrank too much.
    Accept,
}
