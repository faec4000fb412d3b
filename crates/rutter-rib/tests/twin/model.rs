//! The slow twin: a list of routes, and RFC 4271 §9.1.2.2 in its plainest form.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use rutter_net::{Family, Prefix};
use rutter_policy::CheckAction;
use rutter_rpki::{PathState, Rov};

use crate::filters::{Filtered, Rule, applied, apply, change};
use crate::world::{
    Actions, Attrs, LOCAL, RTT_THRESHOLDS, add_path_limit, address, asn, bgp_id, block,
    ipv6_next_hop, mark, on_invalid, on_invalid_path, path_mark,
};

#[derive(Default)]
pub struct Model {
    pub routes: BTreeMap<(Prefix, u16), Attrs>,
    /// The routes that are kept over a restart.
    pub stale: Vec<(Prefix, u16)>,
    pub actions: Actions,
    /// Paths with more AS numbers are rejected from these peers.
    pub longest_paths: BTreeMap<u16, u16>,
    /// Exact prefixes with their origins, once there are VRPs.
    pub vrps: Option<Vec<(Prefix, u32)>>,
    /// Round-trip times of peers, in milliseconds.
    pub rtts: BTreeMap<u16, u32>,
    /// Pairs of customer and provider, once there are ASPAs.
    pub aspas: Option<Vec<(u32, u32)>>,
    /// The limits on paths that are not those of [`add_path_limit`].
    pub path_limits: BTreeMap<u16, u16>,
    /// Import filters.
    pub filters: BTreeMap<u16, Vec<Rule>>,
    /// Export filters.
    pub export_filters: BTreeMap<u16, Vec<Rule>>,
    /// The clients to whose sessions nothing is exported any more.
    pub without_export: BTreeSet<u16>,
}

impl Model {
    pub fn announce(&mut self, peer: u16, prefix: Prefix, attrs: &Attrs) {
        self.stale.retain(|key| *key != (prefix, peer));
        self.routes.insert((prefix, peer), attrs.clone());
    }

    pub fn withdraw(&mut self, peer: u16, prefix: Prefix) {
        self.stale.retain(|key| *key != (prefix, peer));
        self.routes.remove(&(prefix, peer));
    }

    pub fn drop_all(&mut self, peer: u16) {
        self.routes.retain(|(_, of), _| *of != peer);
        self.stale.retain(|(_, of)| *of != peer);
    }

    pub fn make_stale(&mut self, peer: u16) {
        // Routes that were stale before a second restart are removed (RFC 4724 §4.2).
        self.sweep(peer);
        let keys = self.routes.keys().filter(|(_, of)| *of == peer);
        self.stale.extend(keys.copied());
    }

    pub fn sweep(&mut self, peer: u16) {
        for key in self.stale.iter().filter(|(_, of)| *of == peer) {
            self.routes.remove(key);
        }
        self.stale.retain(|(_, of)| *of != peer);
    }

    /// The routes of a prefix that a client may receive, or all, in the order in which the process chooses them.
    pub fn ordered(&self, prefix: Prefix, client: Option<u16>) -> Vec<(u16, &Attrs)> {
        let sees = |peer: u16, attrs: &Attrs| {
            client.is_none_or(|client| peer != client && self.allows(attrs, client))
                && self.accepts(peer, prefix, attrs)
                && client
                    .is_none_or(|client| { self.exported(peer, prefix, attrs, client) }.is_some())
        };
        let mut left: Vec<(u16, &Attrs)> = self
            .routes
            .iter()
            .filter(|((of, _), _)| *of == prefix)
            .map(|((_, peer), attrs)| (*peer, attrs))
            .filter(|(peer, attrs)| sees(*peer, attrs))
            .collect();
        let mut chosen = Vec::new();
        while !left.is_empty() {
            let best = self.best_of(prefix, &left);
            chosen.push(left.remove(best));
        }
        chosen
    }

    /// The blocks that a client must hold, by prefix and path identifier.
    pub fn expected(&self, client: u16, add_path: bool) -> BTreeMap<(Prefix, u32), Vec<u8>> {
        let mut prefixes: Vec<Prefix> = self.routes.keys().map(|(prefix, _)| *prefix).collect();
        prefixes.dedup();
        let mut held = BTreeMap::new();
        for prefix in prefixes {
            let visible = self.ordered(prefix, Some(client)).into_iter();
            for (peer, attrs) in visible.take(self.max_paths(client, add_path)) {
                let id = if add_path {
                    (u32::from(peer) + 1) << 16
                } else {
                    0
                };
                held.insert((prefix, id), self.advertised(peer, attrs, prefix, client));
            }
        }
        held
    }

