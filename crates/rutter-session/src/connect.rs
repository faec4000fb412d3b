//! Idle, Connect and Active: seeking connections, losing them, pausing.

use rutter_wire::frame::MessageType;
use rutter_wire::notification::{Notification, cease, code};

use crate::link::{Link, Phase};
use crate::session::{Aim, Session};
use crate::{Connection, DownReason, Note, Output, ResetReason, State, StopReason, Timer};

/// What a session does when its last connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Pauses, longer after each fault.
    BackOff,
    /// Listens at once, because the neighbor did nothing wrong and may be back in a moment, and connects after the
    /// shortest pause. Backs off if that happens again before the session was stable.
    Return,
    /// Pauses for so many milliseconds.
    Pause(u64),
    /// Goes on seeking.
    Seek,
    /// Stays down.
    Stop,
}

impl Session {
    /// Events 1, 3, 4, 5 and 13.
    pub(crate) fn start(&mut self) {
        match self.aim {
            Aim::Up => return,
            Aim::Stopped => {
                self.stats.faults_in_a_row = 0;
                self.without_capabilities = false;
            }
            Aim::Pause => {}
        }
        self.start_after(false);
    }

    /// After a connection that stood we listen at once and connect a moment later: a new connection could overtake
    /// the NOTIFICATION on the old one.
    fn start_after(&mut self, stood: bool) {
        self.timers.stop(Timer::IdleHold);
        self.timers.stop(Timer::ConnectRetry);
        self.aim = Aim::Up;
        self.passive = self.config.passive;
        if stood {
            self.connect_soon();
        } else {
            self.connect();
        }
    }

    /// Event 2, for good.
    pub(crate) fn stop(&mut self, reason: StopReason, text: &str) {
        for connection in Connection::ALL {
            if reason == StopReason::Restart && self.restart_is_agreed(connection) {
                self.close(connection, DownReason::Restarting, Next::Stop);
                continue;
            }
            let cease = cease_message(reason.subcode(), text);
            self.fail_hard(connection, cease, Next::Stop);
        }
        self.aim = Aim::Stopped;
        self.timers.stop(Timer::IdleHold);
        self.timers.stop(Timer::ConnectRetry);
        self.sweep_all();
    }

    /// Events 2 and 3. What is stopped stays so.
    pub(crate) fn reset(&mut self, reason: ResetReason, text: &str) {
        if self.aim == Aim::Stopped {
            return;
        }
        let stood = self.state() >= State::OpenSent;
        self.without_capabilities = false;
        for connection in Connection::ALL {
            let cease = cease_message(reason.subcode(), text);
            self.end_with(connection, cease, Next::Stop);
        }
        self.stats.faults_in_a_row = 0;
        self.start_after(stood);
    }

