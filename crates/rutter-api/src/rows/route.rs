//! Routes and their attributes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

/// Who sent a route.
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouteRow {
    /// The destination.
    #[serde(with = "crate::string_form")]
    pub prefix: Prefix,
    /// Who sent it.
    pub peer: RouteSource,
    /// Path Identifier as received (RFC 7911); absent without Add-Path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_id: Option<u32>,
    /// The first choice of the decision process.
    pub best: bool,
    /// Kept through a restart of the neighbor (RFC 4724).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Kept for long (RFC 9494).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long_lived_stale: bool,
    /// Why it takes no part in the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectRow>,
    /// Its attributes.
    pub attributes: AttributesRow,
}

/// Why a route is rejected.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RejectRow {
    /// The number that looking glasses know.
    pub code: u16,
    /// The stable name.
    pub name: String,
    /// One sentence for the member who asks.
    pub explanation: String,
}

/// One reason against a route and what it rests on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FindingRow {
    /// The reason.
    #[serde(flatten)]
    pub reason: RejectRow,
    /// What was found and what was wanted, in words.
    pub evidence: String,
}

/// A rejected route with everything against it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RejectedRow {
    /// The route; its `rejected` is the reason that counts.
    #[serde(flatten)]
    pub route: RouteRow,
    /// All reasons, computed now from the kept route.
    pub findings: Vec<FindingRow>,
}

/// A distinct attribute set and how many routes have it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AttributeSetRow {
    /// Routes with this set.
    pub routes: u64,
    /// Octets of the canonical block.
    pub bytes: u64,
    /// The attributes.
    pub attributes: AttributesRow,
}

/// Path attributes in words and numbers; what is absent on the wire is absent here.
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
    /// Every attribute without a field of its own here, byte for byte.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownAttributeRow>,
}

/// An attribute without a field of its own.
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
