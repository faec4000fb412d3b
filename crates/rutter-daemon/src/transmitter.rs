//! The write half of a turn: messages of the session, then the stream of each client.

use std::sync::atomic::Ordering;

use rutter_session::{ConnectionId, Input, Timer};

use crate::connection::{ConnectionKey, GatherBuffer, WriteOutcome};
use crate::peer::EndCause;
use crate::session_driver::SessionDriver;

/// The buffer of a thread for bytes to be written.
#[derive(Default)]
pub(crate) struct Transmitter {
    buffer: GatherBuffer,
    /// The rest of this turn's share of all clients.
    left: TurnShare,
    /// The first client of this turn that must wait for the next.
    postponed: Option<usize>,
}

/// The work that the clients of a thread may cause in a turn. Everybody's changes wait for its end.
#[derive(Clone, Copy, Default)]
pub(crate) struct TurnShare {
    /// Slices of the table, each some 16 KiB, or of the log that a slow client discards. They take up to a millisecond each:
    /// after a restart or a flood of refreshes all clients need the table.
    pub(crate) slices: usize,
    /// Bytes to write.
    pub(crate) bytes: usize,
}

impl TurnShare {
    /// The share while some neighbor sends single changes: about two milliseconds.
    const SMALL: TurnShare = TurnShare {
        slices: 2,
        bytes: 1024 * 1024,
    };
    /// The share otherwise. Where there are many clients, long turns cost less.
    const LARGE: TurnShare = TurnShare {
        slices: 8,
        bytes: usize::MAX,
    };

    /// Takes a slice. Returns `false` if there is none left.
    pub(crate) fn take_slice(&mut self) -> bool {
        let left = self.slices.checked_sub(1);
        self.slices = left.unwrap_or(0);
        left.is_some()
    }
}

impl Transmitter {
    /// Writes to every client that is queued and whose socket takes bytes. Clients that are queued during that, or
    /// that used up their share, wait for the next turn.
    pub(crate) fn write_sockets(&mut self, driver: &mut SessionDriver) {
        self.left = match driver.shared.has_single_changes(driver.now_ms) {
            true => TurnShare::SMALL,
            false => TurnShare::LARGE,
        };
        let mut slots = driver.write_queue.take(driver.peers.slot_count());
        for slot in slots.drain(..) {
            for id in ConnectionId::ALL {
                self.write_connection(driver, ConnectionKey { slot, id });
            }
        }
        driver.write_queue.recycle(slots);
        if let Some(slot) = self.postponed.take() {
            driver.write_queue.begin_with(slot);
        }
    }

    /// Writes to a neighbor whose send hold timer is due: the socket may accept bytes again.
    pub(crate) fn write_before_send_hold_timer(&mut self, driver: &mut SessionDriver, slot: usize) {
        for id in ConnectionId::ALL {
            let key = ConnectionKey { slot, id };
            if !driver.is_due(slot, Timer::SendHold(id)) {
                continue;
            }
            // Whatever the others used in the last turn.
            self.left = TurnShare::SMALL;
            if let Some(connection) = driver.peers.connection_mut(key) {
                connection.writable = true;
            }
            self.write_connection(driver, key);
        }
    }

    fn write_connection(&mut self, driver: &mut SessionDriver, key: ConnectionKey) {
        let Some(peer) = driver.peers.get_mut(key.slot) else {
            return;
        };
        let Some(connection) = peer.connections[key.id.index()].as_mut() else {
            return;
        };
        if connection.connecting {
            if connection.writable {
                driver.connect_decided(key);
            }
            return;
        }
        let mut stream = match &mut peer.established {
            Some(e) if e.connection == key.id => {
                e.stream.as_mut().map(|s| (s, &*driver.shared.rib))
            }
            _ => None,
        };
        let mut is_discarding = false;
        if let Some((stream, rib)) = &mut stream {
            stream.note_backlog(rib);
            // A stream that is filled discards a slice itself.
            let is_filled = connection.writable && stream.is_drained();
            if stream.is_discarding() && !is_filled {
                match self.left.take_slice() {
                    true => stream.discard_some(rib),
                    false => _ = self.postponed.get_or_insert(key.slot),
                }
            }
            is_discarding = stream.is_discarding();
        }
        let has_stream_bytes = stream
            .as_ref()
            .is_some_and(|(stream, _)| !stream.is_drained() || stream.has_more());
        if !connection.writable || !(has_stream_bytes || connection.has_control()) {
            if is_discarding {
                driver.write_queue.push(key.slot);
            }
            return;
        }
        let before = connection.written;
        let (buffer, left) = (&mut self.buffer, &mut self.left);
        let outcome = connection.write(stream, buffer, left, driver.now_ms);
        if matches!(outcome, WriteOutcome::Postponed) {
            self.postponed.get_or_insert(key.slot);
        }
        let progress = connection.written - before;
        if is_discarding && matches!(outcome, WriteOutcome::Blocked) {
            driver.write_queue.push(key.slot);
        }
        peer.status.sent.count_bytes(progress);
        after_write(driver, key, progress, outcome);
    }
}

fn after_write(
    driver: &mut SessionDriver,
    key: ConnectionKey,
    progress: usize,
    outcome: WriteOutcome,
) {
    let blocked = match outcome {
        WriteOutcome::All => {
            driver.start_pending_refreshes(key.slot);
            false
        }
        WriteOutcome::ShareUsed | WriteOutcome::Postponed => {
            driver.write_queue.push(key.slot);
            false
        }
        WriteOutcome::Blocked => true,
        WriteOutcome::Failed(error) => {
            driver.connection_ended(key, EndCause::Failed(error));
            // The next turn sends the withdrawals of the neighbor's routes. It must not wait for an event.
            return driver.wake_self();
        }
    };
    let Some(peer) = driver.peers.get_mut(key.slot) else {
        return;
    };
    if let Some(stream) = peer.established.as_mut().and_then(|e| e.stream.as_mut()) {
        stream.note_backlog(&driver.shared.rib);
    }
    let unsent = peer.unsent_bytes();
    peer.status
        .unsent_bytes
        .store(unsent as u64, Ordering::Relaxed);
    let Some(connection) = peer.connections[key.id.index()].as_mut() else {
        return;
    };
    let was_blocked = std::mem::replace(&mut connection.blocked, blocked);
    let connection = key.id;
    // Inputs of the Send Hold Timer (RFC 9687); a socket that never blocks needs none.
    let input = match (was_blocked, blocked) {
        (false, false) => return,
        (false, true) => Input::WriteBlocked { connection },
        (true, true) if progress == 0 => return,
        (true, true) => Input::WriteProgress { connection },
        (true, false) => Input::WriteDrained { connection },
    };
    driver.handle(key.slot, input);
}
