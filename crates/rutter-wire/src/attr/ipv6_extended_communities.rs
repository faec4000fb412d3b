//! IPv6 Address Specific Extended Communities (RFC 5701).

use super::AttrContext;
use super::table::{Checked, multiple_of};

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    multiple_of::<20>(value)
}

pub(super) fn iter(value: &[u8]) -> impl Iterator<Item = [u8; 20]> + Clone {
    value.chunks_exact(20).map(|octets| {
        let mut community = [0; 20];
        community.copy_from_slice(octets);
        community
    })
}
