//! The announcements of each peer: deterministic, and encoded before the clock starts.

pub mod attributes;
mod prefixes;
mod shape;

use std::net::{Ipv4Addr, Ipv6Addr};

use rutter_net::{Asn, Prefix};

pub use attributes::{Attributes, Family, NextHops, Origin, draw, write_update};
pub use prefixes::{
    PrefixFile, is_acceptable, read_mrt_prefixes, read_prefix_file, synthetic_table,
};
pub use shape::{FULL_TABLE, Named, STANDARD, Shape, Spread};

use crate::fingerprint;
use crate::policy;
use crate::registry::Registry;
use crate::rng::Rng;

/// The AS of the route server under test. It has four octets, so that no standard community can be one of its action
/// communities.
pub const ROUTE_SERVER_ASN: Asn = Asn(199_000);

/// Consecutive prefixes that share, for each peer that announces them, an attribute set and an UPDATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The first destination.
    pub first: u32,
    /// The number of prefixes.
    pub len: u32,
    /// The AS at the end of every path to them.
    pub origin_as: Asn,
}

/// A route of one peer for all prefixes of a group, with the attributes that the decision process compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The number of the prefix group.
    pub group: u32,
    /// The peer that announces it.
    pub peer: u32,
    /// Fingerprint of all attributes and the next hop.
    pub fingerprint: u64,
    /// AS numbers in the path.
    pub path_len: u8,
    /// ORIGIN.
    pub origin: Origin,
    /// MULTI_EXIT_DISC, 0 where absent.
    pub med: u32,
    /// It carries one of the communities [`policy::WITHHELD`].
    pub withheld: bool,
    /// The first and the second edition of the workload's registry reject it.
    pub rejected: [bool; 2],
}

/// One client of the daemon under test.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The address from which it connects.
    pub address: Ipv4Addr,
    /// Its AS.
    pub asn: Asn,
    /// Its BGP Identifier.
    pub router_id: Ipv4Addr,
    /// The next hops that it announces.
    pub next_hops: NextHops,
    /// All its UPDATEs as sent, with End-of-RIB for both families at the end.
    pub stream: Vec<u8>,
    /// The number of its routes.
    pub routes: usize,
}

impl Peer {
    /// The peer without its stream.
    pub fn clone_identity(&self) -> Peer {
        Peer {
            address: self.address,
            asn: self.asn,
            router_id: self.router_id,
            next_hops: self.next_hops,
            stream: Vec::new(),
            routes: 0,
        }
    }
}

/// A whole workload: the announcing peers, then one client that announces nothing (the monitor).
#[derive(Clone, Debug)]
pub struct Workload {
    /// All destinations; a destination is its index here.
    pub destinations: Vec<Prefix>,
    /// The groups, in order of their destinations.
    pub groups: Vec<Group>,
    /// The peers; the last one is the monitor.
    pub peers: Vec<Peer>,
    /// All routes, in the order of their peers.
    pub routes: Vec<Route>,
    /// What the IRR and the RPKI say about the routes.
    pub registry: Option<Registry>,
}

/// The settings of a workload besides its shape.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of peers that share an AS number (1: none), so that MED is compared between them.
    pub peers_per_asn: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            seed: 1,
            peers_per_asn: 1,
        }
    }
}

impl Workload {
    /// Generates a workload. `table` contains the destinations, if the caller has a real table.
    pub fn generate(shape: Shape, table: Option<Vec<Prefix>>, settings: Settings) -> Self {
        let rng = Rng::new(settings.seed);
        let shape = match &table {
            Some(table) => shape.with_destinations(table.len()),
            None => shape,
        };
        let mut destinations =
            table.unwrap_or_else(|| synthetic_table(shape.destinations, &rng.fork(1)));
        rng.fork(2).shuffle(&mut destinations);
        let (groups, mut announced) = distribute(&shape, &mut destinations, &rng);
        let mut peers = make_peers(shape.peers + 1, settings.peers_per_asn, &rng);
        let mut routes = Vec::with_capacity(announced.iter().map(Vec::len).sum());
        for (index, own) in announced.iter_mut().enumerate() {
            let mut rng = rng.fork(1_000_000 + index as u64);
            rng.shuffle(own);
            announce(
                index as u32,
                &mut peers[index],
                own,
                &groups,
                &destinations,
                &mut routes,
                &mut rng,
            );
        }
        Workload {
            destinations,
            groups,
            peers,
            routes,
            registry: None,
        }
    }

