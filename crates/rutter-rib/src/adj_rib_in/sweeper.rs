//! The sweeper: edits routes in slices, for all peers in one walk. It removes stale routes and those of ended sessions, makes
//! stale routes long-lived, and reorders destinations after a neighbor's rank changed.

use std::cell::Cell;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::adj_rib_in::attr_set::SetFlags;
use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::epochs::{EPOCHS, EpochSet};
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Slice, Stored};
use crate::adj_rib_in::table::Id;
use crate::peer_set::PeerSet;
use crate::topology::Topology;
use crate::{FeedEvent, PeerId, Rib};

/// The routes that a thread has yet to edit: stale ones, and those of its ended sessions. Each step takes some hundred
/// microseconds, so that the thread can serve others in between.
#[derive(Default)]
pub struct Sweeper {
    /// The work of the present walk.
    current: Work,
    /// The work that was added since the walk began.
    next: Work,
    position: WalkPosition,
}

/// The work of one walk.
#[derive(Default)]
struct Work {
    removals: Vec<Removal>,
    /// The stale routes that become long-lived (RFC 9494).
    long_lived: Vec<StaleRoutes>,
    /// The neighbors whose rank in the decision process changed. [`Topology::rank_walks`] counts each.
    ranked: Vec<PeerId>,
    /// The neighbors that are removed at the end.
    leaving: Vec<PeerId>,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.removals.is_empty()
            && self.long_lived.is_empty()
            && self.ranked.is_empty()
            && self.leaving.is_empty()
    }
}

/// The stale routes of a peer and family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaleRoutes {
    pub peer: PeerId,
    pub family: Family,
    pub epochs: EpochSet,
    /// As in [`Removal`].
    pub neighbor: u32,
}

impl StaleRoutes {
    /// Returns whether routes of these epochs are still stale, and forgets the epochs that are not.
    fn are_due(&mut self, topology: &Topology) -> bool {
        let Some(peer) = topology.peer(self.peer) else {
            return false;
        };
        let epochs = &peer.epochs[self.family];
        self.epochs = self.epochs.and(epochs.stale);
        epochs.neighbor == self.neighbor && !self.epochs.is_empty()
    }
}

/// Removes the routes of a peer and family that are of these epochs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removal {
    pub peer: PeerId,
    pub family: Family,
    pub epochs: EpochSet,
    /// That of the peer's epochs: another neighbor may have its id by now.
    pub neighbor: u32,
    /// True if readers of the feed learn of each route: the end of a session they know already.
    pub is_published: bool,
}

/// The position of the walk.
#[derive(Clone, Copy, Debug, Default)]
struct WalkPosition {
    family: usize,
    shard: usize,
    id: Id,
    /// After all families: the stripe of the attribute store.
    stripe: usize,
    /// After all stripes: the chunk of audiences.
    chunk: usize,
}

impl Sweeper {
    /// Returns whether nothing is left to remove.
    pub fn is_idle(&self) -> bool {
        self.current.is_empty() && self.next.is_empty()
    }

    pub(crate) fn add(&mut self, removal: Removal) {
        self.next.removals.push(removal);
    }

    pub(crate) fn add_long_lived(&mut self, routes: StaleRoutes) {
        self.next.long_lived.push(routes);
    }

    /// Reorders the destinations with routes of a neighbor whose rank changed. [`Topology::rank_walks`] must count it already.
    pub(crate) fn add_ranked(&mut self, peer: PeerId) {
        self.next.ranked.push(peer);
    }

    /// Removes a neighbor after the routes that were added before.
    pub(crate) fn add_leaving(&mut self, peer: PeerId) {
        self.next.leaving.push(peer);
    }

