//! The clients of the table as one shard sees them: who follows a group's log, who catches up.

use std::collections::BTreeSet;
use std::sync::Arc;

use rutter_net::Family;

use crate::PeerId;
use crate::bitset::PeerSet;
use crate::catch_up::Catching;
use crate::group::{Group, Inbox};
use crate::table::Id;
use crate::topology::Topology;

/// The clients as one shard sees them.
#[derive(Default)]
pub(crate) struct Clients {
    pub live: Vec<Live>,
    /// In the order of their peers.
    pub catching: Vec<Catching>,
    /// Destinations without routes that stay until no client that catches up can still hold their prefix.
    pub tombstones: [BTreeSet<Id>; 2],
}

/// The clients of one group that follow its log.
pub(crate) struct Live {
    pub group: Arc<Group>,
    pub peers: PeerSet,
    pub count: usize,
    pub pending: Inbox,
}

impl Clients {
    /// Whether nobody has to be told anything.
    pub fn are_none(&self) -> bool {
        self.live.is_empty() && self.catching.is_empty()
    }

    /// Adds a client to those that follow the log of its group.
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
                };
                live.add(peer);
                self.live.push(live);
            }
        }
    }

    /// Removes a client from those that follow a log.
    pub fn leave(&mut self, peer: PeerId) {
        for live in &mut self.live {
            live.peers.remove(peer);
            live.count = live.peers.len();
        }
        self.live.retain(|live| live.count > 0);
    }

    /// Whether each client hears the best route of another and nothing else: nobody gets several paths, nobody
    /// catches up, nobody waits for what another export policy changes.
    pub fn hear_the_best(&self, family: Family, topology: &Topology) -> bool {
        let one_path = |live: &Live| !live.group.style.add_path[family.index()];
        let settled = self.catching.is_empty() && topology.retold.is_none();
        topology.uniform && settled && self.live.iter().all(one_path)
    }

    /// Clients that catch up will hear of a destination anew; `before` are paths that they may hold of it.
    pub fn mark(&mut self, family: Family, id: Id, before: &[(PeerId, u32)]) {
        for catching in &mut self.catching {
            catching.mark(family, id);
            catching.hold_paths(family, id, before);
        }
    }

    /// The catch-up state of a client.
    pub fn catching(&mut self, peer: PeerId) -> Option<&mut Catching> {
        let place = self.catching.binary_search_by_key(&peer, |one| one.peer);
        Some(&mut self.catching[place.ok()?])
    }

    /// Adds a client that does not follow a log.
    pub fn begin_catch_up(&mut self, catching: Catching) {
        let place = self
            .catching
            .partition_point(|one| one.peer < catching.peer);
        self.catching.insert(place, catching);
    }
}

impl Live {
    fn add(&mut self, peer: PeerId) {
        self.peers.insert(peer);
        self.count = self.peers.len();
    }
}
