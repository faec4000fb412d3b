//! EXTENDED COMMUNITIES (RFC 4360).

use rutter_net::ExtendedCommunity;

use super::AttrContext;
use super::table::{Checked, multiple_of};

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    multiple_of::<8>(value)
}

#[inline]
pub(super) fn iter(value: &[u8]) -> impl Iterator<Item = ExtendedCommunity> + Clone {
    value.chunks_exact(8).map(decode)
}

fn decode(octets: &[u8]) -> ExtendedCommunity {
    let mut community = [0; 8];
    community.copy_from_slice(octets);
    ExtendedCommunity(community)
}
