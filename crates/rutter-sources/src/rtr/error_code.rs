//! Error codes of Error Report PDUs.

use std::fmt;

/// The code of an Error Report (RFC 8210 §12, draft-ietf-sidrops-8210bis §12).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RtrErrorCode(pub u16);

impl RtrErrorCode {
    /// A PDU that contradicts the protocol.
    pub const CORRUPT_DATA: Self = RtrErrorCode(0);
    /// The sender has an internal problem, such as a limit that is reached.
    pub const INTERNAL_ERROR: Self = RtrErrorCode(1);
    /// The cache has no data yet. The only code that does not end the connection.
    pub const NO_DATA_AVAILABLE: Self = RtrErrorCode(2);
    /// A request that the other side does not answer.
    pub const INVALID_REQUEST: Self = RtrErrorCode(3);
    /// A version that the sender does not support.
    pub const UNSUPPORTED_VERSION: Self = RtrErrorCode(4);
    /// A PDU type that the sender does not support.
    pub const UNSUPPORTED_PDU_TYPE: Self = RtrErrorCode(5);
    /// A withdrawn record that was not announced.
    pub const WITHDRAWAL_OF_UNKNOWN_RECORD: Self = RtrErrorCode(6);
    /// An announced record that was announced before.
    pub const DUPLICATE_ANNOUNCEMENT: Self = RtrErrorCode(7);
    /// Another version than the agreed one.
    pub const UNEXPECTED_VERSION: Self = RtrErrorCode(8);
    /// An ASPA without providers, or with contradicting ones.
    pub const ASPA_PROVIDER_LIST: Self = RtrErrorCode(9);

    /// The name, or `None` for an unknown code.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CORRUPT_DATA => "corrupt data",
            Self::INTERNAL_ERROR => "internal error",
            Self::NO_DATA_AVAILABLE => "no data available",
            Self::INVALID_REQUEST => "invalid request",
            Self::UNSUPPORTED_VERSION => "unsupported protocol version",
            Self::UNSUPPORTED_PDU_TYPE => "unsupported PDU type",
            Self::WITHDRAWAL_OF_UNKNOWN_RECORD => "withdrawal of unknown record",
            Self::DUPLICATE_ANNOUNCEMENT => "duplicate announcement",
            Self::UNEXPECTED_VERSION => "unexpected protocol version",
            Self::ASPA_PROVIDER_LIST => "ASPA provider list error",
            _ => return None,
        })
    }
}

impl fmt::Display for RtrErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "error {}, {name}", self.0),
            None => write!(f, "error {}", self.0),
        }
    }
}
