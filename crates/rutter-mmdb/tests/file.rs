//! Reads files with a naive reader and compares them with their prefixes.

use std::net::IpAddr;

use rutter_mmdb::{Data, Database, Metadata, Value};
use rutter_net::Prefix;

/// A reader for the data of these tests: maps with one number.
struct File {
    octets: Vec<u8>,
    nodes: usize,
    width: usize,
}

impl File {
    fn of(octets: Vec<u8>) -> Self {
        let marker = b"\xab\xcd\xefMaxMind.com";
        let at = octets.windows(marker.len()).rposition(|w| w == marker);
        let metadata = &octets[at.unwrap() + marker.len()..];
        let number = |key: &str| {
            let at = metadata
                .windows(key.len())
                .position(|w| w == key.as_bytes());
            let value = &metadata[at.unwrap() + key.len()..];
            let len = usize::from(value[0] & 31);
            value[1..=len]
                .iter()
                .fold(0, |n, octet| n << 8 | usize::from(*octet))
        };
        let (nodes, width) = (number("node_count"), number("record_size"));
        File {
            octets,
            nodes,
            width,
        }
    }

    fn record(&self, node: usize, side: usize) -> usize {
        let size = self.width / 4;
        let node = &self.octets[node * size..][..size];
        let int = |octets: &[u8]| {
            octets
                .iter()
                .fold(0, |n, octet| n << 8 | usize::from(*octet))
        };
        match (self.width, side) {
            (28, 0) => usize::from(node[3] >> 4) << 24 | int(&node[..3]),
            (28, _) => usize::from(node[3] & 15) << 24 | int(&node[4..]),
            (_, 0) => int(&node[..size / 2]),
            (_, _) => int(&node[size / 2..]),
        }
    }

    fn lookup(&self, addr: IpAddr) -> Option<u32> {
        let bits = match addr {
            IpAddr::V4(addr) => u128::from(addr.to_bits()),
            IpAddr::V6(addr) => addr.to_bits(),
        };
        let mut record = 0;
        for depth in 0..128 {
            record = self.record(record, (bits >> (127 - depth) & 1) as usize);
            if record >= self.nodes {
                break;
            }
        }
        let offset = record.checked_sub(self.nodes + 16)?;
        let data = &self.octets[self.nodes * self.width / 4 + 16 + offset..];
        assert_eq!(data[0], 0xe1, "a map of one entry");
        // The first map has the key itself, the others point to it.
        let key = match data[1] {
            0x41 => 2,
            0x20 => 2,
            other => panic!("{other:#x} is no key"),
        };
        let data = &data[1 + key..];
        let len = usize::from(data[0] & 31);
        Some(
            data[1..1 + len]
                .iter()
                .fold(0, |n, octet| n << 8 | u32::from(*octet)),
        )
    }
}

fn file(prefixes: &[(&str, u32)], padding: usize) -> File {
    let mut data = Data::new();
    let key = data.text("n");
    // Pads the data so that records need more bits.
    for n in 0..padding {
        data.map(&[(key, Value::Text(&format!("{n:01000}")))]);
    }
    let mut database = Database::new(data);
    for (prefix, number) in prefixes {
        let at = database.data().map(&[(key, Value::U32(*number))]);
        database.insert(prefix.parse().unwrap(), at);
    }
    let mut octets = Vec::new();
    database.write(&Metadata::default(), &mut octets).unwrap();
    File::of(octets)
}

fn expected(prefixes: &[(&str, u32)], addr: IpAddr) -> Option<u32> {
    let parsed = prefixes
        .iter()
        .map(|(p, n)| (p.parse::<Prefix>().unwrap(), *n));
    let holding = parsed.filter(|(prefix, _)| prefix.contains(addr));
    Some(holding.max_by_key(|(prefix, _)| prefix.len())?.1)
}

const PREFIXES: &[(&str, u32)] = &[
    ("10.1.2.0/24", 1),
    ("10.0.0.0/8", 70_000),
    ("10.1.0.0/16", 3),
    ("10.1.2.128/25", 4),
    ("192.0.2.1/32", 5),
    ("2001:db8::/32", 6),
    ("2001:db8:1::/48", 7),
    ("::/0", 8),
    ("2001:db8::1/128", 9),
];

const ADDRESSES: &[&str] = &[
    "10.1.2.1",
    "10.1.2.200",
    "10.1.3.0",
    "10.2.0.0",
    "11.0.0.0",
    "192.0.2.1",
    "192.0.2.0",
    "2001:db8::",
    "2001:db8::1",
    "2001:db8:1::5",
    "4000::",
];

#[test]
fn the_longest_prefix_counts_at_every_record_size() {
    for (padding, width) in [(0, 24), (17_000, 28)] {
        let file = file(PREFIXES, padding);
        assert_eq!(file.width, width);
        for addr in ADDRESSES {
            let addr = addr.parse().unwrap();
            assert_eq!(file.lookup(addr), expected(PREFIXES, addr), "{addr}");
        }
    }
}

#[test]
fn ipv4_is_found_in_both_of_its_places_and_ipv6_does_not_reach_in() {
    let file = file(PREFIXES, 0);
    let lookup = |addr: &str| file.lookup(addr.parse().unwrap());
    assert_eq!(lookup("::ffff:10.1.3.1"), Some(3));
    assert_eq!(lookup("11.0.0.0"), None, "not the default route of IPv6");
    assert_eq!(lookup("::1:0:0:0"), Some(8));
}

#[test]
fn without_prefixes_nothing_is_found() {
    assert_eq!(file(&[], 0).lookup([10, 0, 0, 1].into()), None);
    let all = file(&[("0.0.0.0/0", 1)], 0);
    assert_eq!(all.lookup([10, 0, 0, 1].into()), Some(1));
    assert_eq!(all.lookup("2001::".parse().unwrap()), None);
}

#[test]
fn only_prefixes_that_an_address_leads_to_are_reached() {
    let prefixes = [
        ("10.0.0.0/8", false),
        ("10.0.0.0/9", true),
        ("10.128.0.0/9", false),
        ("10.128.0.0/10", true),
        ("10.192.0.0/10", true),
        ("192.0.2.0/24", true),
        ("192.0.2.0/25", true),
        ("::/0", true),
        ("::192.0.2.0/120", false),
        ("2001:db8::/32", false),
        ("2001:db8::/33", true),
        ("2001:db8:8000::/33", true),
    ];
    let (prefixes, expected): (Vec<Prefix>, Vec<bool>) = prefixes
        .into_iter()
        .map(|(prefix, reached)| (prefix.parse::<Prefix>().unwrap(), reached))
        .unzip();
    assert_eq!(Database::reached(&prefixes), expected);
}
