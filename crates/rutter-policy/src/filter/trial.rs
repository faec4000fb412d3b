//! Trials of filters: a route in, and what the filters make of it out.

use std::net::{IpAddr, Ipv4Addr};

use rutter_net::{Asn, Prefix};
use rutter_rpki::Rov;
use rutter_wire::attr::{self, Attributes, code};

use super::community_pattern::AnyCommunity;
use super::{AddedCommunity, FilterChain, FilterDecision};
use crate::NextHop;

/// A route for a trial of filters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialRoute {
    /// The prefix.
    pub prefix: Prefix,
    /// The AS path: one AS_SEQUENCE.
    pub path: Vec<Asn>,
    /// The communities.
    pub communities: Vec<AddedCommunity>,
    /// LOCAL_PREF.
    pub local_pref: Option<u32>,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// The next hop.
    pub next_hop: Option<IpAddr>,
    /// The AS of the neighbor that announces the route.
    pub neighbor: Asn,
    /// The validation state of the origin.
    pub origin_state: Option<Rov>,
}

/// The result of a trial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The decision.
    pub decision: FilterDecision,
    /// The route after the changes of the filters, as received where they reject it.
    pub route: TrialRoute,
}

impl FilterChain {
    /// Tries the filters on a route.
    pub fn try_route(&self, route: &TrialRoute) -> Trial {
        let block = route.block();
        let attributes = Attributes::from_canonical(&block);
        let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let next_hop = NextHop::from(route.next_hop.unwrap_or(unspecified));
        let family = route.prefix.family();
        let rules = self.matching(&attributes, next_hop, family, route.neighbor);
        let decision = self.decide(rules, route.prefix, || route.origin_state);
        let mut route = route.clone();
        if let FilterDecision::Accepted(applied) = decision {
            let changes = self.changes_of(applied);
            let first = route.path.first().copied();
            let times = usize::from(changes.prepend);
            let repeated = first.into_iter().flat_map(|asn| vec![asn; times]);
            route.path.splice(0..0, repeated.collect::<Vec<_>>());
            route.local_pref = changes.local_pref.or(route.local_pref);
            route.med = changes.med_of(route.med);
            changes.change_any(&mut route.communities);
        }
        Trial { decision, route }
    }
}

impl TrialRoute {
    fn block(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let path: Vec<u32> = self.path.iter().map(|asn| asn.0).collect();
        attr::write_as_path(&mut out, std::iter::once(path.as_slice()));
        let (mut standard, mut extended, mut large) = (Vec::new(), Vec::new(), Vec::new());
        for one in &self.communities {
            match one.community() {
                AnyCommunity::Standard(c) => standard.extend(c.0.to_be_bytes()),
                AnyCommunity::Extended(c) => extended.extend(c.0),
                AnyCommunity::Large(c) => {
                    let parts = [c.global, c.local1, c.local2];
                    large.extend(parts.into_iter().flat_map(u32::to_be_bytes));
                }
            }
        }
        for (code, value) in [
            (code::COMMUNITIES, standard),
            (code::EXTENDED_COMMUNITIES, extended),
            (code::LARGE_COMMUNITIES, large),
        ] {
            if !value.is_empty() {
                attr::write_attr(&mut out, attr::OPTIONAL | attr::TRANSITIVE, code, &value);
            }
        }
        out
    }
}
