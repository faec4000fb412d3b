//! Four-octet AS numbers (RFC 6793 §3).

use rutter_net::Asn;

pub(super) fn parse(value: &[u8]) -> Option<Asn> {
    let octets: [u8; 4] = value.try_into().ok()?;
    Some(Asn(u32::from_be_bytes(octets)))
}
