//! One of a session's connections.

use rutter_wire::open::Open;

use crate::{Negotiated, State};

/// A connection and how far it is.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// We made it.
    pub(crate) outgoing: bool,
    pub(crate) phase: Phase,
}

/// How far a connection is.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// No TCP connection yet.
    Connecting,
    /// This OPEN is sent.
    OpenSent(Box<Open>),
    /// Their OPEN is taken.
    OpenConfirm(Box<Negotiated>),
    /// Their KEEPALIVE came.
    Established(Box<Negotiated>),
}

impl Link {
    /// The state of a machine that has only this connection.
    pub(crate) fn state(&self) -> State {
        match self.phase {
            Phase::Connecting => State::Connect,
            Phase::OpenSent(_) => State::OpenSent,
            Phase::OpenConfirm(_) => State::OpenConfirm,
            Phase::Established(_) => State::Established,
        }
    }

    /// What was agreed on, once both OPENs are known.
    pub(crate) fn negotiated(&self) -> Option<&Negotiated> {
        match &self.phase {
            Phase::OpenConfirm(n) | Phase::Established(n) => Some(n),
            Phase::Connecting | Phase::OpenSent(_) => None,
        }
    }
}
