//! COMMUNITIES (RFC 1997).

use rutter_net::Community;

use super::AttrContext;
use super::table::{Checked, multiple_of};

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    multiple_of::<4>(value)
}

#[inline]
pub(super) fn iter(value: &[u8]) -> impl Iterator<Item = Community> + Clone {
    value.chunks_exact(4).map(decode)
}

fn decode(octets: &[u8]) -> Community {
    Community(super::be_u32(octets))
}
