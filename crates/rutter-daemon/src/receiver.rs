//! The read half of a turn: bytes to messages, UPDATEs to the table, all other messages to the session.

use std::sync::atomic::Ordering;

use rutter_rib::{Batch, PeerId, Pushed};
use rutter_session::{ConnectionId, Input, Timer};
use rutter_wire::frame::{self, Frame, MessageType};
use rutter_wire::update;

use crate::connection::{ConnectionKey, INPUT_LEN, READ_SHARE, ReadOutcome, SMALL_READ_SHARE};
use crate::peer::EndCause;
use crate::session_driver::SessionDriver;

/// The number of reads before a hold timer expires. A neighbor that needs more sends neither KEEPALIVEs nor UPDATEs.
const READS_BEFORE_TIMER: usize = 8;

/// A read of no more bytes than this brings single changes.
const SINGLE_CHANGES: usize = 1_024;
/// The time for which neighbors have small shares after single changes, milliseconds.
const SMALL_SHARES_MS: u64 = 200;

/// The buffers of a thread for received bytes and UPDATEs.
///
/// Invariant: the batch is empty between two connections, and before the session handles a message. Routes that must wait for
/// the next turn are kept with the session, and no later message of it is handled before.
pub(crate) struct Receiver {
    input: Box<[u8]>,
    batch: Batch,
    bytes_in_turn: usize,
    /// The steps of this turn so far.
    steps: usize,
    /// The steps at which the share of the connection that is read ends.
    end: usize,
    /// The routes of a commit for this connection.
    max_commit: usize,
    /// The connections that were read and may have more input.
    read_again: Vec<ConnectionKey>,
}

/// A turn that read more bytes than this does not look for more input before it writes.
const MUCH_INPUT: usize = 256 * 1024;
/// A turn that read no more bytes than this, and took no more steps, has few bytes for the clients.
const SMALL_TURN: usize = 4_096;
const SMALL_TURN_STEPS: usize = 2_048;
/// The work of one message besides its routes: the attributes are parsed, compared and encoded.
const STEPS_PER_MESSAGE: usize = 8;
/// The octets of a message that take a step more.
const OCTETS_PER_STEP: usize = 256;
/// The steps after which a turn handles no more messages of neighbors that send much: about two milliseconds. A route is a
/// step. More input waits for the next turns, in which the neighbors that send little come first.
const MAX_STEPS: usize = 4 * 1024;
/// The same for each client, where there are many: a turn writes to all of them, which should not take longer than to read.
const STEPS_PER_CLIENT: usize = 8;
/// The same while nobody sends single changes. Larger turns cost less where there are many clients.
const MAX_STEPS_IN_BULK: usize = 16 * 1024;
/// The steps of a neighbor that sent little lately, where others used up the turn: some ten single changes.
const FEW_STEPS: usize = 128;
/// The steps of a commit: other threads wait for the locks of the table meanwhile.
const COMMIT_STEPS: usize = 1024;

impl Default for Receiver {
    fn default() -> Self {
        Receiver {
            input: vec![0; INPUT_LEN].into(),
            batch: Batch::new(),
            bytes_in_turn: 0,
            steps: 0,
            end: 0,
            max_commit: COMMIT_STEPS,
            read_again: Vec::new(),
        }
    }
}

impl Receiver {
    /// Starts to count the bytes and the steps of a turn.
    pub(crate) fn start_turn(&mut self) {
        self.bytes_in_turn = 0;
        self.steps = 0;
    }

    /// The number of bytes handled in this turn.
    pub(crate) fn bytes_in_turn(&self) -> usize {
        self.bytes_in_turn
    }

    /// Returns whether the turn has done so much that no more should be read in it.
    pub(crate) fn is_long_turn(&self) -> bool {
        self.bytes_in_turn > MUCH_INPUT || self.steps >= MAX_STEPS_IN_BULK
    }

    /// Returns whether the turn read so little that it has few bytes for the clients.
    pub(crate) fn is_small_turn(&self) -> bool {
        self.bytes_in_turn <= SMALL_TURN && self.steps <= SMALL_TURN_STEPS
    }

    /// Frees the memory that a burst of UPDATEs needed.
    pub(crate) fn release_buffers(&mut self) {
        if self.batch.is_empty() {
            self.batch = Batch::new();
        }
    }

