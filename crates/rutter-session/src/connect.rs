//! Idle, Connect and Active: start and stop, connections that come and go, the pause after faults.

use rutter_wire::frame::MessageType;
use rutter_wire::notification::{Notification, cease, code};

use crate::connection::{Connection, Phase};
use crate::graceful_restart::Goodbye;
use crate::session::{Session, TargetState};
use crate::{
    ConnectionId, DownReason, Output, ResetReason, SessionEvent, State, StopReason, Timer,
};

/// The next step of a session whose last connection has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextStep {
    /// Enter Idle for a pause that doubles with each fault.
    BackOff,
    /// Accept connections at once, because the neighbor did nothing wrong; connect after the shortest pause.
    /// If that happens again before the session was stable, back off.
    Reconnect,
    /// Enter Idle for this time, milliseconds.
    IdleHold(u64),
    /// Continue to connect and accept.
    KeepConnecting,
    /// Stay in Idle.
    Stop,
}

impl Session {
    /// Events 1, 3, 4, 5 and 13.
    pub(crate) fn start(&mut self) {
        match self.target {
            TargetState::Established => return,
            TargetState::Stopped => {
                self.stats.faults_in_a_row = 0;
                self.without_capabilities = false;
            }
            TargetState::IdleHold => {}
        }
        self.start_after(false);
    }

    /// Starts the session. After a connection that was open, it accepts at once and connects a moment later:
    /// a new connection could overtake the NOTIFICATION on the old one.
    fn start_after(&mut self, was_open: bool) {
        self.timers.stop(Timer::IdleHold);
        self.timers.stop(Timer::ConnectRetry);
        self.target = TargetState::Established;
        self.passive = self.config.passive;
        if was_open {
            self.connect_soon();
        } else {
            self.connect();
        }
    }

    /// Event 2: stays down until the next start.
    pub(crate) fn stop(&mut self, reason: StopReason, text: &str) {
        for connection in ConnectionId::ALL {
            let cease = cease_message(reason.subcode(), text);
            match (reason, self.goodbye_before_restart(connection)) {
                (StopReason::Restart, Goodbye::Silent) => {
                    self.close(connection, DownReason::Restarting, NextStep::Stop);
                }
                (StopReason::Restart, Goodbye::Notification) => {
                    self.end_with(connection, cease, NextStep::Stop);
                }
                _ => self.fail_hard(connection, cease, NextStep::Stop),
            }
        }
        self.target = TargetState::Stopped;
        self.timers.stop(Timer::IdleHold);
        self.timers.stop(Timer::ConnectRetry);
        self.sweep_all();
    }

    /// Events 2 and 3. A stopped session stays stopped.
    pub(crate) fn reset(&mut self, reason: ResetReason, text: &str) {
        if self.target == TargetState::Stopped {
            return;
        }
        let was_open = self.state() >= State::OpenSent;
        self.without_capabilities = false;
        for connection in ConnectionId::ALL {
            let cease = cease_message(reason.subcode(), text);
            self.end_with(connection, cease, NextStep::Stop);
        }
        self.stats.faults_in_a_row = 0;
        self.start_after(was_open);
    }

    /// Starts an attempt to connect, unless the session is passive.
    fn connect(&mut self) {
        if self.passive {
            return;
        }
        self.start_connect_retry();
        let free = |c: &ConnectionId| self.connection_state(*c).is_none();
        if let Some(connection) = ConnectionId::ALL.into_iter().find(free) {
            self.connections[connection.index()] = Some(Connection {
                outgoing: true,
                phase: Phase::Connecting,
            });
            self.stats.connects += 1;
            self.emit(Output::Connect { connection });
        }
    }

    fn start_connect_retry(&mut self) {
        if !self.passive {
            let interval_ms = u64::from(self.config.connect_retry_s.max(1)) * 1_000;
            let after_ms = self.jitter.spread(interval_ms);
            self.start_timer(Timer::ConnectRetry, after_ms);
        }
    }

    fn connect_soon(&mut self) {
        if !self.passive {
            let after_ms = self.jitter.spread(self.config.idle_hold.initial_ms);
            self.start_timer(Timer::ConnectRetry, after_ms);
        }
    }

    /// Event 9.
    pub(crate) fn connect_retry(&mut self) {
        for connection in ConnectionId::ALL {
            if self.connection_state(connection) == Some(State::Connect) {
                self.connections[connection.index()] = None;
                self.emit(Output::Close { connection });
            }
        }
        self.connect();
    }

