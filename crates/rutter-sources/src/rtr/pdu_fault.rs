//! PDUs that cannot be decoded.

use std::fmt;

use super::error_code::RtrErrorCode;

/// A PDU that contradicts the format of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PduFault {
    /// A version above the highest known one.
    UnknownVersion(u8),
    /// A PDU type that the version does not have.
    UnknownType {
        /// The version in the PDU's header.
        version: u8,
        /// The type.
        kind: u8,
    },
    /// A length that the type cannot have.
    Length {
        /// The type.
        kind: u8,
        /// The length in the header, bytes.
        len: u32,
    },
    /// A prefix length or maximum length out of range.
    PrefixLength {
        /// The prefix length.
        len: u8,
        /// The maximum length.
        max_len: u8,
    },
    /// An announced ASPA without providers, with AS 0 among others, or a withdrawn one with providers.
    AspaProviders {
        /// The customer AS in the PDU.
        customer: u32,
    },
}

impl PduFault {
    /// The code of the Error Report that answers this fault.
    pub fn code(self) -> RtrErrorCode {
        match self {
            PduFault::UnknownVersion(_) => RtrErrorCode::UNSUPPORTED_VERSION,
            PduFault::UnknownType { .. } => RtrErrorCode::UNSUPPORTED_PDU_TYPE,
            PduFault::Length { .. } | PduFault::PrefixLength { .. } => RtrErrorCode::CORRUPT_DATA,
            PduFault::AspaProviders { .. } => RtrErrorCode::ASPA_PROVIDER_LIST,
        }
    }
}

impl fmt::Display for PduFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PduFault::UnknownVersion(version) => {
                write!(
                    f,
                    "it sent a PDU of the unknown version {version}: is this an RTR cache?"
                )
            }
            PduFault::UnknownType { version, kind } => {
                write!(
                    f,
                    "it sent a PDU of type {kind}, which version {version} does not have"
                )
            }
            PduFault::Length { kind, len } => {
                write!(
                    f,
                    "it sent a PDU of type {kind} with the wrong length {len}"
                )
            }
            PduFault::PrefixLength { len, max_len } => {
                write!(
                    f,
                    "it sent a prefix of length {len} with the maximum length {max_len}"
                )
            }
            PduFault::AspaProviders { customer } => write!(
                f,
                "it sent an ASPA for AS{customer} with a wrong list of providers, or in the format of an old draft"
            ),
        }
    }
}

impl std::error::Error for PduFault {}
