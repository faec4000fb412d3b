//! Events of a session that deserve a log line, as data.

use std::fmt;

use rutter_net::{AfiSafi, Family};
use rutter_wire::notification::Notification;

use crate::{ConnectionId, DownReason, State, Timer};

/// An event of a session that deserves a log line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionEvent {
    /// The state changed.
    State {
        /// The state before.
        from: State,
        /// The state now.
        to: State,
    },
    /// We sent a NOTIFICATION.
    Sent(Notification),
    /// We received a NOTIFICATION.
    Received(Notification),
    /// A connection, or an attempt to connect, ended.
    Ended(ConnectionId, DownReason),
    /// Two connections collided; this one is closed (RFC 4271 §6.8).
    Collision(ConnectionId),
    /// A timer expired and ended something.
    Expired(Timer),
    /// The session stays in Idle for this time, milliseconds.
    IdleHold(u64),
    /// The next OPEN has no capabilities, because the neighbor rejected optional parameters (RFC 5492 §4).
    WithoutCapabilities,
    /// We ignored a ROUTE-REFRESH, for example of a family that was not negotiated.
    RefreshIgnored(AfiSafi),
    /// We need a refresh, but the neighbor did not offer Route Refresh.
    RefreshUnsupported(Family),
}

/// The log level of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Details for troubleshooting.
    Debug,
    /// Normal operation.
    Info,
    /// An operator may have to act.
    Warn,
}

impl SessionEvent {
    /// The log level of this event.
    pub fn severity(&self) -> Severity {
        match self {
            SessionEvent::State { .. } | SessionEvent::Ended(_, DownReason::ConnectFailed) => {
                Severity::Debug
            }
            SessionEvent::Collision(_) | SessionEvent::IdleHold(_) => Severity::Debug,
            SessionEvent::Ended(..) | SessionEvent::RefreshIgnored(_) => Severity::Info,
            SessionEvent::Sent(_) | SessionEvent::Received(_) | SessionEvent::Expired(_) => {
                Severity::Warn
            }
            SessionEvent::WithoutCapabilities | SessionEvent::RefreshUnsupported(_) => {
                Severity::Warn
            }
        }
    }
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionEvent::State { from, to } => write!(f, "{from} -> {to}"),
            SessionEvent::Sent(notification) => write!(f, "sent NOTIFICATION {notification}"),
            SessionEvent::Received(notification) => {
                write!(f, "received NOTIFICATION {notification}")
            }
            SessionEvent::Ended(_, reason) => write!(f, "connection ended: {reason}"),
            SessionEvent::Collision(_) => f.write_str("two connections collided, one is closed"),
            SessionEvent::Expired(timer) => write!(f, "{timer} timer expired"),
            SessionEvent::IdleHold(ms) => write!(f, "idle for {}.{:03} s", ms / 1_000, ms % 1_000),
            SessionEvent::WithoutCapabilities => {
                f.write_str("neighbor rejects optional parameters, trying without capabilities")
            }
            SessionEvent::RefreshIgnored(family) => {
                write!(
                    f,
                    "ignored ROUTE-REFRESH for {family}, which is not negotiated"
                )
            }
            SessionEvent::RefreshUnsupported(family) => {
                write!(
                    f,
                    "neighbor does not support Route Refresh, asked for {family}"
                )
            }
        }
    }
}
