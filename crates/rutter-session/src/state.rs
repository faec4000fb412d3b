//! The six states (RFC 4271 §8.2.2).

use std::fmt;

/// State of a session; with two connections, of the one that is further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum State {
    /// No connection is sought or taken.
    #[default]
    Idle,
    /// A TCP connection is being made.
    Connect,
    /// Waiting for a TCP connection.
    Active,
    /// Our OPEN is sent.
    OpenSent,
    /// Their OPEN is taken.
    OpenConfirm,
    /// Routes flow.
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
