//! The routes that each client must hold in the end, computed before the first byte is sent.

use rutter_net::Prefix;
use std::collections::HashMap;

use crate::decision;
use crate::policy::Policy;
use crate::registry::Edition;
use crate::workload::{Route, Workload};

/// Which clients receive the best route, if its owner is a client too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    /// Each client receives the best route that is not its own: no path hiding (RFC 7947 §2.3).
    PerClient,
    /// The owner of the best route receives no route for that destination.
    BestOnly,
    /// The owner receives its own route.
    BestToAll,
}

/// The clients for which a received route is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// All clients but this one.
    AllBut(u32),
    /// This client alone.
    Only(u32),
    /// All clients.
    All,
    /// No client now; it may be an intermediate state.
    Nobody,
    /// No client ever: no peer announced these attributes for this prefix.
    Forged,
    /// It depends on the client, and only [`Oracle::winner`] knows (MED).
    Ask(u32),
}

/// Stands for a client that announces nothing.
const NO_OWN_ROUTE: u32 = u32::MAX;

/// The routes that each client must hold, given the peers that are up.
#[derive(Clone, Debug)]
pub struct Oracle {
    visibility: Visibility,
    /// The routes of all groups, best first within each group.
    routes: Vec<Route>,
    /// The start of each group in `routes`, and the end of the last.
    starts: Vec<u32>,
    /// The group of each destination.
    group_of: Vec<u32>,
    alive: Vec<bool>,
    /// The policy that the daemon applies.
    policy: Policy,
    /// The group of one route with each fingerprint; the search starts there.
    by_fingerprint: HashMap<u64, Known, rapidhash::fast::RandomState>,
    /// `true` if MED may matter in a group, because two of its routes have the same neighboring AS.
    uses_med: Vec<bool>,
}

/// A group with the data to judge its routes, in one place. With a full table, each access elsewhere misses the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Its first destination.
    pub(crate) first: u32,
    /// The number of consecutive destinations.
    pub(crate) len: u32,
    /// Its routes in `Oracle::routes`.
    routes: (u32, u32),
    uses_med: bool,
}

impl Oracle {
    /// Orders all routes.
    pub fn new(workload: &Workload, visibility: Visibility) -> Self {
        let peers = &workload.peers;
        let mut routes = workload.routes.clone();
        routes.sort_unstable_by(|a, b| {
            a.group
                .cmp(&b.group)
                .then_with(|| decision::compare(a, b, peers))
        });
        let mut starts = vec![0_u32; workload.groups.len() + 1];
        routes
            .iter()
            .for_each(|route| starts[route.group as usize + 1] += 1);
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut group_of = vec![0; workload.destinations.len()];
        for (number, group) in workload.groups.iter().enumerate() {
            group_of[group.first as usize..(group.first + group.len) as usize].fill(number as u32);
        }
        let mut oracle = Oracle {
            visibility,
            routes,
            starts,
            group_of,
            alive: vec![true; peers.len()],
            policy: Policy::default(),
            by_fingerprint: HashMap::default(),
            uses_med: vec![],
        };
        oracle.uses_med = (0..workload.groups.len())
            .map(|group| has_equal_neighbors(oracle.of_group(group), workload))
            .collect();
        let routes = workload.routes.iter();
        oracle.by_fingerprint = routes
            .map(|route| (route.fingerprint, oracle.known(workload, route.group)))
            .collect();
        oracle
    }

    fn known(&self, workload: &Workload, number: u32) -> Known {
        let group = workload.groups[number as usize];
        Known {
            first: group.first,
            len: group.len,
            routes: (
                self.starts[number as usize],
                self.starts[number as usize + 1],
            ),
            uses_med: self.uses_med[number as usize],
        }
    }

