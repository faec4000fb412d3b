//! Inputs into a neighbor's session, and what the session wants done.

use std::io;
use std::sync::Arc;

use rutter_config::{LimitAction, MaxPrefix};
use rutter_net::Family;
use rutter_rib::{FamilyInfo, Pushed, SessionInfo};
use rutter_session::{
    ConnectionId, DownReason, Input, Negotiated, Output, SessionEvent, Severity, State,
};
use rutter_wire::frame::Frame;
use rutter_wire::notification::Notification;

use crate::connection::Connection;
use crate::neighbor::Plan;
use crate::peer::{Ended, Established};
use crate::reactor::{ConnectionKey, Reactor};
use crate::status;
use crate::transport;

impl Reactor {
    /// Gives the session an input and does what it asks for.
    pub(crate) fn drive(&mut self, slot: usize, input: Input<'_>) {
        let now_ms = self.now_ms;
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        peer.session.handle(now_ms, input);
        self.settle(slot);
    }

    /// Does what the session asks for.
    fn settle(&mut self, slot: usize) {
        let mut failed = None;
        loop {
            let Some(peer) = self.peer_mut(slot) else {
                return;
            };
            if let Some(output) = peer.session.poll_output() {
                failed = self.act(slot, output).or(failed);
            } else if let Some(connection) = failed.take() {
                let now_ms = self.now_ms;
                if let Some(peer) = self.peer_mut(slot) {
                    let input = Input::ConnectFailed { connection };
                    peer.session.handle(now_ms, input);
                }
            } else {
                break;
            }
        }
        self.publish(slot);
    }

