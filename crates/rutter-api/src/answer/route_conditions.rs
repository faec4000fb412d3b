//! A compiled route filter.

use rutter_net::{Asn, Community, Family, LargeCommunity, PerFamily, Prefix};
use rutter_policy::RejectReason;
use rutter_rib::{PeerSummary, RouteView};
use rutter_wire::attr::Attributes;

use super::Failure;
use super::peers::PeerSelector;
use crate::RouteFilter;

/// A [`RouteFilter`] with its strings parsed.
pub(super) struct Filter {
    /// Selected peers by id; `None`: all.
    peers: Option<Vec<bool>>,
    /// The families in which the selected peers have no route that can match.
    without_routes: PerFamily<bool>,
    family: Option<Family>,
    within: Option<Prefix>,
    origin_as: Option<Asn>,
    path_as: Option<Asn>,
    community: Option<AnyCommunity>,
    reason: Option<Reason>,
    rejected: bool,
    best: bool,
}

enum AnyCommunity {
    Standard(Community),
    Large(LargeCommunity),
}

enum Reason {
    Name(RejectReason),
    Code(u16),
}

impl Filter {
    /// Parses the strings of a filter.
    pub(super) fn new(filter: &RouteFilter, peers: &[PeerSummary]) -> Result<Self, Failure> {
        let selected = match &filter.peer {
            Some(text) => Some(selected_peers(text, peers)?),
            None => None,
        };
        let rejected = filter.rejected || filter.reason.is_some();
        let of = selected.as_deref().map(|all| without_routes(all, rejected));
        Ok(Filter {
            peers: selected.as_deref().map(peer_bits),
            without_routes: of.unwrap_or_default(),
            family: filter.family.map(Into::into),
            within: filter.within,
            origin_as: filter.origin_as.map(Asn),
            path_as: filter.path_as.map(Asn),
            community: filter.community.as_deref().map(community).transpose()?,
            reason: filter.reason.as_deref().map(reason).transpose()?,
            rejected,
            best: filter.best,
        })
    }

    /// Returns the families to iterate over.
    pub(super) fn families(&self) -> impl Iterator<Item = Family> + use<> {
        let only = self.family.or(self.within.map(Prefix::family));
        Family::ALL
            .into_iter()
            .filter(move |family| only.is_none_or(|wanted| wanted == *family))
    }

    /// Returns whether a route of this family can match, by the numbers of routes: a list needs no walk where none does.
    pub(super) fn can_match(&self, family: Family) -> bool {
        !self.without_routes[family]
    }

    /// Returns whether routes of this destination can match.
    pub(super) fn wants(&self, prefix: Prefix) -> bool {
        self.within.is_none_or(|within| within.covers(prefix))
    }

    /// Returns whether some routes of the wanted destinations may not match.
    pub(super) fn has_conditions_on_routes(&self) -> bool {
        let Filter {
            peers,
            without_routes: _,
            family: _,
            within: _,
            origin_as,
            path_as,
            community,
            reason,
            rejected,
            best,
        } = self;
        let has_values = peers.is_some() || origin_as.is_some() || path_as.is_some();
        has_values || community.is_some() || reason.is_some() || *rejected || *best
    }

    /// Returns whether this route matches.
    pub(super) fn matches(&self, route: &RouteView<'_>, best: bool) -> bool {
        if self.best && !best || self.rejected && route.reject.is_none() {
            return false;
        }
        if let Some(peers) = &self.peers
            && !peers.get(route.peer.index()).is_some_and(|bit| *bit)
        {
            return false;
        }
        self.matches_reason(route.reject) && self.matches_attributes(route)
    }

    fn matches_reason(&self, reject: Option<RejectReason>) -> bool {
        match &self.reason {
            None => true,
            Some(Reason::Name(reason)) => reject == Some(*reason),
            Some(Reason::Code(code)) => reject.is_some_and(|r| r.code() == *code),
        }
    }