    /// Reads every ready socket once, at first those that brought little lately. Sockets that may have more input stay in
    /// the queue. If the clients are `behind`, or the turn has done much, sockets that brought much lately wait.
    pub(crate) fn read_sockets(&mut self, driver: &mut SessionDriver, behind: bool) {
        if driver.read_queue.is_empty() {
            return;
        }
        let mut keys = std::mem::take(&mut driver.read_queue);
        let has_single_changes = driver.shared.has_single_changes(driver.now_ms);
        if has_single_changes && keys.len() > 1 {
            keys.sort_by_cached_key(|key| driver.is_share_used(*key));
        }
        let max_steps = max_steps(driver);
        for key in keys.drain(..) {
            let is_long = has_single_changes && self.steps >= max_steps;
            // A shutdown must not wait until all sockets are read.
            if driver.must_stop() || (behind || is_long) && driver.is_share_used(key) {
                driver.read_queue.push(key);
            } else if self.read_connection(driver, key) {
                self.read_again.push(key);
            }
        }
        // Next time those come first that waited.
        keys.append(&mut driver.read_queue);
        keys.append(&mut self.read_again);
        driver.read_queue = keys;
    }

    /// Reads the sockets of a neighbor whose hold timer is due, until a message restarts the timer.
    pub(crate) fn read_before_hold_timer(&mut self, driver: &mut SessionDriver, slot: usize) {
        for id in ConnectionId::ALL {
            let key = ConnectionKey { slot, id };
            for _ in 0..READS_BEFORE_TIMER {
                if !driver.is_due(slot, Timer::Hold(id)) {
                    break;
                }
                driver.queue_read(key);
                self.read_connection(driver, key);
            }
        }
    }

    /// Reads a socket once. Returns whether it may have more input.
    fn read_connection(&mut self, driver: &mut SessionDriver, key: ConnectionKey) -> bool {
        let Some(connection) = driver.peers.connection_mut(key) else {
            return false;
        };
        if connection.connecting || !connection.readable {
            return false;
        }
        let uncommitted = driver.uncommitted_on(key.slot);
        // A second connection may end the session of the first.
        if driver.must_wait(key.slot) || uncommitted.is_some_and(|id| id != key.id) {
            return true;
        }
        let (share, max_steps) = match driver.shared.has_single_changes(driver.now_ms) {
            true => {
                let left = max_steps(driver).saturating_sub(self.steps);
                (SMALL_READ_SHARE, left.max(FEW_STEPS))
            }
            false => (READ_SHARE, MAX_STEPS_IN_BULK),
        };
        let Some(connection) = driver.peers.connection_mut(key) else {
            return false;
        };
        self.max_commit = connection.share.routes_in(COMMIT_STEPS);
        self.end = self.steps + max_steps;
        if uncommitted.is_some() {
            self.commit_kept(driver, key);
            return true;
        }
        let mut input = std::mem::take(&mut self.input);
        match connection.read(&mut input, share) {
            ReadOutcome::Bytes { total, new } => {
                if let Some(peer) = driver.peers.get_mut(key.slot) {
                    peer.status.received.count_bytes(new);
                }
                let (updates, handled) = self.split_messages(driver, key, &input[..total]);
                driver.check_memory(key.slot, new);
                let is_busy = driver.count_share(key, handled);
                if updates > 0 && total <= SINGLE_CHANGES && !is_busy {
                    let until_ms = driver.now_ms + SMALL_SHARES_MS;
                    let shared = &driver.shared.small_shares_until_ms;
                    shared.fetch_max(until_ms, Ordering::Relaxed);
                }
            }
            ReadOutcome::Closed(error) => {
                let cause = error.map_or(EndCause::Closed, EndCause::Failed);
                driver.connection_ended(key, cause);
            }
            ReadOutcome::Nothing => {}
        }
        self.input = input;
        driver.peers.connection_mut(key).is_some_and(|c| c.readable)
    }

    /// Handles the whole messages of the input, until the connection's share is used up. Keeps the rest for the next read.
    /// Returns the number of UPDATEs, and of bytes that were handled.
    fn split_messages(
        &mut self,
        driver: &mut SessionDriver,
        key: ConnectionKey,
        input: &[u8],
    ) -> (u64, usize) {
        let mut rest = input;
        let mut updates = 0;
        while let Some(max_len) = driver.max_message_len(key) {
            let handled = match frame::next_frame(rest, max_len) {
                Ok(None) => {
                    if let Some(connection) = driver.peers.connection_mut(key) {
                        connection.keep(rest);
                    }
                    break;
                }
                _ if self.steps >= self.end => None,
                Ok(Some(frame)) => match fast_path(driver, key, &frame) {
                    Some(peer) => {
                        let handled = self.push_update(driver, key, peer, frame.body);
                        updates += u64::from(handled);
                        handled.then_some(frame.wire.len())
                    }
                    None => self
                        .handle_message(driver, key, frame)
                        .then_some(frame.wire.len()),
                },
                Err(notification) => {
                    if self.commit(driver, key) {
                        let connection = key.id;
                        let input = Input::FramingError {
                            connection,
                            notification,
                        };
                        driver.handle(key.slot, input);
                        break;
                    }
                    None
                }
            };
            self.steps += STEPS_PER_MESSAGE;
            let Some(len) = handled else {
                if let Some(connection) = driver.peers.connection_mut(key) {
                    connection.keep_messages(rest);
                }
                break;
            };
            self.steps += len / OCTETS_PER_STEP;
            rest = &rest[len..];
        }
        let handled = input.len() - rest.len();
        self.bytes_in_turn += handled;
        self.commit(driver, key);
        if updates > 0 {
            driver.updates_received(key.slot, updates);
        }
        (updates, handled)
    }

