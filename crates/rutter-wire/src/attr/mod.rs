//! Path attributes: one pass over the block, views afterwards.
//!
//! [`parse`] remembers where each attribute is and reports every fault with what it costs under RFC 7606. One file per
//! attribute; `table` has a row per type code.

mod as_path;
mod attributes;
pub mod code;
mod malformed;
mod origin;
mod table;

pub use as_path::{AsPath, Segment, SegmentKind, write_as_path_prepended, write_as_path_two_octet};
pub use attributes::{Aggregator, Attributes, MpReach, MpUnreach, RawAttribute};
pub use malformed::{Disposition, Fault, Malformed};
pub use origin::Origin;

/// Flag: the attribute is optional, not well-known.
pub const OPTIONAL: u8 = 0x80;
/// Flag: the attribute is passed on also by those who do not know it.
pub const TRANSITIVE: u8 = 0x40;
/// Flag: somebody on the way did not know the attribute.
pub const PARTIAL: u8 = 0x20;
/// Flag: the length takes two octets.
pub const EXTENDED_LENGTH: u8 = 0x10;

/// What the meaning of a block depends on beside its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttrContext {
    /// AS numbers take four octets on this session (RFC 6793).
    pub as4: bool,
    /// The session crosses an AS border, route server clients included.
    pub external: bool,
    /// AS_SET is tolerated (against RFC 9774).
    pub accept_as_set: bool,
    /// The UPDATE's own NLRI field is not empty: NEXT_HOP is mandatory.
    pub has_ipv4_nlri: bool,
}

/// Reads a block of path attributes in one pass. Nothing is allocated unless something is malformed.
///
/// The result is usable whatever the faults: what was discarded is absent, and what a treat-as-withdraw needs
/// ([`Attributes::mp_reach`]) is there. The strongest [`Malformed::disposition`] decides on the UPDATE.
/// A block has at most 65,535 octets; what lies beyond is not read.
pub fn parse<'a>(
    block: &'a [u8],
    context: &AttrContext,
    faults: &mut Vec<Malformed>,
) -> Attributes<'a> {
    let _ = (block, context, faults);
    todo!()
}

/// Appends an attribute; the Extended Length flag is set where the value needs it, and only there.
pub fn write_attr(out: &mut Vec<u8>, flags: u8, code: u8, value: &[u8]) {
    let _ = (out, flags, code, value);
    todo!()
}
