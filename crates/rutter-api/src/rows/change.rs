//! Changes of the table.

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

use super::{AttributesRow, RejectRow, RouteSource};

/// A change of the table, with its number and time.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangeRow {
    /// Ascending numbers. They go on after a restart.
    pub number: u64,
    /// Wall time, microseconds since 1970, as precise as a tenth of a second.
    pub unix_us: u64,
    /// The change.
    #[serde(flatten)]
    pub change: Change,
}

/// A change of the table.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// A route came, or came again with other attributes.
    Announced {
        /// The route's place.
        #[serde(flatten)]
        route: ChangedRoute,
        /// Its attributes.
        attributes: AttributesRow,
        /// The verdict on it.
        #[serde(flatten)]
        verdict: VerdictRow,
    },
    /// A route was withdrawn, or removed with its session.
    Withdrawn {
        /// The route's place.
        #[serde(flatten)]
        route: ChangedRoute,
    },
    /// A route that stayed as it was has another verdict.
    Verdict {
        /// The route's place.
        #[serde(flatten)]
        route: ChangedRoute,
        /// The verdict before.
        before: VerdictRow,
        /// The verdict now.
        after: VerdictRow,
    },
    /// Another route is the best of its destination, or none is any more.
    Best {
        /// The destination.
        #[serde(with = "crate::string_form")]
        #[cfg_attr(test, schemars(with = "String"))]
        prefix: Prefix,
        /// The sender of the best route before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<RouteSource>,
        /// The sender of the best route.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<RouteSource>,
        /// The attributes of the best route.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attributes: Option<AttributesRow>,
    },
    /// A session was established.
    SessionUp {
        /// The neighbor.
        peer: RouteSource,
    },
    /// A session ended.
    SessionDown {
        /// The neighbor.
        peer: RouteSource,
        /// The reason in words.
        reason: String,
    },
}

/// The place of a route that changed.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangedRoute {
    /// The destination.
    #[serde(with = "crate::string_form")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub prefix: Prefix,
    /// The neighbor that announced it.
    pub peer: RouteSource,
    /// Path Identifier as received (RFC 7911); absent without Add-Path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_id: Option<u32>,
}

/// The verdict on a route.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct VerdictRow {
    /// The reason why it is rejected; absent if it is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectRow>,
    /// The RPKI validation state of the origin, as in [`super::RouteRow`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_state: Option<String>,
    /// The state of the path under the ASPAs, as in [`super::RouteRow`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_state: Option<String>,
    /// The check that an accepted route failed, as in [`super::RouteRow`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_in_spite_of: Option<RejectRow>,
}

impl Change {
    /// The names of all kinds.
    pub const KINDS: [&'static str; 6] = [
        "announced",
        "withdrawn",
        "verdict",
        "best",
        "session-up",
        "session-down",
    ];

    /// Returns the name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::Announced { .. } => "announced",
            Change::Withdrawn { .. } => "withdrawn",
            Change::Verdict { .. } => "verdict",
            Change::Best { .. } => "best",
            Change::SessionUp { .. } => "session-up",
            Change::SessionDown { .. } => "session-down",
        }
    }
}
