//! What is worth a log line, as data.

use std::fmt;

use rutter_net::{AfiSafi, Family};
use rutter_wire::notification::Notification;

use crate::{Connection, DownReason, State, Timer};

/// A log line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The state changed.
    State {
        /// Before.
        from: State,
        /// Now.
        to: State,
    },
    /// A NOTIFICATION went out.
    Sent(Notification),
    /// A NOTIFICATION came.
    Received(Notification),
    /// A connection or attempt ended.
    Ended(Connection, DownReason),
    /// Two connections stood; this one is closed (RFC 4271 §6.8).
    Collision(Connection),
    /// A timer ended something.
    Expired(Timer),
    /// The session is sought again in so many milliseconds.
    IdleHold(u64),
    /// The next OPEN goes without capabilities, because the neighbor refused optional parameters (RFC 5492 §4).
    WithoutCapabilities,
    /// The neighbor asked for a refresh of a family that is not agreed on.
    RefreshIgnored(AfiSafi),
    /// We wanted a refresh but the neighbor never offered it.
    RefreshUnsupported(Family),
}

/// How much a note matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// For those who look closely.
    Debug,
    /// Part of ordinary life.
    Info,
    /// Somebody may have to act.
    Warn,
}

impl Note {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Note::State { .. } | Note::Ended(_, DownReason::ConnectFailed) => Severity::Debug,
            Note::Collision(_) | Note::IdleHold(_) => Severity::Debug,
            Note::Ended(..) | Note::RefreshIgnored(_) => Severity::Info,
            Note::Sent(_) | Note::Received(_) | Note::Expired(_) => Severity::Warn,
            Note::WithoutCapabilities | Note::RefreshUnsupported(_) => Severity::Warn,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::State { from, to } => write!(f, "{from} -> {to}"),
            Note::Sent(notification) => write!(f, "sent NOTIFICATION {notification}"),
            Note::Received(notification) => write!(f, "received NOTIFICATION {notification}"),
            Note::Ended(_, reason) => write!(f, "connection ended: {reason}"),
            Note::Collision(_) => f.write_str("two connections collided, one is closed"),
            Note::Expired(timer) => write!(f, "{timer} timer expired"),
            Note::IdleHold(ms) => write!(f, "idle for {}.{:03} s", ms / 1_000, ms % 1_000),
            Note::WithoutCapabilities => {
                f.write_str("neighbor refuses optional parameters, trying without capabilities")
            }
            Note::RefreshIgnored(family) => {
                write!(
                    f,
                    "ignored ROUTE-REFRESH for {family}, which is not agreed on"
                )
            }
            Note::RefreshUnsupported(family) => {
                write!(
                    f,
                    "neighbor does not support Route Refresh, asked for {family}"
                )
            }
        }
    }
}
