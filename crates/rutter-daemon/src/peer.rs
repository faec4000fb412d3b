//! One neighbor on its thread: its session, its connections and its place in the table.

use std::io;
use std::sync::Arc;

use rutter_net::Family;
use rutter_rib::{ClientStream, PeerId, Retain};
use rutter_session::{Session, State};

use crate::connection::Connection;
use crate::log_rate_limit::LogRateLimit;
use crate::neighbor::Plan;
use crate::reactor::{ConnectionKey, Reactor};
use crate::status::PeerStatus;

/// A neighbor.
pub(crate) struct Peer {
    pub(crate) plan: Plan,
    /// The table's id; a dynamic neighbor has one from its first established session on.
    pub(crate) id: Option<PeerId>,
    pub(crate) session: Session,
    /// By the index that the session gives them.
    pub(crate) connections: [Option<Connection>; 2],
    pub(crate) established: Option<Established>,
    pub(crate) status: Arc<PeerStatus>,
    /// The state as published.
    pub(crate) known_state: State,
    /// Per family: more prefixes than allowed, and said so.
    pub(crate) over_limit: [bool; 2],
    pub(crate) fault_lines: LogRateLimit,
    /// A connection was accepted for it: where a dynamic neighbor has none any more, it can go.
    pub(crate) met: bool,
}

/// An established session.
pub(crate) struct Established {
    /// Index of the connection.
    pub(crate) side: usize,
    pub(crate) peer: PeerId,
    /// `None` where nothing is sent to the neighbor.
    pub(crate) stream: Option<ClientStream>,
}

/// How a connection ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Closed,
    Failed(io::Error),
}

impl Peer {
    pub(crate) fn new(plan: Plan, status: Arc<PeerStatus>, seed: u64) -> Self {
        let session = Session::new(plan.session.clone(), seed);
        Peer {
            plan,
            id: None,
            session,
            connections: [None, None],
            established: None,
            status,
            known_state: State::Idle,
            over_limit: [false; 2],
            fault_lines: LogRateLimit::default(),
            met: false,
        }
    }

    pub(crate) fn has_connection(&self) -> bool {
        self.connections.iter().any(Option::is_some)
    }

    /// Name in logs.
    pub(crate) fn name(&self) -> &str {
        &self.plan.config.name
    }

    /// Octets gathered for the neighbor that its socket has not taken.
    pub(crate) fn unsent(&self) -> usize {
        let stream = self.established.as_ref().and_then(|e| e.stream.as_ref());
        stream.map_or(0, ClientStream::queued)
    }

    /// A dynamic neighbor that left: nothing of it needs to be kept.
    pub(crate) fn is_gone(&self) -> bool {
        self.plan.dynamic.is_some()
            && self.met
            && !self.has_connection()
            && self.session.stale() == [false; 2]
    }
}

impl Reactor {
    pub(crate) fn peer_mut(&mut self, slot: usize) -> Option<&mut Peer> {
        self.peers.get_mut(slot)?.as_mut()
    }

    pub(crate) fn connection(&mut self, key: ConnectionKey) -> Option<&mut Connection> {
        self.peer_mut(key.slot)?.connections[key.side].as_mut()
    }

    /// Puts a new neighbor into a free slot.
    pub(crate) fn insert_peer(&mut self, peer: Peer) -> usize {
        let address = peer.plan.config.address;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.peers.push(None);
            self.peers.len() - 1
        });
        self.peers[slot] = Some(peer);
        self.by_address.insert(address, slot);
        slot
    }

    /// Forgets a neighbor whose session is down, with its routes.
    pub(crate) fn remove_peer(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].take() else {
            return;
        };
        let address = peer.plan.config.address;
        if let Some(id) = peer.id {
            self.shared.rib.remove_neighbor(id);
        }
        self.by_address.remove(&address);
        self.timers.forget(slot);
        self.free.push(slot);
        self.shared.peers.remove(address);
        self.shared.release_thread(self.index);
    }

    /// The table's id of a neighbor; made known to the table where it is not yet.
    pub(crate) fn table_id(&mut self, slot: usize) -> Option<PeerId> {
        let shared = Arc::clone(&self.shared);
        let peer = self.peer_mut(slot)?;
        if peer.id.is_none() {
            match shared.rib.add_neighbor(peer.plan.table.clone()) {
                Ok(id) => peer.id = Some(id),
                Err(error) => tracing::error!(peer = peer.name(), %error, "neighbor left out"),
            }
            let id = peer.id;
            peer.status.with(|details| details.peer = id);
        }
        peer.id
    }

    /// The session was established and is not any more.
    pub(crate) fn leave_table(&mut self, slot: usize, keep: [bool; 2], reason: &str) {
        let (unix_us, stopping) = (self.unix_us, self.stop_by_ms.is_some());
        let shared = Arc::clone(&self.shared);
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let Some(established) = peer.established.take() else {
            return;
        };
        let id = established.peer;
        drop(established);
        peer.over_limit = [false; 2];
        let retain = keep.map(|keep| if keep { Retain::Stale } else { Retain::Nothing });
        shared.rib.publish_peer_down(id, retain, reason, unix_us);
        if stopping {
            // Nobody is left to hear of it, and the other neighbors wait for their goodbye.
            return;
        }
        shared.rib.end_session(id, retain, &mut self.sweeper);
    }

    /// After a commit: did the neighbor send more prefixes than it may?
    pub(crate) fn check_limits(&mut self, slot: usize) {
        let shared = Arc::clone(&self.shared);
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let Some(established) = &peer.established else {
            return;
        };
        let limit = |family| peer.plan.config.family(family).max_prefix;
        if Family::ALL
            .into_iter()
            .all(|family| limit(family).is_none())
        {
            return;
        }
        let counts = shared.rib.counts(established.peer);
        for family in Family::ALL {
            let index = family.index();
            let received = counts[index].received;
            let over = peer
                .plan
                .config
                .family(family)
                .max_prefix
                .filter(|l| received > l.limit);
            let Some(limit) = over else {
                peer.over_limit[index] = false;
                continue;
            };
            if !std::mem::replace(&mut peer.over_limit[index], true) {
                tracing::warn!(
                    peer = peer.name(), %family, received, limit = limit.limit,
                    action = ?limit.action, "more prefixes than allowed"
                );
                self.limit_exceeded(slot, family, limit);
                return;
            }
        }
    }
}
