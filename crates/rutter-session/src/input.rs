//! The inputs of a session.

use rutter_net::Family;
use rutter_wire::frame::Frame;
use rutter_wire::notification::{Notification, cease};
use rutter_wire::refresh::Subtype;

/// Identifies one of the two connections that a session may have at a time (RFC 4271 §6.8).
///
/// The session chooses it in [`crate::Output::Connect`] and [`crate::Session::accepts`]. It is free again after
/// [`crate::Output::Close`], [`Input::ConnectFailed`] and [`Input::Disconnected`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConnectionId {
    /// Index 0.
    First = 0,
    /// Index 1.
    Second = 1,
}

impl ConnectionId {
    /// Both connections, in index order.
    pub const ALL: [ConnectionId; 2] = [ConnectionId::First, ConnectionId::Second];

    /// The index into arrays of two.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The other connection.
    pub fn other(self) -> ConnectionId {
        match self {
            ConnectionId::First => ConnectionId::Second,
            ConnectionId::Second => ConnectionId::First,
        }
    }
}

/// An input of a session: from the network, an operator or the clock.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// Start the session (events 1 and 4). Ends an idle hold and any stop.
    Start,
    /// End the session and stay down until [`Input::Start`] (event 2).
    Stop {
        /// Decides the Cease subcode.
        reason: StopReason,
        /// Text for the neighbor (RFC 9003), where the Cease subcode can carry it; may be empty.
        text: &'a str,
    },
    /// End the session and start it again after the shortest pause (events 2 and 3). A stopped session stays
    /// stopped: see [`crate::Session::is_stopped`].
    Reset {
        /// Decides the Cease subcode.
        reason: ResetReason,
        /// Text for the neighbor, as above.
        text: &'a str,
    },
    /// TCP has connected: the attempt that [`crate::Output::Connect`] requested (event 16), or an accepted
    /// connection (17).
    Connected {
        /// The connection of the attempt, or the one that [`crate::Session::accepts`] returned.
        connection: ConnectionId,
        /// We initiated the connection.
        outgoing: bool,
    },
    /// The attempt that [`crate::Output::Connect`] requested failed (event 18).
    ConnectFailed {
        /// The connection of the attempt. It is free again.
        connection: ConnectionId,
    },
    /// The connection was closed by the neighbor or lost (event 18).
    Disconnected {
        /// The connection that ended. It is free again.
        connection: ConnectionId,
    },
    /// A whole message (events 19, 22, 24 to 27). For UPDATEs of the established connection call
    /// [`crate::Session::updates_received`] instead.
    Message {
        /// The connection that received the message.
        connection: ConnectionId,
        /// The message.
        frame: Frame<'a>,
    },
    /// The bytes are not a message: the error of [`rutter_wire::frame::next_frame`] (event 21).
    FramingError {
        /// The connection that received the bytes.
        connection: ConnectionId,
        /// The NOTIFICATION to send.
        notification: Notification,
    },
    /// An UPDATE requires a session reset (event 28).
    UpdateError {
        /// The NOTIFICATION to send.
        notification: Notification,
    },
    /// The neighbor sent the End-of-RIB marker of a family (RFC 4724 §2). All UPDATEs before it are in the table.
    EndOfRib {
        /// The family whose first routes are complete.
        family: Family,
    },
    /// The neighbor exceeded its prefix limit, and the limit is more than a warning (event 8).
    MaxPrefixExceeded {
        /// The family with too many prefixes.
        family: Family,
        /// The number of prefixes that it may have.
        limit: u32,
        /// The time until the session starts again, seconds (0: the usual idle hold); `None`: wait for
        /// [`Input::Start`].
        restart_after_s: Option<u32>,
    },
    /// The neighbor's routes take more memory than it may have, or it takes most of what is left (RFC 4486 §3).
    OutOfMemory {
        /// As in [`Input::MaxPrefixExceeded`].
        restart_after_s: Option<u32>,
    },
    /// Memory is short: remove the stale routes that wait for the next session. An established session keeps its own.
    RemoveStale,
    /// Request all routes of a family from the neighbor, where Route Refresh is negotiated.
    RequestRefresh {
        /// The family to request.
        family: Family,
    },
    /// Send a marker around our answer to a request (RFC 7313), where Enhanced Route Refresh is negotiated.
    SendRefreshMarker {
        /// The family that is sent again.
        family: Family,
        /// [`Subtype::Begin`] or [`Subtype::End`].
        subtype: Subtype,
    },
    /// Send End-of-RIB for all agreed families: the neighbor receives no routes. It may have kept those of the session
    /// before, or wait for the marker after a restart of its own (RFC 4724 §4).
    SendEndOfRib,
    /// Bytes for the neighbor wait, and its socket takes none.
    WriteBlocked {
        /// The connection whose socket is full.
        connection: ConnectionId,
    },
    /// The socket took some bytes; others still wait.
    WriteProgress {
        /// The connection that wrote them.
        connection: ConnectionId,
    },
    /// No bytes wait any more.
    WriteDrained {
        /// The connection that wrote all.
        connection: ConnectionId,
    },
    /// We restarted less than our restart time ago (sets the R bit in new OPENs; RFC 4724 §4.1), or that time is over.
    Restarting(bool),
    /// Time has passed (events 9 to 11 and 13).
    Tick,
}

/// The reason why an operator stops a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StopReason {
    /// Administrative Shutdown.
    Shutdown,
    /// The neighbor was removed from the configuration.
    Deconfigured,
    /// We are about to restart, and neighbors are to keep our routes. Where Graceful Restart is negotiated the
    /// connection closes without a NOTIFICATION or, if the neighbor keeps routes after one (RFC 8538), with
    /// Administrative Reset. Other neighbors also receive Administrative Reset.
    Restart,
    /// Out of Resources.
    OutOfResources,
}

impl StopReason {
    /// The Cease subcode.
    pub fn subcode(self) -> u8 {
        match self {
            StopReason::Shutdown => cease::ADMIN_SHUTDOWN,
            StopReason::Restart => cease::ADMIN_RESET,
            StopReason::Deconfigured => cease::DECONFIGURED,
            StopReason::OutOfResources => cease::OUT_OF_RESOURCES,
        }
    }
}

/// The reason why a session is reset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResetReason {
    /// An operator requested it.
    Administrative,
    /// Settings changed that a running session cannot adopt.
    ConfigChange,
}

impl ResetReason {
    /// The Cease subcode.
    pub fn subcode(self) -> u8 {
        match self {
            ResetReason::Administrative => cease::ADMIN_RESET,
            ResetReason::ConfigChange => cease::CONFIG_CHANGE,
        }
    }
}
