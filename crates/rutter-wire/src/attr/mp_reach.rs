//! MP_REACH_NLRI (RFC 4760 §3, RFC 2545, RFC 8950).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rutter_net::AfiSafi;

use super::malformed::Fault;
use super::table::Checked;
use super::{AttrContext, EXTENDED_LENGTH, OPTIONAL, code};

/// MP_REACH_NLRI taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpReach<'a> {
    /// The family.
    pub afi_safi: AfiSafi,
    /// The next hop's octets: 4, 16 or 32 for IP unicast (RFC 2545, RFC 8950).
    pub next_hop: &'a [u8],
    /// The encoded prefixes.
    pub nlri: &'a [u8],
}

impl<'a> MpReach<'a> {
    /// Decodes the value of the attribute. `None` if its fixed fields are cut off.
    #[inline]
    pub fn decode(value: &'a [u8]) -> Option<Self> {
        let (&[afi_high, afi_low, safi, next_hop_len], rest) = value.split_first_chunk()?;
        let (next_hop, rest) = rest.split_at_checked(usize::from(next_hop_len))?;
        let (_reserved, nlri) = rest.split_first()?;
        Some(MpReach {
            afi_safi: AfiSafi {
                afi: u16::from_be_bytes([afi_high, afi_low]),
                safi,
            },
            next_hop,
            nlri,
        })
    }
}

/// The (global) next hop in these octets: 4, or 16 or 32 (RFC 2545 §3). `None` for any other number.
pub fn next_hop_address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => octets
            .first_chunk()
            .map(|v4: &[u8; 4]| Ipv4Addr::from(*v4).into()),
        16 | 32 => octets
            .first_chunk()
            .map(|v6: &[u8; 16]| Ipv6Addr::from(*v6).into()),
        _ => None,
    }
}

pub(super) fn check(value: &[u8], _: &AttrContext) -> Checked {
    let &[afi_high, afi_low, safi, _, _, ..] = value else {
        return Err((0, Fault::MultiprotocolTooShort));
    };
    let afi_safi = AfiSafi {
        afi: u16::from_be_bytes([afi_high, afi_low]),
        safi,
    };
    let Some(reach) = MpReach::decode(value) else {
        return Err((3, Fault::NextHopLength(afi_safi)));
    };
    let fits = match afi_safi {
        AfiSafi::IPV4_UNICAST => matches!(reach.next_hop.len(), 4 | 16 | 32),
        AfiSafi::IPV6_UNICAST => matches!(reach.next_hop.len(), 16 | 32),
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err((3, Fault::NextHopLength(afi_safi))),
    }
}

/// Appends the attribute with a two-octet length. The next hop has at most 255 octets. `write_nlri` appends the NLRI;
/// its result is returned.
pub fn write_mp_reach<R>(
    out: &mut Vec<u8>,
    afi_safi: AfiSafi,
    next_hop: &[u8],
    write_nlri: impl FnOnce(&mut Vec<u8>) -> R,
) -> R {
    debug_assert!(
        next_hop.len() <= 255,
        "a next hop of {} octets",
        next_hop.len()
    );
    let [high, low] = afi_safi.afi.to_be_bytes();
    let flags = OPTIONAL | EXTENDED_LENGTH;
    out.extend_from_slice(&[flags, code::MP_REACH_NLRI, 0, 0]);
    let value = out.len();
    out.extend_from_slice(&[high, low, afi_safi.safi, next_hop.len() as u8]);
    out.extend_from_slice(next_hop);
    out.push(0);
    let returned = write_nlri(out);
    super::patch_extended_length(out, value);
    returned
}
