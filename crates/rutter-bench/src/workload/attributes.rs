//! Attribute sets like those of a real table, and their encoding.

use std::net::{Ipv4Addr, Ipv6Addr};

use rutter_net::Asn;

use crate::policy::{TAG, TAGS};
use crate::rng::Rng;

/// ORIGIN (RFC 4271 §4.3), in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Interior.
    Igp,
    /// Learnt by EGP.
    Egp,
    /// Learnt otherwise.
    Incomplete,
}

/// One attribute set before encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// ORIGIN.
    pub origin: Origin,
    /// AS_PATH: one AS_SEQUENCE, the peer's AS first.
    pub as_path: Vec<Asn>,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// COMMUNITIES, ascending (some daemons sort them when they send).
    pub communities: Vec<u32>,
    /// LARGE_COMMUNITIES, ascending.
    pub large_communities: Vec<[u32; 3]>,
}

/// The next hops of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHops {
    /// For IPv4 routes.
    pub v4: Ipv4Addr,
    /// For IPv6 routes.
    pub v6: Ipv6Addr,
}

/// Draws an attribute set: a path of 2 to 6 from `peer_as` to `origin_as`, sometimes MED, 0 to 8 communities, sometimes
/// large ones. It contains no action community of an exchange: the first half is never 0, 65535 or the route server's
/// AS.
pub fn draw(peer_as: Asn, origin_as: Asn, rng: &mut Rng) -> Attributes {
    let length = 2 + rng.weighted(&[12, 35, 30, 16, 7]);
    let mut as_path = Vec::with_capacity(length);
    as_path.push(peer_as);
    while as_path.len() < length - 1 {
        let asn = transit_asn(rng);
        if asn != origin_as && !as_path.contains(&asn) {
            as_path.push(asn);
        }
    }
    as_path.push(origin_as);
    let origin = [Origin::Igp, Origin::Egp, Origin::Incomplete][rng.weighted(&[82, 1, 17])];
    let med = rng.chance(30).then(|| rng.below(500) as u32);
    let communities = communities(rng);
    let mut large_communities: Vec<[u32; 3]> = Vec::new();
    if rng.chance(15) {
        for _ in 0..rng.between(1, 4) {
            large_communities.push([
                transit_asn(rng).0,
                rng.below(100) as u32,
                rng.next_u64() as u32,
            ]);
        }
        large_communities.sort_unstable();
        large_communities.dedup();
    }
    Attributes {
        origin,
        as_path,
        med,
        communities,
        large_communities,
    }
}

fn communities(rng: &mut Rng) -> Vec<u32> {
    let count = rng.weighted(&[20, 14, 14, 14, 12, 10, 8, 5, 3]);
    let mut communities: Vec<u32> = (0..count)
        .map(|_| (rng.between(1_000, 64_000) as u32) << 16 | rng.below(65_536) as u32)
        .map(|community| match community as u16 {
            value @ 0..TAG_SHARE => u32::from(TAG) << 16 | u32::from(value % TAGS),
            _ => community,
        })
        .collect();
    communities.sort_unstable();
    communities.dedup();
    communities
}

/// How many of the 65,536 values of a community become a tag: one in a hundred.
const TAG_SHARE: u16 = 656;

/// An AS in the middle of a path. Most paths contain some of these 300.
fn transit_asn(rng: &mut Rng) -> Asn {
    if rng.chance(70) {
        Asn(20_000 + rng.below(300) as u32 * 7)
    } else {
        Asn(270_000 + rng.below(60_000) as u32)
    }
}

/// An AS at the end of a path, one of 80,000.
pub fn origin_asn(rng: &mut Rng) -> Asn {
    if rng.chance(45) {
        Asn(24_000 + rng.below(38_000) as u32)
    } else {
        Asn(400_000 + rng.below(42_000) as u32)
    }
}

/// The encoding of next hop and prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A NEXT_HOP attribute; the prefixes are in the UPDATE's NLRI field.
    V4,
    /// An MP_REACH_NLRI that contains the prefixes (RFC 4760).
    V6,
}

