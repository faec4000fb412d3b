//! The clients as one shard sees them: some follow their group's log, others catch up.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use rutter_net::{Family, PerFamily};

use crate::PeerId;
use crate::adj_rib_in::table::Id;
use crate::advertise::catch_up::CatchUp;
use crate::advertise::group::{Group, Inbox};
use crate::advertise::octet_count::OctetCount;
use crate::peer_set::PeerSet;
use crate::topology::Topology;

/// The comparisons that take as long as a plain change of a route, about half a microsecond.
const COMPARISONS_PER_STEP: usize = 4;
/// The comparisons for each of some routes that are sorted where MULTI_EXIT_DISC matters.
pub(crate) const COMPARISONS_PER_SORTED_ROUTE: usize = 2;

/// A mark for a client that catches up is a bit.
const MARKS_PER_COMPARISON: usize = 4;

/// The clients as one shard sees them.
#[derive(Default)]
pub(crate) struct Clients {
    pub live: Vec<Live>,
    /// Ordered by peer.
    pub catching_up: Vec<CatchUp>,
    /// Destinations without routes, kept until no catching-up client can still hold their prefix.
    pub tombstones: PerFamily<BTreeSet<Id>>,
    /// The work that changes took beyond that of a plain one: see [`Clients::take_steps`].
    pub comparisons: Cell<usize>,
}

/// The clients of one group that follow its log.
pub(crate) struct Live {
    pub group: Arc<Group>,
    pub peers: PeerSet,
    pub count: usize,
    pub pending: Inbox,
    /// The attributes in `pending`.
    pub octets: OctetCount,
}

impl Clients {
    /// Returns whether there is no client.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.catching_up.is_empty()
    }

    /// The octets of long attributes in the records that wait for [`crate::adj_rib_in::shard::Shard::deliver`].
    pub fn pending_octets(&self) -> usize {
        self.live.iter().map(|live| live.octets.octets()).sum()
    }

    /// Counts comparisons of routes, operations on sets of clients, and the like: each takes a good tenth of a microsecond. A
    /// neighbor chooses the number of routes of a destination, and their communities decide how many sets are computed.
    #[inline]
    pub fn count_comparisons(&self, comparisons: usize) {
        self.comparisons.set(self.comparisons.get() + comparisons);
    }

    /// Takes the whole steps from the comparisons that were counted.
    #[inline]
    pub fn take_steps(&self) -> usize {
        let comparisons = self.comparisons.get();
        self.comparisons.set(comparisons % COMPARISONS_PER_STEP);
        comparisons / COMPARISONS_PER_STEP
    }

    /// Adds a client that follows the log of its group.
    pub fn join(&mut self, peer: PeerId, group: &Arc<Group>) {
        let known = self
            .live
            .iter_mut()
            .find(|live| Arc::ptr_eq(&live.group, group));
        match known {
            Some(live) => live.add(peer),
            None => {
                let mut live = Live {
                    group: Arc::clone(group),
                    peers: PeerSet::default(),
                    count: 0,
                    pending: Inbox::default(),
                    octets: OctetCount::default(),
                };
                live.add(peer);
                self.live.push(live);
            }
        }
    }

    /// Removes a client that follows a log.
    pub fn leave(&mut self, peer: PeerId) {
        for live in &mut self.live {
            live.peers.remove(peer);
            live.count = live.peers.len();
        }
        self.live.retain(|live| live.count > 0);
    }

    /// Returns whether each client receives the best route of another peer and nothing else: no Add-Path, no
    /// catch-up, no transition to another export policy.
    pub fn all_receive_best(&self, family: Family, topology: &Topology) -> bool {
        let one_path = |live: &Live| !live.group.style.add_path[family];
        let settled = self.catching_up.is_empty() && topology.export_transition.is_none();
        topology.uniform && settled && self.live.iter().all(one_path)
    }

    /// Marks a destination for all catching-up clients; `before` are the paths of it that they may hold.
    pub fn mark(&mut self, family: Family, id: Id, before: &[(PeerId, u32)]) {
        self.mark_some(family, id, before, None);
    }

    /// As [`Clients::mark`] for those of the catching-up clients that are in `only`.
    pub fn mark_some(
        &mut self,
        family: Family,
        id: Id,
        before: &[(PeerId, u32)],
        only: Option<&PeerSet>,
    ) {
        let chosen = |one: &&mut CatchUp| only.is_none_or(|only| only.contains(one.peer));
        let (mut marks, mut paths) = (0, 0);
        for catching_up in self.catching_up.iter_mut().filter(chosen) {
            catching_up.mark_change(family, id, before.is_empty());
            marks += 1;
            paths += catching_up.remember_paths(family, id, before);
        }
        self.count_comparisons(marks / MARKS_PER_COMPARISON + paths);
    }

    /// Returns whether a catching-up client may hold a route of a destination that has none any more.
    pub fn may_hold(&self, family: Family, id: Id) -> bool {
        self.catching_up.iter().any(|one| one.may_hold(family, id))
    }

    /// Forgets a destination that is freed.
    pub fn forget(&mut self, family: Family, id: Id) {
        for catching_up in &mut self.catching_up {
            catching_up.forget(family, id);
        }
        self.tombstones[family].remove(&id);
    }

    /// The catch-up state of a client.
    pub fn catching_up(&mut self, peer: PeerId) -> Option<&mut CatchUp> {
        let place = self.catching_up.binary_search_by_key(&peer, |one| one.peer);
        Some(&mut self.catching_up[place.ok()?])
    }

    /// Adds a client that does not follow a log.
    pub fn begin_catch_up(&mut self, catching_up: CatchUp) {
        let place = self
            .catching_up
            .partition_point(|one| one.peer < catching_up.peer);
        self.catching_up.insert(place, catching_up);
    }
}

impl Live {
    fn add(&mut self, peer: PeerId) {
        self.peers.insert(peer);
        self.count = self.peers.len();
    }
}
