//! Sources of destinations: a file of prefixes, or a generator of public prefixes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::mrt::{Content, MrtError, next_record};
use std::collections::HashSet;

use crate::rng::Rng;

/// Returns whether an exchange's filter accepts the prefix. A workload of such prefixes passes the checks of the daemon
/// under test.
pub fn is_acceptable(prefix: Prefix) -> bool {
    match prefix {
        Prefix::V4(p) => (8..=24).contains(&p.len()) && !overlaps_reserved_v4(p),
        Prefix::V6(p) => (12..=48).contains(&p.len()) && is_public_v6(p),
    }
}

fn overlaps_reserved_v4(p: Ipv4Prefix) -> bool {
    RESERVED_V4.iter().any(|&(bits, len)| {
        let common = Ipv4Prefix::mask(len.min(p.len()));
        p.bits() & common == bits & common
    })
}

fn is_public_v6(p: Ipv6Prefix) -> bool {
    p.bits() >> 125 == 1
        && !RESERVED_V6.iter().any(|&(bits, len)| {
            let common = Ipv6Prefix::mask(len.min(p.len()));
            p.bits() & common == bits & common
        })
}

/// A prefix file, read.
#[derive(Clone, Debug, Default)]
pub struct PrefixFile {
    /// The prefixes in file order, each once.
    pub prefixes: Vec<Prefix>,
    /// Lines that repeat an earlier prefix.
    pub duplicates: usize,
    /// Prefixes that were left out because an exchange's filter would reject them.
    pub dropped: usize,
}

/// Reads one prefix per line, plain or gzip; the first two bytes decide. Empty lines and `#` comments are skipped. With
/// `keep_unacceptable`, prefixes that fail [`is_acceptable`] are kept.
pub fn read_prefix_file(path: &Path, keep_unacceptable: bool) -> io::Result<PrefixFile> {
    let mut collector = Collector::new(keep_unacceptable);
    for (number, line) in BufReader::new(open(path)?).lines().enumerate() {
        let line = line.map_err(|error| named(path, error))?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let prefix = text
            .parse()
            .map_err(|error| invalid(format!("{}:{}: {error}", path.display(), number + 1)))?;
        collector.add(prefix);
    }
    Ok(collector.found)
}

/// Reads the prefixes of an MRT table dump (TABLE_DUMP_V2), plain or gzip; other records are skipped. It reads record
/// by record, since an unpacked dump is much larger than its prefixes.
pub fn read_mrt_prefixes(path: &Path, keep_unacceptable: bool) -> io::Result<PrefixFile> {
    let mut input = open(path)?;
    let mut collector = Collector::new(keep_unacceptable);
    let damaged = |at: usize, mut error: MrtError| {
        error.offset += at;
        invalid(format!("{}: {error}", path.display()))
    };
    let (mut buffer, mut offset) = (Vec::new(), 0);
    loop {
        let more = (&mut input)
            .take(CHUNK)
            .read_to_end(&mut buffer)
            .map_err(|error| named(path, error))?;
        let mut at = 0;
        while let Some(record) = next_record(&buffer[at..]).map_err(|e| damaged(offset + at, e))? {
            let content = record.decode().map_err(|e| damaged(offset + at, e))?;
            if let Content::Rib(rib) = content {
                collector.add(rib.prefix);
            }
            at += record.len;
        }
        offset += at;
        buffer.drain(..at);
        if more == 0 {
            return match buffer.is_empty() {
                true => Ok(collector.found),
                false => Err(invalid(format!("{}: ends inside a record", path.display()))),
            };
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let named = |error| named(path, error);
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(named)?);
    if file.fill_buf().map_err(named)?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(MultiGzDecoder::new(file)));
    }
    Ok(Box::new(file))
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Bytes of a dump read at a time.
const CHUNK: u64 = 1 << 20;

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

struct Collector {
    keep_unacceptable: bool,
    seen: HashSet<Prefix>,
    found: PrefixFile,
}

impl Collector {
    fn new(keep_unacceptable: bool) -> Self {
        Collector {
            keep_unacceptable,
            seen: HashSet::new(),
            found: PrefixFile::default(),
        }
    }

    fn add(&mut self, prefix: Prefix) {
        if !self.keep_unacceptable && !is_acceptable(prefix) {
            self.found.dropped += 1;
        } else if self.seen.insert(prefix) {
            self.found.prefixes.push(prefix);
        } else {
            self.found.duplicates += 1;
        }
    }
}

/// A realistic table of `count` distinct public prefixes. 85 % are IPv4 with about 60 % of /24, a third of them more
/// specifics of another prefix. IPv6 is mostly /32 and /48.
pub fn synthetic_table(count: usize, rng: &Rng) -> Vec<Prefix> {
    let v6 = count * 15 / 100;
    let mut prefixes: Vec<Prefix> = synthetic_v4(count - v6, rng.fork(4));
    prefixes.extend(synthetic_v6(v6, rng.fork(6)));
    prefixes
}

