//! Answers to look-ups, and whole tables for look-ups in the client.

use std::net::IpAddr;

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

use crate::{AttributesRow, RouteSource};

/// The route for packets to an address. It has only the address if the table has no route to it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LookupRow {
    /// The requested address.
    pub address: IpAddr,
    /// The longest matching prefix.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::string_form::option"
    )]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub prefix: Option<Prefix>,
    /// The origin AS; absent if the path is empty or ends in a set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_as: Option<u32>,
    /// The neighbor that announced the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<RouteSource>,
    /// RPKI origin validation (RFC 6811), if enabled: `valid`, `invalid` or `not-found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rov: Option<String>,
    /// None of the selected routes matches: this is the best of all routes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
    /// The route is stale: its neighbor is restarting (RFC 4724).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Its attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<AttributesRow>,
}

/// A neighbor and an attribute set that routes of a table share. It comes before its routes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableSetRow {
    /// Its number in this answer, from 0.
    pub set: u32,
    /// The neighbor that announced the routes.
    pub peer: RouteSource,
    /// The last AS of the path; absent if the path is empty or ends in a set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_as: Option<u32>,
    /// The attributes of all routes with this set.
    pub attributes: AttributesRow,
}

/// Routes of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableRoutesRow {
    /// The number of the set, and the prefix.
    pub routes: Vec<(u32, PrefixText)>,
}

/// A prefix, in JSON as a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrefixText(#[serde(with = "crate::string_form")] pub Prefix);
