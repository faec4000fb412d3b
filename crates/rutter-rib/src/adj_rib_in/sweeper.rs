//! The sweeper: removes stale routes and those of ended sessions in slices, for all peers in one walk.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Slice, Stored};
use crate::adj_rib_in::table::Id;
use crate::{FeedEvent, PeerId, Rib};

/// The routes that a thread has yet to remove: stale ones, and those of its ended sessions. Each step takes some hundred
/// microseconds, so that the thread can serve others in between.
#[derive(Default)]
pub struct Sweeper {
    /// The removals of the present walk.
    current: Vec<Removal>,
    /// The removals that were added since the walk began.
    next: Vec<Removal>,
    position: WalkPosition,
}

/// Removes the routes of a peer and family that are not of this epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removal {
    pub peer: PeerId,
    pub family: Family,
    pub epoch: bool,
    /// True if readers of the feed learn of each route: the end of a session they know already.
    pub is_published: bool,
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

    pub(crate) fn add(&mut self, removal: Removal) {
        self.next.push(removal);
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
        self.current.retain(|removal| {
            let family = removal.family;
            topology
                .peer(removal.peer)
                .is_some_and(|peer| peer.removing[family] && peer.epoch[family] == removal.epoch)
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
        let mut swept = Vec::new();
        let is_active = rib.feed.is_active();
        let edit = |prefix: K, route: &Route| match removed.find(route) {
            None => Edited::Keep,
            Some(removal) => {
                if removal.is_published && is_active {
                    swept.push((route.peer, (prefix.into(), route.path_id)));
                }
                Edited::Remove
            }
        };
        let next = shard.lock().edit_routes::<K>(&slice, edit);
        publish(rib, swept);
        match next {
            Some(next) => self.position.id = next,
            None => {
                self.position.shard += 1;
                self.position.id = 0;
            }
        }
    }

    fn finish(&mut self, rib: &Rib) {
        let mut topology = rib.topology.write();
        for removal in self.current.drain(..) {
            let family = removal.family;
            if let Some(peer) = topology.peer_mut(removal.peer)
                && peer.epoch[family] == removal.epoch
            {
                peer.removing[family] = false;
                peer.has_stale[family] = false;
            }
        }
    }
}

/// Publishes routes that were removed without a withdrawal.
fn publish(rib: &Rib, mut swept: Vec<(PeerId, (Prefix, u32))>) {
    swept.sort_by_key(|(peer, _)| *peer);
    for routes in swept.chunk_by(|a, b| a.0 == b.0) {
        rib.feed.publish(FeedEvent::Swept {
            peer: routes[0].0,
            routes: routes.iter().map(|(_, route)| *route).collect(),
        });
    }
}

/// The removals of a family by peer.
struct Removed(Vec<Option<Removal>>);

impl Removed {
    fn of(all: &[Removal], family: Family) -> Self {
        let of_family = || all.iter().filter(|removal| removal.family == family);
        let end = of_family().map(|removal| removal.peer.index() + 1).max();
        let mut removed = vec![None; end.unwrap_or(0)];
        for removal in of_family() {
            removed[removal.peer.index()] = Some(*removal);
        }
        Removed(removed)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The removal of a route, if it is to be removed.
    fn find(&self, route: &Route) -> Option<Removal> {
        let removal = self.0.get(route.peer.index()).copied().flatten();
        removal.filter(|removal| route.state.has(State::EPOCH) != removal.epoch)
    }
}
