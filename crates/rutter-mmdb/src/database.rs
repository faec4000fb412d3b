//! The file: search tree, data section and metadata.

use std::fmt;
use std::io::{self, Write};

use rutter_net::Prefix;

use crate::data::{At, Data};
use crate::encode;
use crate::tree::{Record, Tree};

/// The metadata of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// The database type. Some readers refuse unknown types.
    pub database_type: String,
    /// The description in English.
    pub description: String,
    /// The build time, Unix seconds.
    pub build_epoch: u64,
}

impl Default for Metadata {
    fn default() -> Self {
        Metadata {
            database_type: "GeoLite2-ASN".into(),
            description: String::new(),
            build_epoch: 0,
        }
    }
}

/// Prefixes with their maps.
#[derive(Debug)]
pub struct Database {
    data: Data,
    prefixes: Vec<(Prefix, At)>,
}

/// An error: the tree and the data do not fit into records of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MaxMind DB file cannot be larger than 4 GiB")
    }
}

impl std::error::Error for TooLarge {}

/// The number of zero bytes between the tree and the data.
const SEPARATOR: usize = 16;
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

impl Database {
    /// Creates a database without prefixes.
    pub fn new(data: Data) -> Self {
        Database {
            data,
            prefixes: Vec::new(),
        }
    }

    /// Returns the data section, to add to it.
    pub fn data(&mut self) -> &mut Data {
        &mut self.data
    }

    /// Adds a prefix with its map. For an address the longest prefix counts, in any order of insertion.
    pub fn insert(&mut self, prefix: Prefix, at: At) {
        self.prefixes.push((prefix, at));
    }

    /// Returns for each prefix whether some address finds it. Longer prefixes cover the others completely, or they overlap
    /// the IPv4 space. Omit the maps of those: strict readers reject unreachable data.
    pub fn reached(prefixes: &[Prefix]) -> Vec<bool> {
        let numbered = prefixes
            .iter()
            .zip(0..)
            .map(|(prefix, at)| (*prefix, At(at)));
        let mut numbered: Vec<_> = numbered.collect();
        numbered.sort_by_key(|(prefix, _)| prefix.len());
        let mut reached = vec![false; prefixes.len()];
        tree(&numbered).visit_data(|At(number)| reached[number as usize] = true);
        reached
    }

    /// Writes the file in many small writes, so use a buffered writer.
    pub fn write(mut self, metadata: &Metadata, out: &mut impl Write) -> io::Result<()> {
        self.prefixes.sort_by_key(|(prefix, _)| prefix.len());
        let tree = tree(&self.prefixes);
        let nodes = tree.nodes.len();
        let last = nodes + SEPARATOR + self.data.octets.len();
        // The largest value determines the width of records.
        let bits = usize::BITS - last.leading_zeros();
        let width = match bits {
            ..=24 => 24,
            25..=28 => 28,
            29..=32 => 32,
            _ => return Err(io::Error::other(TooLarge)),
        };
        let number = |record| match record {
            Record::Nothing => nodes as u32,
            Record::Node(node) => node,
            Record::Data(At(offset)) => (nodes + SEPARATOR) as u32 + offset,
        };
        for records in &tree.nodes {
            out.write_all(node(records.map(number), width).octets())?;
        }
        out.write_all(&[0; SEPARATOR])?;
        out.write_all(&self.data.octets)?;
        out.write_all(MARKER)?;
        out.write_all(&describe(metadata, nodes, width))
    }
}

/// Builds the tree. IPv4 is at ::/96, with an alias at ::ffff:0:0/96. IPv6 prefixes do not apply to IPv4: an IPv6
/// default route is not an IPv4 one.
fn tree(prefixes: &[(Prefix, At)]) -> Tree {
    let (mut ipv4, mut ipv6) = (Tree::new(), Tree::new());
    for (prefix, at) in prefixes {
        match prefix {
            Prefix::V4(prefix) => {
                let bits = u128::from(prefix.bits()) << 96;
                ipv4.insert(bits, prefix.len(), Record::Data(*at));
            }
            Prefix::V6(prefix) => ipv6.insert(prefix.bits(), prefix.len(), Record::Data(*at)),
        }
    }
    let root = ipv6.graft(ipv4);
    ipv6.insert(0, 96, root);
    ipv6.insert(0xffff << 32, 96, root);
    ipv6
}

/// The bytes of a node.
struct Node([u8; 8], usize);

impl Node {
    fn octets(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

fn node([left, right]: [u32; 2], width: u16) -> Node {
    let (l, r) = (left.to_be_bytes(), right.to_be_bytes());
    match width {
        24 => Node([l[1], l[2], l[3], r[1], r[2], r[3], 0, 0], 6),
        28 => {
            let middle = l[0] << 4 | r[0];
            Node([l[1], l[2], l[3], middle, r[1], r[2], r[3], 0], 7)
        }
        _ => Node([l[0], l[1], l[2], l[3], r[0], r[1], r[2], r[3]], 8),
    }
}

fn describe(metadata: &Metadata, nodes: usize, width: u16) -> Vec<u8> {
    let mut octets = Vec::new();
    let out = &mut octets;
    encode::control(out, encode::MAP, 9);
    let number = |out: &mut Vec<u8>, key, kind, value| {
        encode::text(out, key);
        encode::number(out, kind, value);
    };
    number(out, "binary_format_major_version", encode::U16, 2);
    number(out, "binary_format_minor_version", encode::U16, 0);
    number(out, "build_epoch", encode::U64, metadata.build_epoch);
    number(out, "ip_version", encode::U16, 6);
    number(out, "node_count", encode::U32, nodes as u64);
    number(out, "record_size", encode::U16, u64::from(width));
    encode::text(out, "database_type");
    encode::text(out, &metadata.database_type);
    encode::text(out, "description");
    encode::control(out, encode::MAP, 1);
    encode::text(out, "en");
    encode::text(out, &metadata.description);
    encode::text(out, "languages");
    encode::control(out, encode::ARRAY, 1);
    encode::text(out, "en");
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_the_specified_encoding() {
        let octets = |records, width| node(records, width).octets().to_vec();
        assert_eq!(octets([0x010203, 0x040506], 24), [1, 2, 3, 4, 5, 6]);
        assert_eq!(
            octets([0x0a010203, 0x0b040506], 28),
            [1, 2, 3, 0xab, 4, 5, 6]
        );
        assert_eq!(
            octets([0x01020304, 0x05060708], 32),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
    }
}
