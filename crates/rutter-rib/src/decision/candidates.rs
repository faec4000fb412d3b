//! The decision process over the routes of the table.

use std::borrow::Borrow;
use std::cmp::Ordering;

use smallvec::SmallVec;

use super::process::{Compared, Process};
use crate::adj_rib_in::attr_set::Summary;
use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::route::{Route, State};

/// Returns whether the order may depend on the routes that a client may receive once a new route is added. It may
/// where MULTI_EXIT_DISC compares two of three or more routes. Cheap; it may say yes where
/// [`Decision::med_is_partial`] says no.
pub(crate) fn may_be_partial(held: &[Route], new: &Route) -> bool {
    let states = held.iter().chain([new]).map(|route| route.state);
    held.len() > 1 && State::classes_with_med(states) != 0
}

/// The facts about a peer that the process compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PeerRank {
    pub external: bool,
    pub bgp_id: u32,
    /// The address as an integer; an IPv4 address as its 32 bits.
    pub address: u128,
    pub default_local_pref: u32,
}

/// The ranks of all peers, and the options of the process.
pub(crate) struct Decision<'a> {
    pub ranks: &'a [PeerRank],
    /// The classes, which name the changes of filters.
    pub classes: &'a ClassTable,
    pub always_compare_med: bool,
}

impl Process for Decision<'_> {
    type Route = Route;

    #[inline(always)]
    fn always_compare_med(&self) -> bool {
        self.always_compare_med
    }

    #[inline(always)]
    fn summary<'r>(&self, route: &'r Route) -> &'r Summary {
        route.attrs.summary()
    }

    #[inline(always)]
    fn rank(&self, route: &Route) -> PeerRank {
        self.ranks
            .get(route.peer.index())
            .copied()
            .unwrap_or_default()
    }

    #[inline(always)]
    fn is_long_lived_stale(&self, route: &Route) -> bool {
        route.state.has(State::LONG_LIVED_STALE)
    }

    #[inline(always)]
    fn local_pref(&self, route: &Route) -> u32 {
        match route.attrs.summary().local_pref() {
            Some(local_pref) => local_pref,
            None => self.rank(route).default_local_pref,
        }
    }

    #[inline(always)]
    fn compares_other_values(&self, a: &Route, b: &Route) -> bool {
        State(a.state.0 | b.state.0).has(State::OTHER_PREFERENCE)
    }

    #[cold]
    fn compared(&self, route: &Route) -> Compared {
        let summary = route.attrs.summary();
        let received = Compared {
            local_pref: self.local_pref(route),
            as_path_len: u32::from(summary.as_path_len),
            multi_exit_disc: summary.multi_exit_disc,
        };
        if !route.state.has(State::OTHER_PREFERENCE) {
            return received;
        }
        let changes = self.classes.changes(route.verdict.class());
        match changes.filter(|changes| changes.concern_decision()) {
            None => Compared {
                local_pref: 0,
                ..received
            },
            Some(changes) => Compared {
                local_pref: changes.local_pref.unwrap_or(received.local_pref),
                as_path_len: received.as_path_len + u32::from(changes.prepend),
                multi_exit_disc: { changes.med_of(Some(received.multi_exit_disc)) }.unwrap_or(0),
            },
        }
    }

    #[inline(always)]
    fn originator_id(&self, route: &Route) -> Option<u32> {
        route.attrs.originator_id()
    }

    #[inline(always)]
    fn path(&self, route: &Route) -> (u16, u32) {
        (route.peer.0, route.path_id)
    }
}

impl Decision<'_> {
    /// Returns whether MULTI_EXIT_DISC decides between two of the routes without being an order of all. Then the best
    /// of some of the routes does not follow from the order of all. O(routes) where it cannot matter, else O(n log
    /// n).
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
            .map(|route| {
                (
                    route.attrs.summary().neighbour_as,
                    self.multi_exit_disc(route),
                )
            })
            .collect();
        meds.sort_unstable();
        meds.windows(2)
            .any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
    }

    /// The place of a new route among accepted ones that are in order. Wrong where [`Decision::med_is_partial`] of
    /// all of them.
    pub fn place(&self, accepted: &[Route], new: &Route) -> usize {
        accepted.partition_point(|held| self.compare(new, held).0 != Ordering::Less)
    }
}
