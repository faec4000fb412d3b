//! The outcome of processing one record, shared by all readers of MRT files.

use std::fmt;

use rutter_wire::mrt::{MrtError, MrtFault};

/// The outcome of processing one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordOutcome {
    /// The whole record was read.
    Read,
    /// The record's type holds no IPv4 or IPv6 unicast routes.
    Skipped,
    /// The record, or a part of it, could not be read.
    Unreadable(Unreadable),
}

/// The reason why a record, or a part of it, cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// The record itself is malformed.
    Record(MrtFault),
    /// A route belongs to a peer that no PEER_INDEX_TABLE lists.
    NoSuchPeer(u16),
    /// The attributes of a route are truncated.
    Attributes,
    /// The BGP message is malformed or truncated.
    Message,
    /// The lengths inside an UPDATE do not add up.
    Update,
    /// A prefix of an UPDATE is truncated, or longer than its family allows.
    Routes,
}

impl RecordOutcome {
    /// Adds the fault of a further part of the record. The first fault wins.
    pub fn and(self, fault: Option<Unreadable>) -> Self {
        match (self, fault) {
            (RecordOutcome::Read, Some(fault)) => RecordOutcome::Unreadable(fault),
            _ => self,
        }
    }
}

impl From<Result<(), Unreadable>> for RecordOutcome {
    fn from(result: Result<(), Unreadable>) -> Self {
        match result {
            Ok(()) => RecordOutcome::Read,
            Err(fault) => RecordOutcome::Unreadable(fault),
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
            Unreadable::Message => f.write_str("its BGP message is malformed or cut off"),
            Unreadable::Update => f.write_str("the lengths inside its UPDATE do not add up"),
            Unreadable::Routes => {
                f.write_str("a prefix of its UPDATE is cut off or longer than its family allows")
            }
        }
    }
}
