//! The decision process: which of two routes is better, and at which step.
//!
//! RFC 4271 §9.1.2.2 with the extensions in use: LLGR stale last (RFC 9494 §4.3), LOCAL_PREF, AS_PATH length
//! (a set counts one), ORIGIN, MULTI_EXIT_DISC, external over internal, ORIGINATOR_ID or BGP Identifier and
//! CLUSTER_LIST length (RFC 4456 §9), neighbor address, path identifier. There is no age: the same routes
//! give the same order whenever they came. IGP metrics are not known here.
//!
//! Candidates of a destination stand in the order in which the process would choose them, each time without
//! those already chosen. MULTI_EXIT_DISC compares only routes of one neighbouring AS, so it is not an order
//! of pairs: where it matters ([`Decision::med_is_partial`]) routes are chosen one by one, so that arrival order
//! never does; and a client that may not see all of them is decided for by itself.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;

use smallvec::SmallVec;

use crate::adj_rib_in::route::{Route, State};

/// Whether with a new route MULTI_EXIT_DISC may make the order of three or more routes depend on which of them a client
/// may see: two of them, the new one among them or not, may be of one neighbouring AS. Cheap, and on the safe side of
/// [`Decision::med_is_partial`].
pub(crate) fn may_be_partial(held: &[Route], new: &Route) -> bool {
    let states = held.iter().chain([new]).map(|route| route.state);
    held.len() > 1 && State::classes_with_med(states) != 0
}

/// What the process knows of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PeerRank {
    pub external: bool,
    pub bgp_id: u32,
    /// Address as an integer; an IPv4 address as itself.
    pub address: u128,
    pub default_local_pref: u32,
}

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

/// A table of what is known of each peer, and the options of the process.
pub(crate) struct Decision<'a> {
    pub ranks: &'a [PeerRank],
    pub always_compare_med: bool,
}

