//! The routes of Akvorado's benchmarks of its BMP RIB: prefix lengths, AS paths and communities as seen on the
//! Internet, in the same pseudo-random order.

use std::net::Ipv4Addr;

use rutter_net::Ipv4Prefix;

use crate::numbers::Pcg;

pub const SHARDS: usize = 16;
/// The routes of the concurrent benchmark, and its writers and readers.
pub const LIVE: usize = 500_000;
pub const WRITERS: usize = 8;
pub const READERS: usize = 32;
/// The number of addresses that readers look up.
pub const TARGETS: usize = 10_000;
/// The peers of the insertion and flush benchmarks, and the routes of each before one in ten is left out.
pub const PEERS: usize = 5;
pub const A_PEER: usize = 100_000;

/// A route as a peer announces it.
#[derive(Clone)]
pub struct Route {
    pub prefix: Ipv4Prefix,
    pub as_path: Vec<u32>,
    pub communities: Vec<u32>,
    pub large_communities: Vec<[u32; 3]>,
}

/// The number of prefixes of each length in a full table, from /8 on.
const LENGTHS: [u32; 17] = [
    16, 14, 41, 92, 298, 581, 1210, 2161, 13854, 8369, 13785, 25080, 45910, 53311, 114177, 108013,
    632625,
];
/// Not in the order of the distribution above: /24 is followed by a few /25.
const SLASH_25: u32 = 793;

/// The number of ASes at each distance.
const DISTANCES: [u32; 18] = [
    1, 2, 366, 9645, 29251, 28984, 7340, 1423, 383, 63, 14, 2, 4, 4, 4, 4, 1, 0,
];
const AS_PATHS: u32 = 254_123;

/// The AS paths that routes choose from.
pub struct AsPaths(Vec<Vec<u32>>);

impl AsPaths {
    pub fn new() -> Self {
        let mut numbers = Pcg::new(0, 0);
        let total = DISTANCES.iter().sum();
        let mut path = |_| {
            let len = choose(&DISTANCES, numbers.below(total)).max(1);
            (0..len).map(|_| numbers.below(64494) + 1).collect()
        };
        AsPaths((0..AS_PATHS).map(&mut path).collect())
    }
}

/// The index of a number's class in a distribution.
fn choose(distribution: &[u32], number: u32) -> usize {
    let mut sum = 0;
    let found = distribution.iter().position(|count| {
        sum += count;
        number < sum
    });
    found.unwrap_or(0)
}

/// Draws `count` routes. One generator chooses the prefixes, the other everything else.
pub fn routes(prefixes: &mut Pcg, rest: &mut Pcg, paths: &AsPaths, count: usize) -> Vec<Route> {
    (0..count).map(|_| route(prefixes, rest, paths)).collect()
}

fn route(prefixes: &mut Pcg, rest: &mut Pcg, paths: &AsPaths) -> Route {
    let mut lengths = LENGTHS.to_vec();
    lengths.push(SLASH_25);
    let total: u32 = lengths.iter().sum();
    let len = 8 + choose(&lengths, prefixes.below(total)) as u8;
    let octets = [224, 256, 256, 256].map(|bound| prefixes.below(bound) as u8);
    let prefix = Ipv4Prefix::from_addr(Ipv4Addr::from(octets), len).expect("a length in range");
    let as_path = paths.0[rest.below(paths.0.len() as u32) as usize].clone();
    let some_as = |rest: &mut Pcg| as_path[rest.below(as_path.len() as u32) as usize];
    let count = rest.below(10).saturating_sub(4);
    let mut communities: Vec<u32> = (0..count)
        .map(|_| some_as(rest) << 16 | rest.below(3))
        .collect();
    communities.sort_unstable();
    communities.dedup();
    let count = rest.below(100).saturating_sub(97);
    let large_communities = (0..count)
        .map(|_| [some_as(rest), rest.below(2) + 1, rest.below(2) + 1])
        .collect();
    Route {
        prefix,
        as_path,
        communities,
        large_communities,
    }
}

impl Route {
    /// The stored part of a route: origin AS, next hop, AS path, communities and large communities, with their
    /// counts.
    pub fn value(&self, next_hop: u32) -> Vec<u32> {
        let mut words = vec![*self.as_path.last().unwrap_or(&0), next_hop];
        words.push((self.as_path.len() | self.communities.len() << 16) as u32);
        words.extend(&self.as_path);
        words.extend(&self.communities);
        words.extend(self.large_communities.iter().flatten());
        words
    }
}

/// Panics if the routes differ from those of the other side.
pub fn check(paths: &AsPaths) {
    let two = routes(&mut Pcg::new(1, 1), &mut Pcg::new(2, 2), paths, 2);
    let seen = two.iter().map(|r| format!("{} {:?}", r.prefix, r.as_path));
    let expected = [
        "22.172.220.0/24 [5310, 16496, 48042, 23205]",
        "181.109.115.0/24 [9514, 53442, 28732, 62632, 53821]",
    ];
    assert!(seen.eq(expected), "the generator is not Go's");
}
