//! Twelve full feeds as an MRT table dump.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::Ipv6Addr;
use std::path::Path;

use rutter_bench::rng::Rng;
use rutter_bench::workload::attributes::{
    Family as Form, NextHops, draw, origin_asn, write_attributes,
};
use rutter_net::{Asn, Family, Prefix};
use rutter_wire::mrt::{PeerEntry, Route, write_peer_index_table, write_rib};

/// Feeds of each family.
const FEEDS: usize = 6;
/// Prefixes that share an attribute set.
const SHARED: usize = 5;
const TIME: u32 = 1_700_000_000;

/// A table dump of all feeds; returns its routes.
pub fn write(file: &Path, prefixes: &[Prefix]) -> usize {
    let mut out = BufWriter::new(File::create(file).expect("the dump"));
    let mut buffer = Vec::new();
    let peers: Vec<PeerEntry> = (0..2 * FEEDS).map(peer).collect();
    write_peer_index_table(&mut buffer, TIME, 1, "bench", &peers);
    let mut rng = Rng::new(7);
    let mut count = 0;
    for family in Family::ALL {
        let members: Vec<Prefix> = prefixes
            .iter()
            .copied()
            .filter(|prefix| prefix.family() == family)
            .collect();
        for (number, group) in members.chunks(SHARED).enumerate() {
            let origin = origin_asn(&mut rng);
            let sets: Vec<Vec<u8>> = (0..FEEDS).map(|feed| set(feed, origin, &mut rng)).collect();
            for (at, prefix) in group.iter().enumerate() {
                let hops: Vec<Vec<u8>> = (0..FEEDS).map(|feed| next_hop(family, feed)).collect();
                let routes = (0..FEEDS).map(|feed| Route {
                    peer_index: (family.index() * FEEDS + feed) as u16,
                    originated_s: TIME,
                    path_id: 0,
                    attributes: &sets[feed],
                    next_hop: &hops[feed],
                });
                let sequence = (number * SHARED + at) as u32;
                write_rib(&mut buffer, TIME, sequence, *prefix, false, routes);
                count += FEEDS;
            }
            if buffer.len() > 1 << 20 {
                out.write_all(&buffer).expect("the dump");
                buffer.clear();
            }
        }
    }
    out.write_all(&buffer).expect("the dump");
    out.flush().expect("the dump");
    count
}

fn peer(feed: usize) -> PeerEntry {
    PeerEntry {
        bgp_id: 1 + feed as u32,
        address: match feed < FEEDS {
            true => [10, 99, 0, feed as u8].into(),
            false => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, feed as u16).into(),
        },
        asn: Asn(200_001 + feed as u32),
    }
}

fn set(feed: usize, origin: Asn, rng: &mut Rng) -> Vec<u8> {
    let set = draw(Asn(200_001 + feed as u32), origin, rng);
    let hops = NextHops {
        v4: [10, 99, 0, feed as u8].into(),
        v6: Ipv6Addr::LOCALHOST,
    };
    let mut out = Vec::new();
    write_attributes(&mut out, &set, &hops, Form::V4, &[]);
    out
}

fn next_hop(family: Family, feed: usize) -> Vec<u8> {
    match family {
        Family::Ipv4Unicast => vec![10, 99, 0, feed as u8],
        Family::Ipv6Unicast => {
            let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, feed as u16 + 1);
            address.octets().to_vec()
        }
    }
}
