//! The machine's door, and what it remembers.

use std::collections::VecDeque;

use rutter_wire::frame::{MAX_LEN, MessageType};
use rutter_wire::notification::Notification;

use crate::jitter::Jitter;
use crate::link::{Link, Phase};
use crate::restart::Restart;
use crate::timers::Timers;
use crate::{Config, Connection, Input, Negotiated, Note, Output, State, Stats, Timer};

/// The session with one neighbor.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) config: Config,
    pub(crate) now_ms: u64,
    pub(crate) timers: Timers,
    pub(crate) jitter: Jitter,
    pub(crate) stats: Stats,
    pub(crate) aim: Aim,
    /// As configured when the session was started.
    pub(crate) passive: bool,
    pub(crate) links: [Option<Link>; 2],
    pub(crate) restart: Restart,
    /// Between BoRR and EoRR, in index order of the families.
    pub(crate) refreshing: [bool; 2],
    /// We came back from a restart a moment ago.
    pub(crate) restarting: bool,
    /// The neighbor refused optional parameters.
    pub(crate) without_capabilities: bool,
    pub(crate) established_at_ms: u64,
    noted: State,
    outputs: VecDeque<Output>,
}

/// What the session is after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aim {
    /// Nothing, until somebody starts it.
    Stopped,
    /// A pause after a fault.
    Pause,
    /// A session.
    Up,
}

impl Session {
    /// A session in Idle. `seed` decides the jitter of its timers.
    pub fn new(config: Config, seed: u64) -> Self {
        Session {
            passive: config.passive,
            config,
            now_ms: 0,
            timers: Timers::new(),
            jitter: Jitter::new(seed),
            stats: Stats::default(),
            aim: Aim::Stopped,
            links: [None, None],
            restart: Restart::default(),
            refreshing: [false; 2],
            restarting: false,
            without_capabilities: false,
            established_at_ms: 0,
            noted: State::Idle,
            outputs: VecDeque::new(),
        }
    }

    /// Takes one input. Drain [`Session::poll_output`] before the next. `now_ms` is monotonic.
    ///
    /// Timers fire by [`Input::Tick`] alone: after a stall, give the session what its sockets hold first, so that
    /// a neighbor is not cut off for our slowness.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        self.now_ms = self.now_ms.max(now_ms);
        self.dispatch(input);
        let state = self.state();
        if state != self.noted {
            let from = std::mem::replace(&mut self.noted, state);
            self.stats.state_since_ms = self.now_ms;
            self.note(Note::State { from, to: state });
        }
    }

    /// One UPDATE came on the established connection; its body is the caller's to give to the table (event 27).
    pub fn update_received(&mut self, now_ms: u64) {
        self.updates_received(now_ms, 1);
    }

    /// As [`Session::update_received`] for several at once.
    pub fn updates_received(&mut self, now_ms: u64, count: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        if let Some(connection) = self.established() {
            self.stats.count_received(MessageType::Update, count);
            self.restart_hold_timer(connection);
        }
    }

    /// The next thing to be done.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to give [`Input::Tick`] at the latest.
    pub fn next_deadline(&self) -> Option<u64> {
        self.timers.next()
    }

    /// The connection to use for one that the neighbor made, `None` if it is not welcome: close it.
    ///
    /// Next to an established connection a new one is welcome only where Graceful Restart is agreed on: the
    /// neighbor may have restarted before we noticed (RFC 4724 §4.2).
    pub fn accepts(&self) -> Option<Connection> {
        let restarts = |n: &Negotiated| n.graceful_restart.is_some();
        let welcome = self.aim == Aim::Up && self.negotiated().is_none_or(restarts);
        let free = |c: &Connection| self.links[c.index()].is_none();
        Connection::ALL.into_iter().find(free).filter(|_| welcome)
    }

    /// The state; with two connections, of the one that is further.
    pub fn state(&self) -> State {
        let furthest = self.links.iter().flatten().map(Link::state).max();
        match (furthest, self.aim) {
            (Some(state), _) => state,
            (None, Aim::Up) => State::Active,
            (None, Aim::Stopped | Aim::Pause) => State::Idle,
        }
    }

    /// The connection that is established.
    pub fn established(&self) -> Option<Connection> {
        let is = |c: &Connection| self.link_state(*c) == Some(State::Established);
        Connection::ALL.into_iter().find(is)
    }

    /// What was agreed on, while Established.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        let connection = self.established()?;
        self.links[connection.index()].as_ref()?.negotiated()
    }

    /// Longest message to take from a connection now, for [`rutter_wire::frame::next_frame`].
    pub fn max_receive_len(&self, connection: Connection) -> usize {
        let link = self.links[connection.index()].as_ref();
        link.and_then(Link::negotiated)
            .map_or(MAX_LEN, |n| n.max_receive_len)
    }

    /// Whether nothing is sought and nothing will be before [`Input::Start`].
    pub fn is_stopped(&self) -> bool {
        self.aim == Aim::Stopped
    }

    /// Families whose stale routes are kept, in index order.
    pub fn stale(&self) -> [bool; 2] {
        self.restart.stale()
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Other settings, from the next connection on. Follow it by [`Input::Reset`] where that cannot wait.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Timers that run, with their deadlines in milliseconds.
    pub fn timers(&self) -> impl Iterator<Item = (Timer, u64)> + '_ {
        let running = |t: Timer| self.timers.deadline(t).map(|at| (t, at));
        Timer::ALL.into_iter().filter_map(running)
    }

    pub(crate) fn link_state(&self, connection: Connection) -> Option<State> {
        self.links[connection.index()].as_ref().map(Link::state)
    }

    pub(crate) fn emit(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub(crate) fn note(&mut self, note: Note) {
        self.emit(Output::Note(note));
    }

    pub(crate) fn send(&mut self, connection: Connection, kind: MessageType, message: Vec<u8>) {
        self.stats.count_sent(kind);
        self.emit(Output::Send {
            connection,
            message,
        });
    }

    pub(crate) fn send_notification(
        &mut self,
        connection: Connection,
        notification: &Notification,
    ) {
        let mut message = Vec::new();
        notification.encode(&mut message);
        self.send(connection, MessageType::Notification, message);
        self.note(Note::Sent(notification.clone()));
    }

    pub(crate) fn start_timer(&mut self, timer: Timer, after_ms: u64) {
        let at = self.now_ms.saturating_add(after_ms.max(1));
        self.timers.start(timer, at);
    }

    pub(crate) fn set_phase(&mut self, connection: Connection, phase: Phase) {
        if let Some(link) = &mut self.links[connection.index()] {
            link.phase = phase;
        }
    }
}
