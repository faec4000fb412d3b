//! Everything that a session can ask for.

use std::fmt;

use rutter_net::Family;
use rutter_wire::notification::Notification;

use crate::{Connection, Negotiated, Note};

/// What the session wants done, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Connect to the neighbor. Answered by `Connected`, `ConnectFailed`, or taken back by `Close`.
    Connect {
        /// The connection to use.
        connection: Connection,
    },
    /// Send a whole message.
    Send {
        /// The connection.
        connection: Connection,
        /// The message.
        message: Vec<u8>,
    },
    /// Close the connection (or give up connecting) after what was sent; nothing is heard of it any more.
    Close {
        /// The connection.
        connection: Connection,
    },
    /// The session is up: routes may flow. Routes kept from before stay stale until swept.
    Established {
        /// The connection.
        connection: Connection,
        /// What was agreed on.
        negotiated: Box<Negotiated>,
    },
    /// The session was up and is not any more. Its `Close` came before, or the connection went by itself.
    Down {
        /// The connection.
        connection: Connection,
        /// Why.
        reason: DownReason,
        /// Families whose routes stay as stale ones (RFC 4724), in index order. Routes of the others go at once.
        keep: [bool; 2],
    },
    /// Send all routes of the family again (RFC 2918).
    RefreshRequested(Family),
    /// Mark all routes of the family stale: the neighbor announces them anew (BoRR, RFC 7313).
    MarkStale(Family),
    /// Withdraw what is still stale of the family.
    SweepStale(Family),
    /// Stale routes of the family become long-lived stale: least preferred, those with NO_LLGR go (RFC 9494).
    StartLongLivedStale(Family),
    /// Something worth a log line.
    Note(Note),
}

/// Why a session or an attempt ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DownReason {
    /// We found a fault, a timer ran out or an operator acted: this is what we sent.
    Sent(Notification),
    /// The neighbor said so.
    Received(Notification),
    /// The connection is gone.
    ConnectionLost,
    /// The attempt to connect failed.
    ConnectFailed,
    /// The neighbor came back on another connection before it left this one (RFC 4724 §4.2).
    Replaced,
    /// We closed without a word because we are about to restart.
    Restarting,
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DownReason::Sent(notification) => write!(f, "sent {notification}"),
            DownReason::Received(notification) => write!(f, "received {notification}"),
            DownReason::ConnectionLost => f.write_str("connection lost"),
            DownReason::ConnectFailed => f.write_str("could not connect"),
            DownReason::Replaced => f.write_str("the neighbor connected anew"),
            DownReason::Restarting => f.write_str("closed for our restart"),
        }
    }
}
