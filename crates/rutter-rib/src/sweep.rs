//! Routes of sessions that ended go in slices, those of all such sessions in one walk.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix};

use crate::edit::Edited;
use crate::route::{Route, State};
use crate::shard::{Slice, Stored};
use crate::table::Id;
use crate::{PeerId, Rib};

/// What a thread has yet to remove of the sessions that ended on it. Each step takes some hundred microseconds, so that
/// whoever does it can serve others in between.
#[derive(Default)]
pub struct Sweeper {
    /// Those that the present walk is for.
    current: Vec<Leaving>,
    /// Those that came since it began.
    next: Vec<Leaving>,
    place: Place,
}

/// Routes of a peer and family that are not of this epoch go.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    peer: PeerId,
    family: Family,
    epoch: bool,
}

/// Where the walk is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    family: usize,
    shard: usize,
    id: Id,
}

impl Sweeper {
    /// Whether nothing is left to be removed.
    pub fn is_idle(&self) -> bool {
        self.current.is_empty() && self.next.is_empty()
    }

    pub(crate) fn add(&mut self, peer: PeerId, family: Family, epoch: bool) {
        self.next.push(Leaving {
            peer,
            family,
            epoch,
        });
    }

    /// Removes some routes. Call [`Rib::flush`] afterwards, and again until [`Sweeper::is_idle`].
    pub fn step(&mut self, rib: &Rib) {
        if self.current.is_empty() {
            self.current = std::mem::take(&mut self.next);
            self.place = Place::default();
        }
        let Some(&family) = Family::ALL.get(self.place.family) else {
            return self.finish(rib);
        };
        match family {
            Family::Ipv4Unicast => self.slice::<Ipv4Prefix>(rib),
            Family::Ipv6Unicast => self.slice::<Ipv6Prefix>(rib),
        }
    }

    fn slice<K: Stored>(&mut self, rib: &Rib) {
        let topology = rib.topology.read();
        // A session that came back, or a neighbor that was removed, has had its routes removed already.
        self.current.retain(|leaving| {
            let index = leaving.family.index();
            topology
                .peer(leaving.peer)
                .is_some_and(|peer| peer.leaving[index] && peer.epoch[index] == leaving.epoch)
        });
        let gone = Gone::of(&self.current, K::FAMILY);
        let shard = rib
            .shards
            .get(self.place.shard)
            .filter(|_| !gone.is_empty());
        let Some(shard) = shard else {
            self.place = Place {
                family: self.place.family + 1,
                ..Place::default()
            };
            return;
        };
        let slice = Slice {
            topology: &topology,
            store: &rib.store,
            from: self.place.id,
        };
        let edit = |_, route: &Route| match gone.has(route) {
            true => Edited::Remove,
            false => Edited::Keep,
        };
        match shard.lock().edit_routes::<K>(&slice, edit) {
            Some(next) => self.place.id = next,
            None => {
                self.place.shard += 1;
                self.place.id = 0;
            }
        }
    }

    fn finish(&mut self, rib: &Rib) {
        let mut topology = rib.topology.write();
        for leaving in self.current.drain(..) {
            let index = leaving.family.index();
            if let Some(peer) = topology.peer_mut(leaving.peer)
                && peer.epoch[index] == leaving.epoch
            {
                peer.leaving[index] = false;
                peer.has_stale[index] = false;
            }
        }
    }
}

/// For each peer: nothing, or the epoch that stays.
struct Gone(Vec<Option<bool>>);

impl Gone {
    fn of(all: &[Leaving], family: Family) -> Self {
        let of_family = || all.iter().filter(|leaving| leaving.family == family);
        let end = of_family().map(|leaving| leaving.peer.index() + 1).max();
        let mut gone = vec![None; end.unwrap_or(0)];
        for leaving in of_family() {
            gone[leaving.peer.index()] = Some(leaving.epoch);
        }
        Gone(gone)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, route: &Route) -> bool {
        match self.0.get(route.peer.index()) {
            Some(Some(epoch)) => route.state.has(State::EPOCH) != *epoch,
            _ => false,
        }
    }
}
