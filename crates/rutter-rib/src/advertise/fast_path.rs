//! The usual change: a peer adds its route to a destination, and each client receivers the best route of another.
//!
//! What follows for clients is then known from the new route's place alone. [`Edit::replace`] comes to the same by
//! comparing what everybody heard before and after; a table is mostly filled here.

use crate::adj_rib_in::edit::{Edit, Tally};
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::Id;
use crate::advertise::clients::Live;
use crate::advertise::log::Recipients;
use crate::advertise::recorder::{Record, is_plain, with_route_state};
use crate::decision::may_be_partial;

/// With more routes held than this, looking at all pairs of them is no longer cheap.
const MAX_HELD: usize = 4;

/// Who receivers a new route.
enum Receivers {
    /// It is the best: everybody but its sender.
    Others,
    /// It is the best of another for the sender of the best one.
    First(crate::PeerId),
    /// It is neither.
    Nobody,
}

impl<K: Stored> Edit<'_, K> {
    /// Takes in a route of a peer that had none here, where all clients hear the best route of another
    /// ([`crate::advertise::clients::Clients::all_receive_best`]). Gives it back where there is more to the change than its place.
    #[inline(always)]
    pub fn add_route(&mut self, id: Id, route: Route, tally: &mut Tally) -> Result<(), Route> {
        let held: &[Route] = &self.table.get(id).routes;
        if held.len() > MAX_HELD || held.iter().any(|held| held.peer == route.peer) {
            return Err(route);
        }
        let simple = |route: &Route| route.is_accepted() && is_plain(K::FAMILY, route);
        if !simple(&route) || !held.iter().all(simple) || may_be_partial(held, &route) {
            return Err(route);
        }
        let place = if held.is_empty() {
            0
        } else {
            self.with.topology.decision().place(held, &route)
        };
        let receivers = match held.first() {
            Some(first) if place > 0 => {
                let is_second = held[..place].iter().all(|held| held.peer == first.peer);
                if is_second {
                    Receivers::First(first.peer)
                } else {
                    Receivers::Nobody
                }
            }
            _ => Receivers::Others,
        };
        let destination = self.table.get_mut(id);
        for live in &mut self.clients.live {
            record_addition(live, destination.prefix, &route, &receivers);
        }
        destination.routes.insert(place, route);
        tally.received += 1;
        tally.accepted += 1;
        self.mirror(id);
        Ok(())
    }
}

fn record_addition<K: Stored>(live: &mut Live, prefix: K, route: &Route, receivers: &Receivers) {
    let sender = route.peer;
    let to = match receivers {
        Receivers::Others if live.count > usize::from(live.peers.contains(sender)) => {
            Recipients::AllBut(sender, sender)
        }
        Receivers::First(peer) if live.peers.contains(*peer) => Recipients::Only(*peer),
        _ => return,
    };
    if live.group.style.families[K::FAMILY.index()] {
        K::records(&mut live.pending).push(Record {
            prefix,
            path_id: 0,
            set: Some(route.attrs.clone()),
            to,
            sender,
            modification: with_route_state(Default::default(), route),
            opens_change: true,
        });
    }
}