    /// Starts an attempt to connect, unless we only listen.
    fn connect(&mut self) {
        if self.passive {
            return;
        }
        self.start_connect_retry();
        let free = |c: &Connection| self.link_state(*c).is_none();
        if let Some(connection) = Connection::ALL.into_iter().find(free) {
            self.links[connection.index()] = Some(Link {
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
        for connection in Connection::ALL {
            if self.link_state(connection) == Some(State::Connect) {
                self.links[connection.index()] = None;
                self.emit(Output::Close { connection });
            }
        }
        self.connect();
    }

    /// Events 16 and 17.
    pub(crate) fn connected(&mut self, connection: Connection, outgoing: bool) {
        match (self.link_state(connection), outgoing) {
            (Some(State::Connect), true) => self.open_sent(connection, true),
            (None, false) => self.accepted(connection),
            // We took the attempt back while it succeeded.
            (None, true) => self.emit(Output::Close { connection }),
            // The caller broke the contract; what stands goes on.
            (Some(_), _) => {}
        }
    }

    fn accepted(&mut self, connection: Connection) {
        if self.accepts().is_none() {
            let why = match self.established() {
                Some(_) => cease::COLLISION,
                None => cease::REJECTED,
            };
            self.send_notification(connection, &cease::plain(why));
            self.emit(Output::Close { connection });
            return;
        }
        self.open_sent(connection, false);
        if let Some(old) = self.established() {
            self.close(old, DownReason::Replaced, Next::Seek);
        }
    }

    /// Enters OpenSent.
    fn open_sent(&mut self, connection: Connection, outgoing: bool) {
        self.timers.stop(Timer::ConnectRetry);
        let open = self.our_open();
        let mut message = Vec::new();
        open.encode(&mut message);
        self.send(connection, MessageType::Open, message);
        let hold_ms = u64::from(self.config.open_hold_time_s.max(3)) * 1_000;
        self.start_timer(Timer::Hold(connection), hold_ms);
        let phase = Phase::OpenSent(Box::new(open));
        self.links[connection.index()] = Some(Link { outgoing, phase });
    }

    /// Event 18.
    pub(crate) fn lost(&mut self, connection: Connection, reason: DownReason) {
        let next = match self.link_state(connection) {
            Some(State::Established) => Next::Return,
            Some(State::OpenConfirm) => Next::BackOff,
            _ => Next::Seek,
        };
        self.ended(connection, reason, next);
    }

    /// Events 24 and 25.
    pub(crate) fn notified(&mut self, connection: Connection, body: &[u8]) {
        let notification = Notification::parse(body);
        self.note(Note::Received(notification.clone()));
        let early = self.link_state(connection) < Some(State::Established);
        let next = match (notification.code, notification.subcode) {
            // The neighbor keeps another connection, which may be about to reach us.
            (code::CEASE, cease::COLLISION) if early => Next::Seek,
            (code::CEASE, subcode) if !early && subcode != cease::MAX_PREFIXES => Next::Return,
            _ => Next::BackOff,
        };
        if early && (notification.code, notification.subcode) == (code::OPEN, 4) {
            self.refused_parameters();
        }
        self.close(connection, DownReason::Received(notification), next);
    }

    /// Ends a connection with a NOTIFICATION after a fault.
    pub(crate) fn fail(&mut self, connection: Connection, notification: Notification) {
        self.end_with(connection, notification, Next::BackOff);
    }

    /// As [`Session::fail`], but routes do not stay: a Hard Reset where NOTIFICATIONs keep them (RFC 8538 §3).
    pub(crate) fn fail_hard(&mut self, connection: Connection, cause: Notification, next: Next) {
        let link = self.links[connection.index()].as_ref();
        let wrap = link
            .and_then(Link::negotiated)
            .is_some_and(|n| n.notification_restart);
        let notification = if wrap {
            cease::hard_reset(&cause)
        } else {
            cause
        };
        self.end_with(connection, notification, next);
    }

    fn end_with(&mut self, connection: Connection, notification: Notification, next: Next) {
        if self.link_state(connection) > Some(State::Connect) {
            self.send_notification(connection, &notification);
        }
        self.close(connection, DownReason::Sent(notification), next);
    }

    /// Closes a connection that still stands.
    pub(crate) fn close(&mut self, connection: Connection, reason: DownReason, next: Next) {
        if self.link_state(connection).is_some() {
            self.emit(Output::Close { connection });
            self.ended(connection, reason, next);
        }
    }

    /// Forgets a connection, tells what that means and decides how to go on.
    fn ended(&mut self, connection: Connection, reason: DownReason, next: Next) {
        let Some(link) = self.links[connection.index()].take() else {
            return;
        };
        self.timers.stop(Timer::Hold(connection));
        self.timers.stop(Timer::Keepalive(connection));
        self.timers.stop(Timer::SendHold(connection));
        self.stats.last_end = Some((self.now_ms, reason.clone()));
        self.note(Note::Ended(connection, reason.clone()));
        if let Phase::Established(negotiated) = link.phase {
            self.went_down(connection, reason, &negotiated);
        }
        match self.link_state(connection.other()) {
            Some(State::Connect) => self.keep_seeking(),
            Some(_) => {}
            None => self.go_on(next),
        }
    }

    fn keep_seeking(&mut self) {
        if !self.timers.is_running(Timer::ConnectRetry) {
            self.start_connect_retry();
        }
    }

    fn go_on(&mut self, next: Next) {
        match next {
            Next::Seek => self.keep_seeking(),
            Next::Return if self.stats.faults_in_a_row == 0 => {
                self.stats.faults_in_a_row = 1;
                self.connect_soon();
            }
            Next::BackOff | Next::Return => {
                let pause_ms = self.back_off_ms();
                self.pause(pause_ms);
            }
            Next::Pause(ms) => self.pause(ms),
            Next::Stop => {
                self.timers.stop(Timer::ConnectRetry);
                self.aim = Aim::Stopped;
            }
        }
    }

    fn back_off_ms(&mut self) -> u64 {
        let hold = self.config.idle_hold;
        let doublings = self.stats.faults_in_a_row.min(30);
        self.stats.faults_in_a_row = self.stats.faults_in_a_row.saturating_add(1);
        let pause_ms = hold.initial_ms.saturating_mul(1 << doublings);
        self.jitter.spread(pause_ms.min(hold.max_ms))
    }

    fn pause(&mut self, ms: u64) {
        self.aim = Aim::Pause;
        self.timers.stop(Timer::ConnectRetry);
        self.start_timer(Timer::IdleHold, ms);
        self.note(Note::IdleHold(ms));
    }
}

/// Only these two subcodes have room for words (RFC 9003).
fn cease_message(subcode: u8, text: &str) -> Notification {
    if matches!(subcode, cease::ADMIN_SHUTDOWN | cease::ADMIN_RESET) {
        cease::with_text(subcode, text)
    } else {
        cease::plain(subcode)
    }
}
