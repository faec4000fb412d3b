//! The limits on the routes that a neighbor announces: prefixes and memory.

use rutter_config::{LimitAction, MaxPrefix, MemoryAction};
use rutter_net::Family;
use rutter_session::Input;

use crate::memory_limits::CHECK_AFTER;
use crate::peer::Peer;
use crate::peer_log_limits::some;
use crate::peer_log_limits::{LineKind, PeerLogLimits};
use crate::session_driver::SessionDriver;

impl SessionDriver {
    /// Ends the session of a neighbor that exceeded a prefix limit, if the limit is more than a warning.
    pub(crate) fn check_limits(&mut self, slot: usize) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        if let Some(exceeded) = peer.exceeded_limit(&self.shared.rib) {
            peer.log_limit(&exceeded, &mut self.log_limits, self.now_ms);
            self.limit_exceeded(slot, exceeded.family, exceeded.limit);
        }
        if let Some(peer) = self.peers.get_mut(slot) {
            peer.check_not_kept(&self.shared.rib, &mut self.log_limits, self.now_ms);
        }
    }

    /// Ends the session of a neighbor above a prefix limit, if the limit is more than a warning.
    pub(crate) fn limit_exceeded(&mut self, slot: usize, family: Family, limit: MaxPrefix) {
        let restart_after_s = match limit.action {
            LimitAction::Warn | LimitAction::Block { .. } => return,
            LimitAction::Restart { after_s } => Some(after_s),
            LimitAction::Shutdown => None,
        };
        let input = Input::MaxPrefixExceeded {
            family,
            limit: limit.limit,
            restart_after_s,
        };
        self.handle(slot, input);
    }

    /// Counts received bytes, and now and then compares the memory of the neighbor and of the table with the limits.
    pub(crate) fn check_memory(&mut self, slot: usize, received: usize) {
        self.unchecked_bytes += received;
        if self.unchecked_bytes >= CHECK_AFTER {
            self.unchecked_bytes = 0;
            let limits = &self.shared.memory_limits;
            limits.check(&self.shared, self.now_ms);
        }
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let Some(bytes) = peer.exceeded_memory(&self.shared.rib, received) else {
            return;
        };
        let settings = peer.settings.config.session.max_memory;
        peer.status.count_memory_limit();
        let exceeded = ExceededMemory {
            bytes,
            limit: settings.limit.unwrap_or(0),
            outcome: MemoryOutcome::OfNeighbor(settings.action),
        };
        peer.log_memory(exceeded, &mut self.log_limits, self.now_ms);
        let restart_after_s = match settings.action {
            MemoryAction::Warn => return,
            MemoryAction::Restart => Some(settings.restart_after_s),
            MemoryAction::Shutdown => None,
        };
        self.handle(slot, Input::OutOfMemory { restart_after_s });
    }

    /// Removes the stale routes of a neighbor whose session is down: the table is above its limit.
    pub(crate) fn remove_stale_for_memory(&mut self, slot: usize) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let Some(id) = peer.id.filter(|_| peer.established.is_none()) else {
            return;
        };
        let exceeded = ExceededMemory {
            bytes: self.shared.rib.peer_memory(id),
            limit: self.shared.memory_limits.limit(&self.shared),
            outcome: MemoryOutcome::StaleRoutesRemoved,
        };
        peer.log_memory(exceeded, &mut self.log_limits, self.now_ms);
        self.handle(slot, Input::RemoveStale);
    }

    /// Ends a session of a member whose routes take the most memory: the table is above its limit.
    pub(crate) fn end_for_memory(&mut self, slot: usize) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let Some(established) = &peer.established else {
            return;
        };
        let exceeded = ExceededMemory {
            bytes: self.shared.rib.peer_memory(established.peer),
            limit: self.shared.memory_limits.limit(&self.shared),
            outcome: MemoryOutcome::SessionReset,
        };
        peer.log_memory(exceeded, &mut self.log_limits, self.now_ms);
        let settings = peer.settings.config.session.max_memory;
        let restart_after_s = Some(settings.restart_after_s);
        self.handle(slot, Input::OutOfMemory { restart_after_s });
    }
}

/// A limit on memory that is exceeded, and what becomes of a neighbor.
struct ExceededMemory {
    /// The bytes that its routes take.
    bytes: u64,
    limit: u64,
    outcome: MemoryOutcome,
}

/// The outcome for a neighbor of a limit on memory.
enum MemoryOutcome {
    /// Its routes take more than its own limit.
    OfNeighbor(MemoryAction),
    /// The table is above its limit, and its session is reset.
    SessionReset,
    /// The table is above its limit, and its stale routes are removed.
    StaleRoutesRemoved,
}

impl Peer {
    /// Logs that the neighbor's routes take too much memory: more than its own limit, or the most in a table above its
    /// limit.
    fn log_memory(&self, exceeded: ExceededMemory, limits: &mut PeerLogLimits, now_ms: u64) {
        let Some(not_logged) = limits.pass(self.address(), LineKind::MemoryLimit, now_ms) else {
            return;
        };
        let (peer, not_logged) = (self.name(), some(not_logged));
        let ExceededMemory {
            bytes,
            limit,
            outcome,
        } = exceeded;
        match outcome {
            MemoryOutcome::OfNeighbor(action) => tracing::warn!(
                peer,
                bytes,
                limit,
                ?action,
                not_logged,
                "memory limit exceeded"
            ),
            MemoryOutcome::SessionReset => tracing::warn!(
                peer,
                bytes,
                limit,
                not_logged,
                "the table exceeds daemon.max-memory, and the routes of this neighbor's AS take the most: its session is reset"
            ),
            MemoryOutcome::StaleRoutesRemoved => tracing::warn!(
                peer,
                bytes,
                limit,
                not_logged,
                "the table exceeds daemon.max-memory: the stale routes of this neighbor are removed"
            ),
        }
    }
}
