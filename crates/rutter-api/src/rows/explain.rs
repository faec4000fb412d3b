//! Why a destination goes where it goes.

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

use super::{FindingRow, RouteRow, RouteSource};

/// Why a destination goes where it goes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExplainRow {
    /// The destination.
    #[serde(with = "crate::string_form")]
    pub prefix: Prefix,
    /// Every route, best first, rejected ones last. Others point into this list, counted from 1.
    pub candidates: Vec<CandidateRow>,
    /// What each established client hears.
    pub clients: Vec<ClientRow>,
}

/// A route in the decision.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CandidateRow {
    /// Place in the order of preference, from 1.
    pub rank: usize,
    /// The route.
    pub route: RouteRow,
    /// The step of the decision process at which it lost to the one before it; absent for the best one and for
    /// rejected ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<String>,
    /// Everything that the import policy has against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingRow>,
}

/// What one client hears.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientRow {
    /// The client.
    pub client: RouteSource,
    /// The ranks of the routes it hears: one, several where Add-Path was agreed on, or none.
    pub advertised: Vec<usize>,
    /// Better routes that it may not have, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldRow>,
}

/// A route that a client may not have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WithheldRow {
    /// The rank of the route.
    pub rank: usize,
    /// Why not, in words.
    pub why: String,
}