    /// All routes of a group, best first if MED does not matter.
    pub fn of_group(&self, group: usize) -> &[Route] {
        &self.routes[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// Marks a peer as up or down.
    pub fn set_alive(&mut self, peer: usize, alive: bool) {
        self.alive[peer] = alive;
    }

    /// Sets the daemon's policy.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Returns whether a route takes part in the decision: its peer is up, and the import policy accepts it. If clients
    /// receive their own best routes, a withheld route takes no part.
    fn counts(&self, route: &Route) -> bool {
        let is_rejected = |edition: Edition| route.rejected[edition as usize];
        let accepted = self.alive[route.peer as usize]
            && route.path_len <= self.policy.longest_path
            && !self.policy.registry.is_some_and(is_rejected);
        accepted && (self.visibility != Visibility::PerClient || self.goes_out(route))
    }

    /// Returns whether the export policy lets a route go to any client.
    fn goes_out(&self, route: &Route) -> bool {
        !(self.policy.withholds && route.withheld)
    }

    /// The route that a client must hold for a group.
    pub fn winner(&self, workload: &Workload, group: usize, client: u32) -> Option<&Route> {
        let routes = self.of_group(group);
        let own = |route: &&Route| self.visibility != Visibility::PerClient || route.peer != client;
        let alive = routes.iter().filter(|route| self.counts(route)).filter(own);
        let best = if self.uses_med[group] {
            decision::best(alive, &workload.peers)
        } else {
            { alive }.next()
        };
        let receives = |route: &&Route| {
            let is_own = route.peer == client && self.visibility != Visibility::BestToAll;
            !is_own && self.goes_out(route)
        };
        best.filter(receives)
    }

    /// Judges a route received for a destination by its fingerprint, and returns the peer that announced it.
    pub fn judge(&self, destination: u32, fingerprint: u64) -> Right {
        let group = self.group_of[destination as usize] as usize;
        self.judge_among(self.of_group(group), self.uses_med[group], fingerprint)
    }

    /// Like [`Oracle::judge`], for any destination of a group that [`Oracle::group_with`] found.
    pub(crate) fn judge_known(&self, known: &Known, fingerprint: u64) -> Right {
        let routes = &self.routes[known.routes.0 as usize..known.routes.1 as usize];
        self.judge_among(routes, known.uses_med, fingerprint)
    }

    fn judge_among(&self, routes: &[Route], uses_med: bool, fingerprint: u64) -> Right {
        let Some(at) = routes
            .iter()
            .position(|route| route.fingerprint == fingerprint)
        else {
            return Right::Forged;
        };
        let route = &routes[at];
        if uses_med {
            return Right::Ask(route.peer);
        }
        let mut better = routes[..at].iter().filter(|route| self.counts(route));
        let may_be_received = self.counts(route) && self.goes_out(route);
        match (may_be_received, better.next(), better.next()) {
            (false, ..) => Right::Nobody,
            (_, None, _) if self.visibility == Visibility::BestToAll => Right::All,
            (_, None, _) => Right::AllBut(route.peer),
            (_, Some(best), None) if self.visibility == Visibility::PerClient => {
                Right::Only(best.peer)
            }
            _ => Right::Nobody,
        }
    }

    /// Judges only whether a client may hold the destination, whatever its attributes.
    pub fn judge_presence(&self, destination: u32) -> Right {
        let routes = self.of_group(self.group(destination));
        let mut alive = routes.iter().filter(|route| self.counts(route));
        match (self.visibility, alive.next(), alive.next()) {
            (_, None, _) => Right::Nobody,
            (_, Some(best), _) if !self.goes_out(best) => Right::Nobody,
            (Visibility::BestToAll, ..) | (Visibility::PerClient, _, Some(_)) => Right::All,
            (_, Some(best), _) => Right::AllBut(best.peer),
        }
    }

    /// A group that has a route with this fingerprint.
    pub(crate) fn group_with(&self, fingerprint: u64) -> Option<&Known> {
        self.by_fingerprint.get(&fingerprint)
    }

    /// The group of a destination.
    pub fn group(&self, destination: u32) -> usize {
        self.group_of[destination as usize] as usize
    }

    /// The number of prefixes that each client must hold.
    pub fn expected(&self, workload: &Workload) -> Vec<u32> {
        let mut missing = vec![0_u32; self.alive.len()];
        let mut total = 0;
        for (number, group) in workload.groups.iter().enumerate() {
            if self.winner(workload, number, NO_OWN_ROUTE).is_none() {
                continue;
            }
            total += group.len;
            for route in self.of_group(number).iter().filter(|r| self.counts(r)) {
                if self.winner(workload, number, route.peer).is_none() {
                    missing[route.peer as usize] += group.len;
                }
            }
        }
        missing.into_iter().map(|missing| total - missing).collect()
    }
}

fn has_equal_neighbors(routes: &[Route], workload: &Workload) -> bool {
    let asn = |route: &Route| decision::neighbor_as(route, &workload.peers);
    routes
        .iter()
        .enumerate()
        .any(|(i, a)| routes[..i].iter().any(|b| asn(a) == asn(b)))
}

/// Maps a prefix to its destination.
#[derive(Clone, Debug)]
pub struct PrefixIndex {
    v4: HashMap<u64, u32, rapidhash::fast::RandomState>,
    v6: HashMap<(u128, u8), u32, rapidhash::fast::RandomState>,
}

impl PrefixIndex {
    /// Indexes all destinations.
    pub fn new(destinations: &[Prefix]) -> Self {
        let mut index = PrefixIndex {
            v4: HashMap::with_hasher(rapidhash::fast::RandomState::new()),
            v6: HashMap::with_hasher(rapidhash::fast::RandomState::new()),
        };
        for (id, prefix) in (0_u32..).zip(destinations) {
            match prefix {
                Prefix::V4(p) => index.v4.insert(key_v4(p.bits(), p.len()), id),
                Prefix::V6(p) => index.v6.insert((p.bits(), p.len()), id),
            };
        }
        index
    }

    /// The destination of a prefix.
    pub fn get(&self, prefix: Prefix) -> Option<u32> {
        match prefix {
            Prefix::V4(p) => self.v4.get(&key_v4(p.bits(), p.len())).copied(),
            Prefix::V6(p) => self.v6.get(&(p.bits(), p.len())).copied(),
        }
    }
}

fn key_v4(bits: u32, len: u8) -> u64 {
    u64::from(bits) << 8 | u64::from(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Named, Settings};

    fn workload(text: &str, peers_per_asn: usize) -> Workload {
        let named: Named = text.parse().unwrap();
        let settings = Settings {
            peers_per_asn,
            ..Settings::default()
        };
        Workload::generate(named.shape, None, settings)
    }

    /// The fast judgement, the expected counts and the slow winner agree, with and without MED, with all peers up and
    /// with one down.
    #[test]
    fn judgement_agrees_with_the_winner() {
        for (visibility, peers_per_asn, down, longest_path, withholds) in [
            (Visibility::PerClient, 1, None, u8::MAX, false),
            (Visibility::PerClient, 1, None, 4, false),
            (Visibility::PerClient, 1, None, u8::MAX, true),
            (Visibility::PerClient, 2, Some(1), 4, true),
            (Visibility::BestOnly, 1, Some(0), 3, false),
            (Visibility::BestOnly, 2, None, 5, true),
            (Visibility::BestToAll, 1, None, u8::MAX, false),
            (Visibility::BestToAll, 1, Some(2), 5, true),
        ] {
            let workload = workload("6x3000/1200", peers_per_asn);
            let mut oracle = Oracle::new(&workload, visibility);
            oracle.set_policy(Policy {
                longest_path,
                withholds,
                ..Policy::default()
            });
            if let Some(peer) = down {
                oracle.set_alive(peer, false);
            }
            let expected = oracle.expected(&workload);
            for client in (0..workload.peers.len()).filter(|&c| Some(c) != down) {
                let client = client as u32;
                let mut held = 0;
                for (number, group) in workload.groups.iter().enumerate() {
                    let winner = oracle.winner(&workload, number, client);
                    held += winner.map_or(0, |_| group.len);
                    for route in oracle.of_group(number) {
                        let right = match oracle.judge(group.first, route.fingerprint) {
                            Right::AllBut(peer) => peer != client,
                            Right::Only(peer) => peer == client,
                            Right::All => true,
                            Right::Nobody => false,
                            Right::Forged => panic!("announced"),
                            Right::Ask(peer) => winner.is_some_and(|route| route.peer == peer),
                        };
                        let wins = winner.is_some_and(|w| w.peer == route.peer);
                        assert_eq!(right, wins, "{visibility:?} group {number} client {client}");
                    }
                }
                assert_eq!(
                    held, expected[client as usize],
                    "{visibility:?} client {client}"
                );
            }
        }
    }
}
