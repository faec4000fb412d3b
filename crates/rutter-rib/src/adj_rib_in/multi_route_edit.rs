//! Several routes of one destination change at once: clients receive the result and no state in between.

use smallvec::SmallVec;

use crate::PeerId;
use crate::adj_rib_in::edit::{Before, Edit, Edited, keys, limit_of, swap};
use crate::adj_rib_in::one_pass_edit::FEW_ROUTES;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Apply, Stored};
use crate::adj_rib_in::table::Id;
use crate::adj_rib_in::tally::Tally;
use crate::advertise::fast_path::{BestTwo, is_plain};

/// The identity of a route of a destination: its sender and path identifier.
pub(crate) type Path = (PeerId, u32);

/// The outcomes for routes of a destination.
pub(crate) type Edits = SmallVec<[(Path, Edited); 1]>;

/// The replacements of routes.
pub(crate) type Changes = SmallVec<[(Path, Option<Route>); 2]>;

impl<'a, K: Stored> Edit<'a, K> {
    /// Edits held routes of a destination, and counts them.
    #[inline]
    pub fn apply(&mut self, id: Id, mut edits: Edits) {
        if edits.len() > 1 {
            self.apply_all(id, edits);
        } else if let Some((path, edited)) = edits.pop() {
            self.apply_one(id, path, edited);
        }
    }

    #[inline]
    fn apply_one(&mut self, id: Id, path: Path, edited: Edited) {
        let new = match edited {
            Edited::Rank => return self.rank(id),
            Edited::Replace(route) => Some(route),
            Edited::Keep | Edited::Remove => None,
        };
        let with = self.with_peer(path.0);
        let limit = limit_of::<K>(&with, new.is_some());
        let mut tally = Tally::default();
        self.replace(id, path, new, &limit, &mut tally);
        with.count::<K>(tally);
    }

    fn apply_all(&mut self, id: Id, edits: Edits) {
        if edits
            .iter()
            .any(|(_, edited)| matches!(edited, Edited::Rank))
        {
            self.rank(id);
        }
        let change = |(path, edited)| match edited {
            Edited::Replace(route) => Some((path, Some(route))),
            Edited::Remove => Some((path, None)),
            Edited::Keep | Edited::Rank => None,
        };
        self.replace_all(id, edits.into_iter().filter_map(change).collect());
    }

    /// As [`Edit::replace`] for several routes.
    pub fn replace_all(&mut self, id: Id, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        if changes.len().max(self.table.get(id).routes.len()) > FEW_ROUTES {
            return self.replace_in_one_pass(id, changes);
        }
        let before = self.before_all(id, &changes);
        let decision = self.with.topology.decision();
        let mut concerns_clients = false;
        let mut removed_routes: SmallVec<[Route; 2]> = SmallVec::new();
        for (path, mut new) in changes {
            let with = self.with_peer(path.0);
            let limit = limit_of::<K>(&with, new.is_some());
            let mut tally = Tally::default();
            let Some(position) = self.admit(id, path, &mut new, &limit, &mut tally) else {
                with.count::<K>(tally);
                continue;
            };
            concerns_clients |= new.as_ref().is_some_and(Route::is_accepted);
            let destination = self.table.get_mut(id);
            let counted = (&mut tally, &self.clients.comparisons);
            let was_partial = decision.med_is_partial(destination.accepted());
            let change = (position, new, was_partial);
            let removed = swap(destination, &decision, change, counted);
            concerns_clients |= removed.as_ref().is_some_and(Route::is_accepted);
            removed_routes.extend(removed);
            with.count::<K>(tally);
        }
        if concerns_clients {
            self.record_change(id, &before, &removed_routes);
            self.mirror(id);
        }
        for route in removed_routes {
            self.with.store.release(route.attrs);
        }
        if self.table.get(id).routes.is_empty() {
            self.clear(id);
        }
    }

    pub fn with_peer(&self, peer: PeerId) -> Apply<'a> {
        Apply { peer, ..*self.with }
    }

    pub fn before_all(&self, id: Id, changes: &Changes) -> Before {
        if self.clients.is_empty() {
            return Before::Nobody;
        }
        let held = self.table.get(id).accepted();
        let new_routes = || {
            let new_routes = changes.iter().filter_map(|(_, new)| new.as_ref());
            new_routes.filter(|new| new.is_accepted())
        };
        let mut all = held.iter().chain(new_routes());
        let topology = self.with.topology;
        // This may say yes too often: not all of these routes are present at the same time.
        let may_be_partial = held.len() + new_routes().count() > 2
            && State::classes_with_med(all.clone().map(|route| route.state)) != 0;
        let plain = !may_be_partial
            && self.clients.all_receive_best(K::FAMILY, topology)
            && all.all(|route| is_plain(K::FAMILY, route));
        match plain {
            true => Before::Best(BestTwo::of(held)),
            false => Before::All(keys(held)),
        }
    }
}
