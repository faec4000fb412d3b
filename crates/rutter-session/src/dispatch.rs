//! Routes each input to the method that handles it.

use rutter_wire::frame::{Frame, KEEPALIVE, MessageType};
use rutter_wire::notification::{Notification, fsm};

use crate::session::Session;
use crate::{ConnectionId, DownReason, Input, SessionEvent, State, Timer};

impl Session {
    pub(crate) fn dispatch(&mut self, input: Input<'_>) {
        match input {
            Input::Start => self.start(),
            Input::Stop { reason, text } => self.stop(reason, text),
            Input::Reset { reason, text } => self.reset(reason, text),
            Input::Connected {
                connection,
                outgoing,
            } => self.connected(connection, outgoing),
            Input::ConnectFailed { connection } => {
                self.lost(connection, DownReason::ConnectFailed);
            }
            Input::Disconnected { connection } => {
                self.lost(connection, DownReason::ConnectionLost);
            }
            Input::Message { connection, frame } => self.message(connection, &frame),
            Input::FramingError {
                connection,
                notification,
            } => self.framing_error(connection, notification),
            Input::UpdateError { notification } => self.update_error(notification),
            Input::EndOfRib { family } => self.end_of_rib(family),
            Input::MaxPrefixExceeded {
                family,
                limit,
                restart_after_s,
            } => self.max_prefix_exceeded(family, limit, restart_after_s),
            Input::OutOfMemory { restart_after_s } => self.out_of_memory(restart_after_s),
            Input::RemoveStale => self.remove_stale(),
            Input::RequestRefresh { family } => self.request_refresh(family),
            Input::SendRefreshMarker { family, subtype } => {
                self.send_refresh_marker(family, subtype);
            }
            Input::SendEndOfRib => self.send_end_of_rib(),
            Input::WriteBlocked { connection } => self.write_blocked(connection),
            Input::WriteProgress { connection } => self.write_progress(connection),
            Input::WriteDrained { connection } => {
                self.timers.stop(Timer::SendHold(connection));
            }
            Input::Restarting(restarting) => self.restarting = restarting,
            Input::Tick => self.tick(),
        }
    }

    /// Fires the timers that are due. Each fires at most once in a tick, so that the loop ends.
    fn tick(&mut self) {
        for _ in Timer::ALL {
            let Some(timer) = self.timers.take_expired(self.now_ms) else {
                return;
            };
            self.expired(timer);
        }
    }

    fn expired(&mut self, timer: Timer) {
        match timer {
            Timer::ConnectRetry => self.connect_retry(),
            Timer::IdleHold => self.start(),
            Timer::Hold(connection) => {
                self.report(SessionEvent::Expired(timer));
                self.fail(connection, Notification::hold_timer_expired());
            }
            Timer::Keepalive(connection) => self.send_keepalive(connection),
            Timer::SendHold(connection) => {
                self.report(SessionEvent::Expired(timer));
                self.fail(connection, Notification::send_hold_timer_expired());
            }
            Timer::Restart => {
                self.report(SessionEvent::Expired(timer));
                self.restart_expired();
            }
            Timer::StalePath => {
                self.report(SessionEvent::Expired(timer));
                self.stale_path_expired();
            }
            Timer::LongLived(family) => {
                self.report(SessionEvent::Expired(timer));
                self.sweep(family);
            }
            Timer::RefreshStale(family) => {
                self.report(SessionEvent::Expired(timer));
                self.refresh_ended(family);
            }
        }
    }

    /// Events 19 and 22 to 27. A message on an unknown or unfinished connection is left over from a connection
    /// that we closed: it is ignored.
    fn message(&mut self, connection: ConnectionId, frame: &Frame<'_>) {
        let Some(state) = self.connection_state(connection) else {
            return;
        };
        if state == State::Connect {
            return;
        }
        self.stats.count_received(frame.kind, 1);
        match (state, frame.kind) {
            (_, MessageType::Notification) => self.notified(connection, frame.body),
            (State::OpenSent, MessageType::Open) => self.open_received(connection, frame.body),
            (State::OpenSent, kind) => self.fail(connection, fsm::open_sent(kind)),
            (State::OpenConfirm, MessageType::Keepalive) => self.establish(connection),
            (State::OpenConfirm, MessageType::Open) => self.second_open(connection, frame.body),
            (State::OpenConfirm, kind) => self.fail(connection, fsm::open_confirm(kind)),
            (_, MessageType::Keepalive | MessageType::Update) => {
                self.restart_hold_timer(connection);
            }
            (_, MessageType::RouteRefresh) => self.refresh_received(connection, frame),
            (_, MessageType::Open) => self.fail(connection, fsm::established(frame.kind)),
        }
    }

    /// Event 21.
    fn framing_error(&mut self, connection: ConnectionId, notification: Notification) {
        if self.connection_state(connection) > Some(State::Connect) {
            self.fail(connection, notification);
        }
    }

    /// Event 11.
    pub(crate) fn send_keepalive(&mut self, connection: ConnectionId) {
        self.send(connection, MessageType::Keepalive, KEEPALIVE.to_vec());
        let seconds = self.negotiated_on(connection).map_or(0, |n| n.keepalive_s);
        if seconds > 0 {
            // At most one KEEPALIVE a second (RFC 4271 §4.4).
            let after_ms = self.jitter.spread(u64::from(seconds) * 1_000).max(1_000);
            self.start_timer(Timer::Keepalive(connection), after_ms);
        }
    }

    pub(crate) fn restart_hold_timer(&mut self, connection: ConnectionId) {
        match self.negotiated_on(connection).map(|n| n.hold_time_s) {
            Some(0) => self.timers.stop(Timer::Hold(connection)),
            Some(seconds) => {
                self.start_timer(Timer::Hold(connection), u64::from(seconds) * 1_000);
            }
            None => {}
        }
    }

    /// Bytes wait for the socket: the Send Hold Timer runs unless KEEPALIVEs are off (RFC 9687 §3).
    fn write_blocked(&mut self, connection: ConnectionId) {
        if !self.timers.is_running(Timer::SendHold(connection)) {
            self.write_progress(connection);
        }
    }

    fn write_progress(&mut self, connection: ConnectionId) {
        let negotiated = self.negotiated_on(connection);
        let keepalives = negotiated.is_none_or(|n| n.hold_time_s > 0);
        let seconds = u64::from(self.config.send_hold_time_s);
        let is_open = self.connection_state(connection) > Some(State::Connect);
        if keepalives && seconds > 0 && is_open {
            self.start_timer(Timer::SendHold(connection), seconds * 1_000);
        }
    }
}