    /// The prefixes of a group.
    pub fn of_group(&self, group: Group) -> &[Prefix] {
        &self.destinations[group.first as usize..][..group.len as usize]
    }

    /// The routes of a peer.
    pub fn routes_of(&self, peer: usize) -> &[Route] {
        let first = |than: usize| {
            let routes = &self.routes;
            routes.partition_point(|route| (route.peer as usize) < than)
        };
        &self.routes[first(peer)..first(peer + 1)]
    }

    /// How many peers announce.
    pub fn announcers(&self) -> usize {
        self.peers.len() - 1
    }

    /// The index of the client that announces nothing.
    pub fn monitor(&self) -> usize {
        self.peers.len() - 1
    }

    /// Routes of all peers together.
    pub fn total_routes(&self) -> usize {
        self.peers.iter().map(|peer| peer.routes).sum()
    }

    /// Bytes of all UPDATEs together.
    pub fn total_octets(&self) -> usize {
        self.peers.iter().map(|peer| peer.stream.len()).sum()
    }
}

/// Divides the destinations into groups (IPv4 first inside each peer's share) and assigns each group to its peers.
fn distribute(
    shape: &Shape,
    destinations: &mut [Prefix],
    rng: &Rng,
) -> (Vec<Group>, Vec<Vec<u32>>) {
    let mut groups = Vec::new();
    let mut announced = vec![Vec::new(); shape.peers];
    let mut draw = rng.fork(3);
    if let Spread::Unique { per_peer } = shape.spread {
        for (peer, own) in announced.iter_mut().enumerate() {
            let range = peer * per_peer..((peer + 1) * per_peer).min(destinations.len());
            let before = groups.len() as u32;
            cut(
                &mut destinations[range.clone()],
                range.start,
                &mut groups,
                &mut draw,
            );
            own.extend(before..groups.len() as u32);
        }
        return (groups, announced);
    }
    cut(destinations, 0, &mut groups, &mut draw);
    let copies = match shape.spread {
        Spread::Shared { routes } => copies(&groups, shape.peers, routes, &mut draw),
        _ => vec![shape.peers; groups.len()],
    };
    let mut order: Vec<usize> = (0..shape.peers).collect();
    for (group, &copies) in copies.iter().enumerate() {
        for i in 0..copies {
            let j = i + draw.below((order.len() - i) as u64) as usize;
            order.swap(i, j);
            announced[order[i]].push(group as u32);
        }
    }
    (groups, announced)
}

/// Divides prefixes of one family into groups of about five.
fn cut(share: &mut [Prefix], offset: usize, groups: &mut Vec<Group>, rng: &mut Rng) {
    share.sort_by_key(|prefix| matches!(prefix, Prefix::V6(_)));
    let v4 = share.partition_point(|prefix| matches!(prefix, Prefix::V4(_)));
    for (mut at, end) in [(0, v4), (v4, share.len())] {
        while at < end {
            let mut len = 1;
            while len < 40 && at + len < end && rng.chance(80) {
                len += 1;
            }
            groups.push(Group {
                first: (offset + at) as u32,
                len: len as u32,
                origin_as: attributes::origin_asn(rng),
            });
            at += len;
        }
    }
}

/// The number of peers that announce each group: from one to about twice the mean, `routes` in all as exactly as groups
/// permit.
fn copies(groups: &[Group], peers: usize, routes: usize, rng: &mut Rng) -> Vec<usize> {
    let destinations: usize = groups.iter().map(|group| group.len as usize).sum();
    let mean = routes as f64 / destinations.max(1) as f64;
    let most = ((2.0 * mean - 1.0).round() as usize).clamp(1, peers);
    let mut copies: Vec<usize> = groups
        .iter()
        .map(|_| rng.between(1, most as u64) as usize)
        .collect();
    let total = |copies: &[usize]| -> usize {
        groups
            .iter()
            .zip(copies)
            .map(|(group, n)| group.len as usize * n)
            .sum()
    };
    let mut have = total(&copies);
    for _ in 0..4 {
        for (group, n) in groups.iter().zip(copies.iter_mut()) {
            let len = group.len as usize;
            if have + len <= routes && *n < peers {
                *n += 1;
                have += len;
            } else if have >= routes + len && *n > 1 {
                *n -= 1;
                have -= len;
            }
        }
    }
    copies
}

