//! One change of one destination: puts the route in its place and records the change for the clients.

use std::cell::{Cell, OnceCell};

use rutter_policy::RejectReason;
use smallvec::SmallVec;

use crate::PeerId;
use crate::adj_rib_in::one_pass_edit::FEW_ROUTES;
use crate::adj_rib_in::path_limits::{exceeds_path_limit, is_full};
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::{Apply, Stored};
use crate::adj_rib_in::table::{Destination, Id, Table, accepted};
use crate::adj_rib_in::tally::{Admission, Limit, Tally};
use crate::advertise::clients::{COMPARISONS_PER_SORTED_ROUTE, Clients};
use crate::advertise::export_view::Scope;
use crate::advertise::fast_path::{BestTwo, is_plain};
use crate::advertise::recorder::{Change, LiveClients, Recorder};
use crate::decision::{Decision, Process, may_be_partial};
use crate::read::lookup::ShardMirror;
use crate::topology::Topology;

/// The outcome of an edit for a route.
pub(crate) enum Edited {
    Keep,
    Remove,
    Replace(Route),
    /// The route stays as it is, but its sender's rank changed.
    Rank,
}

/// The limit for routes of a peer, if any `comes`. A removal meets none.
pub(crate) fn limit_of<K: Stored>(with: &Apply<'_>, comes: bool) -> Limit {
    match comes {
        true => with.limit::<K>(),
        false => Limit::default(),
    }
}

/// One change in a table, with the clients that it concerns.
pub(crate) struct Edit<'a, K> {
    pub table: &'a mut Table<K>,
    pub clients: &'a mut Clients,
    pub with: &'a Apply<'a>,
    pub mirror: Option<ShardMirror<'a>>,
}

/// The accepted routes before a change, by peer and path identifier.
pub(crate) type Keys = SmallVec<[(PeerId, u32); 4]>;

/// The state before a change, as far as clients need it.
pub(crate) enum Before {
    /// There is no client.
    Nobody,
    /// Every client receives the best route of another peer: only these two matter.
    Best(BestTwo),
    /// Any other case follows from all routes.
    All(Keys),
}

