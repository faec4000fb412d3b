//! What changes between two configurations.

use std::net::IpAddr;

use crate::Config;

/// A neighbor that is in both configurations but differs.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Changed {
    /// The neighbor.
    pub neighbor: IpAddr,
    /// What differs, as the keys of the file.
    pub keys: Vec<String>,
    /// The session must be reset for the change to take effect (it was negotiated, or belongs to the socket).
    pub needs_session_reset: bool,
}

/// What changes between two configurations.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Diff {
    /// New neighbors.
    pub added: Vec<IpAddr>,
    /// Neighbors that are gone.
    pub removed: Vec<IpAddr>,
    /// Neighbors that differ, including by a change of the checks.
    pub changed: Vec<Changed>,
    /// Keys of `[checks]` that differ.
    pub checks: Vec<String>,
    /// Keys of `[communities]` that differ: audiences are computed anew.
    pub communities: Vec<String>,
    /// Sections of dynamic neighbors differ.
    pub dynamic_neighbors: bool,
    /// Keys that take effect on the next start only (`exchange.asn`, `daemon.threads`, …).
    pub needs_restart: Vec<String>,
    /// Other keys that differ and take effect at once (`mrt`, `metrics`, `daemon.log`).
    pub other: Vec<String>,
}

impl Diff {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Diff::default()
    }
}

/// Compares two configurations.
pub fn diff(_old: &Config, _new: &Config) -> Diff {
    todo!()
}