fn make_peers(count: usize, peers_per_asn: usize, rng: &Rng) -> Vec<Peer> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    rng.fork(5).shuffle(&mut numbers);
    numbers
        .into_iter()
        .enumerate()
        .map(|(index, shuffled)| {
            let low =
                |n: u32| Ipv4Addr::from_bits(10 << 24 | 99 << 16 | (n / 250) << 8 | (n % 250 + 2));
            Peer {
                address: peer_address(index),
                asn: Asn(200_000 + (index / peers_per_asn.max(1)) as u32),
                router_id: low(shuffled),
                next_hops: NextHops {
                    v4: low(shuffled),
                    v6: Ipv6Addr::from_bits(0x2001_07f8_0099 << 80 | (u128::from(shuffled) + 2)),
                },
                stream: Vec::new(),
                routes: 0,
            }
        })
        .collect()
}

/// The address from which a peer connects: 127.1.0.1 and following.
pub fn peer_address(index: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(127 << 24 | 1 << 16 | (index as u32 / 250) << 8 | (index as u32 % 250 + 1))
}

/// Draws the attributes of each of a peer's groups and encodes its stream.
fn announce(
    index: u32,
    peer: &mut Peer,
    own: &[u32],
    groups: &[Group],
    destinations: &[Prefix],
    routes: &mut Vec<Route>,
    rng: &mut Rng,
) {
    let mut nlri = Vec::new();
    for &number in own {
        let group = &groups[number as usize];
        let members = &destinations[group.first as usize..(group.first + group.len) as usize];
        let set = draw(peer.asn, group.origin_as, rng);
        nlri.clear();
        members
            .iter()
            .for_each(|&prefix| write_nlri(&mut nlri, prefix));
        let family = match members[0] {
            Prefix::V4(_) => Family::V4,
            Prefix::V6(_) => Family::V6,
        };
        let start = peer.stream.len();
        write_update(&mut peer.stream, &set, &peer.next_hops, family, &nlri);
        routes.push(Route {
            group: number,
            peer: index,
            fingerprint: fingerprint::of_message(&peer.stream[start..]),
            path_len: set.as_path.len() as u8,
            origin: set.origin,
            med: set.med.unwrap_or(0),
            withheld: policy::is_withheld(&set.communities),
            rejected: [false; 2],
        });
        peer.routes += members.len();
    }
    peer.stream.extend_from_slice(&END_OF_RIB);
}

/// Appends a prefix as NLRI.
pub fn write_nlri(out: &mut Vec<u8>, prefix: Prefix) {
    out.push(prefix.len());
    let octets = usize::from(prefix.len()).div_ceil(8);
    match prefix {
        Prefix::V4(p) => out.extend_from_slice(&p.addr().octets()[..octets]),
        Prefix::V6(p) => out.extend_from_slice(&p.addr().octets()[..octets]),
    }
}

/// End-of-RIB (RFC 4724 §2) for IPv4, then IPv6.
const END_OF_RIB: [u8; 53] = {
    let mut bytes = [0xff; 53];
    let tail = [0, 23, 2, 0, 0, 0, 0];
    let second = [0, 30, 2, 0, 0, 0, 7, 0x90, 15, 0, 3, 0, 2, 1];
    let mut i = 0;
    while i < tail.len() {
        bytes[16 + i] = tail[i];
        i += 1;
    }
    i = 0;
    while i < second.len() {
        bytes[39 + i] = second[i];
        i += 1;
    }
    bytes
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spread_has_the_routes_it_promises() {
        for text in ["4x500", "20x50000/20000", "10x2000/1000"] {
            let named: Named = text.parse().unwrap();
            let workload = Workload::generate(named.shape, None, Settings::default());
            assert_eq!(workload.total_routes(), named.shape.routes(), "{text}");
            assert_eq!(workload.destinations.len(), named.shape.destinations);
            assert_eq!(workload.announcers(), named.shape.peers);
        }
        let workload = Workload::generate(Shape::full(3, 1_000), None, Settings::default());
        assert_eq!(workload.total_routes(), 3_000);
    }

    #[test]
    fn a_seed_gives_the_same_octets() {
        let make = |seed| {
            let settings = Settings {
                seed,
                ..Settings::default()
            };
            Workload::generate(Shape::unique(3, 300), None, settings).peers[1]
                .stream
                .clone()
        };
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }

    #[test]
    fn groups_hold_one_family_and_about_five() {
        let workload = Workload::generate(Shape::unique(2, 5_000), None, Settings::default());
        for group in &workload.groups {
            let members = &workload.destinations[group.first as usize..][..group.len as usize];
            assert!(members.iter().all(|p| p.family() == members[0].family()));
        }
        let mean = 10_000.0 / workload.groups.len() as f64;
        assert!((4.0..6.0).contains(&mean), "{mean}");
    }
}
