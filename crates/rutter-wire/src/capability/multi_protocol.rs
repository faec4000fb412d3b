//! Multiprotocol Extensions (RFC 4760 §8).

use rutter_net::AfiSafi;

pub(super) fn parse(value: &[u8]) -> Option<AfiSafi> {
    let &[high, low, _reserved, safi] = value else {
        return None;
    };
    let afi = u16::from_be_bytes([high, low]);
    Some(AfiSafi { afi, safi })
}

pub(super) fn write(out: &mut Vec<u8>, afi_safi: AfiSafi) {
    out.extend_from_slice(&afi_safi.afi.to_be_bytes());
    out.extend_from_slice(&[0, afi_safi.safi]);
}