    /// Does one thing. The result is a connection that could not even be tried.
    fn act(&mut self, slot: usize, output: Output) -> Option<ConnectionId> {
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
            Output::MarkStale(family) => self.with_id(slot, |r, id| r.rib.mark_stale(id, family)),
            Output::SweepStale(family) => self.with_id(slot, |r, id| r.rib.sweep_stale(id, family)),
            Output::StartLongLivedStale(family) => {
                self.with_id(slot, |r, id| r.rib.start_long_lived_stale(id, family));
            }
            Output::Event(event) => self.log_event(slot, &event),
        }
        None
    }

    fn with_id(
        &mut self,
        slot: usize,
        action: impl FnOnce(&crate::shared::Shared, rutter_rib::PeerId),
    ) {
        if let Some(id) = self.peer_mut(slot).and_then(|peer| peer.id) {
            action(&self.shared, id);
        }
    }

    fn connect(&mut self, slot: usize, side: ConnectionId) -> Option<ConnectionId> {
        let config = Arc::clone(&self.peer_mut(slot)?.plan.config);
        let socket = transport::connect(&config)
            .map(mio::net::TcpStream::from_std)
            .and_then(|socket| self.open(slot, side, socket, true));
        match socket {
            Ok(()) => None,
            Err(error) => {
                let peer = config.name.as_str();
                tracing::debug!(peer, %error, "cannot connect");
                Some(side)
            }
        }
    }

    /// Registers a connection as one of the two of its neighbor.
    pub(crate) fn open(
        &mut self,
        slot: usize,
        side: ConnectionId,
        mut socket: mio::net::TcpStream,
        connecting: bool,
    ) -> io::Result<()> {
        let key = ConnectionKey {
            slot,
            side: side.index(),
        };
        self.register(&mut socket, key)?;
        if let Some(peer) = self.peer_mut(slot) {
            peer.connections[key.side] = Some(Connection::new(socket, connecting));
        }
        Ok(())
    }

    fn send(&mut self, slot: usize, side: ConnectionId, message: &[u8]) {
        let key = ConnectionKey {
            slot,
            side: side.index(),
        };
        if let Some(connection) = self.connection(key) {
            connection.push_control(message);
            self.to_write.push(slot);
        }
    }

    fn close(&mut self, slot: usize, side: ConnectionId) {
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        if let Some(connection) = peer.connections[side.index()].take() {
            let before = connection.written;
            let (socket, written) = connection.finish();
            peer.status.sent.count_bytes(written - before);
            self.linger(socket);
        }
    }

    fn established(&mut self, slot: usize, side: ConnectionId, negotiated: &Negotiated) {
        self.learn_neighbor(slot, side, negotiated);
        let Some(id) = self.table_id(slot) else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        let (unix_us, now_ms) = (self.unix_us, self.now_ms);
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let stream = shared.rib.session_up(id, session_info(negotiated));
        peer.established = Some(Established {
            side: side.index(),
            peer: id,
            stream,
        });
        shared.rib.publish_peer_up(id, unix_us);
        let key = peer.connections[side.index()].as_ref();
        let local = key.and_then(|c| c.socket.local_addr().ok());
        let remote = key.and_then(|c| c.socket.peer_addr().ok());
        let row = status::negotiated_row(negotiated, local, remote);
        tracing::info!(
            peer = peer.name(), asn = %negotiated.remote_asn, hold_time_s = negotiated.hold_time_s,
            agreed = %status::in_words(negotiated), not_agreed = %status::one_sided(negotiated),
            "session established"
        );
        peer.status.with(|details| {
            details.negotiated = Some(row);
            details.established_count += 1;
            details.state_since_ms = now_ms;
        });
        self.to_write.push(slot);
    }

    /// Completes what is known of the neighbor by what its OPEN and its connection tell: the AS of a dynamic
    /// neighbor, our own address for next-hop-self.
    fn learn_neighbor(&mut self, slot: usize, side: ConnectionId, negotiated: &Negotiated) {
        let config = Arc::clone(&self.shared.config.read());
        let shared = Arc::clone(&self.shared);
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        if let Some(section) = peer.plan.dynamic.clone() {
            let address = peer.plan.config.address;
            peer.plan = Plan::dynamic(&config, &section, address, negotiated.remote_asn);
            let config = Arc::clone(&peer.plan.config);
            peer.status.with(|details| details.config = config);
        }
        let socket = peer.connections[side.index()].as_ref().map(|c| &c.socket);
        let local = socket.and_then(|s| s.local_addr().ok());
        if let Some(local) = local {
            peer.plan.set_local(transport::plain(local.ip()));
        }
        if let Some(id) = peer.id {
            shared.rib.replace_neighbor(id, peer.plan.table.clone());
        }
    }

    fn down(&mut self, slot: usize, reason: &DownReason, keep: [bool; 2]) {
        let now_ms = self.now_ms;
        let text = reason.to_string();
        if let Some(peer) = self.peer_mut(slot) {
            tracing::warn!(peer = peer.name(), reason = %text, "session down");
            peer.status.with(|details| {
                details.last_error = Some((text.clone(), now_ms));
                details.negotiated = None;
            });
        }
        self.leave_table(slot, keep, &text);
    }

    pub(crate) fn refresh_client(&mut self, slot: usize, family: Family) {
        let shared = Arc::clone(&self.shared);
        let established = self.peer_mut(slot).and_then(|p| p.established.as_mut());
        if let Some(stream) = established.and_then(|e| e.stream.as_mut()) {
            shared.rib.refresh_client(stream, family);
            self.to_write.push(slot);
        }
    }

    fn log_event(&mut self, slot: usize, event: &SessionEvent) {
        let now_ms = self.now_ms;
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        if let SessionEvent::Ended(_, reason) = event
            && *reason != DownReason::ConnectFailed
        {
            let text = reason.to_string();
            peer.status
                .with(|details| details.last_error = Some((text, now_ms)));
        }
        let peer = peer.name();
        if matches!(event, SessionEvent::Ended(..)) {
            // What was sent or received has a line of its own, and so has the end of an established session.
            tracing::debug!(peer, "{event}");
            return;
        }
        match event.severity() {
            Severity::Debug => tracing::debug!(peer, "{event}"),
            Severity::Info => tracing::info!(peer, "{event}"),
            Severity::Warn => tracing::warn!(peer, "{event}"),
        }
    }

    /// Arms the timer, shows the state to others, and lets a dynamic neighbor go that left.
    fn publish(&mut self, slot: usize) {
        let now_ms = self.now_ms;
        let Some(peer) = self.peers.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        self.timers.arm(slot, peer.session.next_deadline());
        peer.status.publish_messages(peer.session.stats());
        let state = peer.session.state();
        if state != peer.known_state {
            peer.known_state = state;
            peer.status.with(|details| {
                details.state = status::state(state);
                details.state_since_ms = now_ms;
            });
        }
        if peer.is_gone() {
            self.remove_peer(slot);
        }
    }

    pub(crate) fn tick(&mut self, slot: usize) {
        self.read_before_timers(slot);
        self.drive(slot, Input::Tick);
    }

    pub(crate) fn message(&mut self, key: ConnectionKey, frame: &Frame<'_>) {
        let connection = side(key.side);
        let frame = *frame;
        self.drive(key.slot, Input::Message { connection, frame });
    }

    pub(crate) fn framing_fault(&mut self, key: ConnectionKey, notification: Notification) {
        let connection = side(key.side);
        let input = Input::FramingError {
            connection,
            notification,
        };
        self.drive(key.slot, input);
    }

    /// The longest message to take, `None` where the connection is gone.
    pub(crate) fn max_message_len(&self, key: ConnectionKey) -> Option<usize> {
        let peer = self.peers.get(key.slot)?.as_ref()?;
        peer.connections[key.side].as_ref()?;
        Some(peer.session.max_receive_len(side(key.side)))
    }

    /// UPDATEs went to the table.
    pub(crate) fn after_updates(&mut self, slot: usize, updates: u64) {
        let now_ms = self.now_ms;
        if let Some(peer) = self.peer_mut(slot)
            && peer.session.state() == State::Established
        {
            peer.session.updates_received(now_ms, updates);
            peer.status.publish_messages(peer.session.stats());
        }
    }

    /// An UPDATE that was malformed or ended a family's initial routes.
    pub(crate) fn unusual_update(&mut self, slot: usize, pushed: Pushed) {
        if !pushed.faults.is_empty() {
            self.log_faults(slot, &pushed);
        }
        if let Some(family) = pushed.end_of_rib.and_then(|afi_safi| afi_safi.family()) {
            self.commit(slot);
            self.drive(slot, Input::EndOfRib { family });
        }
        if let Some(notification) = pushed.reset {
            self.commit(slot);
            self.drive(slot, Input::UpdateError { notification });
        }
    }

    fn log_faults(&mut self, slot: usize, pushed: &Pushed) {
        let now_ms = self.now_ms;
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        peer.status.count_malformed();
        for fault in &pushed.faults {
            let Some(not_logged) = peer.fault_lines.pass(now_ms) else {
                continue;
            };
            tracing::warn!(
                peer = peer.name(), attribute = ?fault.code, offset = fault.offset,
                outcome = %fault.disposition(), rfc = fault.rfc(), not_logged,
                "malformed UPDATE: {fault}"
            );
        }
    }

    /// A limit was exceeded for the first time since it last was not.
    pub(crate) fn limit_exceeded(&mut self, slot: usize, family: Family, limit: MaxPrefix) {
        let restart_after_s = match limit.action {
            LimitAction::Warn | LimitAction::Block => return,
            LimitAction::Restart { after_s } => Some(after_s),
            LimitAction::Shutdown => None,
        };
        let input = Input::MaxPrefixExceeded {
            family,
            limit: limit.limit,
            restart_after_s,
        };
        self.drive(slot, input);
    }

    /// A connection ended without our doing.
    pub(crate) fn connection_ended(&mut self, slot: usize, index: usize, ended: Ended) {
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let Some(connection) = peer.connections[index].take() else {
            return;
        };
        if let Ended::Failed(error) = &ended {
            tracing::debug!(peer = peer.name(), %error, "connection failed");
        }
        let connecting = connection.connecting;
        drop(connection);
        let connection = side(index);
        let input = if connecting {
            Input::ConnectFailed { connection }
        } else {
            Input::Disconnected { connection }
        };
        self.drive(slot, input);
    }

    /// The socket of a connect that we started became writable.
    pub(crate) fn connect_decided(&mut self, slot: usize, index: usize) {
        let key = ConnectionKey { slot, side: index };
        let Some(connection) = self.connection(key) else {
            return;
        };
        let error = connection.socket.take_error();
        if let Ok(Some(error)) | Err(error) = error {
            self.connection_ended(slot, index, Ended::Failed(error));
        } else if connection.socket.peer_addr().is_ok() {
            connection.connecting = false;
            if connection.readable {
                // Came with the same event, before the connection was known to stand.
                self.to_read.push(key);
            }
            let input = Input::Connected {
                connection: side(index),
                outgoing: true,
            };
            self.drive(slot, input);
        } else {
            connection.writable = false;
        }
    }
}

/// The session's name for a connection.
fn side(index: usize) -> ConnectionId {
    ConnectionId::ALL[index]
}

fn session_info(negotiated: &Negotiated) -> SessionInfo {
    let family = |family: Family| {
        let agreed = negotiated.families[family.index()]?;
        Some(FamilyInfo {
            add_path_receive: agreed.add_path_receive,
            add_path_send: agreed.add_path_send,
            extended_next_hop: agreed.extended_next_hop,
        })
    };
    SessionInfo {
        remote_bgp_id: negotiated.remote_bgp_id,
        remote_asn: negotiated.remote_asn,
        as4: negotiated.as4,
        max_message_len: negotiated.max_message_len,
        families: Family::ALL.map(family),
        enhanced_refresh: negotiated.enhanced_refresh,
    }
}
