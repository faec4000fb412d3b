//! The outputs of a session.

use std::fmt;

use rutter_net::{Family, PerFamily};
use rutter_wire::notification::Notification;

use crate::{ConnectionId, Negotiated, SessionEvent};

/// An action that the session requests. The caller carries them out in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Connect to the neighbor. The caller answers with `Connected` or `ConnectFailed`; `Close` cancels it.
    Connect {
        /// The connection to use.
        connection: ConnectionId,
    },
    /// Send a whole message.
    Send {
        /// The connection to send on.
        connection: ConnectionId,
        /// The message with its header.
        message: Vec<u8>,
    },
    /// Close the connection after the messages sent so far, or cancel connecting. No more input comes from it.
    Close {
        /// The connection to close.
        connection: ConnectionId,
    },
    /// The session is established: routes may be exchanged. Stale routes of an earlier session stay until swept.
    Established {
        /// The connection that carries the session.
        connection: ConnectionId,
        /// The result of the negotiation.
        negotiated: Box<Negotiated>,
    },
    /// The established session went down. Its `Close` came before, or the connection was lost.
    Down {
        /// The connection that carried the session.
        connection: ConnectionId,
        /// Who ended the session, and why.
        reason: DownReason,
        /// The families whose routes stay as stale routes (RFC 4724), in index order. All other routes are removed.
        keep: PerFamily<bool>,
    },
    /// Re-advertise all routes of the family (RFC 2918).
    RefreshRequested(Family),
    /// Mark all routes of the family stale: the neighbor announces them again (BoRR, RFC 7313).
    MarkStale(Family),
    /// Remove the routes of the family that are still stale.
    SweepStale(Family),
    /// Make the stale routes of the family long-lived stale: least preferred. Remove those with NO_LLGR (RFC 9494).
    StartLongLivedStale(Family),
    /// An event for the log.
    Event(SessionEvent),
}

/// The reason why a session, a connection or an attempt to connect ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DownReason {
    /// We sent this NOTIFICATION, after a fault, an expired timer or an operator's request.
    Sent(Notification),
    /// The neighbor sent this NOTIFICATION.
    Received(Notification),
    /// The connection was closed or lost.
    ConnectionLost,
    /// The attempt to connect failed.
    ConnectFailed,
    /// The neighbor opened another connection before this one closed (RFC 4724 §4.2).
    Replaced,
    /// We closed without a NOTIFICATION because we are about to restart.
    Restarting,
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DownReason::Sent(notification) => write!(f, "sent {notification}"),
            DownReason::Received(notification) => write!(f, "received {notification}"),
            DownReason::ConnectionLost => f.write_str("connection lost"),
            DownReason::ConnectFailed => f.write_str("could not connect"),
            DownReason::Replaced => f.write_str("the neighbor opened a new connection"),
            DownReason::Restarting => f.write_str("closed for our restart"),
        }
    }
}
