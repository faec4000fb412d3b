//! Everything that can wake a session.

use rutter_net::Family;
use rutter_wire::frame::Frame;
use rutter_wire::notification::{Notification, cease};
use rutter_wire::refresh::Subtype;

/// One of the two connections that a session may have at a time (RFC 4271 §6.8). The session names the one to use in
/// [`crate::Output::Connect`] and [`crate::Session::accepts`]; it is free again after [`crate::Output::Close`],
/// [`Input::ConnectFailed`] and [`Input::Disconnected`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Connection {
    /// Index 0.
    First = 0,
    /// Index 1.
    Second = 1,
}

impl Connection {
    /// Both, in index order.
    pub const ALL: [Connection; 2] = [Connection::First, Connection::Second];

    /// Index into arrays of two.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    pub fn other(self) -> Connection {
        match self {
            Connection::First => Connection::Second,
            Connection::Second => Connection::First,
        }
    }
}

/// What the world, an operator or the clock tells a session.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// Seek a session (events 1 and 4). Ends an idle hold and any stop.
    Start,
    /// End the session and stay down until [`Input::Start`] (event 2).
    Stop {
        /// Why.
        reason: StopReason,
        /// Words for the neighbor (RFC 9003), where the reason has room for them; may be empty.
        text: &'a str,
    },
    /// End the session and seek it again after the shortest pause (events 2 and 3). A session that was
    /// stopped stays so: see [`crate::Session::is_stopped`].
    Reset {
        /// Why.
        reason: ResetReason,
        /// Words for the neighbor, as above.
        text: &'a str,
    },
    /// A TCP connection stands: one that [`crate::Output::Connect`] asked for (event 16), or an accepted one (17).
    Connected {
        /// The connection.
        connection: Connection,
        /// Who connected.
        outgoing: bool,
    },
    /// An attempt that [`crate::Output::Connect`] asked for failed (event 18).
    ConnectFailed {
        /// The connection.
        connection: Connection,
    },
    /// The connection is gone without our doing (event 18).
    Disconnected {
        /// The connection.
        connection: Connection,
    },
    /// A whole message (events 19, 22, 24 to 27). UPDATEs of the established connection do not come this way but by
    /// [`crate::Session::updates_received`].
    Message {
        /// The connection.
        connection: Connection,
        /// The message.
        frame: Frame<'a>,
    },
    /// The bytes are no message: the error of [`rutter_wire::frame::next_frame`] (event 21).
    FramingError {
        /// The connection.
        connection: Connection,
        /// What it asks to send.
        notification: Notification,
    },
    /// An UPDATE demands a session reset (event 28).
    UpdateError {
        /// What to send.
        notification: Notification,
    },
    /// The End-of-RIB marker of a family came (RFC 4724 §2), after its UPDATE went to the table.
    EndOfRib {
        /// The family.
        family: Family,
    },
    /// The neighbor sent more prefixes than it may, and the limit is not just a warning (event 8).
    MaxPrefixExceeded {
        /// The family.
        family: Family,
        /// The limit.
        limit: u32,
        /// Seconds until the session is sought again (0: the usual idle hold); `None`: not before [`Input::Start`].
        restart_after_s: Option<u32>,
    },
    /// Ask the neighbor for all its routes of a family, where it agreed to that.
    RequestRefresh {
        /// The family.
        family: Family,
    },
    /// Frame our answer to a request (RFC 7313). Ignored where the neighbor did not agree to that.
    SendRefreshMarker {
        /// The family.
        family: Family,
        /// [`Subtype::Begin`] or [`Subtype::End`].
        subtype: Subtype,
    },
    /// Bytes for the neighbor wait and its socket takes none.
    WriteBlocked {
        /// The connection.
        connection: Connection,
    },
    /// The socket took some of the bytes, others wait.
    WriteProgress {
        /// The connection.
        connection: Connection,
    },
    /// Nothing waits any more.
    WriteDrained {
        /// The connection.
        connection: Connection,
    },
    /// We came back from a restart less than our restart time ago (sets R in new OPENs; RFC 4724 §4.1), or that
    /// time is over.
    Restarting(bool),
    /// Time has passed (events 9 to 11 and 13).
    Tick,
}

/// Why an operator ends a session for good.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StopReason {
    /// Administrative Shutdown.
    Shutdown,
    /// The neighbor is not configured any more.
    Deconfigured,
    /// We are about to restart and want our routes kept: connections close without a word where Graceful Restart
    /// is agreed on, else like a shutdown.
    Restart,
    /// Out of Resources.
    OutOfResources,
}

impl StopReason {
    /// The Cease subcode.
    pub fn subcode(self) -> u8 {
        match self {
            StopReason::Shutdown | StopReason::Restart => cease::ADMIN_SHUTDOWN,
            StopReason::Deconfigured => cease::DECONFIGURED,
            StopReason::OutOfResources => cease::OUT_OF_RESOURCES,
        }
    }
}

/// Why a session starts anew.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResetReason {
    /// An operator asked for it.
    Administrative,
    /// Settings changed that a session cannot take over.
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