impl<K: Stored> Edit<'_, K> {
    /// Puts `new` in the place of the route of this peer and path, if there is one.
    pub fn replace(
        &mut self,
        id: Id,
        path: (PeerId, u32),
        mut new: Option<Route>,
        limit: &Limit,
        tally: &mut Tally,
    ) {
        if let Some(position) = self.admit(id, path, &mut new, limit, tally) {
            self.exchange(id, position, new, tally);
        }
    }

    /// Returns the position of the route of this peer and path, if any, and sets the verdict of `new`. `None`: there
    /// is nothing left to do.
    #[inline(always)]
    pub fn admit(
        &mut self,
        id: Id,
        path: (PeerId, u32),
        new: &mut Option<Route>,
        limit: &Limit,
        tally: &mut Tally,
    ) -> Option<Option<usize>> {
        let destination = self.table.get(id);
        let position = position(destination, path);
        if position.is_none() {
            if new.is_none() {
                return None;
            }
            if is_full(&destination.routes, path.0) {
                tally.not_kept += 1;
                return None;
            }
        }
        let is_in = position.is_some_and(|at| destination.routes[at].is_accepted());
        if !is_in && let Some(route) = new {
            match limit.admit(position.is_some(), tally) {
                Admission::Admitted => {}
                Admission::Rejected => {
                    route.verdict = route.verdict.or_reject(RejectReason::MaxPrefix);
                }
                Admission::NotKept => {
                    self.clear_unused(id);
                    return None;
                }
            }
        }
        if let (Some(at), Some(route)) = (position, &new)
            && is_refresh(&destination.routes[at], route)
        {
            if destination.routes[at].state != route.state {
                let held = &mut self.table.get_mut(id).routes[at];
                tally.move_epoch(held, route.state);
                held.state = route.state;
                self.mirror(id);
            }
            return None;
        }
        if let Some(route) = new
            && exceeds_path_limit(destination.accepted(), route)
        {
            route.verdict = route.verdict.or_reject(RejectReason::Paths);
        }
        Some(position)
    }

    /// Removes the route at a position, inserts another, and records the change if it concerns the clients.
    #[inline(always)]
    fn exchange(&mut self, id: Id, position: Option<usize>, new: Option<Route>, tally: &mut Tally) {
        let destination = self.table.get_mut(id);
        let is_in = position.is_some_and(|at| destination.routes[at].is_accepted());
        let shown = new.as_ref().filter(|route| route.is_accepted());
        let concerns_clients = is_in || shown.is_some();
        let decision = self.with.topology.decision();
        let was_partial = decision.med_is_partial(destination.accepted());
        let plain = !was_partial && self.clients.all_receive_best(K::FAMILY, self.with.topology);
        let before = match self.clients.is_empty() {
            true => Before::Nobody,
            false => before::<K>(destination.accepted(), shown, plain),
        };
        let counted = &self.clients.comparisons;
        let change = (position, new, was_partial);
        let removed = swap(destination, &decision, change, (tally, counted));
        let is_empty = destination.routes.is_empty();
        if concerns_clients {
            self.record_change(id, &before, removed.as_slice());
            self.mirror(id);
        }
        if let Some(route) = removed {
            self.with.store.release(route.attrs);
        }
        if is_empty {
            self.clear(id);
        }
    }

    #[inline(always)]
    pub fn record_change(&mut self, id: Id, before: &Before, removed: &[Route]) {
        match before {
            Before::Nobody => {}
            Before::Best(top) => self.record_best_change(id, *top),
            Before::All(keys) => self.record(id, keys, removed),
        }
    }

    /// Reorders a destination after the rank of a sender changed. Where MULTI_EXIT_DISC matters, a client's best
    /// route may change although the order of all does not.
    pub fn rank(&mut self, id: Id) {
        let before: Keys = keys(self.table.get(id).accepted());
        let decision = self.with.topology.decision();
        let is_partial = decision.med_is_partial(self.table.get(id).accepted());
        sort(self.table.get_mut(id), &decision, &self.clients.comparisons);
        if is_partial || before != keys(self.table.get(id).accepted()) {
            self.record(id, &before, &[]);
            self.mirror(id);
        }
    }

    /// Publishes the destination to the look-up mirror.
    #[inline(always)]
    pub fn mirror(&self, id: Id) {
        if let Some(mirror) = self.mirror {
            mirror.publish(id, self.table.get(id));
        }
    }

    /// Records a change for the live clients where each receives the best route of another peer.
    fn record_best_change(&mut self, id: Id, before: BestTwo) {
        let destination = self.table.get(id);
        let (topology, prefix) = (self.with.topology, destination.prefix);
        record_for_live(self.clients, topology, prefix, |mut recorder| {
            recorder.record_best(before, destination.accepted());
        });
    }

    /// As [`Edit::record_change`] where all routes but these `removed` ones and those of `new_paths`, in order, stay as they
    /// were. Clients that are sent every path are not concerned by the others, of which there may be hundreds.
    pub fn record_some(
        &mut self,
        id: Id,
        before: &Before,
        removed: &[Route],
        new_paths: &[(PeerId, u32)],
    ) {
        let Before::All(keys) = before else {
            return self.record_change(id, before, removed);
        };
        self.clients.mark(K::FAMILY, id, keys);
        let destination = self.table.get(id);
        let after = destination.accepted();
        let is_new = |route: &&Route| {
            let path = (route.peer, route.path_id);
            new_paths.binary_search(&path).is_ok()
        };
        let some = Change {
            before: removed.iter().filter(|old| old.is_accepted()).collect(),
            after: after.iter().filter(is_new).collect(),
        };
        let all = OnceCell::new();
        let all = || {
            all.get_or_init(|| Change {
                before: as_before(keys, &destination.routes, removed),
                after: after.iter().collect(),
            })
        };
        let (topology, prefix) = (self.with.topology, destination.prefix);
        record_for_live(
            self.clients,
            topology,
            prefix,
            |mut recorder| match recorder.sends_each_path_alone() {
                true => recorder.record(&some),
                false => recorder.record(all()),
            },
        );
    }

    fn record(&mut self, id: Id, before: &Keys, removed: &[Route]) {
        self.clients.mark(K::FAMILY, id, before);
        let destination = self.table.get(id);
        let change = Change {
            before: as_before(before, &destination.routes, removed),
            after: destination.accepted().iter().collect(),
        };
        let (topology, prefix) = (self.with.topology, destination.prefix);
        record_for_live(self.clients, topology, prefix, |mut recorder| {
            recorder.record(&change);
        });
    }

    /// Frees a destination that was added for a route that is not kept. No client can hold its prefix.
    fn clear_unused(&mut self, id: Id) {
        let is_kept = self.clients.tombstones[K::FAMILY].contains(&id);
        if self.table.get(id).routes.is_empty() && !is_kept {
            self.table.remove(id);
        }
    }

    /// Frees a destination without routes.
    pub fn clear(&mut self, id: Id) {
        if self.clients.catching_up.is_empty() {
            // It may still be kept since a catch-up that is over, and another prefix may get its id.
            let kept = &mut self.clients.tombstones[K::FAMILY];
            if !kept.is_empty() {
                kept.remove(&id);
            }
            self.table.remove(id);
        } else {
            self.clear_beside_catch_up(id);
        }
    }

    /// Keeps the destination for the clients that may hold its prefix. A prefix that came and went while a client read
    /// nothing is freed: peers could make any number of them.
    #[cold]
    fn clear_beside_catch_up(&mut self, id: Id) {
        if self.clients.may_hold(K::FAMILY, id) {
            self.clients.tombstones[K::FAMILY].insert(id);
        } else {
            self.clients.forget(K::FAMILY, id);
            self.table.remove(id);
        }
    }
}

