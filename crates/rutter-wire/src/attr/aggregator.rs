//! AGGREGATOR (RFC 4271 §5.1.7, RFC 6793, RFC 7607).

use std::net::Ipv4Addr;

use rutter_net::Asn;

use super::malformed::Fault;
use super::table::Checked;
use super::{AttrContext, OPTIONAL, PARTIAL, TRANSITIVE, code, write_attr};

/// The speaker that aggregated the route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Aggregator {
    /// The aggregating AS.
    pub asn: Asn,
    /// The BGP Identifier of the speaker.
    pub router_id: Ipv4Addr,
}

impl Aggregator {
    /// Decodes a value. Its length shows whether the AS number takes two or four octets.
    pub(super) fn decode(value: &[u8]) -> Option<Self> {
        let (asn, id) = match *value {
            [a, b, ref id @ ..] if id.len() == 4 => (u32::from(u16::from_be_bytes([a, b])), id),
            [a, b, c, d, ref id @ ..] if id.len() == 4 => (u32::from_be_bytes([a, b, c, d]), id),
            _ => return None,
        };
        Some(Aggregator {
            asn: Asn(asn),
            router_id: Ipv4Addr::from_bits(super::be_u32(id)),
        })
    }

    fn four_octet(self) -> [u8; 8] {
        let (a, i) = (self.asn.0.to_be_bytes(), self.router_id.octets());
        [a[0], a[1], a[2], a[3], i[0], i[1], i[2], i[3]]
    }

    /// Writes AGGREGATOR with a four-octet AS number.
    pub(super) fn write(self, out: &mut Vec<u8>, flags: u8) {
        write_attr(out, flags, code::AGGREGATOR, &self.four_octet());
    }

    /// Writes AGGREGATOR with a two-octet AS number; AS_TRANS stands for a number that does not fit.
    pub(super) fn write_two_octet(self, out: &mut Vec<u8>, flags: u8) {
        let a = super::as_path::two_octet(self.asn).to_be_bytes();
        let i = self.router_id.octets();
        write_attr(
            out,
            flags,
            code::AGGREGATOR,
            &[a[0], a[1], i[0], i[1], i[2], i[3]],
        );
    }

    /// Writes AS4_AGGREGATOR.
    pub(super) fn write_as4(self, out: &mut Vec<u8>, flags: u8) {
        let flags = OPTIONAL | TRANSITIVE | flags & PARTIAL;
        write_attr(out, flags, code::AS4_AGGREGATOR, &self.four_octet());
    }
}

pub(super) fn check(value: &[u8], context: &AttrContext) -> Checked {
    let width = if context.as4 { 4 } else { 2 };
    if value.len() != width + 4 {
        return Err((0, Fault::Length));
    }
    check_asn(&value[..width])
}

/// AS 0 makes the attribute malformed (RFC 7607 §2).
pub(super) fn check_asn(octets: &[u8]) -> Checked {
    match octets.iter().all(|&octet| octet == 0) {
        true => Err((0, Fault::AsZero)),
        false => Ok(()),
    }
}