    fn advertised(&self, peer: u16, attrs: &Attrs, prefix: Prefix, client: u16) -> Vec<u8> {
        let family = prefix.family();
        let state = self.origin_state(prefix, attrs);
        let path_state = self.path_state(attrs);
        let prepends = self.prepends(attrs, client);
        let received = attrs;
        let mut attrs = attrs.clone();
        if self.actions == Actions::Scrubbed {
            let is_action = |community: &u32| matches!(community >> 16, 0 | LOCAL | 64..=67);
            attrs.communities.retain(|community| !is_action(community));
        }
        if let Some(rules) = self.filters.get(&peer) {
            let scrubbed = attrs.communities;
            // The conditions see the route as received.
            attrs = self.filtered(peer, prefix, received).unwrap().attrs;
            let lost = |community: &u32| {
                received.communities.contains(community) && !scrubbed.contains(community)
            };
            attrs.communities.retain(|community| !lost(community));
            assert!(
                !rules
                    .iter()
                    .any(|rule| rule.adds.as_ref().is_some_and(lost))
            );
        }
        let first = attrs.path[0];
        attrs
            .path
            .splice(0..0, std::iter::repeat_n(first, prepends));
        if on_invalid(peer) == CheckAction::Tag {
            attrs.communities.extend(state.map(mark));
        }
        if on_invalid_path(peer) == CheckAction::Tag {
            attrs.communities.extend(path_state.map(path_mark));
        }
        let rules = self.exported(peer, prefix, received, client).unwrap();
        let attrs = change(&rules, &attrs).attrs;
        let mut out = block(peer, &attrs, family);
        if family == Family::Ipv6Unicast {
            out.extend(ipv6_next_hop(peer));
        }
        out
    }

    /// The route as the filters of its sender leave it, `None` if they reject it.
    fn filtered(&self, peer: u16, prefix: Prefix, attrs: &Attrs) -> Option<Filtered> {
        let rules = self.filters.get(&peer).map_or(&[][..], |rules| rules);
        apply(rules, prefix, attrs)
    }

    /// The rules of a client's export filters that apply to a route, `None` if they reject it. They see what import filters
    /// leave.
    fn exported(
        &self,
        peer: u16,
        prefix: Prefix,
        attrs: &Attrs,
        client: u16,
    ) -> Option<Vec<&Rule>> {
        let rules = { self.export_filters.get(&client) }.map_or(&[][..], |rules| rules);
        let attrs = self.filtered(peer, prefix, attrs)?.attrs;
        applied(rules, prefix, &attrs)
    }

    fn accepts(&self, peer: u16, prefix: Prefix, attrs: &Attrs) -> bool {
        let longest = self.longest_paths.get(&peer);
        let is_invalid = self.origin_state(prefix, attrs) == Some(Rov::Invalid);
        longest.is_none_or(|longest| attrs.path.len() <= usize::from(*longest))
            && !(is_invalid && on_invalid(peer) == CheckAction::Reject)
            && !(self.path_state(attrs) == Some(PathState::Invalid)
                && on_invalid_path(peer) == CheckAction::Reject)
            && self.filtered(peer, prefix, attrs).is_some()
    }

    /// Each AS must be a provider of the next.
    fn path_state(&self, attrs: &Attrs) -> Option<PathState> {
        let aspas = self.aspas.as_ref()?;
        let has_aspa = |customer| aspas.iter().any(|(of, _)| *of == customer);
        let steps = attrs.path.windows(2).map(|pair| (pair[1], pair[0]));
        let mut open = steps.filter(|pair| pair.0 != pair.1 && !aspas.contains(pair));
        Some(match open.clone().count() {
            0 => PathState::Valid,
            _ if open.any(|(customer, _)| has_aspa(customer)) => PathState::Invalid,
            _ => PathState::Unknown,
        })
    }

    fn origin_state(&self, prefix: Prefix, attrs: &Attrs) -> Option<Rov> {
        let vrps = self.vrps.as_ref()?.iter();
        let origins: Vec<u32> = vrps
            .filter(|(of, _)| *of == prefix)
            .map(|(_, asn)| *asn)
            .collect();
        Some(match attrs.path.last() {
            _ if origins.is_empty() => Rov::NotFound,
            Some(origin) if origins.contains(origin) => Rov::Valid,
            _ => Rov::Invalid,
        })
    }

