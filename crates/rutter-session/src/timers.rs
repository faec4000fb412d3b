//! The timers of a session: an array indexed by an enum.

use std::fmt;

use rutter_net::Family;

use crate::ConnectionId;

/// A timer of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// ConnectRetryTimer (event 9).
    ConnectRetry,
    /// IdleHoldTimer (event 13).
    IdleHold,
    /// HoldTimer of a connection (event 10).
    Hold(ConnectionId),
    /// KeepaliveTimer of a connection (event 11).
    Keepalive(ConnectionId),
    /// SendHoldTimer (RFC 9687) of a connection.
    SendHold(ConnectionId),
    /// The time that the neighbor has to re-establish the session (RFC 4724 §4.2).
    Restart,
    /// The time that the neighbor has to send its End-of-RIB after that.
    StalePath,
    /// The time until long-lived stale routes of a family are removed (RFC 9494).
    LongLived(Family),
    /// The longest wait for EoRR (RFC 7313).
    RefreshStale(Family),
}

impl Timer {
    /// Every timer, in index order.
    pub const ALL: [Timer; Timer::COUNT] = [
        Timer::ConnectRetry,
        Timer::IdleHold,
        Timer::Hold(ConnectionId::First),
        Timer::Hold(ConnectionId::Second),
        Timer::Keepalive(ConnectionId::First),
        Timer::Keepalive(ConnectionId::Second),
        Timer::SendHold(ConnectionId::First),
        Timer::SendHold(ConnectionId::Second),
        Timer::Restart,
        Timer::StalePath,
        Timer::LongLived(Family::Ipv4Unicast),
        Timer::LongLived(Family::Ipv6Unicast),
        Timer::RefreshStale(Family::Ipv4Unicast),
        Timer::RefreshStale(Family::Ipv6Unicast),
    ];
    const COUNT: usize = 14;

    fn index(self) -> usize {
        match self {
            Timer::ConnectRetry => 0,
            Timer::IdleHold => 1,
            Timer::Hold(c) => 2 + c.index(),
            Timer::Keepalive(c) => 4 + c.index(),
            Timer::SendHold(c) => 6 + c.index(),
            Timer::Restart => 8,
            Timer::StalePath => 9,
            Timer::LongLived(f) => 10 + f.index(),
            Timer::RefreshStale(f) => 12 + f.index(),
        }
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Timer::ConnectRetry => "connect-retry",
            Timer::IdleHold => "idle-hold",
            Timer::Hold(_) => "hold",
            Timer::Keepalive(_) => "keepalive",
            Timer::SendHold(_) => "send-hold",
            Timer::Restart => "restart",
            Timer::StalePath => "stale-path",
            Timer::LongLived(_) => "long-lived-stale",
            Timer::RefreshStale(_) => "refresh-stale",
        })
    }
}

/// The deadlines in milliseconds; [`u64::MAX`] where a timer does not run.
#[derive(Clone, Debug)]
pub(crate) struct Timers([u64; Timer::COUNT]);

impl Timers {
    pub(crate) fn new() -> Self {
        Timers([u64::MAX; Timer::COUNT])
    }

    /// Starts the timer, or restarts it.
    pub(crate) fn start(&mut self, timer: Timer, deadline_ms: u64) {
        self.0[timer.index()] = deadline_ms.min(u64::MAX - 1);
    }

    pub(crate) fn stop(&mut self, timer: Timer) {
        self.0[timer.index()] = u64::MAX;
    }

    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.0[timer.index()] != u64::MAX
    }

    pub(crate) fn deadline(&self, timer: Timer) -> Option<u64> {
        Some(self.0[timer.index()]).filter(|at| *at != u64::MAX)
    }

    pub(crate) fn next(&self) -> Option<u64> {
        self.0.into_iter().min().filter(|at| *at != u64::MAX)
    }

    /// Stops and returns the timer that expired first. With equal deadlines the lower index comes first.
    pub(crate) fn take_expired(&mut self, now_ms: u64) -> Option<Timer> {
        let timer = Timer::ALL
            .into_iter()
            .filter(|t| self.0[t.index()] <= now_ms)
            .min_by_key(|t| self.0[t.index()])?;
        self.stop(timer);
        Some(timer)
    }
}