    /// Events 16 and 17.
    pub(crate) fn connected(&mut self, connection: ConnectionId, outgoing: bool) {
        match (self.connection_state(connection), outgoing) {
            (Some(State::Connect), true) => self.open_sent(connection, true),
            (None, false) => self.accepted(connection),
            // The attempt was cancelled while it succeeded.
            (None, true) => self.emit(Output::Close { connection }),
            // The caller broke the contract; the open connection continues.
            (Some(_), _) => {}
        }
    }

    /// Returns whether a connection that the neighbor initiates now would end the established one.
    pub fn would_be_replaced(&self, now_ms: u64) -> bool {
        self.established().is_some() && self.rejection(now_ms).is_none()
    }

    /// The subcode of Cease for a connection that the neighbor initiates now. `None`: it is accepted.
    fn rejection(&self, now_ms: u64) -> Option<u8> {
        match (self.accepts(), self.established()) {
            (None, Some(_)) => Some(cease::COLLISION),
            (None, None) => Some(cease::REJECTED),
            (Some(_), Some(_)) if self.is_collision(now_ms) => Some(cease::COLLISION),
            (Some(_), Some(_)) if self.holds_replacement(now_ms) => Some(cease::REJECTED),
            (Some(_), _) => None,
        }
    }

    fn accepted(&mut self, connection: ConnectionId) {
        if let Some(subcode) = self.rejection(self.now_ms) {
            self.send_notification(connection, &cease::plain(subcode));
            self.emit(Output::Close { connection });
            return;
        }
        self.open_sent(connection, false);
        if let Some(old) = self.established() {
            self.close(old, DownReason::Replaced, NextStep::KeepConnecting);
            self.stats.faults_in_a_row = self.stats.faults_in_a_row.saturating_add(1);
        }
    }