    /// Removes all routes that were added, without anything in between.
    pub(crate) fn run(&mut self, rib: &Rib) {
        while !self.is_idle() {
            self.step(rib);
            rib.encode(&rib.topology.read());
        }
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
        // The routes of a neighbor that was removed are gone already.
        let removals = &mut self.current.removals;
        removals.retain_mut(|removal| removal.is_due(&topology));
        let removed = Removed::of(removals, K::FAMILY);
        let long_lived = &mut self.current.long_lived;
        long_lived.retain_mut(|routes| routes.are_due(&topology));
        let long_lived = LongLived::of(long_lived, K::FAMILY);
        let holds = |peer: &PeerId| {
            let peer = topology.peer(*peer);
            peer.is_some_and(|peer| peer.counts.received(K::FAMILY, EpochSet::ALL) > 0)
        };
        let ranked: PeerSet = self.current.ranked.iter().copied().filter(holds).collect();
        let has_work = !removed.is_empty() || !long_lived.is_empty() || !ranked.is_empty();
        let shard = rib.shards.get(self.position.shard).filter(|_| has_work);
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
            read: Cell::default(),
        };
        let mut swept = Vec::new();
        let is_active = rib.feed.is_active();
        let edit = |prefix: K, route: &Route| {
            let is_published = match removed.find(route) {
                Some(is_published) => is_published,
                None => match long_lived.edit(route) {
                    Edited::Remove => true,
                    Edited::Keep if ranked.contains(route.peer) => return Edited::Rank,
                    edited => return edited,
                },
            };
            if is_published && is_active {
                swept.push((route.peer, (prefix.into(), route.path_id)));
            }
            Edited::Remove
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

    /// Charges nobody any more for sets that others share with the neighbors that leave, some of them in a step. Returns
    /// whether there was anything to do.
    fn disown_sets(&mut self, rib: &Rib) -> bool {
        let leaving = self.current.leaving.iter().copied();
        let charged: PeerSet = leaving
            .filter(|peer| rib.store.charged(*peer) > 0)
            .collect();
        let stripe = self.position.stripe;
        self.position.stripe += 1;
        !charged.is_empty() && rib.store.disown(stripe, &charged)
    }

    /// The same for what action communities ask for.
    fn disown_audiences(&mut self, rib: &Rib) -> bool {
        let leaving = self.current.leaving.iter().copied();
        let charged: PeerSet = {
            let audiences = &rib.topology.read().audiences;
            leaving
                .filter(|peer| audiences.charged(*peer) > 0)
                .collect()
        };
        if charged.is_empty() {
            return false;
        }
        let chunk = self.position.chunk;
        self.position.chunk += 1;
        rib.topology.write().audiences.disown(chunk, &charged)
    }

    fn finish(&mut self, rib: &Rib) {
        if self.disown_sets(rib) || self.disown_audiences(rib) {
            return;
        }
        let mut topology = rib.topology.write();
        for mut removal in self.current.removals.drain(..) {
            if removal.is_due(&topology)
                && let Some(peer) = topology.peer_mut(removal.peer)
            {
                peer.epochs[removal.family].emptied(removal.epochs);
            }
        }
        self.current.long_lived.clear();
        topology.rank_walks -= self.current.ranked.drain(..).count() as u32;
        let leaving = std::mem::take(&mut self.current.leaving);
        if !leaving.is_empty() {
            topology.remove_all(&leaving);
            drop(topology);
            rib.changed();
        }
    }
}

impl Removal {
    /// Returns whether routes of these epochs may be left, and forgets the epochs that others emptied.
    fn is_due(&mut self, topology: &Topology) -> bool {
        let Some(peer) = topology.peer(self.peer) else {
            return false;
        };
        let epochs = &peer.epochs[self.family];
        self.epochs = self.epochs.and(epochs.removing);
        epochs.neighbor == self.neighbor && !self.epochs.is_empty()
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

/// The epochs of a family that are removed, by peer. Each with whether readers of the feed learn of its routes.
struct Removed(Vec<[Option<bool>; EPOCHS]>);

impl Removed {
    fn of(all: &[Removal], family: Family) -> Self {
        let of_family = || all.iter().filter(|removal| removal.family == family);
        let end = of_family().map(|removal| removal.peer.index() + 1).max();
        let mut removed = vec![[None; EPOCHS]; end.unwrap_or(0)];
        for removal in of_family() {
            for epoch in removal.epochs.iter() {
                let of_peer = &mut removed[removal.peer.index()];
                of_peer[usize::from(epoch)] = Some(removal.is_published);
            }
        }
        Removed(removed)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// If a route is to be removed, whether readers of the feed learn of it.
    fn find(&self, route: &Route) -> Option<bool> {
        let of_peer = self.0.get(route.peer.index())?;
        of_peer[usize::from(route.state.epoch())]
    }
}

/// The epochs of a family whose routes become long-lived stale, by peer.
struct LongLived(Vec<(PeerId, EpochSet)>);

impl LongLived {
    fn of(all: &[StaleRoutes], family: Family) -> Self {
        let of_family = all.iter().filter(|routes| routes.family == family);
        let mut epochs: Vec<_> = of_family.map(|one| (one.peer, one.epochs)).collect();
        epochs.sort_unstable_by_key(|(peer, _)| *peer);
        LongLived(epochs)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the outcome for a route.
    fn edit(&self, route: &Route) -> Edited {
        if self.0.is_empty() || route.state.has(State::LONG_LIVED_STALE) {
            return Edited::Keep;
        }
        let first = self.0.partition_point(|(peer, _)| *peer < route.peer);
        let of_peer = self.0[first..].iter();
        let mut of_peer = of_peer.take_while(|(peer, _)| *peer == route.peer);
        if !of_peer.any(|(_, epochs)| epochs.contains(route.state.epoch())) {
            return Edited::Keep;
        }
        if route.attrs.summary().flags.has(SetFlags::NO_LLGR) {
            return Edited::Remove;
        }
        let mut kept = route.clone();
        kept.state = kept.state.with(State::LONG_LIVED_STALE, true);
        Edited::Replace(kept)
    }
}
