//! What can be wrong with an UPDATE, and what each fault costs (RFC 7606).

use std::fmt;

use rutter_net::AfiSafi;

use super::{code, table};
use crate::notification::Notification;

/// What a fault costs, ordered by strength (RFC 7606 §2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Disposition {
    /// The attribute is left out, the UPDATE goes on.
    AttributeDiscard,
    /// The routes of the UPDATE are withdrawn.
    TreatAsWithdraw,
    /// All routes of the family go and further ones are ignored for as long as the session lasts.
    AfiSafiDisable(AfiSafi),
    /// The session ends with an UPDATE Message Error of this subcode.
    SessionReset(u8),
}

/// A named fault.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// Fewer octets are left than an attribute's flags, type and length take.
    HeaderTruncated,
    /// The attribute's length exceeds what is left of the attributes.
    LengthOverrun,
    /// The Optional or Transitive flag is not what the type demands.
    Flags,
    /// The length is not one that the type allows.
    Length,
    /// The attribute occurs again.
    Duplicate,
    /// The Optional flag is clear on a type nobody knows.
    UnrecognizedWellKnown,
    /// A mandatory attribute is missing.
    Missing,
    /// An attribute of internal sessions came over an external one.
    FromExternal,
    /// AS4_PATH or AS4_AGGREGATOR from a neighbor with four-octet AS numbers.
    FromFourOctetSpeaker,
    /// ORIGIN is neither IGP, EGP nor INCOMPLETE.
    OriginValue,
    /// The segment type is undefined.
    SegmentType,
    /// The segment holds no AS number.
    SegmentEmpty,
    /// The segment's count exceeds the attribute, or a lone octet is left.
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
    /// The multiprotocol attribute is too short for its fixed fields.
    MultiprotocolTooShort,
    /// The next hop's length is none of the family's.
    NextHopLength(AfiSafi),
    /// A prefix is longer than its family allows.
    PrefixLength(AfiSafi),
    /// A prefix (or its path identifier) is cut off.
    PrefixTruncated(AfiSafi),
    /// Another fault asks for treat-as-withdraw but the UPDATE shows no route that could be withdrawn.
    NothingToWithdraw,
}

/// A fault, where it is and in which attribute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Malformed {
    /// Type code of the attribute; `None` for the withdrawn routes and NLRI fields.
    pub code: Option<u8>,
    /// Octet in the attribute block (or in the NLRI where `code` is `None`) at which the fault is.
    pub offset: usize,
    /// What is wrong.
    pub fault: Fault,
}

impl Malformed {
    /// What the fault costs.
    pub fn disposition(&self) -> Disposition {
        todo!()
    }

    /// The paragraph that decides, such as `RFC 7606 §7.1`.
    pub fn rfc(&self) -> &'static str {
        todo!()
    }

    /// The NOTIFICATION for a session reset (also allowed instead of AFI/SAFI disable, RFC 7606 §2).
    pub fn notification(&self) -> Notification {
        todo!()
    }

    /// The same fault found in NLRI that stand at `base` of the block, inside this attribute.
    pub fn within(self, code: u8, base: usize) -> Self {
        Malformed {
            code: Some(code),
            offset: self.offset + base,
            ..self
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = (f, code::ORIGIN, table::SLOTS);
        todo!()
    }
}
