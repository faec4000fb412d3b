//! LARGE_COMMUNITY (RFC 8092).

use rutter_net::LargeCommunity;

use super::AttrContext;
use super::table::{Checked, multiple_of};

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    multiple_of::<12>(value)
}

#[inline]
pub(super) fn iter(value: &[u8]) -> impl Iterator<Item = LargeCommunity> + Clone {
    value.chunks_exact(12).map(decode)
}

fn decode(octets: &[u8]) -> LargeCommunity {
    LargeCommunity::new(
        super::be_u32(octets),
        super::be_u32(&octets[4..]),
        super::be_u32(&octets[8..]),
    )
}
