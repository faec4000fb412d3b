//! The event loop of an I/O thread: the order of a turn, and the time that it may sleep.
//!
//! ```text
//! poll ─► read each ready socket ─► one commit a socket ─► commands ─► timers ─► one flush ─► write
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::{Events, Poll, Registry, Token};

use crate::commands::CommandRunner;
use crate::congestion::Congestion;
use crate::connection::ConnectionKey;
use crate::mailbox::{Command, Mailbox};
use crate::peer::Peer;
use crate::privileges;
use crate::receiver::Receiver;
use crate::session_driver::SessionDriver;
use crate::shared::Shared;
use crate::transmitter::Transmitter;
use crate::turn_clock::TurnClock;

/// An I/O thread, behind a lock that the thread holds during a turn but not while it sleeps. Another thread that has
/// few bytes for its clients writes them itself (see [`Reactor::write_for`]).
pub(crate) struct Reactor {
    shared: Arc<Shared>,
    index: usize,
    driver: SessionDriver,
    receiver: Receiver,
    transmitter: Transmitter,
    congestion: Congestion,
    turn_clock: TurnClock,
    /// The end of the last turn, if it left work for the next.
    has_work_since: Option<Duration>,
    /// The poll has reported a wake-up, and the commands have not been taken since.
    woken: bool,
    /// The commands that were taken and have not run.
    commands: VecDeque<Command>,
}

/// The token of the thread's [`Mailbox`].
pub(crate) const WAKE: Token = Token(usize::MAX);
/// A thread with more neighbors than this is woken to write to them itself.
const FEW_CLIENTS: usize = 16;
/// The time to sleep while reading is suspended: another thread's writing ends the congestion.
const CONGESTED_POLL: Duration = Duration::from_millis(2);
/// The time between two checks for connections that the neighbors closed, while the daemon stops.
const STOPPING_POLL: Duration = Duration::from_millis(10);
/// A thread with this many neighbors looks for more input before it writes.
const MANY_PEERS: usize = 32;
/// The commands of a turn: ending a session takes some tens of microseconds.
const MAX_COMMANDS: usize = 64;
/// The number of polls of that search at most.
const MAX_POLLS: usize = 8;

/// Runs turns until all sessions have ended after a shutdown.
pub(crate) fn run(shared: &Shared, index: usize, mut poll: Poll) {
    privileges::prefer_short_slices();
    let place = &shared.threads[index].reactor;
    let mut events = Events::with_capacity(1_024);
    let mut timeout = Some(Duration::ZERO);
    loop {
        match poll.poll(&mut events, timeout) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::error!(%error, "an I/O thread ends");
                return;
            }
        }
        let mut place = place.lock();
        let Some(reactor) = place.as_mut() else {
            return;
        };
        reactor.turn(&mut poll, &mut events);
        if reactor.driver.has_ended() {
            *place = None;
            return;
        }
        timeout = reactor.timeout();
        let has_work = timeout == Some(Duration::ZERO);
        reactor.has_work_since = has_work.then(|| reactor.shared.clock.now());
    }
}

impl Reactor {
    /// A thread without neighbors.
    pub(crate) fn new(shared: Arc<Shared>, index: usize, registry: Registry) -> Self {
        Reactor {
            driver: SessionDriver::new(Arc::clone(&shared), index, registry),
            shared,
            index,
            receiver: Receiver::default(),
            transmitter: Transmitter::default(),
            congestion: Congestion::default(),
            turn_clock: TurnClock::default(),
            has_work_since: None,
            woken: false,
            commands: VecDeque::new(),
        }
    }

    /// The sessions of the thread.
    pub(crate) fn driver(&mut self) -> &mut SessionDriver {
        &mut self.driver
    }