    /// Returns whether a new connection of the neighbor collided with the established one: both sides connected at the
    /// same time. A neighbor that restarts needs longer.
    fn is_collision(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.established_at_ms) < COLLISION_MS
    }

    /// Returns whether the established session is too young to be replaced. The first replacement is free; after
    /// others, or after faults, a session stays for as long as an idle hold would last.
    fn holds_replacement(&self, now_ms: u64) -> bool {
        let faults = self.stats.faults_in_a_row;
        let age_ms = now_ms.saturating_sub(self.established_at_ms);
        faults > 0 && age_ms < self.idle_hold_ms(faults)
    }

    /// Enters OpenSent.
    fn open_sent(&mut self, connection: ConnectionId, outgoing: bool) {
        self.timers.stop(Timer::ConnectRetry);
        let open = self.our_open();
        let mut message = Vec::new();
        open.encode(&mut message);
        self.send(connection, MessageType::Open, message);
        let hold_ms = u64::from(self.config.open_hold_time_s.max(3)) * 1_000;
        self.start_timer(Timer::Hold(connection), hold_ms);
        let phase = Phase::OpenSent(Box::new(open));
        self.connections[connection.index()] = Some(Connection { outgoing, phase });
    }

    /// Event 18.
    pub(crate) fn lost(&mut self, connection: ConnectionId, reason: DownReason) {
        let next = match self.connection_state(connection) {
            Some(State::Established) => NextStep::Reconnect,
            Some(State::OpenConfirm) => NextStep::BackOff,
            _ => NextStep::KeepConnecting,
        };
        self.ended(connection, reason, next);
    }

    /// Events 24 and 25.
    pub(crate) fn notified(&mut self, connection: ConnectionId, body: &[u8]) {
        let notification = Notification::parse(body);
        self.report(SessionEvent::Received(notification.clone()));
        let early = self.connection_state(connection) < Some(State::Established);
        let next = match (notification.code, notification.subcode) {
            // The neighbor keeps another connection, whose messages may be on their way.
            (code::CEASE, cease::COLLISION) if early => NextStep::Reconnect,
            (code::CEASE, subcode) if !early && subcode != cease::MAX_PREFIXES => {
                NextStep::Reconnect
            }
            _ => NextStep::BackOff,
        };
        if early && (notification.code, notification.subcode) == (code::OPEN, 4) {
            self.parameters_rejected();
        }
        self.close(connection, DownReason::Received(notification), next);
    }

    /// Ends a connection with a NOTIFICATION after a fault.
    pub(crate) fn fail(&mut self, connection: ConnectionId, notification: Notification) {
        self.end_with(connection, notification, NextStep::BackOff);
    }

    /// As [`Session::fail`], but the neighbor must remove our routes: sends a Hard Reset where a NOTIFICATION
    /// would keep them (RFC 8538 §3).
    pub(crate) fn fail_hard(
        &mut self,
        connection: ConnectionId,
        cause: Notification,
        next: NextStep,
    ) {
        let keeps_routes = self.negotiated_on(connection);
        let notification = if keeps_routes.is_some_and(|n| n.notification_restart) {
            cease::hard_reset(&cause)
        } else {
            cause
        };
        self.end_with(connection, notification, next);
    }

    fn end_with(&mut self, connection: ConnectionId, notification: Notification, next: NextStep) {
        if self.connection_state(connection) > Some(State::Connect) {
            self.send_notification(connection, &notification);
        }
        self.close(connection, DownReason::Sent(notification), next);
    }

    /// Closes a connection that is still open.
    pub(crate) fn close(&mut self, connection: ConnectionId, reason: DownReason, next: NextStep) {
        if self.connection_state(connection).is_some() {
            self.emit(Output::Close { connection });
            self.ended(connection, reason, next);
        }
    }

    /// Removes a connection, reports the consequences and takes the next step.
    fn ended(&mut self, connection: ConnectionId, reason: DownReason, next: NextStep) {
        let Some(ended) = self.connections[connection.index()].take() else {
            return;
        };
        self.timers.stop(Timer::Hold(connection));
        self.timers.stop(Timer::Keepalive(connection));
        self.timers.stop(Timer::SendHold(connection));
        self.stats.last_end = Some((self.now_ms, reason.clone()));
        self.report(SessionEvent::Ended(connection, reason.clone()));
        if let Phase::Established(negotiated) = ended.phase {
            self.went_down(connection, reason, &negotiated);
        }
        match self.connection_state(connection.other()) {
            Some(State::Connect) => self.keep_connecting(),
            Some(_) => {}
            None => self.take_step(next),
        }
    }

    fn keep_connecting(&mut self) {
        if !self.timers.is_running(Timer::ConnectRetry) {
            self.start_connect_retry();
        }
    }

    fn take_step(&mut self, next: NextStep) {
        match next {
            NextStep::KeepConnecting => self.keep_connecting(),
            NextStep::Reconnect if self.stats.faults_in_a_row == 0 => {
                self.stats.faults_in_a_row = 1;
                self.connect_soon();
            }
            NextStep::BackOff | NextStep::Reconnect => {
                let hold_ms = self.back_off_ms();
                self.hold_idle(hold_ms);
            }
            NextStep::IdleHold(ms) => self.hold_idle(ms),
            NextStep::Stop => {
                self.timers.stop(Timer::ConnectRetry);
                self.target = TargetState::Stopped;
            }
        }
    }

    fn back_off_ms(&mut self) -> u64 {
        let hold_ms = self.idle_hold_ms(self.stats.faults_in_a_row);
        self.stats.faults_in_a_row = self.stats.faults_in_a_row.saturating_add(1);
        self.jitter.spread(hold_ms)
    }

    /// The length of an idle hold after this number of earlier faults.
    fn idle_hold_ms(&self, faults: u32) -> u64 {
        let hold = self.config.idle_hold;
        let hold_ms = hold.initial_ms.saturating_mul(1 << faults.min(30));
        hold_ms.min(hold.max_ms)
    }

    fn hold_idle(&mut self, ms: u64) {
        self.target = TargetState::IdleHold;
        self.timers.stop(Timer::ConnectRetry);
        self.start_timer(Timer::IdleHold, ms);
        self.report(SessionEvent::IdleHold(ms));
    }
}

/// A connection that the neighbor opens so soon after the session was established is no restart.
const COLLISION_MS: u64 = 3_000;

/// Only these two subcodes can carry text (RFC 9003).
fn cease_message(subcode: u8, text: &str) -> Notification {
    if matches!(subcode, cease::ADMIN_SHUTDOWN | cease::ADMIN_RESET) {
        cease::with_text(subcode, text)
    } else {
        cease::plain(subcode)
    }
}
