//! The write half of a turn: control messages, then each client's stream.

use std::sync::atomic::Ordering;

use rutter_session::{ConnectionId, Input};

use crate::connection::Wrote;
use crate::peer::Ended;
use crate::reactor::Reactor;

impl Reactor {
    /// Writes to every client that may have something to be written and whose socket takes it.
    pub(crate) fn write_sockets(&mut self) {
        let mut slots = std::mem::take(&mut self.to_write);
        if std::mem::take(&mut self.streams_grew) {
            slots.clear();
            // Whoever is written to first hears first: clients take turns at that.
            let first = self.first_served.checked_rem(self.peers.len()).unwrap_or(0);
            slots.extend((first..self.peers.len()).chain(0..first));
            self.first_served = first + 1;
        } else {
            slots.sort_unstable();
            slots.dedup();
        }
        for slot in slots.drain(..) {
            self.write_peer(slot);
        }
        // Slots that came up meanwhile, or that used up their share, are for the next turn.
        slots.append(&mut self.to_write);
        self.to_write = slots;
    }

    fn write_peer(&mut self, slot: usize) {
        for side in 0..2 {
            let Some(peer) = self.peers.get_mut(slot).and_then(Option::as_mut) else {
                return;
            };
            let Some(connection) = peer.connections[side].as_mut() else {
                continue;
            };
            if connection.connecting {
                if connection.writable {
                    self.connect_decided(slot, side);
                }
                continue;
            }
            let stream = match &mut peer.established {
                Some(e) if e.side == side => e.stream.as_mut().map(|s| (s, &*self.shared.rib)),
                _ => None,
            };
            let news = stream
                .as_ref()
                .is_some_and(|(stream, _)| !stream.is_drained() || stream.has_more());
            if !connection.writable || !(news || connection.has_control()) {
                continue;
            }
            let before = connection.written;
            let wrote = connection.write(stream, &mut self.buffers, self.now_ms);
            let progress = connection.written - before;
            peer.status.sent.count_bytes(progress);
            self.after_write(slot, side, progress, wrote);
        }
    }

    fn after_write(&mut self, slot: usize, side: usize, progress: usize, wrote: Wrote) {
        let blocked = match wrote {
            Wrote::All => false,
            Wrote::ShareUsed => {
                self.to_write.push(slot);
                false
            }
            Wrote::Blocked => true,
            Wrote::Failed(error) => {
                self.connection_ended(slot, side, Ended::Failed(error));
                // What the neighbor's routes leave behind is sent by the next turn, which must not wait for an event.
                return self.mailbox().wake();
            }
        };
        let Some(peer) = self.peer_mut(slot) else {
            return;
        };
        let unsent = peer.unsent();
        peer.status
            .unsent_bytes
            .store(unsent as u64, Ordering::Relaxed);
        let Some(connection) = peer.connections[side].as_mut() else {
            return;
        };
        let was_blocked = std::mem::replace(&mut connection.blocked, blocked);
        let connection = ConnectionId::ALL[side];
        // The Send Hold Timer (RFC 9687) wants to know; a socket that never blocks costs nothing here.
        match (was_blocked, blocked) {
            (false, false) => {}
            (false, true) => self.drive(slot, Input::WriteBlocked { connection }),
            (true, true) if progress == 0 => {}
            (true, true) => self.drive(slot, Input::WriteProgress { connection }),
            (true, false) => self.drive(slot, Input::WriteDrained { connection }),
        }
    }
}
