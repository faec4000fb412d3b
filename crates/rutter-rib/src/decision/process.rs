//! The steps of the decision process.
//!
//! They are those of RFC 4271 §9.1.2.2, with long-lived stale routes last (RFC 9494 §4.3). ORIGINATOR_ID and
//! CLUSTER_LIST length count as in RFC 4456 §9; the path identifier decides last. An AS_SET counts one in the length
//! of the AS_PATH. Age does not count: the same routes always have the same order. IGP metrics are not known here.
//!
//! MULTI_EXIT_DISC compares only routes of one neighbouring AS, so it is not an order of pairs. [`Process::sort`]
//! therefore chooses routes one by one, and leaves out the chosen ones. The order of arrival never matters.

use std::borrow::Borrow;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;

use smallvec::SmallVec;

use super::PeerRank;
use crate::adj_rib_in::attr_set::Summary;

/// A step of the decision process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// RFC 9494 §4.3: long-lived stale routes lose to all others.
    LongLivedStale,
    /// §9.1.1: higher LOCAL_PREF.
    LocalPref,
    /// §9.1.2.2 a: shorter AS_PATH.
    AsPathLength,
    /// §9.1.2.2 b: lower ORIGIN.
    Origin,
    /// §9.1.2.2 c: lower MULTI_EXIT_DISC within one neighbouring AS.
    MultiExitDisc,
    /// §9.1.2.2 d: external over internal.
    ExternalOverInternal,
    /// §9.1.2.2 f and RFC 4456 §9: lower ORIGINATOR_ID, or BGP Identifier where it is absent.
    OriginatorId,
    /// RFC 4456 §9: shorter CLUSTER_LIST.
    ClusterListLength,
    /// §9.1.2.2 g: lower neighbor address.
    PeerAddress,
    /// Lower path identifier (RFC 7911) of one neighbor.
    PathId,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Step::LongLivedStale => "long-lived stale",
            Step::LocalPref => "local preference",
            Step::AsPathLength => "AS path length",
            Step::Origin => "origin",
            Step::MultiExitDisc => "multi-exit discriminator",
            Step::ExternalOverInternal => "external over internal",
            Step::OriginatorId => "router id",
            Step::ClusterListLength => "cluster list length",
            Step::PeerAddress => "neighbor address",
            Step::PathId => "path id",
        })
    }
}

/// The values of a route that filters may change, as the decision process compares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    pub local_pref: u32,
    pub as_path_len: u32,
    pub multi_exit_disc: u32,
}

/// The decision process over one kind of routes: the implementor says how to read a route.
pub(crate) trait Process {
    type Route;

