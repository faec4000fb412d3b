//! The status of a source, as management shows it.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of outside data: where its data come from, what is in force and what failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceStatus {
    /// The name: `rpki`, `irr`, or that of one server or file of them.
    pub name: String,
    /// Where the data come from: servers or files.
    pub location: String,
    /// The state.
    pub state: SourceState,
    /// The number of entries in force.
    pub entries: u64,
    /// Time of the last success, Unix seconds.
    pub updated_at: Option<u64>,
    /// Progress, session and serial number of an RTR cache, and the like. May be empty.
    pub detail: String,
    /// The last error.
    pub last_error: Option<String>,
    /// The change that the source refused because the data shrank too much; it waits for an operator.
    pub refused: Option<String>,
}

impl SourceStatus {
    /// The status of a source that has not been read.
    pub fn starting(name: impl Into<String>, location: impl Into<String>) -> Self {
        SourceStatus {
            name: name.into(),
            location: location.into(),
            state: SourceState::Starting,
            entries: 0,
            updated_at: None,
            detail: String::new(),
            last_error: None,
            refused: None,
        }
    }

    /// The age of the data in force at `now` (Unix seconds), in seconds.
    pub fn age_s(&self, now: u64) -> Option<u64> {
        self.updated_at.map(|time| now.saturating_sub(time))
    }
}

/// The state of a source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SourceState {
    /// The source has not been read since the start. A last good copy may be in force.
    Starting,
    /// The data in force are those of the last attempt.
    Live,
    /// The source fails, and its data are older than the configuration expects. They stay in force.
    Stale,
    /// The last attempt failed. The data before it stay in force.
    Failing,
    /// The last data shrank too much. The data before them stay in force until an operator accepts the new ones.
    Refused,
}

impl SourceState {
    /// The name in rows and metrics: `starting`, `live`, `stale`, `failing` or `refused`.
    pub fn as_str(self) -> &'static str {
        match self {
            SourceState::Starting => "starting",
            SourceState::Live => "live",
            SourceState::Stale => "stale",
            SourceState::Failing => "failing",
            SourceState::Refused => "refused",
        }
    }
}

impl fmt::Display for SourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The time in Unix seconds, by the system's clock.
pub fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