    /// Returns `false` if the UPDATE must wait until the routes before it are in the table.
    fn push_update(
        &mut self,
        driver: &mut SessionDriver,
        key: ConnectionKey,
        peer: PeerId,
        body: &[u8],
    ) -> bool {
        if update::is_end_of_rib(body).is_some() && !self.commit(driver, key) {
            return false;
        }
        let rib = &driver.shared.rib;
        let pushed = self.batch.push(rib, peer, body, driver.unix_us());
        self.steps += (pushed.announced + pushed.withdrawn) as usize;
        if !is_plain(&pushed) && !self.handle_special_update(driver, key, pushed) {
            return false;
        }
        if self.batch.len() >= self.max_commit {
            self.commit(driver, key);
        }
        true
    }

    /// An UPDATE that was malformed, or that is an End-of-RIB marker. Returns `false` if it must wait.
    fn handle_special_update(
        &mut self,
        driver: &mut SessionDriver,
        key: ConnectionKey,
        pushed: Pushed,
    ) -> bool {
        if pushed.reset.is_some() && !self.commit(driver, key) {
            return false;
        }
        if !pushed.faults.is_empty() {
            driver.log_faults(key.slot, &pushed.faults);
        }
        if let Some(family) = pushed.end_of_rib.and_then(|afi_safi| afi_safi.family()) {
            driver.end_of_rib(key.slot, family);
        }
        if let Some(notification) = pushed.reset {
            driver.handle(key.slot, Input::UpdateError { notification });
        }
        true
    }

    /// Any other message. The session's answer may change the table, so the UPDATEs before it are committed first. Returns
    /// `false` if it must wait.
    fn handle_message(
        &mut self,
        driver: &mut SessionDriver,
        key: ConnectionKey,
        frame: Frame<'_>,
    ) -> bool {
        let is_next = self.commit(driver, key);
        if is_next {
            let connection = key.id;
            driver.handle(key.slot, Input::Message { connection, frame });
        }
        is_next
    }

    /// Puts more of the routes that former turns left into the table.
    fn commit_kept(&mut self, driver: &mut SessionDriver, key: ConnectionKey) {
        let Some(batch) = driver.take_uncommitted(key.slot) else {
            return;
        };
        self.steps += batch.len();
        self.batch = batch;
        let is_done = self.commit(driver, key);
        // Its next message may wait behind them, so the neighbor is not silent.
        driver.updates_received(key.slot, 0);
        if is_done {
            driver.end_connection_that_waited(key);
        }
    }

    /// Puts the collected UPDATEs into the table, as far as the connection's share of the turn reaches. Returns `false` if some
    /// routes are kept for the next turn.
    fn commit(&mut self, driver: &mut SessionDriver, key: ConnectionKey) -> bool {
        while !self.batch.is_empty() {
            let routes = self.batch.len();
            let rib = &driver.shared.rib;
            let more_steps = rib.commit_some(&mut self.batch, COMMIT_STEPS);
            self.steps += more_steps;
            let left = self.batch.len();
            driver.committed(key.slot, (routes - left, left), more_steps);
            if left > 0 && self.steps - left >= self.end {
                self.steps -= left;
                driver.keep_uncommitted(key, std::mem::take(&mut self.batch));
                return false;
            }
        }
        true
    }
}

/// The steps of a turn while some neighbor sends single changes.
fn max_steps(driver: &SessionDriver) -> usize {
    MAX_STEPS.max(STEPS_PER_CLIENT * driver.peers.slot_count())
}

/// The neighbor's id in the table, if the frame is an UPDATE on the established connection.
fn fast_path(driver: &SessionDriver, key: ConnectionKey, frame: &Frame<'_>) -> Option<PeerId> {
    if frame.kind != MessageType::Update {
        return None;
    }
    let established = driver.peers.get(key.slot)?.established.as_ref()?;
    (established.connection == key.id).then_some(established.peer)
}

fn is_plain(pushed: &Pushed) -> bool {
    pushed.faults.is_empty() && pushed.end_of_rib.is_none() && pushed.reset.is_none()
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