    /// Returns whether MULTI_EXIT_DISC is compared between routes of different neighbouring ASes, too.
    fn always_compare_med(&self) -> bool;
    fn summary<'r>(&self, route: &'r Self::Route) -> &'r Summary;
    /// The facts about the route's sender.
    fn rank(&self, route: &Self::Route) -> PeerRank;
    fn is_long_lived_stale(&self, route: &Self::Route) -> bool;
    fn local_pref(&self, route: &Self::Route) -> u32;
    /// Returns whether [`Process::compared`] must be asked for one of two routes: their summaries do not count.
    #[inline(always)]
    fn compares_other_values(&self, _: &Self::Route, _: &Self::Route) -> bool {
        false
    }
    /// The values that count for a route, wherever they come from.
    fn compared(&self, route: &Self::Route) -> Compared {
        let summary = self.summary(route);
        Compared {
            local_pref: self.local_pref(route),
            as_path_len: u32::from(summary.as_path_len),
            multi_exit_disc: summary.multi_exit_disc,
        }
    }
    /// ORIGINATOR_ID, `None` where it is absent.
    fn originator_id(&self, route: &Self::Route) -> Option<u32>;
    /// Two numbers that identify a route of a destination: the sender's and the path identifier.
    fn path(&self, route: &Self::Route) -> (u16, u32);

    /// Compares two accepted routes; `Less` is better. The step is the first at which they differ.
    #[inline(always)]
    fn compare(&self, a: &Self::Route, b: &Self::Route) -> (Ordering, Step) {
        self.compare_early(a, b)
            .or_else(|| self.compare_med(a, b).because(Step::MultiExitDisc))
            .unwrap_or_else(|| self.break_tie(a, b))
    }

    /// Compares by the steps before MULTI_EXIT_DISC.
    #[inline(always)]
    fn compare_early(&self, a: &Self::Route, b: &Self::Route) -> Option<(Ordering, Step)> {
        if self.compares_other_values(a, b) {
            return self.compare_early_changed(a, b);
        }
        let (sa, sb) = (self.summary(a), self.summary(b));
        let local_pref = || self.local_pref(b).cmp(&self.local_pref(a));
        self.is_long_lived_stale(a)
            .cmp(&self.is_long_lived_stale(b))
            .because(Step::LongLivedStale)
            .or_else(|| local_pref().because(Step::LocalPref))
            .or_else(|| {
                sa.as_path_len
                    .cmp(&sb.as_path_len)
                    .because(Step::AsPathLength)
            })
            .or_else(|| sa.origin().cmp(&sb.origin()).because(Step::Origin))
    }

    /// As [`Process::compare_early`] where a filter changed the values of a route.
    #[cold]
    fn compare_early_changed(&self, a: &Self::Route, b: &Self::Route) -> Option<(Ordering, Step)> {
        let (ca, cb) = (self.compared(a), self.compared(b));
        let (origin_a, origin_b) = (self.summary(a).origin(), self.summary(b).origin());
        self.is_long_lived_stale(a)
            .cmp(&self.is_long_lived_stale(b))
            .because(Step::LongLivedStale)
            .or_else(|| cb.local_pref.cmp(&ca.local_pref).because(Step::LocalPref))
            .or_else(|| { ca.as_path_len.cmp(&cb.as_path_len) }.because(Step::AsPathLength))
            .or_else(|| origin_a.cmp(&origin_b).because(Step::Origin))
    }

    #[inline(always)]
    fn compare_med(&self, a: &Self::Route, b: &Self::Route) -> Ordering {
        let (sa, sb) = (self.summary(a), self.summary(b));
        if self.always_compare_med() || sa.neighbour_as == sb.neighbour_as {
            self.multi_exit_disc(a).cmp(&self.multi_exit_disc(b))
        } else {
            Ordering::Equal
        }
    }

    /// The MULTI_EXIT_DISC that counts for a route.
    #[inline(always)]
    fn multi_exit_disc(&self, route: &Self::Route) -> u32 {
        match self.compares_other_values(route, route) {
            true => self.compared(route).multi_exit_disc,
            false => self.summary(route).multi_exit_disc,
        }
    }

    /// Compares by the steps after MULTI_EXIT_DISC.
    #[inline(always)]
    fn break_tie(&self, a: &Self::Route, b: &Self::Route) -> (Ordering, Step) {
        let (ra, rb) = (self.rank(a), self.rank(b));
        let (sa, sb) = (self.summary(a), self.summary(b));
        let id_a = self.originator_id(a).unwrap_or(ra.bgp_id);
        let id_b = self.originator_id(b).unwrap_or(rb.bgp_id);
        let ((peer_a, path_a), (peer_b, path_b)) = (self.path(a), self.path(b));
        rb.external
            .cmp(&ra.external)
            .because(Step::ExternalOverInternal)
            .or_else(|| id_a.cmp(&id_b).because(Step::OriginatorId))
            .or_else(|| {
                sa.cluster_list_len
                    .cmp(&sb.cluster_list_len)
                    .because(Step::ClusterListLength)
            })
            .or_else(|| ra.address.cmp(&rb.address).because(Step::PeerAddress))
            .or_else(|| peer_a.cmp(&peer_b).because(Step::PeerAddress))
            .unwrap_or((path_a.cmp(&path_b), Step::PathId))
    }

    /// Returns the index of the best route: the first that [`Process::sort`] would choose. O(routes), but O(t log t)
    /// for the t routes that tie before MULTI_EXIT_DISC.
    fn best<R: Borrow<Self::Route>>(&self, routes: &[R]) -> Option<usize> {
        let route = |index: usize| routes[index].borrow();
        let mut tied: SmallVec<[usize; 8]> = SmallVec::new();
        for index in 0..routes.len() {
            let first = tied.first().copied();
            let early = first.and_then(|first| self.compare_early(route(index), route(first)));
            match early {
                Some((Ordering::Greater, _)) => continue,
                Some(_) => tied.clear(),
                None => {}
            }
            tied.push(index);
        }
        self.keep_best_by_med(&mut tied, |index| route(*index));
        let left = tied.into_iter();
        left.min_by(|a, b| self.break_tie(route(*a), route(*b)).0)
    }

    /// Leaves the routes that no other of the same neighbouring AS beats by MULTI_EXIT_DISC. A peer chooses the number
    /// of routes that tie, so they are not compared in pairs.
    fn keep_best_by_med<'r>(
        &self,
        tied: &mut SmallVec<[usize; 8]>,
        route: impl Fn(&usize) -> &'r Self::Route,
    ) where
        Self::Route: 'r,
    {
        if tied.len() < 2 {
            return;
        }
        let med = |index: &usize| {
            let group = match self.always_compare_med() {
                true => 0,
                false => self.summary(route(index)).neighbour_as,
            };
            (group, self.multi_exit_disc(route(index)))
        };
        let mut least: SmallVec<[(u32, u32); 8]> = tied.iter().map(med).collect();
        least.sort_unstable();
        least.dedup_by_key(|(group, _)| *group);
        tied.retain(|index| least.binary_search(&med(index)).is_ok());
    }

    /// Puts routes into the order in which they are chosen, each time without those already chosen.
    ///
    /// O(n log n) comparisons.
    fn sort<R: Borrow<Self::Route>>(&self, routes: &mut [R]) {
        if self.always_compare_med() {
            return routes.sort_by(|a, b| self.compare(a.borrow(), b.borrow()).0);
        }
        routes.sort_by(|a, b| self.compare_grouped(a.borrow(), b.borrow()));
        let early_tie = |a: &R, b: &R| self.compare_early(a.borrow(), b.borrow()).is_none();
        for tied in routes.chunk_by_mut(early_tie) {
            self.merge(tied);
        }
    }

    /// Compares for an order of all routes that keeps those of one neighbouring AS together where they tie before
    /// MULTI_EXIT_DISC. Within each AS it is the order in which the routes are chosen.
    fn compare_grouped(&self, a: &Self::Route, b: &Self::Route) -> Ordering {
        let (sa, sb) = (self.summary(a), self.summary(b));
        let early = self.compare_early(a, b).map_or(Ordering::Equal, |(o, _)| o);
        early
            .then_with(|| sa.neighbour_as.cmp(&sb.neighbour_as))
            .then_with(|| self.multi_exit_disc(a).cmp(&self.multi_exit_disc(b)))
            .then_with(|| self.break_tie(a, b).0)
    }

    /// Merges the routes of several neighbouring ASes. The next route of each AS has survived MULTI_EXIT_DISC; the
    /// later steps choose among these (RFC 4271 §9.1.2.2 c).
    fn merge<R: Borrow<Self::Route>>(&self, tied: &mut [R]) {
        let neighbour = |route: &R| self.summary(route.borrow()).neighbour_as;
        let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
        for at in 0..tied.len() {
            match groups.last_mut() {
                Some(group) if neighbour(&tied[group.start]) == neighbour(&tied[at]) => {
                    group.end = at + 1;
                }
                _ => groups.push(at..at + 1),
            }
        }
        let mut place_of = vec![0; tied.len()];
        let next = |group: &std::ops::Range<usize>| Next {
            process: self,
            route: tied[group.start].borrow(),
            group: group.clone(),
        };
        let mut left: BinaryHeap<Reverse<Next<'_, Self>>> =
            groups.iter().map(next).map(Reverse).collect();
        for place in 0..tied.len() {
            let Some(Reverse(mut first)) = left.pop() else {
                break;
            };
            place_of[first.group.start] = place;
            first.group.start += 1;
            if !first.group.is_empty() {
                left.push(Reverse(next(&first.group)));
            }
        }
        drop(left);
        for at in 0..tied.len() {
            while place_of[at] != at {
                let to = place_of[at];
                tied.swap(at, to);
                place_of.swap(at, to);
            }
        }
    }
}