    /// The neighbors of the thread.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.driver.peers.iter()
    }

    /// Returns whether nothing is half done between two turns: no routes wait to be removed, and no command or connection
    /// waits. Routes may wait to be put into the table: [`SessionDriver::commit_all`].
    pub(crate) fn is_quiet(&self) -> bool {
        let is_at_work = self.driver.is_sweeping()
            || self.driver.is_stopping()
            || self.driver.has_delayed_connections();
        !is_at_work && self.commands.is_empty() && self.mailbox().is_empty()
    }

    fn turn(&mut self, poll: &mut Poll, events: &mut Events) {
        let began = self.driver.start_turn();
        let since = self.has_work_since.take().unwrap_or(began);
        self.congestion
            .note_delay(began.saturating_sub(since), self.driver.now_ms);
        self.receiver.start_turn();
        self.note_events(events);
        self.update_congestion();
        self.read_sockets();
        // After the sockets: the end of a neighbor's connection precedes its next one.
        self.run_commands();
        self.read_more(poll, events);
        self.run_timers();
        if !self.congestion.is_congested() {
            self.driver.sweep();
        }
        self.shared.rib.tidy();
        if self.shared.rib.flush() {
            self.driver.write_queue.push_all();
            self.wake_others();
        }
        self.transmitter.write_sockets(&mut self.driver);
        self.driver.end_turn();
        let passed = self.shared.clock.now().saturating_sub(began);
        self.congestion.note_delay(passed, self.driver.now_ms);
        let counts = &self.shared.threads[self.index].turns;
        self.turn_clock.end_turn(passed, counts);
    }

    /// Remembers what the poll reported: wake-ups and sockets that are ready.
    fn note_events(&mut self, events: &Events) {
        for event in events {
            if event.token() == WAKE {
                self.mailbox().acknowledge();
                self.woken = true;
                self.driver.write_queue.push_all();
            } else {
                self.driver
                    .socket_ready(ConnectionKey::from(event.token()), event);
            }
        }
    }

    /// Runs some commands. A reload can post thousands; the neighbors are served in between.
    fn run_commands(&mut self) {
        let must_stop = self.driver.must_stop();
        if self.woken && (self.commands.is_empty() || must_stop) {
            self.woken = false;
            let new = self.mailbox().take();
            self.commands.extend(new);
        }
        if must_stop {
            // All sessions end now, so nothing that was posted before matters.
            let ends = |command: &Command| matches!(command, Command::Shutdown { .. });
            if self.commands.iter().any(ends) {
                self.commands.retain(ends);
            }
        }
        CommandRunner(&mut self.driver).accept_delayed();
        let count = self.commands.len().min(MAX_COMMANDS);
        for command in self.commands.drain(..count) {
            match command {
                Command::ReleaseBuffers => self.receiver.release_buffers(),
                command => CommandRunner(&mut self.driver).run(command),
            }
        }
    }

    fn update_congestion(&mut self) {
        let now_ms = self.driver.now_ms;
        let peers = &mut self.driver.peers;
        if self.congestion.update(&self.shared, peers, now_ms) {
            self.driver.write_queue.push_all();
            self.shared.wake_all_but(self.index);
        }
        let limits = &self.shared.memory_limits;
        if limits.is_check_due(now_ms) {
            limits.check(&self.shared, now_ms);
        }
    }

    /// Reads every ready socket once. While the table is congested it reads nothing: TCP slows the senders down.
    fn read_sockets(&mut self) {
        if !self.congestion.is_congested() {
            let behind = self.congestion.is_behind();
            self.receiver.read_sockets(&mut self.driver, behind);
        }
    }

    /// Reads the input that has arrived since the poll. A turn costs at least one write for each client, so with many
    /// clients another poll is worth its price.
    fn read_more(&mut self, poll: &mut Poll, events: &mut Events) {
        let slowed = self.congestion.is_congested() || self.congestion.is_behind();
        if slowed || self.driver.peers.slot_count() < MANY_PEERS {
            return;
        }
        for _ in 0..MAX_POLLS {
            if self.receiver.bytes_in_turn() == 0 || self.receiver.is_long_turn() {
                return;
            }
            let polled = poll.poll(events, Some(Duration::ZERO));
            if polled.is_err() || events.is_empty() {
                return;
            }
            self.note_events(events);
            self.read_sockets();
        }
    }

    /// Fires the timers that are due. After a pause of the process, or while the table is congested, a message that
    /// waits in the socket restarts the hold timer, and a socket that accepts bytes the send hold timer.
    fn run_timers(&mut self) {
        self.driver.change_keys();
        self.driver.change_ao_keys();
        while let Some(slot) = self.driver.next_due() {
            let driver = &mut self.driver;
            self.receiver.read_before_hold_timer(driver, slot);
            self.transmitter.write_before_send_hold_timer(driver, slot);
            driver.tick(slot);
        }
    }

    /// The clients of the other threads have new bytes.
    fn wake_others(&mut self) {
        let is_small = self.receiver.is_small_turn();
        for index in 0..self.shared.threads.len() {
            if index != self.index && !(is_small && self.write_for(index)) {
                self.shared.threads[index].mailbox.wake();
            }
        }
    }

    /// Writes to the few clients of another thread that sleeps: that is faster than to wake it. Returns `false` if the
    /// thread must be woken nevertheless.
    fn write_for(&mut self, index: usize) -> bool {
        let shared = Arc::clone(&self.shared);
        let Some(mut other) = shared.threads[index].reactor.try_lock() else {
            return false;
        };
        let Some(other) = other.as_mut() else {
            return true;
        };
        if other.driver.peers.len() > FEW_CLIENTS {
            return false;
        }
        let deadline = other.driver.deadlines.next_deadline();
        other.driver.set_time_from(&self.driver);
        other.driver.write_queue.push_all();
        other.transmitter.write_sockets(&mut other.driver);
        // Its own thread must write the rest, and must learn a new deadline.
        let is_same_deadline = other.driver.deadlines.next_deadline() == deadline;
        other.driver.write_queue.is_empty() && is_same_deadline
    }

    /// The time that the poll may sleep. It must not sleep after a wake-up that arrived while the thread read: the
    /// mailbox sends no second one before the commands have run.
    fn timeout(&mut self) -> Option<Duration> {
        let congested = self.congestion.is_congested();
        let sweeping = self.driver.is_sweeping();
        let has_commands = self.woken || !self.commands.is_empty();
        let has_leftovers = self.shared.rib.has_leftovers();
        if has_commands
            || has_leftovers
            || !self.driver.write_queue.is_empty()
            || sweeping && !congested
        {
            return Some(Duration::ZERO);
        }
        if !self.driver.read_queue.is_empty() || sweeping {
            // Neighbors that send much wait while the clients are behind.
            let waits = self.congestion.is_behind() && self.receiver.bytes_in_turn() == 0;
            return Some(if congested || waits && !sweeping {
                CONGESTED_POLL
            } else {
                Duration::ZERO
            });
        }
        if self.driver.is_stopping() {
            return Some(STOPPING_POLL);
        }
        let next = self.driver.next_deadline()?;
        let now_ms = self.shared.clock.now_ms();
        Some(Duration::from_millis(next.saturating_sub(now_ms)))
    }

    fn mailbox(&self) -> &Mailbox {
        &self.shared.threads[self.index].mailbox
    }
}
