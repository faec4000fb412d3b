//! The read half of a turn: bytes to messages, UPDATEs to the table, everything else to the session.

use rutter_rib::{PeerId, Pushed};
use rutter_wire::frame::{self, Frame, MessageType};

use crate::connection::Taken;
use crate::peer::Ended;
use crate::reactor::{ConnectionKey, Reactor};

impl Reactor {
    /// Reads every ready socket once; those that may have more stay for the next turn. While clients lag too far
    /// behind, nothing is read: TCP slows the senders down.
    pub(crate) fn read_sockets(&mut self) {
        if self.to_read.is_empty() || self.congested {
            return;
        }
        let mut keys = std::mem::take(&mut self.to_read);
        for key in keys.drain(..) {
            if self.read_connection(key) {
                self.to_read.push(key);
            }
        }
        keys.append(&mut self.to_read);
        self.to_read = keys;
    }

    /// A neighbor's timers are due. While nothing is read its sockets are read once before that: what waits there
    /// may be the sign of life without which the session would end.
    pub(crate) fn read_before_timers(&mut self, slot: usize) {
        if self.congested {
            for side in 0..2 {
                // Those that may have more are in the queue already.
                self.read_connection(ConnectionKey { slot, side });
            }
        }
    }

    /// Reads a socket once; whether it may have more.
    fn read_connection(&mut self, key: ConnectionKey) -> bool {
        let Some(peer) = self.peer_mut(key.slot) else {
            return false;
        };
        let Some(connection) = peer.connections[key.side].as_mut() else {
            return false;
        };
        if connection.connecting || !connection.readable {
            return false;
        }
        let mut input = std::mem::take(&mut self.buffers.input);
        let taken = self.connection(key).map(|c| c.read(&mut input));
        match taken {
            Some(Taken::Bytes { total, new }) => {
                self.read_bytes += new;
                if let Some(peer) = self.peer_mut(key.slot) {
                    peer.status.received.count_bytes(new);
                }
                self.take_messages(key, &input[..total]);
            }
            Some(Taken::Closed(error)) => {
                let ended = error.map_or(Ended::Closed, Ended::Failed);
                self.connection_ended(key.slot, key.side, ended);
            }
            Some(Taken::Nothing) | None => {}
        }
        self.buffers.input = input;
        self.connection(key).is_some_and(|c| c.readable)
    }

    /// Takes whole messages off the input and keeps the rest for the next read.
    fn take_messages(&mut self, key: ConnectionKey, input: &[u8]) {
        let mut rest = input;
        let mut updates = 0;
        while let Some(max_len) = self.max_message_len(key) {
            match frame::next_frame(rest, max_len) {
                Ok(Some(frame)) => {
                    rest = &rest[frame.wire.len()..];
                    match self.fast_path(key, &frame) {
                        Some(peer) => {
                            updates += 1;
                            self.take_update(key.slot, peer, frame.body);
                        }
                        None => self.take_other(key, &frame),
                    }
                }
                Ok(None) => {
                    if let Some(connection) = self.connection(key) {
                        connection.keep(rest);
                    }
                    break;
                }
                Err(fault) => {
                    self.commit(key.slot);
                    self.framing_fault(key, fault);
                    break;
                }
            }
        }
        self.commit(key.slot);
        if updates > 0 {
            self.after_updates(key.slot, updates);
        }
    }

    /// The table's id, where the frame is an UPDATE on the established connection.
    fn fast_path(&self, key: ConnectionKey, frame: &Frame<'_>) -> Option<PeerId> {
        if frame.kind != MessageType::Update {
            return None;
        }
        let peer = self.peers.get(key.slot)?.as_ref()?;
        let established = peer.established.as_ref()?;
        (established.side == key.side).then_some(established.peer)
    }

    fn take_update(&mut self, slot: usize, peer: PeerId, body: &[u8]) {
        let pushed = self.batch.push(&self.shared.rib, peer, body, self.unix_us);
        if !is_plain(&pushed) {
            self.unusual_update(slot, pushed);
        }
    }

    /// Any other message. The session's answer may touch the table, so what came before goes in first.
    fn take_other(&mut self, key: ConnectionKey, frame: &Frame<'_>) {
        self.commit(key.slot);
        self.message(key, frame);
    }

    /// Puts the collected UPDATEs into the table.
    pub(crate) fn commit(&mut self, slot: usize) {
        if !self.batch.is_empty() {
            self.shared.rib.commit(&mut self.batch);
            self.check_limits(slot);
        }
    }
}

fn is_plain(pushed: &Pushed) -> bool {
    pushed.faults.is_empty() && pushed.end_of_rib.is_none() && pushed.reset.is_none()
}