/// The next route of a neighbouring AS, in the order of the steps after MULTI_EXIT_DISC.
struct Next<'r, P: Process + ?Sized> {
    process: &'r P,
    route: &'r P::Route,
    /// The routes of the AS that are left, by index; the first is `route`.
    group: std::ops::Range<usize>,
}

impl<P: Process + ?Sized> Ord for Next<'_, P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.process.break_tie(self.route, other.route).0
    }
}

impl<P: Process + ?Sized> PartialOrd for Next<'_, P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P: Process + ?Sized> PartialEq for Next<'_, P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P: Process + ?Sized> Eq for Next<'_, P> {}

/// Names the step of a comparison that decided.
trait Because: Sized {
    fn because(self, step: Step) -> Option<(Ordering, Step)>;
}

impl Because for Ordering {
    #[inline(always)]
    fn because(self, step: Step) -> Option<(Ordering, Step)> {
        self.is_ne().then_some((self, step))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::advertise::test_support::Exchange;

    /// Counts the looks at routes.
    struct Counted(Cell<usize>);

    /// Neighbouring AS, MULTI_EXIT_DISC and path identifier.
    type CountedRoute = (Summary, u32);

    impl Process for Counted {
        type Route = CountedRoute;

        fn always_compare_med(&self) -> bool {
            false
        }

        fn summary<'r>(&self, route: &'r CountedRoute) -> &'r Summary {
            self.0.set(self.0.get() + 1);
            &route.0
        }