fn synthetic_v4(count: usize, mut rng: Rng) -> Vec<Prefix> {
    let mut seen = HashSet::with_capacity(count);
    let mut prefixes = Vec::with_capacity(count);
    let mut covering = Vec::new();
    while prefixes.len() < count {
        let parent: Option<Ipv4Prefix> = match covering.len() as u64 {
            n if n > 0 && rng.chance(33) => Some(covering[rng.below(n) as usize]),
            _ => None,
        };
        let drawn = rng.next_u64() as u32;
        let candidate = match parent {
            Some(parent) => {
                let len = rng.between(u64::from(parent.len()) + 1, 24) as u8;
                let inside = drawn & !Ipv4Prefix::mask(parent.len());
                Ipv4Prefix::new(parent.bits() | inside, len)
            }
            None => Ipv4Prefix::new(drawn, V4_LENGTHS[rng.weighted(&V4_WEIGHTS)]),
        };
        let Some(prefix) = candidate.filter(|&p| is_acceptable(Prefix::V4(p))) else {
            continue;
        };
        if seen.insert(prefix) {
            if prefix.len() < 24 {
                covering.push(prefix);
            }
            prefixes.push(Prefix::V4(prefix));
        }
    }
    prefixes
}

fn synthetic_v6(count: usize, mut rng: Rng) -> Vec<Prefix> {
    let mut seen = HashSet::with_capacity(count);
    let mut prefixes = Vec::with_capacity(count);
    while prefixes.len() < count {
        let region = V6_REGIONS[rng.below(V6_REGIONS.len() as u64) as usize];
        let below = u128::from(rng.next_u64()) << 52;
        let len = V6_LENGTHS[rng.weighted(&V6_WEIGHTS)];
        let Some(prefix) = Ipv6Prefix::new(u128::from(region) << 112 | below, len) else {
            continue;
        };
        if is_acceptable(Prefix::V6(prefix)) && seen.insert(prefix) {
            prefixes.push(Prefix::V6(prefix));
        }
    }
    prefixes
}

const V4_LENGTHS: [u8; 9] = [24, 23, 22, 21, 20, 19, 18, 17, 16];
const V4_WEIGHTS: [u32; 9] = [560, 110, 140, 55, 50, 40, 20, 10, 15];
const V6_LENGTHS: [u8; 8] = [48, 32, 44, 40, 36, 29, 33, 46];
const V6_WEIGHTS: [u32; 8] = [480, 200, 100, 90, 40, 40, 25, 25];
/// The /12s that the regional registries assign; the low four bits are random.
const V6_REGIONS: [u16; 5] = [0x2400, 0x2600, 0x2800, 0x2a00, 0x2c00];

/// Special-purpose IPv4 space (RFC 6890 and its registry), multicast and class E.
const RESERVED_V4: [(u32, u8); 15] = [
    (0x0000_0000, 8),
    (0x0a00_0000, 8),
    (0x6440_0000, 10),
    (0x7f00_0000, 8),
    (0xa9fe_0000, 16),
    (0xac10_0000, 12),
    (0xc000_0000, 24),
    (0xc000_0200, 24),
    (0xc058_6300, 24),
    (0xc0a8_0000, 16),
    (0xc612_0000, 15),
    (0xc633_6400, 24),
    (0xcb00_7100, 24),
    (0xe000_0000, 4),
    (0xf000_0000, 4),
];

/// Special-purpose space inside 2000::/3.
const RESERVED_V6: [(u128, u8); 5] = [
    (0x2001_0000 << 96, 23),
    (0x2001_0db8 << 96, 32),
    (0x2002_0000 << 96, 16),
    (0x3ffe_0000 << 96, 16),
    (0x3fff_0000 << 96, 20),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_dump_gives_each_prefix_once() {
        let path = std::env::temp_dir().join(format!("rutter-bench-{}.mrt", std::process::id()));
        let mut dump = Vec::new();
        for text in [
            "193.0.0.0/21",
            "10.0.0.0/8",
            "2001:67c:2e8::/48",
            "193.0.0.0/21",
        ] {
            let route = rutter_wire::mrt::Route {
                peer_index: 0,
                originated_s: 0,
                path_id: 0,
                attributes: &[],
                next_hop: &[],
            };
            let prefix = text.parse().unwrap();
            rutter_wire::mrt::write_rib(&mut dump, 0, 0, prefix, false, [route]);
        }
        std::fs::write(&path, &dump).unwrap();
        let found = read_mrt_prefixes(&path, false).unwrap();
        assert_eq!(
            (found.prefixes.len(), found.dropped, found.duplicates),
            (2, 1, 1)
        );
        std::fs::write(&path, &dump[..dump.len() - 1]).unwrap();
        assert!(read_mrt_prefixes(&path, false).is_err());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn generated_tables_are_distinct_acceptable_and_repeatable() {
        let table = synthetic_table(20_000, &Rng::new(1));
        assert_eq!(table.len(), 20_000);
        assert!(table.iter().all(|&p| is_acceptable(p)));
        let distinct: HashSet<_> = table.iter().collect();
        assert_eq!(distinct.len(), table.len());
        assert_eq!(table, synthetic_table(20_000, &Rng::new(1)));
        assert_ne!(table, synthetic_table(20_000, &Rng::new(2)));
    }

    #[test]
    fn reserved_space_and_odd_lengths_are_not_acceptable() {
        for text in [
            "10.0.0.0/8",
            "8.0.0.0/7",
            "1.1.1.0/25",
            "192.0.2.0/24",
            "2001:db8::/32",
            "fc00::/16",
            "2600::/49",
            "192.0.0.0/16",
        ] {
            assert!(!is_acceptable(text.parse().unwrap()), "{text}");
        }
        for text in ["1.0.0.0/8", "8.8.8.0/24", "2600::/12", "2a00:1450::/48"] {
            assert!(is_acceptable(text.parse().unwrap()), "{text}");
        }
    }
}
