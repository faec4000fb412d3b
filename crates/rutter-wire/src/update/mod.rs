//! UPDATE messages (RFC 4271 §4.3): splitting and writing.

mod write;

use rutter_net::AfiSafi;

use crate::attr::{EXTENDED_LENGTH, MpUnreach, code};
use crate::notification::Notification;
use crate::notification::code::UPDATE;

pub use write::{Writer, write, write_end_of_rib};

/// The three variable parts of an UPDATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sections<'a> {
    /// Withdrawn IPv4 routes.
    pub withdrawn: &'a [u8],
    /// Path attributes.
    pub attributes: &'a [u8],
    /// IPv4 NLRI.
    pub nlri: &'a [u8],
}

/// Splits the body of an UPDATE, which follows the header. Reads only the two length fields.
///
/// Lengths that exceed the body are a Malformed Attribute List (RFC 4271 §6.3; RFC 7606 §3 (b) does not change this).
#[inline]
pub fn split(body: &[u8]) -> Result<Sections<'_>, Notification> {
    sections(body).ok_or_else(|| Notification::new(UPDATE, MALFORMED_ATTRIBUTE_LIST, Vec::new()))
}

/// Splits the body of an UPDATE that a router or a file reports. A part whose length exceeds the body ends with it. Then the
/// second value is `true`.
pub fn split_reported(body: &[u8]) -> (Sections<'_>, bool) {
    if let Some(sections) = sections(body) {
        return (sections, false);
    }
    let (withdrawn, rest) = counted_or_all(body);
    let (attributes, nlri) = counted_or_all(rest);
    let sections = Sections {
        withdrawn,
        attributes,
        nlri,
    };
    (sections, true)
}

#[inline]
fn sections(body: &[u8]) -> Option<Sections<'_>> {
    let (withdrawn, rest) = counted(body)?;
    let (attributes, nlri) = counted(rest)?;
    Some(Sections {
        withdrawn,
        attributes,
        nlri,
    })
}

/// Splits off as many bytes as the two-octet length says.
#[inline]
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(len)))
}

/// As [`counted`]. If there are fewer bytes, takes all of them.
fn counted_or_all(bytes: &[u8]) -> (&[u8], &[u8]) {
    counted(bytes).unwrap_or((bytes.get(2..).unwrap_or_default(), &[]))
}

/// The family of an End-of-RIB marker (RFC 4724 §2); `None` for any other UPDATE.
#[inline]
pub fn is_end_of_rib(body: &[u8]) -> Option<AfiSafi> {
    if body.len() > LONGEST_END_OF_RIB {
        return None;
    }
    let sections = sections(body)?;
    if !sections.withdrawn.is_empty() || !sections.nlri.is_empty() {
        return None;
    }
    let value = match *sections.attributes {
        [] => return Some(AfiSafi::IPV4_UNICAST),
        [flags, code::MP_UNREACH_NLRI, 3, ref value @ ..] if flags & EXTENDED_LENGTH == 0 => value,
        [flags, code::MP_UNREACH_NLRI, 0, 3, ref value @ ..] if flags & EXTENDED_LENGTH != 0 => {
            value
        }
        _ => return None,
    };
    let unreach = MpUnreach::decode(value)?;
    unreach.withdrawn.is_empty().then_some(unreach.afi_safi)
}

/// Two length fields and an MP_UNREACH_NLRI with a two-octet length.
const LONGEST_END_OF_RIB: usize = 4 + 4 + 3;

/// UPDATE Message Error subcode (RFC 4271 §6.3).
const MALFORMED_ATTRIBUTE_LIST: u8 = 1;
