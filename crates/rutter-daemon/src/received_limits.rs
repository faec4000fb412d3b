//! The limits on the routes that a neighbor announces: prefixes and memory.

use rutter_config::{LimitAction, MaxPrefix, MemoryAction};
use rutter_net::Family;
use rutter_session::Input;

use crate::memory_limits::CHECK_AFTER;
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
        let exceeded = (bytes, settings.limit.unwrap_or(0), false);
        peer.log_memory(exceeded, &mut self.log_limits, self.now_ms);
        let restart_after_s = match settings.action {
            MemoryAction::Warn => return,
            MemoryAction::Restart => Some(settings.restart_after_s),
            MemoryAction::Shutdown => None,
        };
        self.handle(slot, Input::OutOfMemory { restart_after_s });
    }

    /// Ends the session whose routes take the most memory: the table is above its limit.
    pub(crate) fn end_for_memory(&mut self, slot: usize) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let Some(established) = &peer.established else {
            return;
        };
        let bytes = self.shared.rib.peer_memory(established.peer);
        let limit = self.shared.memory_limits.limit(&self.shared);
        peer.log_memory((bytes, limit, true), &mut self.log_limits, self.now_ms);
        let settings = peer.settings.config.session.max_memory;
        let restart_after_s = Some(settings.restart_after_s);
        self.handle(slot, Input::OutOfMemory { restart_after_s });
    }
}
