//! The explanation of a destination.

use rutter_net::Prefix;
use serde::{Deserialize, Serialize};

use super::{FindingRow, RouteRow, RouteSource};

/// The explanation of a destination: its candidates, and the routes that each client receives.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExplainRow {
    /// The destination.
    #[serde(with = "crate::string_form")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub prefix: Prefix,
    /// All routes, best first, rejected routes last. Ranks refer to this list and count from 1.
    pub candidates: Vec<CandidateRow>,
    /// The routes that each established client receives.
    pub clients: Vec<ClientRow>,
}

/// A route in the decision.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CandidateRow {
    /// The rank in the order of preference, from 1.
    pub rank: usize,
    /// The route of this rank.
    pub route: RouteRow,
    /// The step of the decision process that preferred the previous candidate. Absent for the best route and for
    /// rejected routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<String>,
    /// All reasons of the import policy against the route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingRow>,
    /// The changes that the operator's filters make to the route, one line for each rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter_changes: Vec<String>,
}

/// The routes that one client receives.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientRow {
    /// The client whose routes this row explains.
    pub client: RouteSource,
    /// The ranks of the routes advertised to it: one, several with Add-Path, or none.
    pub advertised: Vec<usize>,
    /// Better routes that are not advertised to it, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldRow>,
}

/// A route that is not advertised to a client.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WithheldRow {
    /// The rank of the route.
    pub rank: usize,
    /// The reason, as text.
    pub why: String,
}
