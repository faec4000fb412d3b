//! The sweeper: removes the routes of ended sessions in slices, for all such sessions in one walk.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix};

use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Slice, Stored};
use crate::adj_rib_in::table::Id;
use crate::{PeerId, Rib};

/// The sessions that ended on a thread and whose routes are not removed yet. Each step takes some hundred
/// microseconds, so that the thread can serve others in between.
#[derive(Default)]
pub struct Sweeper {
    /// The sessions of the present walk.
    current: Vec<EndedSession>,
    /// The sessions that ended since the walk began.
    next: Vec<EndedSession>,
    position: WalkPosition,
}

/// A session whose routes are removed: those of the peer and family that are not of this epoch.
#[derive(Clone, Copy, Debug)]
struct EndedSession {
    peer: PeerId,
    family: Family,
    epoch: bool,
}

/// The position of the walk.
#[derive(Clone, Copy, Debug, Default)]
struct WalkPosition {
    family: usize,
    shard: usize,
    id: Id,
}

impl Sweeper {
    /// Returns whether nothing is left to remove.
    pub fn is_idle(&self) -> bool {
        self.current.is_empty() && self.next.is_empty()
    }

    pub(crate) fn add(&mut self, peer: PeerId, family: Family, epoch: bool) {
        self.next.push(EndedSession {
            peer,
            family,
            epoch,
        });
    }

    /// Removes some routes. Call [`Rib::flush`] afterwards, and call this again until [`Sweeper::is_idle`].
    pub fn step(&mut self, rib: &Rib) {
        if self.current.is_empty() {
            self.current = std::mem::take(&mut self.next);
            self.position = WalkPosition::default();
        }
        let Some(&family) = Family::ALL.get(self.position.family) else {
            return self.finish(rib);
        };
        match family {
            Family::Ipv4Unicast => self.slice::<Ipv4Prefix>(rib),
            Family::Ipv6Unicast => self.slice::<Ipv6Prefix>(rib),
        }
    }

    fn slice<K: Stored>(&mut self, rib: &Rib) {
        let topology = rib.topology.read();
        // The routes of a session that came back, or of a neighbor that was removed, are gone already.
        self.current.retain(|ended| {
            let family = ended.family;
            topology
                .peer(ended.peer)
                .is_some_and(|peer| peer.removing[family] && peer.epoch[family] == ended.epoch)
        });
        let removed = Removed::of(&self.current, K::FAMILY);
        let shard = rib
            .shards
            .get(self.position.shard)
            .filter(|_| !removed.is_empty());
        let Some(shard) = shard else {
            self.position = WalkPosition {
                family: self.position.family + 1,
                ..WalkPosition::default()
            };
            return;
        };
        let slice = Slice {
            topology: &topology,
            store: &rib.store,
            from: self.position.id,
        };
        let edit = |_, route: &Route| match removed.has(route) {
            true => Edited::Remove,
            false => Edited::Keep,
        };
        match shard.lock().edit_routes::<K>(&slice, edit) {
            Some(next) => self.position.id = next,
            None => {
                self.position.shard += 1;
                self.position.id = 0;
            }
        }
    }

    fn finish(&mut self, rib: &Rib) {
        let mut topology = rib.topology.write();
        for ended in self.current.drain(..) {
            let family = ended.family;
            if let Some(peer) = topology.peer_mut(ended.peer)
                && peer.epoch[family] == ended.epoch
            {
                peer.removing[family] = false;
                peer.has_stale[family] = false;
            }
        }
    }
}

/// For each peer: nothing, or the epoch that stays.
struct Removed(Vec<Option<bool>>);

impl Removed {
    fn of(all: &[EndedSession], family: Family) -> Self {
        let of_family = || all.iter().filter(|ended| ended.family == family);
        let end = of_family().map(|ended| ended.peer.index() + 1).max();
        let mut removed = vec![None; end.unwrap_or(0)];
        for ended in of_family() {
            removed[ended.peer.index()] = Some(ended.epoch);
        }
        Removed(removed)
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
