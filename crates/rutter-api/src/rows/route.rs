//! Routes and their attributes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

/// The neighbor that announced a route.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouteSource {
    /// The neighbor's name.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: u32,
}

/// A route.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouteRow {
    /// The destination.
    #[serde(with = "crate::string_form")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub prefix: Prefix,
    /// The neighbor that announced it.
    pub peer: RouteSource,
    /// Path Identifier as received (RFC 7911); absent without Add-Path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_id: Option<u32>,
    /// The best route of its destination.
    pub best: bool,
    /// Stale: the neighbor is restarting (RFC 4724).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Long-lived stale (RFC 9494).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long_lived_stale: bool,
    /// A monitored router reports it as its own: its next hop is `0.0.0.0` or `::` in the Loc-RIB or Adj-RIB-Out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub locally_originated: bool,
    /// The reason why it is rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectRow>,
    /// The RPKI validation state of the origin: `valid`, `invalid` or `not-found`. Only if the policy marks routes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_state: Option<String>,
    /// The state of the path under the ASPAs: `valid`, `invalid` or `unknown`. Only if the policy marks routes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_state: Option<String>,
    /// The check that the route failed, if the policy marks such routes and accepts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_in_spite_of: Option<RejectRow>,
    /// Its attributes.
    pub attributes: AttributesRow,
}

/// The reason why a route is rejected.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RejectRow {
    /// The number that looking glasses use.
    pub code: u16,
    /// The stable name.
    pub name: String,
    /// An explanation for the member, in one sentence.
    pub explanation: String,
}

/// A reason against a route, with its evidence.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FindingRow {
    /// The reason, with its number and explanation.
    #[serde(flatten)]
    pub reason: RejectRow,
    /// The value found and the value expected, as text.
    pub evidence: String,
}

/// A rejected route with all reasons against it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RejectedRow {
    /// The route; `rejected` is its first reason.
    #[serde(flatten)]
    pub route: RouteRow,
    /// All reasons, evaluated now for the stored route.
    pub findings: Vec<FindingRow>,
}

/// A distinct attribute set with its number of routes.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AttributeSetRow {
    /// Routes with this set.
    pub routes: u64,
    /// Bytes of the canonical encoding.
    pub bytes: u64,
    /// The attributes of the set.
    pub attributes: AttributesRow,
}

/// Path attributes. An attribute that is absent on the wire is absent here.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AttributesRow {
    /// `igp`, `egp` or `incomplete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// `64500 64501 {64502,64503}`: sets in braces, confederation segments in parentheses or brackets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_path: Option<String>,
    /// NEXT_HOP, or the global next hop of MP_REACH_NLRI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<IpAddr>,
    /// The link-local next hop beside it (RFC 2545).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_local_next_hop: Option<Ipv6Addr>,
    /// MULTI_EXIT_DISC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multi_exit_disc: Option<u32>,
    /// LOCAL_PREF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_pref: Option<u32>,
    /// ATOMIC_AGGREGATE.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub atomic_aggregate: bool,
    /// AGGREGATOR: `64500 192.0.2.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregator: Option<String>,
    /// COMMUNITIES.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub communities: Vec<String>,
    /// EXTENDED COMMUNITIES.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extended_communities: Vec<String>,
    /// LARGE_COMMUNITIES.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub large_communities: Vec<String>,
    /// ORIGINATOR_ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub originator_id: Option<Ipv4Addr>,
    /// CLUSTER_LIST.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_list: Vec<Ipv4Addr>,
    /// ONLY_TO_CUSTOMER (RFC 9234).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_to_customer: Option<u32>,
    /// AIGP metric (RFC 7311).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aigp: Option<u64>,
    /// All attributes without a field of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownAttributeRow>,
}

/// An attribute without a field of its own.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UnknownAttributeRow {
    /// Type code.
    pub code: u8,
    /// Flags octet.
    pub flags: u8,
    /// Value in hexadecimal.
    pub value: String,
}
