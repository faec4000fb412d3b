//! The requests.

use std::net::IpAddr;
use std::path::PathBuf;

use rutter_net::{Family, Prefix};
use serde::{Deserialize, Serialize};

use crate::ChangeFilter;

/// The version of the protocol. A daemon refuses other versions with an error that names its own.
pub const VERSION: u32 = 1;

/// The maximum length of a request line, bytes. Longer lines are refused.
pub const MAX_REQUEST: usize = 64 * 1024;

/// The maximum size of a configuration, bytes: of a file, and of a text that follows a request.
pub const MAX_CONFIGURATION: u64 = 16 << 20;

/// One request line: `{"version":1,"request":"peers"}`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// [`VERSION`].
    pub version: u32,
    /// The request to answer.
    pub request: Request,
    /// The user behind a program, for the audit log. The daemon cannot check it, and also records the program.
    #[serde(
        default,
        rename = "on-behalf-of",
        skip_serializing_if = "Option::is_none"
    )]
    pub on_behalf_of: Option<String>,
}

impl Envelope {
    /// Wraps a request, with the version of this crate.
    pub fn new(request: Request) -> Self {
        Envelope {
            version: VERSION,
            request,
            on_behalf_of: None,
        }
    }
}

/// A request. Each variant names the [`crate::Line`]s of its answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// The process: one [`crate::StatusRow`].
    Status,
    /// All sessions: [`crate::PeerRow`]s, by address.
    Peers,
    /// One session, by name, address or AS number: [`crate::PeerRow`]s.
    Peer {
        /// Name, address or `AS64500`.
        peer: String,
    },
    /// Routes: [`crate::RouteRow`]s in no particular order.
    Routes(RouteFilter),
    /// The routes to one destination: [`crate::RouteRow`]s, best first.
    Route {
        /// An exact prefix, or an address for its longest match.
        target: String,
    },
    /// The routes for these addresses: a [`crate::LookupRow`] each, in this order.
    Lookup(LookupQuery),
    /// The whole table in compact form, for look-ups in the client: [`crate::TableSetRow`]s and
    /// [`crate::TableRoutesRow`]s. It has the best selected route of each destination.
    Table(RouteSelector),
    /// Rejected routes with all reasons and the evidence: [`crate::RejectedRow`]s.
    Rejected(RouteFilter),
    /// The routes that a client is sent, those that it is not sent, or their numbers: [`crate::AdvertisedRow`]s,
    /// [`crate::WithheldRouteRow`]s or [`crate::AdvertisedCountRow`]s.
    Advertised(AdvertisedQuery),
    /// Distinct attribute sets: [`crate::AttributeSetRow`]s, the most used first.
    Attributes {
        /// The maximum number of rows; absent: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// Memory use by purpose: [`crate::MemoryRow`]s.
    Memory,
    /// The databases and brokers of a collector: [`crate::SinkRow`]s.
    Sinks,
    /// The routers that report to a collector by BMP: [`crate::RouterRow`]s.
    Routers,
    /// The sources of outside data that filters use: [`crate::SourceRow`]s.
    Sources,
    /// The BMP stations to which the daemon reports: [`crate::StationRow`]s.
    Stations,
    /// Acts on a source of outside data.
    Source {
        /// The name of the source, as in [`crate::SourceRow::name`].
        name: String,
        /// Ask for new data, or accept refused ones.
        action: crate::SourceAction,
    },
    /// The explanation of a destination: one [`crate::ExplainRow`].
    Explain {
        /// An exact prefix, or an address for its longest match.
        target: String,
        /// A route to assume; absent: the table as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        what_if: Option<WhatIf>,
    },
    /// Resets or refreshes sessions.
    Clear {
        /// Name, address, `AS64500` or `all`.
        peer: String,
        /// The kind of reset.
        how: ClearHow,
    },
    /// Log lines in memory, then optionally new lines: [`crate::LogRow`]s.
    Log {
        /// Wait for new lines and send them.
        #[serde(default)]
        follow: bool,
    },
    /// The changes of the table as they happen, until the client disconnects: a [`crate::Line::Change`] each, and
    /// [`crate::Line::ChangesRead`] at first and after quiet seconds.
    Changes(ChangesQuery),
    /// Puts the configuration of a file in force, and makes it the daemon's own file, all or nothing: one
    /// [`crate::DiffRow`], or [`crate::ConfigErrorRow`]s and an error.
    Apply(ApplyOrder),
    /// Keeps a configuration that waits for its confirmation.
    Confirm,
    /// The configurations that ran, the oldest first: [`crate::HistoryRow`]s.
    History,
    /// Goes back to an earlier configuration: one [`crate::DiffRow`], or [`crate::ConfigErrorRow`]s and an error.
    Rollback {
        /// Its number. Absent: ends a change that waits for its confirmation, or goes to the one before that in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u64>,
    },
    /// Reloads the configuration, all or nothing: one [`crate::DiffRow`], or [`crate::ConfigErrorRow`]s and an error.
    Reload,
    /// The changes that a reload would make: one [`crate::DiffRow`], or [`crate::ConfigErrorRow`]s and an error.
    Diff {
        /// The file to compare with; absent: the file that the daemon was started with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
        /// Also the routes whose verdict would change: counts by neighbor ([`crate::RouteChangesRow`]), and this many of
        /// the routes ([`crate::RouteChangeRow`]). Absent: no routes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        routes: Option<u64>,
    },
    /// As `diff`, for a configuration that follows the line of the request.
    DiffText(DiffText),
    /// The routes whose verdict would change if an operator accepted the data that a source refused: as the routes of
    /// `diff`.
    DiffSources {
        /// List this many routes.
        #[serde(default)]
        routes: u64,
    },
    /// Hands over to a new process of the program as it is installed now. No session ends. The message of the answer says
    /// what it took over, or why it did not.
    Upgrade,
    /// Stops the daemon. Sessions end with a Cease that carries this text (RFC 9003).
    Shutdown {
        /// The text for the neighbors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

/// The changes that a client wants to receive.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct ChangesQuery {
    /// Conditions on the changes.
    pub filter: ChangeFilter,
    /// Continue after the change with this number; absent: from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// The configuration that is to be put in force.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ApplyOrder {
    /// The file, which the daemon reads. With `text-bytes` only the name of the text in errors.
    pub file: PathBuf,
    /// The configuration itself follows the line of the request, in so many bytes of UTF-8: for one that comes through a
    /// pipe, which can be read only once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// The text that followed.
    #[serde(skip)]
    pub text: Option<String>,
    /// The daemon goes back if nobody confirms within this time, seconds. Absent: the configuration is kept at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_s: Option<u64>,
    /// The daemon goes back if a neighbor loses more of its routes than this, percent. It needs `confirm-s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_loss: Option<f64>,
}

/// A configuration that is compared with the one in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DiffText {
    /// The name of the text in errors. Files that the text names are relative to the folder of the daemon's own file.
    pub name: PathBuf,
    /// The configuration follows the line of the request, in so many bytes of UTF-8.
    pub text_bytes: u64,
    /// The text that followed.
    #[serde(skip)]
    pub text: String,
    /// The routes, as in `diff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<u64>,
}