/// Calls `record` with a recorder for each group of live clients of the family.
pub(crate) fn record_for_live<K: Stored>(
    clients: &mut Clients,
    topology: &Topology,
    prefix: K,
    mut record: impl FnMut(Recorder<'_, K>),
) {
    let Clients {
        live, comparisons, ..
    } = clients;
    for live in live {
        let style = &live.group.style;
        if !style.families[K::FAMILY] {
            continue;
        }
        let clients = LiveClients {
            scope: Scope {
                topology,
                style,
                family: K::FAMILY,
                prefix: prefix.into(),
                comparisons: Some(comparisons),
            },
            peers: &live.peers,
            count: live.count,
        };
        record(Recorder::new(
            prefix,
            &clients,
            K::records(&mut live.pending),
            &mut live.octets,
        ));
    }
}

fn position<K>(destination: &Destination<K>, (peer, path_id): (PeerId, u32)) -> Option<usize> {
    destination
        .routes
        .iter()
        .position(|route| route.peer == peer && route.path_id == path_id)
}

/// Returns the least state that decides which routes clients receive after `new` is inserted.
fn before<K: Stored>(accepted: &[Route], new: Option<&Route>, plain: bool) -> Before {
    let simple = |route: &Route| is_plain(K::FAMILY, route);
    let stays_plain = |new: &Route| simple(new) && !may_be_partial(accepted, new);
    if plain && accepted.iter().all(simple) && new.is_none_or(stays_plain) {
        Before::Best(BestTwo::of(accepted))
    } else {
        Before::All(keys(accepted))
    }
}

/// Removes the route at a position of a destination and inserts another. Sorts all where [`Decision::med_is_partial`] before
/// or now, and counts the comparisons.
#[inline(always)]
pub(crate) fn swap<K>(
    destination: &mut Destination<K>,
    decision: &Decision<'_>,
    (position, new, was_partial): (Option<usize>, Option<Route>, bool),
    (tally, counted): (&mut Tally, &Cell<usize>),
) -> Option<Route> {
    let removed = position.map(|at| destination.routes.remove(at));
    tally.count(removed.as_ref(), -1);
    tally.count(new.as_ref(), 1);
    let is_partial = new.is_some_and(|route| insert(destination, decision, route));
    if was_partial || is_partial {
        sort(destination, decision, counted);
    }
    removed
}

/// Inserts a route. Returns whether all must be sorted.
fn insert<K>(destination: &mut Destination<K>, decision: &Decision<'_>, route: Route) -> bool {
    if !route.is_accepted() {
        destination.routes.push(route);
        return false;
    }
    let end = destination.accepted().len();
    let place = decision.place(&destination.routes[..end], &route);
    destination.routes.insert(place, route);
    decision.med_is_partial(&destination.routes[..=end])
}

fn sort<K>(destination: &mut Destination<K>, decision: &Decision<'_>, counted: &Cell<usize>) {
    let end = destination.accepted().len();
    counted.set(counted.get() + end * COMPARISONS_PER_SORTED_ROUTE);
    decision.sort(&mut destination.routes[..end]);
}

/// The routes of these keys in their order; all but the removed ones are still in the destination.
fn as_before<'r>(
    before: &Keys,
    routes: &'r [Route],
    removed: &'r [Route],
) -> SmallVec<[&'r Route; 4]> {
    let path = |route: &Route| (route.peer, route.path_id);
    if before.len().max(routes.len()) <= FEW_ROUTES {
        let find = |key: &(PeerId, u32)| {
            let mut all = removed.iter().chain(routes);
            all.find(|route| path(route) == *key)
        };
        return before.iter().filter_map(find).collect();
    }
    // A search for each would take the square of their number. A removed route precedes the one in its place.
    let mut all: Vec<&Route> = removed.iter().chain(accepted(routes)).collect();
    all.sort_by_key(|route| path(route));
    let find = |key: &(PeerId, u32)| {
        let at = all.partition_point(|route| path(route) < *key);
        all.get(at).copied().filter(|route| path(route) == *key)
    };
    before.iter().filter_map(find).collect()
}

pub(crate) fn keys(routes: &[Route]) -> Keys {
    routes
        .iter()
        .map(|route| (route.peer, route.path_id))
        .collect()
}

/// Returns whether the new route equals the held one, so that only its epoch changes.
pub(crate) fn is_refresh(held: &Route, new: &Route) -> bool {
    held.attrs.same(&new.attrs)
        && held.verdict == new.verdict
        && held.state.is_same_but_epoch(new.state)
}
