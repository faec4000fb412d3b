//! The six states (RFC 4271 §8.2.2).

use std::fmt;

/// The state of a session. With two connections it is the state of the one that has come further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum State {
    /// The session neither connects nor accepts connections.
    #[default]
    Idle,
    /// An attempt to connect is under way.
    Connect,
    /// The session waits for a TCP connection.
    Active,
    /// We have sent our OPEN.
    OpenSent,
    /// We have accepted the neighbor's OPEN.
    OpenConfirm,
    /// Routes are exchanged.
    Established,
}

impl State {
    /// Every state, in order.
    pub const ALL: [State; 6] = [
        State::Idle,
        State::Connect,
        State::Active,
        State::OpenSent,
        State::OpenConfirm,
        State::Established,
    ];
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Idle => "Idle",
            State::Connect => "Connect",
            State::Active => "Active",
            State::OpenSent => "OpenSent",
            State::OpenConfirm => "OpenConfirm",
            State::Established => "Established",
        })
    }
}
