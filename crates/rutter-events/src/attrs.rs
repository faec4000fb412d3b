//! The columns of an attribute set.

use std::fmt::{Display, Write as _};
use std::net::IpAddr;

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity};
use rutter_rib::AttrSet;
use rutter_wire::attr::{Attributes, Origin};

/// An attribute set as columns, created once for all routes that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttrColumns {
    /// ORIGIN.
    pub origin: Option<Origin>,
    /// AS_PATH as text: `64500 64501 {64502,64503}`; `None` where the attribute is missing.
    pub as_path: Option<String>,
    /// The last AS of the path; `None` where the path is empty or ends in a set.
    pub origin_as: Option<Asn>,
    /// The path length as the decision process counts it (RFC 4271 §9.1.2.2).
    pub path_len: u32,
    /// The global next hop.
    pub next_hop: Option<IpAddr>,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF.
    pub local_pref: Option<u32>,
    /// ATOMIC_AGGREGATE.
    pub atomic_aggregate: bool,
    /// AGGREGATOR: `AS address`.
    pub aggregator: Option<String>,
    /// Communities (RFC 1997) in the order received.
    pub communities: Vec<Community>,
    /// Extended communities (RFC 4360).
    pub extended_communities: Vec<ExtendedCommunity>,
    /// Large communities (RFC 8092).
    pub large_communities: Vec<LargeCommunity>,
}

impl AttrColumns {
    /// Creates the columns of a block of four-octet attributes and its next hop.
    pub fn new(attributes: &Attributes<'_>, next_hop: Option<IpAddr>) -> Self {
        let path = attributes.as_path();
        Self {
            origin: attributes.origin(),
            as_path: path.map(|path| {
                let mut text = String::with_capacity(DIGITS * path.path_len());
                let _ = write!(text, "{path}");
                text
            }),
            origin_as: path.and_then(|path| path.origin()),
            path_len: path.map_or(0, |path| path.path_len() as u32),
            next_hop,
            med: attributes.multi_exit_disc(),
            local_pref: attributes.local_pref(),
            atomic_aggregate: attributes.atomic_aggregate(),
            aggregator: attributes
                .aggregator()
                .map(|a| format!("{} {}", a.asn, a.router_id)),
            communities: attributes.communities().collect(),
            extended_communities: attributes.extended_communities().collect(),
            large_communities: attributes.large_communities().collect(),
        }
    }

    /// Creates the columns of an attribute set of the table.
    pub fn of(set: &AttrSet) -> Self {
        Self::new(&set.attributes(), set.next_hop())
    }

    /// The approximate size in memory, in bytes.
    pub fn octets(&self) -> usize {
        let strings = [&self.as_path, &self.aggregator];
        let strings = strings.into_iter().flatten().map(String::capacity);
        size_of::<Self>()
            + strings.sum::<usize>()
            + size_of_val(&*self.communities)
            + size_of_val(&*self.extended_communities)
            + size_of_val(&*self.large_communities)
    }

    /// ORIGIN as text: `igp`, `egp` or `incomplete`.
    pub fn origin_name(&self) -> Option<&'static str> {
        self.origin.map(|origin| match origin {
            Origin::Igp => "igp",
            Origin::Egp => "egp",
            Origin::Incomplete => "incomplete",
        })
    }

    /// Communities as text, separated by a space.
    pub fn communities_text(&self) -> String {
        spaced(&self.communities)
    }

    /// Extended communities as text, separated by a space.
    pub fn extended_communities_text(&self) -> String {
        spaced(&self.extended_communities)
    }

    /// Large communities as text, separated by a space.
    pub fn large_communities_text(&self) -> String {
        spaced(&self.large_communities)
    }
}

/// The length of most AS numbers with a space.
const DIGITS: usize = 7;

fn spaced(values: &[impl Display]) -> String {
    let mut out = String::new();
    for (i, value) in values.iter().enumerate() {
        let _ = write!(out, "{}{value}", if i > 0 { " " } else { "" });
    }
    out
}
