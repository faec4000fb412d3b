//! The faults of an UPDATE, and the consequence of each (RFC 7606).

use std::fmt;

use rutter_net::AfiSafi;

use super::code::{MP_REACH_NLRI, MP_UNREACH_NLRI};
use super::table;
use crate::notification::Notification;
use crate::notification::code::UPDATE;

/// The consequence of a fault, ordered by strength (RFC 7606 §2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Disposition {
    /// The attribute is discarded; the rest of the UPDATE is processed.
    AttributeDiscard,
    /// The routes of the UPDATE are withdrawn.
    TreatAsWithdraw,
    /// All routes of the family are removed, and later routes of the family are ignored until the session ends.
    AfiSafiDisable(AfiSafi),
    /// The session ends with an UPDATE Message Error of this subcode.
    SessionReset(u8),
}

impl fmt::Display for Disposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disposition::AttributeDiscard => f.write_str("attribute discard"),
            Disposition::TreatAsWithdraw => f.write_str("treat-as-withdraw"),
            Disposition::AfiSafiDisable(family) => write!(f, "AFI/SAFI disable of {family}"),
            Disposition::SessionReset(_) => f.write_str("session reset"),
        }
    }
}

/// A named fault.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// The attribute is cut off before the end of its flags, type and length.
    HeaderTruncated,
    /// The attribute's length exceeds the rest of the attributes.
    LengthOverrun,
    /// The Optional or Transitive flag is wrong for the type.
    Flags,
    /// The length is wrong for the type.
    Length,
    /// The attribute occurs again.
    Duplicate,
    /// The Optional flag is clear on an unknown type.
    UnrecognizedWellKnown,
    /// A mandatory attribute is missing.
    Missing,
    /// An attribute that only internal sessions may use was received on an external session.
    FromExternal,
    /// AS4_PATH or AS4_AGGREGATOR from a neighbor with four-octet AS numbers.
    FromFourOctetSpeaker,
    /// ORIGIN is neither IGP, EGP nor INCOMPLETE.
    OriginValue,
    /// The segment type is undefined.
    SegmentType,
    /// The segment holds no AS number.
    SegmentEmpty,
    /// The segment's count exceeds the attribute, or one octet is left over.
    SegmentOverrun,
    /// AS_SET or AS_CONFED_SET.
    AsSet,
    /// Confederation segments from outside the confederation.
    ConfederationSegment,
    /// AS number 0.
    AsZero,
    /// The next hop is not the address of a host.
    NextHopNotHost,
    /// A TLV inside AIGP is malformed.
    AigpTlv,
    /// A TLV inside Prefix-SID is malformed.
    PrefixSidTlv,
    /// The multiprotocol attribute is too short for its fixed fields.
    MultiprotocolTooShort,
    /// The next hop's length is wrong for the family.
    NextHopLength(AfiSafi),
    /// A prefix is longer than its family allows.
    PrefixLength(AfiSafi),
    /// A prefix (or its path identifier) is cut off.
    PrefixTruncated(AfiSafi),
    /// Another fault requires treat-as-withdraw, but the UPDATE contains no reachable NLRI.
    NothingToWithdraw,
}

impl Fault {
    /// A description of the fault.
    fn description(self) -> &'static str {
        match self {
            Fault::HeaderTruncated => "too few octets for an attribute's flags, type and length",
            Fault::LengthOverrun => "the length exceeds the attributes",
            Fault::Flags => "wrong Optional or Transitive flag",
            Fault::Length => "wrong length",
            Fault::Duplicate => "occurs more than once",
            Fault::UnrecognizedWellKnown => "unknown, but not optional",
            Fault::Missing => "mandatory, but missing",
            Fault::FromExternal => "not allowed on external sessions",
            Fault::FromFourOctetSpeaker => "not allowed between four-octet AS speakers",
            Fault::OriginValue => "undefined value",
            Fault::SegmentType => "undefined path segment type",
            Fault::SegmentEmpty => "path segment without AS numbers",
            Fault::SegmentOverrun => "path segment exceeds the attribute",
            Fault::AsSet => "AS_SET or AS_CONFED_SET",
            Fault::ConfederationSegment => "confederation segment from outside the confederation",
            Fault::AsZero => "AS number 0",
            Fault::NextHopNotHost => "not the address of a host",
            Fault::AigpTlv | Fault::PrefixSidTlv => "malformed TLV",
            Fault::MultiprotocolTooShort => "too short for its fixed fields",
            Fault::NextHopLength(_) => "wrong next hop length",
            Fault::PrefixLength(_) => "prefix length out of range",
            Fault::PrefixTruncated(_) => "prefix cut off",
            Fault::NothingToWithdraw => "a malformed attribute, and no reachable NLRI to withdraw",
        }
    }

    /// The UPDATE Message Error subcode (RFC 4271 §6.3) of the fault.
    fn subcode(self) -> u8 {
        match self {
            Fault::HeaderTruncated | Fault::Duplicate | Fault::NothingToWithdraw => 1,
            Fault::UnrecognizedWellKnown => 2,
            Fault::Missing => 3,
            Fault::Flags => 4,
            Fault::Length | Fault::LengthOverrun => 5,
            Fault::OriginValue => 6,
            Fault::NextHopNotHost => 8,
            Fault::FromExternal
            | Fault::FromFourOctetSpeaker
            | Fault::AigpTlv
            | Fault::PrefixSidTlv
            | Fault::MultiprotocolTooShort
            | Fault::NextHopLength(_) => 9,
            Fault::PrefixLength(_) | Fault::PrefixTruncated(_) => 10,
            Fault::SegmentType
            | Fault::SegmentEmpty
            | Fault::SegmentOverrun
            | Fault::AsSet
            | Fault::ConfederationSegment
            | Fault::AsZero => 11,
        }
    }
}

