//! Path attributes: one pass over the block, then views.
//!
//! [`parse`] records the place of each attribute, and reports every fault with its consequence under RFC 7606. Each
//! attribute has its own file; `table` has a row for each type code.

mod aggregator;
mod aigp;
mod as4_aggregator;
mod as4_path;
mod as_path;
mod as_path_write;
mod atomic_aggregate;
mod attributes;
mod canonical;
mod cluster_list;
pub mod code;
mod communities;
mod extended_communities;
mod ipv6_extended_communities;
mod large_communities;
mod local_pref;
mod malformed;
mod mp_reach;
mod mp_unreach;
mod multi_exit_disc;
mod next_hop;
mod only_to_customer;
mod origin;
mod originator_id;
mod parse;
mod prefix_sid;
mod reported;
mod table;
mod write;

pub use aggregator::Aggregator;
pub use as_path::{AsPath, Segment, SegmentKind};
pub use as_path_write::{
    write_as_path, write_as_path_led_by, write_as_path_prepended, write_as_path_two_octet,
};
pub use attributes::{Attributes, RawAttribute};
pub use malformed::{Disposition, Fault, Malformed};
pub use mp_reach::{MpReach, next_hop_address, write_mp_reach};
pub use mp_unreach::{MpUnreach, write_mp_unreach};
pub use origin::Origin;
pub use parse::parse;
pub use reported::{parse_reported, split_block};
pub use write::{write_attr, write_numbers};

use write::{patch_extended_length, write_attr_with};

/// Flag: the attribute is optional, not well-known.
pub const OPTIONAL: u8 = 0x80;
/// Flag: a speaker that does not know the attribute passes it on.
pub const TRANSITIVE: u8 = 0x40;
/// Flag: a speaker on the path did not know the attribute.
pub const PARTIAL: u8 = 0x20;
/// Flag: the length takes two octets.
pub const EXTENDED_LENGTH: u8 = 0x10;

/// The properties of the session and the UPDATE that decide how a block is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttrContext {
    /// AS numbers take four octets on this session (RFC 6793).
    pub as4: bool,
    /// The session crosses an AS border, route server clients included.
    pub external: bool,
    /// AS_SET is accepted, although RFC 9774 forbids it.
    pub accept_as_set: bool,
    /// The UPDATE's own NLRI field is not empty: NEXT_HOP is mandatory.
    pub has_ipv4_nlri: bool,
}

/// The first four octets as a number. Missing octets make it zero.
#[inline(always)]
fn be_u32(octets: &[u8]) -> u32 {
    octets.first_chunk().map_or(0, |&o| u32::from_be_bytes(o))
}
