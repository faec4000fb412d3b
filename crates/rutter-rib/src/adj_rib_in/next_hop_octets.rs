//! The next hop of MP_REACH_NLRI, from and to its octets.

use std::net::{Ipv4Addr, Ipv6Addr};

use rutter_policy::NextHop;

/// Decodes the octets of a next hop: 4, 16 or 32.
pub(super) fn unpack(octets: &[u8]) -> Option<NextHop> {
    if let Ok(ipv4) = <[u8; 4]>::try_from(octets) {
        return Some(NextHop::V4(Ipv4Addr::from(ipv4)));
    }
    let global = Ipv6Addr::from(*octets.first_chunk::<16>()?);
    let second = octets
        .get(16..32)
        .and_then(|o| <[u8; 16]>::try_from(o).ok());
    Some(NextHop::V6 {
        global,
        link_local: second.map(Ipv6Addr::from),
    })
}

/// Encodes a next hop as MP_REACH_NLRI carries it.
pub(super) fn pack(next_hop: NextHop, out: &mut [u8; 32]) -> &[u8] {
    match next_hop {
        NextHop::V4(address) => {
            out[..4].copy_from_slice(&address.octets());
            &out[..4]
        }
        NextHop::V6 { global, link_local } => {
            out[..16].copy_from_slice(&global.octets());
            let Some(link_local) = link_local else {
                return &out[..16];
            };
            out[16..].copy_from_slice(&link_local.octets());
            &out[..]
        }
    }
}
