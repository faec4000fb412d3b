//! One of the two connections of a session.

use rutter_wire::open::Open;

use crate::{Negotiated, State};

/// A TCP connection as the state machine sees it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// We initiated it.
    pub(crate) outgoing: bool,
    pub(crate) phase: Phase,
}

/// The progress of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// TCP has not connected yet.
    Connecting,
    /// We have sent this OPEN.
    OpenSent(Box<Open>),
    /// We have accepted the neighbor's OPEN.
    OpenConfirm(Box<Negotiated>),
    /// We have received the neighbor's KEEPALIVE.
    Established(Box<Negotiated>),
}

impl Connection {
    /// The state of a session that has only this connection.
    pub(crate) fn state(&self) -> State {
        match self.phase {
            Phase::Connecting => State::Connect,
            Phase::OpenSent(_) => State::OpenSent,
            Phase::OpenConfirm(_) => State::OpenConfirm,
            Phase::Established(_) => State::Established,
        }
    }

    /// The result of the negotiation, once both OPENs are known.
    pub(crate) fn negotiated(&self) -> Option<&Negotiated> {
        match &self.phase {
            Phase::OpenConfirm(n) | Phase::Established(n) => Some(n),
            Phase::Connecting | Phase::OpenSent(_) => None,
        }
    }

    /// The same, to change it.
    pub(crate) fn negotiated_mut(&mut self) -> Option<&mut Negotiated> {
        match &mut self.phase {
            Phase::OpenConfirm(n) | Phase::Established(n) => Some(n),
            Phase::Connecting | Phase::OpenSent(_) => None,
        }
    }
}