/// Appends one UPDATE message; `nlri` are the encoded prefixes. Attributes are in ascending order of their type codes.
pub fn write_update(
    out: &mut Vec<u8>,
    set: &Attributes,
    next_hops: &NextHops,
    family: Family,
    nlri: &[u8],
) {
    let start = out.len();
    out.extend_from_slice(&[0xff; 16]);
    out.extend_from_slice(&[0, 0, 2, 0, 0, 0, 0]);
    let attributes = out.len();
    write_attributes(out, set, next_hops, family, nlri);
    let block = (out.len() - attributes) as u16;
    out[attributes - 2..attributes].copy_from_slice(&block.to_be_bytes());
    if family == Family::V4 {
        out.extend_from_slice(nlri);
    }
    let total = (out.len() - start) as u16;
    out[start + 16..start + 18].copy_from_slice(&total.to_be_bytes());
}

/// Appends only the attribute block.
pub fn write_attributes(
    out: &mut Vec<u8>,
    set: &Attributes,
    next_hops: &NextHops,
    family: Family,
    nlri: &[u8],
) {
    out.extend_from_slice(&[0x40, 1, 1, set.origin as u8]);
    out.extend_from_slice(&[
        0x40,
        2,
        2 + 4 * set.as_path.len() as u8,
        2,
        set.as_path.len() as u8,
    ]);
    for asn in &set.as_path {
        out.extend_from_slice(&asn.0.to_be_bytes());
    }
    if family == Family::V4 {
        out.extend_from_slice(&[0x40, 3, 4]);
        out.extend_from_slice(&next_hops.v4.octets());
    }
    if let Some(med) = set.med {
        out.extend_from_slice(&[0x80, 4, 4]);
        out.extend_from_slice(&med.to_be_bytes());
    }
    if !set.communities.is_empty() {
        out.extend_from_slice(&[0xc0, 8, 4 * set.communities.len() as u8]);
        for community in &set.communities {
            out.extend_from_slice(&community.to_be_bytes());
        }
    }
    if family == Family::V6 {
        let length = (21 + nlri.len()) as u16;
        out.extend_from_slice(&[0x90, 14]);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&[0, 2, 1, 16]);
        out.extend_from_slice(&next_hops.v6.octets());
        out.push(0);
        out.extend_from_slice(nlri);
    }
    if !set.large_communities.is_empty() {
        out.extend_from_slice(&[0xc0, 32, 12 * set.large_communities.len() as u8]);
        for part in set.large_communities.iter().flatten() {
            out.extend_from_slice(&part.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_on_the_wire() {
        let set = Attributes {
            origin: Origin::Igp,
            as_path: vec![Asn(200_001), Asn(64)],
            med: Some(7),
            communities: vec![0x0001_0002],
            large_communities: vec![],
        };
        let hops = NextHops {
            v4: Ipv4Addr::new(10, 99, 0, 1),
            v6: Ipv6Addr::LOCALHOST,
        };
        let mut out = Vec::new();
        write_update(&mut out, &set, &hops, Family::V4, &[24, 1, 2, 3]);
        let hex: String = out[16..].iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            hex,
            "003f0200000024\
             40010100\
             40020a020200030d4100000040\
             4003040a630001\
             80040400000007\
             c0080400010002\
             18010203"
                .replace(
                    "003f0200000024",
                    &format!("{:04x}020000{:04x}", out.len(), out.len() - 27)
                )
        );
    }

    #[test]
    fn drawn_sets_stay_in_their_ranges() {
        let mut rng = Rng::new(3);
        for _ in 0..2_000 {
            let origin = origin_asn(&mut rng);
            let set = draw(Asn(200_001), origin, &mut rng);
            assert!((2..=6).contains(&set.as_path.len()));
            assert_eq!(set.as_path[0], Asn(200_001));
            assert!(set.as_path.iter().all(|asn| !asn.is_bogon()));
            assert!(set.communities.len() <= 8);
        }
    }
}
