//! The session: its public methods and its state.

use std::collections::VecDeque;

use rutter_net::PerFamily;
use rutter_wire::frame::{MAX_LEN, MessageType};
use rutter_wire::notification::Notification;

use crate::connection::{Connection, Phase};
use crate::graceful_restart::StaleRoutes;
use crate::jitter::Jitter;
use crate::timers::Timers;
use crate::{Config, ConnectionId, Input, Negotiated, Output, SessionEvent, State, Stats, Timer};

/// The session with one neighbor.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) config: Config,
    pub(crate) now_ms: u64,
    pub(crate) timers: Timers,
    pub(crate) jitter: Jitter,
    pub(crate) stats: Stats,
    pub(crate) target: TargetState,
    /// The setting at the last start of the session.
    pub(crate) passive: bool,
    pub(crate) connections: [Option<Connection>; 2],
    pub(crate) stale_routes: StaleRoutes,
    /// The neighbor has sent BoRR and not yet EoRR, in index order of the families.
    pub(crate) refreshing: PerFamily<bool>,
    /// We restarted a moment ago.
    pub(crate) restarting: bool,
    /// The neighbor rejected optional parameters.
    pub(crate) without_capabilities: bool,
    pub(crate) established_at_ms: u64,
    reported_state: State,
    outputs: VecDeque<Output>,
}

/// The state that the session tries to reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetState {
    /// Idle, until the next start.
    Stopped,
    /// Idle, until the pause after a fault ends.
    IdleHold,
    /// Established.
    Established,
}

impl Session {
    /// A session in Idle. `seed` determines the jitter of its timers.
    pub fn new(config: Config, seed: u64) -> Self {
        Session {
            passive: config.passive,
            config,
            now_ms: 0,
            timers: Timers::new(),
            jitter: Jitter::new(seed),
            stats: Stats::default(),
            target: TargetState::Stopped,
            connections: [None, None],
            stale_routes: StaleRoutes::default(),
            refreshing: PerFamily::both(false),
            restarting: false,
            without_capabilities: false,
            established_at_ms: 0,
            reported_state: State::Idle,
            outputs: VecDeque::new(),
        }
    }