/// A route that a neighbor might announce.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WhatIf {
    /// The neighbor: name, address or `AS64500`.
    pub from: String,
    /// The AS_PATH; empty: the neighbor's AS alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub as_path: Vec<u32>,
    /// Standard (`64500:1`) and large (`64500:1:2`) communities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub communities: Vec<String>,
    /// The next hop; absent: the neighbor's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<IpAddr>,
}

/// Selects routes: of any of these neighbors, or with any of these next hops. Without both it selects the best routes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct RouteSelector {
    /// Neighbors by name, address or `AS64500`, and monitored routers by name or address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// Next hops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_hops: Vec<IpAddr>,
}

impl RouteSelector {
    /// Returns whether the selector is empty and selects the best routes.
    pub fn is_any(&self) -> bool {
        self.peers.is_empty() && self.next_hops.is_empty()
    }
}

/// Addresses to look up.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct LookupQuery {
    /// The addresses to look up, answered in this order.
    pub addresses: Vec<IpAddr>,
    /// The routes to look up in.
    #[serde(skip_serializing_if = "RouteSelector::is_any")]
    pub routes: RouteSelector,
    /// Return the best of all routes if no selected route matches an address.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub or_best: bool,
}

/// The question what a client is sent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct AdvertisedQuery {
    /// The client: name, address or `AS64500`.
    pub to: String,
    /// The part of the answer.
    pub list: AdvertisedList,
    /// Conditions on the routes as received. For withheld routes, [`RouteFilter::reason`] is why they are withheld.
    pub filter: RouteFilter,
}

/// The part of the table that a client's question is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdvertisedList {
    /// The routes that it is sent, as they are sent.
    #[default]
    Routes,
    /// The better routes that it is not sent, each with the reason.
    Withheld,
    /// The number of both.
    Count,
}

/// How to clear a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClearHow {
    /// Reset: Cease, Administrative Reset (RFC 4486).
    Hard,
    /// Re-evaluate the import policy for the stored routes, without a Route Refresh.
    SoftIn,
    /// Advertise all routes to the neighbor again.
    SoftOut,
}

/// An address family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FamilyFilter {
    /// IPv4 unicast.
    Ipv4,
    /// IPv6 unicast.
    Ipv6,
}

impl From<FamilyFilter> for Family {
    fn from(family: FamilyFilter) -> Self {
        match family {
            FamilyFilter::Ipv4 => Family::Ipv4Unicast,
            FamilyFilter::Ipv6 => Family::Ipv6Unicast,
        }
    }
}

/// A filter of routes. A route must meet all conditions; the default matches all routes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct RouteFilter {
    /// From this neighbor: name, address or `AS64500`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Of this family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<FamilyFilter>,
    /// This prefix and everything inside it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "crate::string_form::option"
    )]
    pub within: Option<Prefix>,
    /// Originated by this AS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_as: Option<u32>,
    /// With this AS anywhere in the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_as: Option<u32>,
    /// With this community, standard (`64500:1`) or large (`64500:1:2`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub community: Option<String>,
    /// Rejected for this reason: its name or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Rejected routes only.
    pub rejected: bool,
    /// The best route of each destination only.
    pub best: bool,
    /// The maximum number of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// List page by page: from the place that [`crate::Done::next`] names, or from the start if it is empty. A page ends
    /// with a whole destination, so it can be longer than `limit` by the other routes of the last one. A destination that
    /// stays in the table is on exactly one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}
