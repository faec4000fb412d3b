//! A route with its attributes, in the same form for all daemons, so that tests can announce and compare routes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rutter_net::Prefix;

/// ORIGIN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// Interior.
    Igp,
    /// From EGP.
    Egp,
    /// Learned by other means.
    Incomplete,
}

impl Origin {
    /// Reads a daemon's name for an origin (`IGP`, `i`, `Incomplete`, …), or its number.
    pub fn read(text: &str) -> Result<Origin, String> {
        match text.to_ascii_lowercase().as_str() {
            "igp" | "i" | "0" => Ok(Origin::Igp),
            "egp" | "e" | "1" => Ok(Origin::Egp),
            "incomplete" | "?" | "2" => Ok(Origin::Incomplete),
            _ => Err(format!("`{text}` is not an origin")),
        }
    }

    /// The usual name in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Igp => "igp",
            Origin::Egp => "egp",
            Origin::Incomplete => "incomplete",
        }
    }
}

/// A route as announced by one daemon or received by another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Route {
    /// The destination.
    pub prefix: Prefix,
    /// Path Identifier, if the session has Add-Path and the daemon shows it.
    pub path_id: Option<u32>,
    /// The next hop (the global address, if there are two).
    pub next_hop: IpAddr,
    /// AS_PATH, the sender's own AS first.
    pub as_path: Vec<u32>,
    /// ORIGIN.
    pub origin: Origin,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// COMMUNITIES.
    pub communities: BTreeSet<(u16, u16)>,
    /// LARGE_COMMUNITIES.
    pub large_communities: BTreeSet<(u32, u32, u32)>,
    /// Route targets (two-octet AS, extended communities of type 0, subtype 2).
    pub route_targets: BTreeSet<(u32, u32)>,
}

impl Route {
    /// A plain route; panics if the strings are not a prefix and an address.
    pub fn new(prefix: &str, next_hop: &str, as_path: &[u32]) -> Route {
        Route {
            prefix: prefix.parse().unwrap_or_else(|error| panic!("{error}")),
            path_id: None,
            next_hop: next_hop
                .parse()
                .unwrap_or_else(|error| panic!("{next_hop}: {error}")),
            as_path: as_path.to_vec(),
            origin: Origin::Igp,
            med: None,
            communities: BTreeSet::new(),
            large_communities: BTreeSet::new(),
            route_targets: BTreeSet::new(),
        }
    }

    /// With this ORIGIN.
    pub fn origin(mut self, origin: Origin) -> Route {
        self.origin = origin;
        self
    }

    /// With this MULTI_EXIT_DISC.
    pub fn med(mut self, med: u32) -> Route {
        self.med = Some(med);
        self
    }

    /// Adds a community.
    pub fn community(mut self, high: u16, low: u16) -> Route {
        self.communities.insert((high, low));
        self
    }

    /// Adds a large community.
    pub fn large_community(mut self, global: u32, first: u32, second: u32) -> Route {
        self.large_communities.insert((global, first, second));
        self
    }

    /// Adds a route target.
    pub fn route_target(mut self, asn: u32, value: u32) -> Route {
        self.route_targets.insert((asn, value));
        self
    }

    /// With this Path Identifier.
    pub fn path_id(mut self, id: u32) -> Route {
        self.path_id = Some(id);
        self
    }

    /// The AS_PATH after the sender's own AS.
    pub fn as_path_tail(&self) -> &[u32] {
        self.as_path.get(1..).unwrap_or_default()
    }
}

/// The same routes without Path Identifiers, for comparing with daemons that do not show them.
pub fn routes_without_path_ids<'a>(routes: impl IntoIterator<Item = &'a Route>) -> BTreeSet<Route> {
    routes
        .into_iter()
        .map(|route| Route {
            path_id: None,
            ..route.clone()
        })
        .collect()
}

/// Reads numbers separated by `:` or `,` and spaces.
pub(crate) fn numbers<const N: usize>(text: &str) -> Result<[u32; N], String> {
    let mut numbers = [0; N];
    let mut parts = text.split([':', ',']).map(str::trim);
    for number in &mut numbers {
        *number = parts
            .next()
            .and_then(|part| part.parse().ok())
            .ok_or_else(|| format!("`{text}` is not {N} numbers"))?;
    }
    match parts.next() {
        None => Ok(numbers),
        Some(_) => Err(format!("`{text}` is more than {N} numbers")),
    }
}

/// Reads a standard community.
pub(crate) fn community(text: &str) -> Result<(u16, u16), String> {
    let [high, low] = numbers(text)?;
    let half = |n: u32| u16::try_from(n).map_err(|_| format!("`{text}` is not a community"));
    Ok((half(high)?, half(low)?))
}

/// Reads a large community.
pub(crate) fn large_community(text: &str) -> Result<(u32, u32, u32), String> {
    let [global, first, second] = numbers(text)?;
    Ok((global, first, second))
}

/// Reads a route target's two numbers.
pub(crate) fn route_target(text: &str) -> Result<(u32, u32), String> {
    let [asn, value] = numbers(text)?;
    Ok((asn, value))
}