    fn matches_attributes(&self, route: &RouteView<'_>) -> bool {
        if self.origin_as.is_none() && self.path_as.is_none() && self.community.is_none() {
            return true;
        }
        let attrs = route.attrs.attributes();
        let path = attrs.as_path();
        self.origin_as
            .is_none_or(|asn| path.is_some_and(|p| p.origin() == Some(asn)))
            && self
                .path_as
                .is_none_or(|asn| path.is_some_and(|p| p.contains(asn)))
            && self.community.as_ref().is_none_or(|c| c.is_in(&attrs))
    }
}

impl AnyCommunity {
    fn is_in(&self, attrs: &Attributes<'_>) -> bool {
        match self {
            AnyCommunity::Standard(wanted) => attrs.communities().any(|c| c == *wanted),
            AnyCommunity::Large(wanted) => attrs.large_communities().any(|c| c == *wanted),
        }
    }
}

/// The neighbors that a name, an address or an AS number selects; at least one.
pub(super) fn selected_peers<'p>(
    text: &str,
    peers: &'p [PeerSummary],
) -> Result<Vec<&'p PeerSummary>, Failure> {
    let wanted = PeerSelector::new(text);
    let is_selected = |peer: &&PeerSummary| {
        let neighbor = &peer.neighbor;
        wanted.matches(&neighbor.name, neighbor.address, neighbor.remote_asn.0)
    };
    let selected: Vec<_> = peers.iter().filter(is_selected).collect();
    match selected.is_empty() {
        true => Err(wanted.not_found()),
        false => Ok(selected),
    }
}

fn peer_bits(selected: &[&PeerSummary]) -> Vec<bool> {
    let mut bits = Vec::new();
    for peer in selected {
        bits.resize(bits.len().max(peer.id.index() + 1), false);
        bits[peer.id.index()] = true;
    }
    bits
}

fn without_routes(selected: &[&PeerSummary], rejected: bool) -> PerFamily<bool> {
    PerFamily::from_fn(|family| {
        let mut counts = selected.iter().map(|peer| peer.counts[family]);
        counts.all(|counts| match rejected {
            true => counts.rejected() == 0,
            false => counts.received == 0,
        })
    })
}

fn community(text: &str) -> Result<AnyCommunity, Failure> {
    if let Some(known) = WELL_KNOWN.iter().find(|(name, _)| *name == text) {
        return Ok(AnyCommunity::Standard(known.1));
    }
    match text.matches(':').count() {
        2 => text.parse().map(AnyCommunity::Large),
        _ => text.parse().map(AnyCommunity::Standard),
    }
    .map_err(|e: rutter_net::ParseCommunityError| Failure::refused(e.to_string()))
}

fn reason(text: &str) -> Result<Reason, Failure> {
    if let Some(reason) = RejectReason::from_name(text) {
        return Ok(Reason::Name(reason));
    }
    if let Ok(code) = text.parse() {
        return Ok(Reason::Code(code));
    }
    let names: Vec<_> = RejectReason::ALL.iter().map(|r| r.name()).collect();
    Err(Failure::refused(format!(
        "`{text}` is not a reject reason: write a number or one of {}",
        names.join(", ")
    )))
}

const WELL_KNOWN: &[(&str, Community)] = &[
    ("no-export", Community::NO_EXPORT),
    ("no-advertise", Community::NO_ADVERTISE),
    ("graceful-shutdown", Community::GRACEFUL_SHUTDOWN),
    ("blackhole", Community::BLACKHOLE),
    ("llgr-stale", Community::LLGR_STALE),
    ("no-llgr", Community::NO_LLGR),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_and_reasons_have_names_and_numbers() {
        assert!(matches!(
            community("blackhole"),
            Ok(AnyCommunity::Standard(Community::BLACKHOLE))
        ));
        assert!(matches!(community("1:2:3"), Ok(AnyCommunity::Large(_))));
        assert!(matches!(community("1"), Err(Failure::Refused(_))));
        assert!(matches!(
            reason("bogon"),
            Ok(Reason::Name(RejectReason::Bogon))
        ));
        assert!(matches!(reason("13"), Ok(Reason::Code(13))));
        assert!(matches!(reason("no"), Err(Failure::Refused(_))));
    }
}