impl Decision<'_> {
    fn rank(&self, route: &Route) -> PeerRank {
        self.ranks
            .get(route.peer.index())
            .copied()
            .unwrap_or_default()
    }

    fn local_pref(&self, route: &Route) -> u32 {
        if route.state.has(State::GRACEFUL_SHUTDOWN) {
            return 0;
        }
        match route.attrs.summary().local_pref() {
            Some(local_pref) => local_pref,
            None => self.rank(route).default_local_pref,
        }
    }

    /// Compares two accepted routes; `Less` is better. The step is the first at which they differ.
    pub fn compare(&self, a: &Route, b: &Route) -> (Ordering, Step) {
        self.compare_early(a, b)
            .or_else(|| self.compare_med(a, b).because(Step::MultiExitDisc))
            .unwrap_or_else(|| self.break_tie(a, b))
    }

    /// The steps before MULTI_EXIT_DISC.
    fn compare_early(&self, a: &Route, b: &Route) -> Option<(Ordering, Step)> {
        let (sa, sb) = (a.attrs.summary(), b.attrs.summary());
        let stale = |r: &Route| r.state.has(State::LONG_LIVED_STALE);
        let local_pref = || self.local_pref(b).cmp(&self.local_pref(a));
        stale(a)
            .cmp(&stale(b))
            .because(Step::LongLivedStale)
            .or_else(|| local_pref().because(Step::LocalPref))
            .or_else(|| {
                sa.as_path_len
                    .cmp(&sb.as_path_len)
                    .because(Step::AsPathLength)
            })
            .or_else(|| sa.origin().cmp(&sb.origin()).because(Step::Origin))
    }

    fn compare_med(&self, a: &Route, b: &Route) -> Ordering {
        let (sa, sb) = (a.attrs.summary(), b.attrs.summary());
        if self.always_compare_med || sa.neighbour_as == sb.neighbour_as {
            sa.multi_exit_disc.cmp(&sb.multi_exit_disc)
        } else {
            Ordering::Equal
        }
    }

    fn break_tie(&self, a: &Route, b: &Route) -> (Ordering, Step) {
        let (ra, rb) = (self.rank(a), self.rank(b));
        let (sa, sb) = (a.attrs.summary(), b.attrs.summary());
        let id_a = a.attrs.originator_id().unwrap_or(ra.bgp_id);
        let id_b = b.attrs.originator_id().unwrap_or(rb.bgp_id);
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
            .or_else(|| a.peer.cmp(&b.peer).because(Step::PeerAddress))
            .unwrap_or((a.path_id.cmp(&b.path_id), Step::PathId))
    }

    /// Whether MULTI_EXIT_DISC decides between two of the routes without being an order of all: then what is
    /// best of some of them is not told by the order of all. O(routes) where it cannot matter, else O(n log n).
    pub fn med_is_partial<R: Borrow<Route>>(&self, routes: &[R]) -> bool {
        if self.always_compare_med || routes.len() < 3 {
            return false;
        }
        let all = || routes.iter().map(Borrow::borrow);
        let classes = State::classes_with_med(all().map(|route| route.state));
        if classes == 0 {
            return false;
        }
        let mut meds: SmallVec<[(u32, u32); 16]> = all()
            .filter(|route| classes >> route.state.class() & 1 != 0)
            .map(|route| route.attrs.summary())
            .map(|summary| (summary.neighbour_as, summary.multi_exit_disc))
            .collect();
        meds.sort_unstable();
        meds.windows(2)
            .any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
    }

    /// Where a new route belongs among accepted ones that are in order; right unless
    /// [`Decision::med_is_partial`] of all of them.
    pub fn place(&self, accepted: &[Route], new: &Route) -> usize {
        accepted.partition_point(|held| self.compare(new, held).0 != Ordering::Less)
    }

    /// Puts routes into the order in which they are chosen, each time without those already chosen.
    ///
    /// O(n log n) comparisons, and for each route one with the best left of each neighbouring AS.
    pub fn sort<R: Borrow<Route>>(&self, routes: &mut [R]) {
        if self.always_compare_med {
            return routes.sort_by(|a, b| self.compare(a.borrow(), b.borrow()).0);
        }
        routes.sort_by(|a, b| self.compare_grouped(a.borrow(), b.borrow()));
        let early_tie = |a: &R, b: &R| self.compare_early(a.borrow(), b.borrow()).is_none();
        for tied in routes.chunk_by_mut(early_tie) {
            self.merge(tied);
        }
    }

    /// An order of all routes in which those of one neighbouring AS that tie before MULTI_EXIT_DISC stand
    /// together, in the order in which they are chosen among themselves.
    fn compare_grouped(&self, a: &Route, b: &Route) -> Ordering {
        let (sa, sb) = (a.attrs.summary(), b.attrs.summary());
        let early = self.compare_early(a, b).map_or(Ordering::Equal, |(o, _)| o);
        early
            .then_with(|| sa.neighbour_as.cmp(&sb.neighbour_as))
            .then_with(|| sa.multi_exit_disc.cmp(&sb.multi_exit_disc))
            .then_with(|| self.break_tie(a, b).0)
    }

    /// Merges the routes of several neighbouring ASes. Who is next of its own AS has survived
    /// MULTI_EXIT_DISC; the later steps choose among these (RFC 4271 §9.1.2.2 c).
    fn merge<R: Borrow<Route>>(&self, tied: &mut [R]) {
        let neighbour = |route: &R| route.borrow().attrs.summary().neighbour_as;
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
        for place in 0..tied.len() {
            let left = groups.iter_mut().filter(|group| group.start < group.end);
            let next = left.min_by(|a, b| {
                let (a, b) = (tied[a.start].borrow(), tied[b.start].borrow());
                self.break_tie(a, b).0
            });
            if let Some(at) = next.and_then(Iterator::next) {
                place_of[at] = place;
            }
        }
        for at in 0..tied.len() {
            while place_of[at] != at {
                let to = place_of[at];
                tied.swap(at, to);
                place_of.swap(at, to);
            }
        }
    }
}

/// Names the step of a comparison that decided.
trait Because: Sized {
    fn because(self, step: Step) -> Option<(Ordering, Step)>;
}

impl Because for Ordering {
    fn because(self, step: Step) -> Option<(Ordering, Step)> {
        self.is_ne().then_some((self, step))
    }
}
