//! The end of a connection to a cache, or an answer without data.

use std::fmt;
use std::time::Duration;

use super::error_code::RtrErrorCode;
use super::pdu_fault::PduFault;
use super::records_update::RecordConflict;

/// The reason for which a connection ended, or an answer had no data. Its text continues "the cache failed:".
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RtrFault {
    /// No connection was established.
    Connect(String),
    /// The connection was closed by the cache, or broke with this error.
    Closed(Option<String>),
    /// No byte arrived for this time, while the cache owed an answer.
    Idle(Duration),
    /// The answer was not complete after this time.
    TooLong(Duration),
    /// A PDU could not be decoded.
    Pdu(PduFault),
    /// A PDU of this type does not belong here.
    Unexpected(u8),
    /// The session is not that of the query or of the answer's first PDU.
    Session {
        /// The known session.
        expected: u16,
        /// The received one.
        received: u16,
    },
    /// The serial number after a Serial Query is lower than before.
    SerialBack {
        /// The known serial number.
        old: u32,
        /// The received one.
        new: u32,
    },
    /// A duplicate, or a withdrawal of an unknown record.
    Conflict(RecordConflict),
    /// More records than the limit.
    TooManyRecords(usize),
    /// A PDU has another version than the agreed one.
    Version {
        /// The agreed or offered version.
        expected: u8,
        /// The received one.
        received: u8,
    },
    /// The cache sent an Error Report.
    Reported {
        /// The code.
        code: RtrErrorCode,
        /// The diagnostic message.
        text: String,
    },
    /// The cache has no data yet.
    NoData,
}

impl RtrFault {
    /// The code of the Error Report that answers this fault, if one may be sent.
    pub fn code(&self) -> Option<RtrErrorCode> {
        Some(match self {
            RtrFault::Pdu(fault) => fault.code(),
            RtrFault::Unexpected(_) | RtrFault::Session { .. } | RtrFault::SerialBack { .. } => {
                RtrErrorCode::CORRUPT_DATA
            }
            RtrFault::Conflict(conflict) => conflict.code(),
            RtrFault::TooManyRecords(_) => RtrErrorCode::INTERNAL_ERROR,
            RtrFault::Version { .. } => RtrErrorCode::UNEXPECTED_VERSION,
            RtrFault::Connect(_)
            | RtrFault::Closed(_)
            | RtrFault::Idle(_)
            | RtrFault::TooLong(_)
            | RtrFault::Reported { .. }
            | RtrFault::NoData => return None,
        })
    }

    /// Returns whether the cache's state is in doubt, so that the next query must ask for all data.
    pub(super) fn needs_reset(&self) -> bool {
        !matches!(
            self,
            RtrFault::Connect(_) | RtrFault::Closed(_) | RtrFault::Idle(_) | RtrFault::TooLong(_)
        )
    }
}

impl From<PduFault> for RtrFault {
    fn from(fault: PduFault) -> Self {
        RtrFault::Pdu(fault)
    }
}

impl fmt::Display for RtrFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RtrFault::Connect(why) => write!(f, "cannot connect: {why}"),
            RtrFault::Closed(None) => f.write_str("it closed the connection"),
            RtrFault::Closed(Some(why)) => write!(f, "the connection broke: {why}"),
            RtrFault::Idle(time) => write!(f, "no answer for {} s", time.as_secs()),
            RtrFault::TooLong(time) => {
                write!(f, "its answer was not complete after {} s", time.as_secs())
            }
            RtrFault::Pdu(fault) => fault.fmt(f),
            RtrFault::Unexpected(kind) => write!(f, "it sent a PDU of type {kind} out of turn"),
            RtrFault::Session { expected, received } => {
                write!(f, "it sent session {received} instead of {expected}")
            }
            RtrFault::SerialBack { old, new } => {
                write!(f, "its serial number went back from {old} to {new}")
            }
            RtrFault::Conflict(conflict) => conflict.fmt(f),
            RtrFault::TooManyRecords(limit) => {
                write!(f, "it sent more than {limit} records, which is the limit")
            }
            RtrFault::Version { expected, received } => write!(
                f,
                "it sent a PDU of version {received} where version {expected} was expected"
            ),
            RtrFault::Reported { code, text } if text.is_empty() => write!(f, "it reported {code}"),
            RtrFault::Reported { code, text } => write!(f, "it reported {code}: {text}"),
            RtrFault::NoData => f.write_str("it has no data yet"),
        }
    }
}

impl std::error::Error for RtrFault {}