    /// Handles one input. Drain [`Session::poll_output`] before the next. `now_ms` is monotonic.
    ///
    /// Timers fire only in [`Input::Tick`]. After a stall, pass the messages that wait in the sockets first, so that
    /// no hold timer expires because the caller was slow.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        self.now_ms = self.now_ms.max(now_ms);
        self.dispatch(input);
        let state = self.state();
        if state != self.reported_state {
            let from = std::mem::replace(&mut self.reported_state, state);
            self.stats.state_since_ms = self.now_ms;
            self.report(SessionEvent::State { from, to: state });
        }
    }

    /// One UPDATE arrived on the established connection (event 27). The caller gives its body to the table.
    pub fn update_received(&mut self, now_ms: u64) {
        self.updates_received(now_ms, 1);
    }

    /// As [`Session::update_received`], for several UPDATEs.
    pub fn updates_received(&mut self, now_ms: u64, count: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        if let Some(connection) = self.established() {
            self.stats.count_received(MessageType::Update, count);
            self.restart_hold_timer(connection);
        }
    }

    /// The next action that the session requests.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The latest time for the next [`Input::Tick`], milliseconds.
    pub fn next_deadline(&self) -> Option<u64> {
        self.timers.next()
    }

    /// The id for a connection that the neighbor initiated; `None`: close that connection.
    ///
    /// Next to an established connection the session accepts a new one only where Graceful Restart is negotiated:
    /// the neighbor may have restarted before we noticed (RFC 4724 §4.2).
    pub fn accepts(&self) -> Option<ConnectionId> {
        let restarts = |n: &Negotiated| n.graceful_restart.is_some();
        let is_started = self.target == TargetState::Established;
        let accepts = is_started && self.negotiated().is_none_or(restarts);
        let free = |c: &ConnectionId| self.connections[c.index()].is_none();
        ConnectionId::ALL.into_iter().find(free).filter(|_| accepts)
    }

    /// The state of the connection that has come furthest.
    pub fn state(&self) -> State {
        let furthest = self
            .connections
            .iter()
            .flatten()
            .map(Connection::state)
            .max();
        match (furthest, self.target) {
            (Some(state), _) => state,
            (None, TargetState::Established) => State::Active,
            (None, TargetState::Stopped | TargetState::IdleHold) => State::Idle,
        }
    }

    /// The established connection.
    pub fn established(&self) -> Option<ConnectionId> {
        let is = |c: &ConnectionId| self.connection_state(*c) == Some(State::Established);
        ConnectionId::ALL.into_iter().find(is)
    }

    /// The result of the negotiation, while Established.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        self.negotiated_on(self.established()?)
    }

    /// The longest message to accept from a connection now, for [`rutter_wire::frame::next_frame`].
    pub fn max_receive_len(&self, connection: ConnectionId) -> usize {
        self.negotiated_on(connection)
            .map_or(MAX_LEN, |n| n.max_receive_len)
    }

    /// The time until which a caller that drops the session would lose its faults, and with them the idle hold that
    /// limits a flapping neighbor, milliseconds. `None` if there are no faults.
    pub fn remembers_faults_until(&self) -> Option<u64> {
        let (ended_ms, _) = self.stats.last_end.as_ref()?;
        let forgotten_ms = ended_ms.saturating_add(self.config.idle_hold.forget_after_ms);
        let held_ms = self.timers.deadline(Timer::IdleHold).unwrap_or(0);
        (self.stats.faults_in_a_row > 0).then_some(forgotten_ms.max(held_ms))
    }

    /// Returns whether the session stays in Idle until [`Input::Start`].
    pub fn is_stopped(&self) -> bool {
        self.target == TargetState::Stopped
    }

    /// The families with stale routes, in index order.
    pub fn stale(&self) -> PerFamily<bool> {
        self.stale_routes.stale()
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Replaces the settings, from the next connection on. Pass [`Input::Reset`] afterwards to apply them at once. A shorter
    /// Hold Time is in force from the next message on, down to half of the agreed one.
    pub fn set_config(&mut self, config: Config) {
        for connection in self.connections.iter_mut().flatten() {
            if let Some(negotiated) = connection.negotiated_mut() {
                negotiated.shorten_hold_time(config.hold_time_s);
            }
        }
        self.config = config;
    }

    /// The counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The deadline of a timer in milliseconds; `None` where it does not run.
    pub fn deadline(&self, timer: Timer) -> Option<u64> {
        self.timers.deadline(timer)
    }

    /// The running timers, with their deadlines in milliseconds.
    pub fn timers(&self) -> impl Iterator<Item = (Timer, u64)> + '_ {
        let running = |t: Timer| self.timers.deadline(t).map(|at| (t, at));
        Timer::ALL.into_iter().filter_map(running)
    }

    pub(crate) fn has_no_output(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The present state needs no event: the caller knows it.
    pub(crate) fn state_is_reported(&mut self) {
        self.reported_state = self.state();
    }

    pub(crate) fn connection_state(&self, connection: ConnectionId) -> Option<State> {
        self.connections[connection.index()]
            .as_ref()
            .map(Connection::state)
    }

    pub(crate) fn negotiated_on(&self, connection: ConnectionId) -> Option<&Negotiated> {
        self.connections[connection.index()].as_ref()?.negotiated()
    }

    pub(crate) fn emit(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub(crate) fn report(&mut self, event: SessionEvent) {
        self.emit(Output::Event(event));
    }

    pub(crate) fn send(&mut self, connection: ConnectionId, kind: MessageType, message: Vec<u8>) {
        self.stats.count_sent(kind);
        self.emit(Output::Send {
            connection,
            message,
        });
    }

    pub(crate) fn send_notification(
        &mut self,
        connection: ConnectionId,
        notification: &Notification,
    ) {
        let mut message = Vec::new();
        notification.encode(&mut message);
        self.send(connection, MessageType::Notification, message);
        self.report(SessionEvent::Sent(notification.clone()));
    }

    pub(crate) fn start_timer(&mut self, timer: Timer, after_ms: u64) {
        let at = self.now_ms.saturating_add(after_ms.max(1));
        self.timers.start(timer, at);
    }

    pub(crate) fn set_phase(&mut self, connection: ConnectionId, phase: Phase) {
        if let Some(connection) = &mut self.connections[connection.index()] {
            connection.phase = phase;
        }
    }
}
