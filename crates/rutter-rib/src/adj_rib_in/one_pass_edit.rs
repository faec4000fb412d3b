//! Many routes of one destination change in one pass over its routes.
//!
//! With Add-Path (RFC 7911) a peer chooses the number of paths of a prefix. If each change searched all of them, n
//! changes would cost n² steps. Here n changes of m routes cost O((n + m) log (n + m)), and the clients receive one
//! difference.

use std::cell::Cell;

use rutter_policy::RejectReason;

use crate::PeerId;
use crate::adj_rib_in::edit::{Edit, is_refresh, limit_of};
use crate::adj_rib_in::multi_route_edit::{Changes, Path};
use crate::adj_rib_in::path_limits::{AcceptedPaths, MAX_HELD_PATHS};
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::Id;
use crate::adj_rib_in::tally::{Admission, Limit, Tally};
use crate::advertise::clients::COMPARISONS_PER_SORTED_ROUTE;
use crate::decision::{Decision, Process};

/// A destination from which more changes than this are made at once, or which has more routes, is edited in one pass.
pub(crate) const FEW_ROUTES: usize = 16;

impl<K: Stored> Edit<'_, K> {
    /// As [`Edit::replace`] for many routes, of one peer or several. Of several changes of one path the last counts.
    pub fn replace_in_one_pass(&mut self, id: Id, mut changes: Changes) {
        keep_last(&mut changes);
        let before = self.before_all(id, &changes);
        let decision = self.with.topology.decision();
        let mut pass = Pass::begin(self.table.get_mut(id).routes.take(), changes.len());
        pass.separate(&changes);
        for of_peer in changes.chunk_by_mut(|a, b| a.0.0 == b.0.0) {
            let with = self.with_peer(of_peer[0].0.0);
            let comes = of_peer.iter().any(|(_, new)| new.is_some());
            let limit = limit_of::<K>(&with, comes);
            let mut tally = Tally::default();
            pass.change_peer(of_peer, &limit, &mut tally);
            with.count::<K>(tally);
        }
        let Pass {
            accepted,
            rejected,
            removed,
            new_paths,
            is_shown,
            is_refreshed,
            ..
        } = pass;
        let counted = &self.clients.comparisons;
        let routes = in_order(&decision, accepted, rejected, counted);
        let is_empty = routes.is_empty();
        self.table.get_mut(id).routes = routes.into();
        if is_shown {
            self.record_some(id, &before, &removed, &new_paths);
        }
        if is_shown || is_refreshed {
            self.mirror(id);
        }
        for route in removed {
            self.with.store.release(route.attrs);
        }
        if is_empty {
            self.clear(id);
        }
    }
}

/// Leaves the last change of each path, in the order of paths.
fn keep_last(changes: &mut Changes) {
    changes.reverse();
    changes.sort_by_key(|(path, _)| *path);
    changes.dedup_by_key(|(path, _)| *path);
}

/// The routes of a destination during a pass.
struct Pass {
    accepted: Vec<Route>,
    rejected: Vec<Route>,
    /// The route of each change's path, as held before.
    replaced: Vec<Option<Route>>,
    /// The next of `replaced`.
    next: usize,
    paths: AcceptedPaths,
    /// The number of held routes by peer, of the peers with changes.
    held: Vec<(PeerId, usize)>,
    removed: Vec<Route>,
    /// The paths of the changes that were kept, in order.
    new_paths: Vec<Path>,
    /// Accepted routes come or go.
    is_shown: bool,
    /// Accepted routes get another state, which clients do not see.
    is_refreshed: bool,
}

impl Pass {
    fn begin(routes: Vec<Route>, changes: usize) -> Self {
        Pass {
            accepted: routes,
            rejected: Vec::new(),
            replaced: vec![None; changes],
            next: 0,
            paths: AcceptedPaths::default(),
            held: Vec::new(),
            removed: Vec::new(),
            new_paths: Vec::new(),
            is_shown: false,
            is_refreshed: false,
        }
    }

