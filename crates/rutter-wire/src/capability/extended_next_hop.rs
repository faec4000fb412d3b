//! Extended Next Hop Encoding (RFC 8950 §4).

use rutter_net::AfiSafi;

/// NLRI of one family may have a next hop of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExtendedNextHop {
    /// The family of the NLRI.
    pub nlri: AfiSafi,
    /// The address family of the next hop; 2 is IPv6.
    pub next_hop_afi: u16,
}

pub(super) fn parse(value: &[u8]) -> Option<Vec<ExtendedNextHop>> {
    let entry = |e: [u8; 6]| ExtendedNextHop {
        nlri: AfiSafi {
            afi: u16::from_be_bytes([e[0], e[1]]),
            // The field has two octets, but a SAFI never exceeds one; a larger number matches nothing.
            safi: if e[2] == 0 { e[3] } else { 0 },
        },
        next_hop_afi: u16::from_be_bytes([e[4], e[5]]),
    };
    Some(super::chunks(value)?.map(entry).collect())
}

pub(super) fn write(out: &mut Vec<u8>, entries: &[ExtendedNextHop]) {
    for entry in entries {
        out.extend_from_slice(&entry.nlri.afi.to_be_bytes());
        out.extend_from_slice(&[0, entry.nlri.safi]);
        out.extend_from_slice(&entry.next_hop_afi.to_be_bytes());
    }
}
