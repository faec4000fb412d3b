//! What became of a record, whoever read it.

use std::fmt;

use rutter_wire::mrt::{MrtError, MrtFault};

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// All of it was read.
    Read,
    /// It is of a type that holds no routes of IPv4 or IPv6 unicast.
    PassedOver,
    /// It could not be read, or a part of it.
    Unreadable(Unreadable),
}

/// Why a record, or a part of it, cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// The record itself is broken.
    Record(MrtFault),
    /// A route is of a peer that no PEER_INDEX_TABLE names.
    NoSuchPeer(u16),
    /// The attributes of a route are cut off.
    Attributes,
    /// What should be a BGP message is none, or cut off.
    Message,
    /// The lengths inside an UPDATE do not add up.
    Update,
    /// A prefix of an UPDATE is cut off or longer than its family allows.
    Routes,
}

impl Taken {
    /// What is remembered of a record with several parts: the first fault.
    pub fn and(self, fault: Option<Unreadable>) -> Self {
        match (self, fault) {
            (Taken::Read, Some(fault)) => Taken::Unreadable(fault),
            _ => self,
        }
    }
}

impl From<Result<(), Unreadable>> for Taken {
    fn from(result: Result<(), Unreadable>) -> Self {
        match result {
            Ok(()) => Taken::Read,
            Err(fault) => Taken::Unreadable(fault),
        }
    }
}

impl From<MrtError> for Unreadable {
    fn from(error: MrtError) -> Self {
        Unreadable::Record(error.fault)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Record(fault) => fault.fmt(f),
            Unreadable::NoSuchPeer(index) => {
                write!(f, "no PEER_INDEX_TABLE before it names peer {index}")
            }
            Unreadable::Attributes => f.write_str("the attributes of a route are cut off"),
            Unreadable::Message => f.write_str("its BGP message is none, or cut off"),
            Unreadable::Update => f.write_str("the lengths inside its UPDATE do not add up"),
            Unreadable::Routes => {
                f.write_str("a prefix of its UPDATE is cut off or longer than its family allows")
            }
        }
    }
}
