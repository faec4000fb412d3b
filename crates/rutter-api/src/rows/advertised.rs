//! Routes as a client is sent them, and routes that it is not sent.

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

use super::{AttributesRow, RouteRow, RouteSource};

/// A route that a client is sent.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AdvertisedRow {
    /// The client.
    pub to: RouteSource,
    /// The destination.
    #[serde(with = "crate::string_form")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub prefix: Prefix,
    /// The neighbor that announced it.
    pub peer: RouteSource,
    /// Path Identifier as sent (RFC 7911); absent without Add-Path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_id: Option<u32>,
    /// The best route of its destination.
    pub best: bool,
    /// Stale: the neighbor is restarting (RFC 4724).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Its attributes as sent.
    pub attributes: AttributesRow,
}

/// A route that a client is not sent, although it is better than the one that it is sent. With Add-Path: every such route.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WithheldRouteRow {
    /// The client.
    pub to: RouteSource,
    /// The reason.
    pub withheld: WithheldReasonRow,
    /// The route as received.
    #[serde(flatten)]
    pub route: RouteRow,
}

/// The reason why a client is not sent a route.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WithheldReasonRow {
    /// The stable name.
    pub name: String,
    /// Why the client does not receive the route, in a sentence.
    pub explanation: String,
}

/// The number of routes that a client is sent and not sent.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AdvertisedCountRow {
    /// The client.
    pub to: RouteSource,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// Destinations of which it is sent a route.
    pub prefixes: u64,
    /// Routes that it is sent: more than prefixes only with Add-Path.
    pub routes: u64,
    /// Routes that it is not sent, by reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldCountRow>,
}

/// The number of routes that are withheld for one reason.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WithheldCountRow {
    /// The number of routes withheld for this reason.
    pub routes: u64,
    /// The reason.
    #[serde(flatten)]
    pub why: WithheldReasonRow,
}