    /// Takes the routes that change out of the others.
    fn separate(&mut self, changes: &Changes) {
        for (path, _) in changes {
            if self.held.last().is_none_or(|(peer, _)| *peer != path.0) {
                self.held.push((path.0, 0));
            }
        }
        for route in std::mem::take(&mut self.accepted) {
            let Ok(peer) = self.held.binary_search_by_key(&route.peer, |held| held.0) else {
                self.keep(route);
                continue;
            };
            self.held[peer].1 += 1;
            let path = (route.peer, route.path_id);
            let change = changes.binary_search_by_key(&path, |(path, _)| *path);
            let stays = change.is_err() || change.is_ok_and(|at| changes[at].1.is_some());
            if stays && route.is_accepted() {
                self.paths.expect(&route);
            }
            match change {
                Ok(at) => self.replaced[at] = Some(route),
                Err(_) => self.keep(route),
            }
        }
        self.paths.sort();
    }

    fn keep(&mut self, route: Route) {
        match route.is_accepted() {
            true => self.accepted.push(route),
            false => self.rejected.push(route),
        }
    }

    /// Applies the changes of one peer.
    fn change_peer(
        &mut self,
        changes: &mut [(Path, Option<Route>)],
        limit: &Limit,
        tally: &mut Tally,
    ) {
        for (path, new) in changes {
            let old = self.replaced[self.next].take();
            self.next += 1;
            let new = new.take();
            let new = new.and_then(|new| self.admit(*path, new, old.as_ref(), (limit, tally)));
            self.exchange(old, new, tally);
        }
    }

    /// Sets the verdict of a new route. `None`: the peer has too many paths, so it is not kept.
    fn admit(
        &mut self,
        (peer, _): Path,
        mut new: Route,
        old: Option<&Route>,
        (limit, tally): (&Limit, &mut Tally),
    ) -> Option<Route> {
        let was_in = old.is_some_and(Route::is_accepted);
        if !was_in {
            match limit.admit(old.is_some(), tally) {
                Admission::Admitted => {}
                Admission::Rejected => {
                    new.verdict = new.verdict.or_reject(RejectReason::MaxPrefix);
                }
                Admission::NotKept => return None,
            }
        }
        if old.is_some_and(|old| is_refresh(old, &new)) {
            return Some(new);
        }
        let held = self.held.binary_search_by_key(&peer, |held| held.0);
        let held = &mut self.held[held.ok()?].1;
        if old.is_none() {
            if *held >= MAX_HELD_PATHS {
                tally.not_kept += 1;
                return None;
            }
            *held += 1;
        }
        if new.is_accepted() && !self.paths.admit(&new) {
            new.verdict = new.verdict.or_reject(RejectReason::Paths);
        }
        if was_in && !new.is_accepted() {
            self.paths.forget(&new);
        }
        Some(new)
    }

    fn exchange(&mut self, old: Option<Route>, new: Option<Route>, tally: &mut Tally) {
        let same = match (&old, &new) {
            (Some(old), Some(new)) => is_refresh(old, new),
            (None, None) => true,
            _ => false,
        };
        if same {
            self.is_refreshed |= new.is_some();
        } else {
            let shows = |route: &Option<Route>| route.as_ref().is_some_and(Route::is_accepted);
            self.is_shown |= shows(&old) || shows(&new);
        }
        tally.count(old.as_ref(), -1);
        tally.count(new.as_ref(), 1);
        if let Some(new) = new {
            self.new_paths.push((new.peer, new.path_id));
            self.keep(new);
        }
        self.removed.extend(old);
    }
}

/// The accepted routes in the order of the decision process, then the rejected ones. Counts the comparisons of the pass.
fn in_order(
    decision: &Decision<'_>,
    mut accepted: Vec<Route>,
    rejected: Vec<Route>,
    counted: &Cell<usize>,
) -> Vec<Route> {
    counted.set(counted.get() + accepted.len() + rejected.len());
    if decision.med_is_partial(&accepted) {
        counted.set(counted.get() + accepted.len() * COMPARISONS_PER_SORTED_ROUTE);
        decision.sort(&mut accepted);
    } else {
        // Most are in order already.
        accepted.sort_by(|a, b| decision.compare(a, b).0);
    }
    accepted.extend(rejected);
    accepted.shrink_to_fit();
    accepted
}
