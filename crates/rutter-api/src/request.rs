//! What can be asked.

use std::net::IpAddr;
use std::path::PathBuf;

use rutter_net::{Family, Prefix};
use serde::{Deserialize, Serialize};

/// The version of the protocol. A daemon refuses other versions and says which one it speaks.
pub const VERSION: u32 = 1;

/// Longest request line in octets; longer ones are refused unread.
pub const MAX_REQUEST: usize = 64 * 1024;

/// One request line: `{"version":1,"request":"peers"}`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// [`VERSION`].
    pub version: u32,
    /// What is asked.
    pub request: Request,
}

impl Envelope {
    /// A request in the version of this crate.
    pub fn new(request: Request) -> Self {
        Envelope {
            version: VERSION,
            request,
        }
    }
}

/// What is asked. Each variant says which [`crate::Line`]s answer it.
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
    /// The routes of one destination: [`crate::RouteRow`]s, best first.
    Route {
        /// An exact prefix, or an address, which finds the longest match.
        target: String,
    },
    /// Where packets to these addresses go: a [`crate::LookupRow`] each, in this order.
    Lookup(LookupQuery),
    /// The whole table in few octets, for look-ups elsewhere: [`crate::TableSetRow`]s and
    /// [`crate::TableRoutesRow`]s, the accepted route of each destination that is best of those wanted.
    Table(RouteSelector),
    /// Rejected routes with all reasons and the evidence: [`crate::RejectedRow`]s.
    Rejected(RouteFilter),
    /// Distinct attribute sets: [`crate::AttributeSetRow`]s, the most used first.
    Attributes {
        /// At most so many; all without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// Bytes by purpose: [`crate::MemoryRow`]s.
    Memory,
    /// The databases and brokers of a collector: [`crate::SinkRow`]s.
    Sinks,
    /// The routers that report to a collector by BMP: [`crate::RouterRow`]s.
    Routers,
    /// Why a destination goes where it goes: one [`crate::ExplainRow`].
    Explain {
        /// An exact prefix, or an address, which finds the longest match.
        target: String,
    },
    /// Resets or refreshes sessions.
    Clear {
        /// Name, address, `AS64500` or `all`.
        peer: String,
        /// What to do.
        how: ClearHow,
    },
    /// Log lines kept in memory, then new ones where wanted: [`crate::LogRow`]s.
    Log {
        /// Stay and send new lines as they come.
        #[serde(default)]
        follow: bool,
    },
    /// Reads the configuration anew and applies it, all or nothing: one [`crate::DiffRow`], or
    /// [`crate::ConfigErrorRow`]s and an error.
    Reload,
    /// What a reload would change: one [`crate::DiffRow`], or [`crate::ConfigErrorRow`]s and an error.
    Diff {
        /// The file to compare with; without: the file that the daemon was started with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
    },
    /// Ends the daemon: sessions get a Cease with this text (RFC 9003).
    Shutdown {
        /// The text for the neighbors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

/// RouteSelector routes are looked up: of any of these neighbors or with any of these next hops; without both: the best.
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
    /// Whether the best routes are wanted, whoever sent them.
    pub fn is_any(&self) -> bool {
        self.peers.is_empty() && self.next_hops.is_empty()
    }
}

/// Addresses to look up.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct LookupQuery {
    /// The addresses.
    pub addresses: Vec<IpAddr>,
    /// RouteSelector routes.
    #[serde(skip_serializing_if = "RouteSelector::is_any")]
    pub routes: RouteSelector,
    /// Where none of those wanted leads to an address, the best of all is told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub or_best: bool,
}

/// How to clear a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClearHow {
    /// Reset: Cease, Administrative Reset (RFC 4486).
    Hard,
    /// Import policy anew over the kept routes; nothing is asked of the neighbor.
    SoftIn,
    /// Everything is sent to the neighbor again.
    SoftOut,
}

/// A family as people write it.
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

/// Which routes. All conditions must hold; the default means all routes.
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
    /// Rejected ones only.
    pub rejected: bool,
    /// The best of each destination only.
    pub best: bool,
    /// At most so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}
