//! The outputs of a session, carried out in their order: connections, messages, and what becomes of the neighbor's routes.

use std::sync::Arc;

use mio::net::TcpStream;
use rutter_net::{Family, PerFamily};
use rutter_rib::PeerId;
use rutter_session::{ConnectionId, DownReason, Input, Negotiated, Output, SessionEvent};

use super::SessionDriver;
use crate::connection::ConnectionKey;
use crate::shared::Shared;
use crate::transport;

impl SessionDriver {
    /// Carries out the outputs of a session. The session learns of a failed attempt to connect after its other outputs.
    pub(super) fn carry_out(&mut self, slot: usize) {
        let mut failed = None;
        while let Some(peer) = self.peers.get_mut(slot) {
            if let Some(output) = peer.session.poll_output() {
                failed = self.perform(slot, output).or(failed);
            } else if let Some(connection) = failed.take() {
                let input = Input::ConnectFailed { connection };
                peer.session.handle(self.now_ms, input);
            } else {
                return;
            }
        }
    }

    /// Carries out one output. Returns the connection for which no attempt could start.
    fn perform(&mut self, slot: usize, output: Output) -> Option<ConnectionId> {
        match output {
            Output::Connect { connection } => return self.connect(slot, connection),
            Output::Send {
                connection,
                message,
            } => self.send(slot, connection, &message),
            Output::Close { connection } => self.close(slot, connection),
            Output::Established {
                connection,
                negotiated,
            } => self.established(slot, connection, &negotiated),
            Output::Down { reason, keep, .. } => self.down(slot, &reason, keep),
            Output::RefreshRequested(family) => self.refresh_client(slot, family),
            Output::MarkStale(family) => {
                self.with_id(slot, |r, id| r.rib.begin_refresh(id, family));
            }
            Output::SweepStale(family) => {
                if let Some(id) = self.peers.get(slot).and_then(|peer| peer.id) {
                    let rib = &self.shared.rib;
                    rib.sweep_stale_in_steps(id, family, &mut self.sweeper);
                }
            }
            Output::StartLongLivedStale(family) => {
                if let Some(id) = self.peers.get(slot).and_then(|peer| peer.id) {
                    let rib = &self.shared.rib;
                    rib.start_long_lived_stale_in_steps(id, family, &mut self.sweeper);
                }
            }
            Output::Event(event) => self.log_event(slot, &event),
        }
        None
    }

    fn with_id(&mut self, slot: usize, action: impl FnOnce(&Shared, PeerId)) {
        if let Some(id) = self.peers.get(slot).and_then(|peer| peer.id) {
            action(&self.shared, id);
        }
    }

    fn connect(&mut self, slot: usize, id: ConnectionId) -> Option<ConnectionId> {
        let config = Arc::clone(&self.peers.get(slot)?.settings.config);
        let opened = transport::connect(&config)
            .map(TcpStream::from_std)
            .and_then(|socket| self.open(ConnectionKey { slot, id }, socket, true));
        match opened {
            Ok(()) => None,
            Err(error) => {
                let peer = config.name.as_str();
                tracing::debug!(peer, %error, "cannot connect");
                Some(id)
            }
        }
    }

    fn send(&mut self, slot: usize, id: ConnectionId, message: &[u8]) {
        if let Some(connection) = self.peers.connection_mut(ConnectionKey { slot, id }) {
            connection.push_control(message);
            self.write_queue.push(slot);
        }
    }

    fn close(&mut self, slot: usize, id: ConnectionId) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let Some(connection) = peer.connections[id.index()].take() else {
            return;
        };
        let before = connection.written;
        let (mut socket, written) = connection.finish();
        peer.status.sent.count_bytes(written - before);
        let _ = self.registry.deregister(&mut socket);
        self.lingering.push(socket, self.now_ms);
    }

    fn established(&mut self, slot: usize, id: ConnectionId, negotiated: &Negotiated) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        peer.complete_settings(&self.shared, id, negotiated);
        self.shared.restart.established(peer.address(), negotiated);
        let (shared, sweeper) = (&self.shared, &mut self.sweeper);
        if peer.join_table(shared, id, negotiated, self.unix_us, sweeper) {
            peer.publish_established(id, negotiated, self.now_ms);
            peer.log_established(negotiated, &mut self.log_limits, self.now_ms);
            if peer.is_sent_nothing() {
                peer.session.handle(self.now_ms, Input::SendEndOfRib);
            }
            self.write_queue.push(slot);
        }
    }

    fn down(&mut self, slot: usize, reason: &DownReason, keep: PerFamily<bool>) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let text = reason.to_string();
        peer.log_down(&text, &mut self.log_limits, self.now_ms);
        peer.publish_down(reason, self.now_ms);
        if self.stop_by_ms.is_none() {
            let config = peer.session.config().graceful_restart;
            let restart_time_s = config.map_or(0, |restart| restart.restart_time_s);
            let restart = &self.shared.restart;
            restart.went_down(peer.address(), restart_time_s, self.now_ms);
        }
        // While the daemon stops, the neighbors wait for their NOTIFICATION: the routes are left to the end of the
        // process.
        let sweeper = self.stop_by_ms.is_none().then_some(&mut self.sweeper);
        peer.leave_table(&self.shared, keep, &text, self.unix_us, sweeper);
    }

    /// Re-advertises all routes of a family to a neighbor, once the bytes before are written. Further requests until
    /// then need no refresh of their own, so a neighbor that does not read causes no more work and no more bytes.
    pub(crate) fn refresh_client(&mut self, slot: usize, family: Family) {
        let established = self
            .peers
            .get_mut(slot)
            .and_then(|p| p.established.as_mut());
        if let Some(established) = established {
            established.pending_refreshes[family] = true;
            self.start_pending_refreshes(slot);
        }
    }

    /// Starts the refreshes of a neighbor if its stream has no unsent bytes.
    pub(crate) fn start_pending_refreshes(&mut self, slot: usize) {
        let established = self
            .peers
            .get_mut(slot)
            .and_then(|p| p.established.as_mut());
        let Some(established) = established else {
            return;
        };
        let pending = established.pending_refreshes;
        let Some(stream) = established.stream.as_mut() else {
            return;
        };
        if pending == PerFamily::both(false) || !stream.is_drained() || stream.has_more() {
            return;
        }
        established.pending_refreshes = PerFamily::both(false);
        for family in Family::ALL.into_iter().filter(|f| pending[*f]) {
            self.shared.rib.refresh_client(stream, family);
        }
        self.write_queue.push(slot);
    }

    fn log_event(&mut self, slot: usize, event: &SessionEvent) {
        if let Some(peer) = self.peers.get_mut(slot) {
            peer.log_event(event, &mut self.log_limits, self.now_ms);
        }
    }
}