        fn rank(&self, _: &CountedRoute) -> PeerRank {
            PeerRank::default()
        }

        fn is_long_lived_stale(&self, _: &CountedRoute) -> bool {
            false
        }

        fn local_pref(&self, _: &CountedRoute) -> u32 {
            100
        }

        fn originator_id(&self, _: &CountedRoute) -> Option<u32> {
            None
        }

        fn path(&self, route: &CountedRoute) -> (u16, u32) {
            (0, route.1)
        }
    }

    /// A peer may send thousands of paths that tie, with as many neighbouring ASes and values as it likes.
    #[test]
    fn routes_that_tie_are_not_compared_in_pairs() {
        const ROUTES: u32 = 4_096;
        for (neighbours, meds) in [(1, 1), (1, ROUTES), (ROUTES, 1), (64, 64)] {
            let route = |number: u32| {
                let mut summary = Summary::default();
                summary.neighbour_as = number % neighbours;
                summary.multi_exit_disc = number % meds;
                (summary, number.wrapping_mul(0x9e37_79b9))
            };
            let mut routes: Vec<CountedRoute> = (0..ROUTES).map(route).collect();
            let process = Counted(Cell::new(0));
            process.best(&routes);
            let per_route = |process: &Counted| process.0.take() / ROUTES as usize;
            let best = per_route(&process);
            process.sort(&mut routes);
            let sort = per_route(&process);
            assert!(best < 40 && sort < 400, "best {best}, sort {sort}");
        }
    }

    proptest! {
        #[test]
        fn the_best_route_is_the_first_in_order(
            routes in proptest::collection::vec((0..4_u16, 0..7_usize, 0..3_u32), 0..9),
        ) {
            let exchange = Exchange::plain(4);
            let decision = exchange.topology.decision();
            let mut seen = std::collections::BTreeSet::new();
            let is_new = |(peer, _, path_id): &(u16, usize, u32)| seen.insert((*peer, *path_id));
            let route = |(peer, set, path_id)| exchange.route(peer, set, path_id);
            let mut routes: Vec<_> = routes.into_iter().filter(is_new).map(route).collect();
            let path = |index: Option<usize>, routes: &[crate::adj_rib_in::route::Route]| {
                index.map(|index| (routes[index].peer, routes[index].path_id, routes[index].attrs.address()))
            };
            let best = path(decision.best(&routes), &routes);
            decision.sort(&mut routes);
            let first = path((!routes.is_empty()).then_some(0), &routes);
            prop_assert_eq!(best, first);
        }
    }
}
