//! Answers to look-ups, and tables for look-ups elsewhere.

use std::net::IpAddr;

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

use crate::{AttributesRow, RouteSource};

/// Where packets to an address go; with the address alone where the table has no route to it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LookupRow {
    /// The address that was asked for.
    pub address: IpAddr,
    /// The longest prefix that has it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::string_form::option"
    )]
    pub prefix: Option<Prefix>,
    /// The last AS of the path; absent where the path is empty or ends in a set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_as: Option<u32>,
    /// Who sent the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<RouteSource>,
    /// RPKI origin validation (RFC 6811) where it is known: `valid`, `invalid` or `not-found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rov: Option<String>,
    /// None of those wanted has a route: this is the best of all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
    /// The route is kept through a restart of its neighbor (RFC 4724).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Its attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<AttributesRow>,
}

/// What routes of a table have in common. It comes before the routes that have it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableSetRow {
    /// Its number in this answer: 0, 1, 2 and so on.
    pub set: u32,
    /// Who sent them.
    pub peer: RouteSource,
    /// The last AS of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_as: Option<u32>,
    /// The attributes.
    pub attributes: AttributesRow,
}

/// Routes of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableRoutesRow {
    /// Number of the set, and the prefix.
    pub routes: Vec<(u32, PrefixText)>,
}

/// A prefix that stands in JSON as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrefixText(#[serde(with = "crate::string_form")] pub Prefix);