/// A fault, where it is and in which attribute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Malformed {
    /// Type code of the attribute. `None` for the withdrawn routes and NLRI fields, and where no code could be read.
    pub code: Option<u8>,
    /// Offset of the fault in the attribute block, or in the NLRI where `code` is `None`. It is the first octet of the
    /// attribute, or the wrong octet inside the value.
    pub offset: usize,
    /// The kind of fault.
    pub fault: Fault,
}

impl Malformed {
    /// The consequence of the fault.
    pub fn disposition(&self) -> Disposition {
        use Disposition::{AfiSafiDisable, AttributeDiscard, SessionReset, TreatAsWithdraw};
        let reset = SessionReset(self.fault.subcode());
        match self.fault {
            Fault::Duplicate if !self.is_multiprotocol() => AttributeDiscard,
            Fault::Duplicate | Fault::UnrecognizedWellKnown | Fault::NothingToWithdraw => reset,
            Fault::HeaderTruncated | Fault::LengthOverrun if self.is_multiprotocol() => reset,
            Fault::HeaderTruncated | Fault::LengthOverrun | Fault::Missing | Fault::AsSet => {
                TreatAsWithdraw
            }
            Fault::Flags => match self.code {
                Some(super::code::AIGP) => AttributeDiscard,
                _ => TreatAsWithdraw,
            },
            Fault::FromExternal | Fault::FromFourOctetSpeaker => AttributeDiscard,
            Fault::MultiprotocolTooShort => reset,
            Fault::NextHopLength(family) => AfiSafiDisable(family),
            Fault::PrefixLength(family) | Fault::PrefixTruncated(family) => match self.code {
                Some(_) => AfiSafiDisable(family),
                None => reset,
            },
            _ => self.row().map_or(reset, |row| row.malformed),
        }
    }

    /// The section that decides, such as `RFC 7606 §7.1`.
    pub fn rfc(&self) -> &'static str {
        match self.fault {
            Fault::HeaderTruncated | Fault::LengthOverrun if self.is_multiprotocol() => {
                "RFC 7606 §3 (j)"
            }
            Fault::HeaderTruncated | Fault::LengthOverrun => "RFC 7606 §4",
            Fault::Flags if self.code == Some(super::code::AIGP) => "RFC 7311 §3.2",
            Fault::Flags => "RFC 7606 §3 (c)",
            Fault::Duplicate => "RFC 7606 §3 (g)",
            Fault::UnrecognizedWellKnown => "RFC 4271 §6.3",
            Fault::Missing => "RFC 7606 §3 (d)",
            Fault::FromExternal if self.code == Some(super::code::AIGP) => "RFC 7311 §3.3",
            Fault::AsSet => "RFC 9774 §3",
            Fault::ConfederationSegment => "RFC 5065 §5",
            Fault::AsZero => "RFC 7607 §2",
            Fault::NextHopNotHost => "RFC 7606 §3 (e)",
            Fault::PrefixLength(_) | Fault::PrefixTruncated(_) => "RFC 7606 §5.3",
            Fault::NothingToWithdraw => "RFC 7606 §5.2",
            _ => self.row().map_or("RFC 4271 §6.3", |row| row.rfc),
        }
    }

    /// The NOTIFICATION for a session reset (also allowed instead of AFI/SAFI disable, RFC 7606 §2).
    pub fn notification(&self) -> Notification {
        Notification::new(UPDATE, self.fault.subcode(), Vec::new())
    }

    /// The same fault, in NLRI at offset `base` of the block, inside this attribute.
    pub fn within(self, code: u8, base: usize) -> Self {
        Malformed {
            code: Some(code),
            offset: self.offset + base,
            ..self
        }
    }

    /// The attribute, the fault and its RFC, without its place and consequence: `AS_PATH: AS number 0 (RFC 7607 §2)`.
    pub fn summary(&self) -> impl fmt::Display {
        Summary(*self)
    }

    /// The summary of a fault in a field that is no attribute.
    pub fn summary_in(&self, field: &str) -> String {
        format!("{field}: {} ({})", self.fault.description(), self.rfc())
    }

    fn is_multiprotocol(&self) -> bool {
        matches!(self.code, Some(MP_REACH_NLRI | MP_UNREACH_NLRI))
    }

    fn row(&self) -> Option<&'static table::Row> {
        table::row(self.code?)
    }
}

/// See [`Malformed::summary`].
struct Summary(Malformed);

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_subject(f)?;
        write!(f, ": {} ({})", self.0.fault.description(), self.0.rfc())
    }
}

impl Malformed {
    fn write_subject(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.row()) {
            (_, Some(row)) => f.write_str(row.name),
            (Some(code), None) => write!(f, "attribute {code}"),
            (None, None) if self.fault == Fault::HeaderTruncated => f.write_str("attributes"),
            (None, None) if self.fault == Fault::NothingToWithdraw => f.write_str("UPDATE"),
            (None, None) => f.write_str("NLRI"),
        }
    }
}

impl fmt::Display for Malformed {
    /// `AS_PATH at octet 9: AS number 0 (RFC 7607 §2): treat-as-withdraw`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_subject(f)?;
        write!(
            f,
            " at octet {}: {} ({}): {}",
            self.offset,
            self.fault.description(),
            self.rfc(),
            self.disposition()
        )
    }
}