    /// LOCAL_PREF, then the rest of the process.
    fn best_of(&self, prefix: Prefix, routes: &[(u16, &Attrs)]) -> usize {
        let is_least = |(peer, attrs): &(u16, &Attrs)| {
            on_invalid(*peer) == CheckAction::LeastPreferred
                && self.origin_state(prefix, attrs) == Some(Rov::Invalid)
        };
        let filtered = |(peer, attrs): &(u16, &Attrs)| {
            let rejected = "rejected routes are left out";
            self.filtered(*peer, prefix, attrs).expect(rejected)
        };
        let all: Vec<Filtered> = routes.iter().map(filtered).collect();
        let local_pref = |index: &usize| match is_least(&routes[*index]) {
            true => 0,
            false => all[*index].local_pref.unwrap_or(100),
        };
        let highest = (0..routes.len()).map(|index| local_pref(&index)).max();
        let preferred: Vec<usize> = (0..routes.len())
            .filter(|index| Some(local_pref(index)) == highest)
            .collect();
        let left = preferred.iter().map(|i| (routes[*i].0, &all[*i].attrs));
        preferred[best_of(&left.collect::<Vec<_>>())]
    }

    /// The first rule that applies decides: `0:peer`, `self:peer`, `64:rtt` (up to a threshold: no), `65:rtt` (above it:
    /// yes), `0:self`. Without action communities everybody is allowed.
    fn allows(&self, attrs: &Attrs, client: u16) -> bool {
        let has = |high: u32, low: u32| attrs.communities.contains(&(high << 16 | low));
        let rtt = self.rtts.get(&client);
        let asks = |high: u32, applies: &dyn Fn(u32, u32) -> bool| {
            let asked = |ms: &&u32| has(high, **ms);
            let mut asked = RTT_THRESHOLDS.iter().filter(asked);
            rtt.is_some_and(|rtt| asked.any(|ms| applies(*rtt, *ms)))
        };
        match self.actions {
            Actions::Unknown => true,
            _ if has(0, asn(client)) => false,
            _ if has(LOCAL, asn(client)) => true,
            _ if asks(64, &|rtt, ms| rtt <= ms) => false,
            _ if asks(65, &|rtt, ms| rtt > ms) => true,
            _ => !has(0, LOCAL),
        }
    }

    /// The most routes of a prefix that a client receives.
    fn max_paths(&self, client: u16, add_path: bool) -> usize {
        let configured = || add_path_limit(client);
        let limit = self.path_limits.get(&client).copied();
        match (add_path, limit.unwrap_or_else(configured)) {
            _ if self.without_export.contains(&client) => 0,
            (false, _) => 1,
            (true, 0) => usize::MAX,
            (true, limit) => usize::from(limit),
        }
    }

    /// `66:rtt` prepends once, `67:rtt` twice above a threshold. The highest threshold that applies decides.
    fn prepends(&self, attrs: &Attrs, client: u16) -> usize {
        let Some(rtt) = self.rtts.get(&client) else {
            return 0;
        };
        if self.actions == Actions::Unknown {
            return 0;
        }
        for ms in RTT_THRESHOLDS.iter().rev().filter(|ms| rtt > *ms) {
            for (high, times) in [(67, 2), (66, 1)] {
                if attrs.communities.contains(&(high << 16 | ms)) {
                    return times;
                }
            }
        }
        0
    }
}

/// RFC 4271 §9.1.2.2: steps a, b and c remove routes, the rest choose. Of equal routes the first is the best.
pub fn best_of(routes: &[(u16, &Attrs)]) -> usize {
    let mut left: Vec<usize> = (0..routes.len()).collect();
    let shortest = left.iter().map(|i| routes[*i].1.path.len()).min();
    left.retain(|i| Some(routes[*i].1.path.len()) == shortest);
    let lowest = left.iter().map(|i| routes[*i].1.origin).min();
    left.retain(|i| Some(routes[*i].1.origin) == lowest);
    let all = left.clone();
    left.retain(|i| {
        let (mine, med) = (routes[*i].1.path.first(), routes[*i].1.med.unwrap_or(0));
        !all.iter()
            .any(|j| routes[*j].1.path.first() == mine && routes[*j].1.med.unwrap_or(0) < med)
    });
    left.into_iter()
        .min_by(|a, b| {
            rank(routes[*a].0)
                .cmp(&rank(routes[*b].0))
                .then(Ordering::Equal)
        })
        .unwrap()
}

fn rank(peer: u16) -> (u32, std::net::Ipv4Addr) {
    (bgp_id(peer), address(peer))
}
