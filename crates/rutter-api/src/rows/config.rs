//! Configuration errors and differences.

use std::net::IpAddr;

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

use super::{RejectRow, RouteSource};

/// An error or warning in a configuration file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigErrorRow {
    /// `error` or `warning`.
    pub severity: String,
    /// The file with the error, or the name of the text.
    pub file: String,
    /// Line, from 1; 0 for the whole file.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The full key, with its sections.
    pub key: String,
    /// The error.
    pub message: String,
    /// A correction.
    pub hint: String,
    /// All of the above as text.
    pub text: String,
}

impl From<&rutter_config::ConfigError> for ConfigErrorRow {
    fn from(error: &rutter_config::ConfigError) -> Self {
        ConfigErrorRow {
            severity: match error.severity {
                rutter_config::Severity::Error => "error",
                rutter_config::Severity::Warning => "warning",
            }
            .to_owned(),
            file: error.file.display().to_string(),
            line: error.line,
            column: error.column,
            key: error.key.clone(),
            message: error.message.clone(),
            hint: error.hint.clone(),
            text: error.to_string(),
        }
    }
}

/// The differences between two configurations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct DiffRow {
    /// New neighbors.
    pub added: Vec<IpAddr>,
    /// Removed neighbors.
    pub removed: Vec<IpAddr>,
    /// Changed neighbors.
    pub changed: Vec<ChangedRow>,
    /// Keys of `[checks]` that differ.
    pub checks: Vec<String>,
    /// Keys of `[communities]` that differ.
    pub communities: Vec<String>,
    /// Whether sections of dynamic neighbors differ.
    pub dynamic_neighbors: bool,
    /// Keys that take effect on the next start only.
    pub needs_restart: Vec<String>,
    /// Other keys that differ and take effect at once.
    pub other: Vec<String>,
}

/// A prefix limit that a configuration or new data of PeeringDB change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LimitChangeRow {
    /// The neighbor.
    pub peer: RouteSource,
    /// `ipv4-unicast` or `ipv6-unicast`.
    pub family: String,
    /// The present limit; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// The limit afterwards; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    /// The network's number in PeeringDB, of which the limit is made; absent: it is that of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peeringdb: Option<u32>,
}

/// The routes of a neighbor whose verdict a configuration changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouteChangesRow {
    /// The neighbor.
    pub peer: RouteSource,
    /// Rejected routes that are accepted afterwards.
    pub accepted: u64,
    /// Accepted routes that are rejected afterwards, or that go with their neighbor.
    pub rejected: u64,
    /// Accepted routes that clients receive with other marks, and rejected routes with another reason.
    pub changed: u64,
}

/// A route whose verdict a configuration changes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouteChangeRow {
    /// The neighbor.
    pub peer: RouteSource,
    /// The prefix of the route.
    #[serde(with = "crate::string_form")]
    pub prefix: Prefix,
    /// The present reason of rejection; absent: the route is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected_before: Option<RejectRow>,
    /// The reason of rejection afterwards; absent: the route is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected_after: Option<RejectRow>,
    /// The neighbor is removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub neighbor_removed: bool,
}

/// A changed neighbor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangedRow {
    /// The address of the neighbor.
    pub neighbor: IpAddr,
    /// The keys that differ.
    pub keys: Vec<String>,
    /// Whether the change resets the session.
    pub needs_session_reset: bool,
    /// The keys that reset the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reset_by: Vec<ResetByRow>,
    /// Whether the session ends and stays down.
    #[serde(default)]
    pub ends_session: bool,
}

/// A configuration that ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryRow {
    /// Its number.
    pub number: u64,
    /// The time when it was put in force, Unix seconds.
    pub unix_s: u64,
    /// The user who did it, or the cause.
    pub by: String,
    /// The command or event: `apply`, `reload`, `rollback to 3`, `start`, `went back: …`.
    pub action: String,
    /// It is in force.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// The time until the daemon goes back to the one before, unless somebody confirms it, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_back_in_s: Option<u64>,
}

/// A key that resets a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ResetByRow {
    /// The key that resets the session.
    pub key: String,
    /// Why its change cannot take effect while the session goes on.
    pub reason: String,
}

impl From<rutter_config::Diff> for DiffRow {
    fn from(diff: rutter_config::Diff) -> Self {
        let reset_by = |one: rutter_config::ResetBy| ResetByRow {
            key: one.key,
            reason: one.reason.to_owned(),
        };
        let changed = |c: rutter_config::Changed| ChangedRow {
            neighbor: c.neighbor,
            keys: c.keys,
            needs_session_reset: c.needs_session_reset,
            reset_by: c.reset_by.into_iter().map(reset_by).collect(),
            ends_session: c.ends_session,
        };
        DiffRow {
            added: diff.added,
            removed: diff.removed,
            changed: diff.changed.into_iter().map(changed).collect(),
            checks: diff.checks,
            communities: diff.communities,
            dynamic_neighbors: diff.dynamic_neighbors,
            needs_restart: diff.needs_restart,
            other: diff.other,
        }
    }
}
