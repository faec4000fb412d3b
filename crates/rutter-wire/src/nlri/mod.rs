//! NLRI of the unicast families, with and without path identifiers (RFC 4271 §4.3, RFC 4760 §5, RFC 7911 §3).

use rutter_net::{AfiSafi, Ipv4Prefix, Ipv6Prefix};

use crate::attr::{Fault, Malformed};

macro_rules! nlri_of {
    ($parse:ident, $parse_plain:ident, $parse_add_path:ident, $cut:ident, $runs:ident,
     $prefix:ident, $bits:ty, $octets:literal, $family:expr) => {
        /// Appends all prefixes to `out`; the path identifier is 0 if `add_path` is false. Bits beyond the prefix
        /// length are cleared. On a fault, the prefixes before it have been appended.
        ///
        /// The fault names no attribute; add one with [`Malformed::within`] if the NLRI are inside an attribute.
        #[inline]
        pub fn $parse(
            bytes: &[u8],
            add_path: bool,
            out: &mut Vec<(u32, $prefix)>,
        ) -> Result<(), Malformed> {
            match add_path {
                false => $parse_plain(bytes, out),
                true => $parse_add_path(bytes, out),
            }
        }

        fn $parse_plain(bytes: &[u8], out: &mut Vec<(u32, $prefix)>) -> Result<(), Malformed> {
            const CHUNK: usize = 1 + $octets;
            out.reserve(bytes.len() / (CHUNK - 1) + 1);
            let mut rest = $runs(bytes, out);
            while !rest.is_empty() {
                let mut padded = [0; CHUNK];
                let &[len, ref address @ ..] = chunk(rest, &mut padded);
                let Some(prefix) = $prefix::new(<$bits>::from_be_bytes(*address), len) else {
                    return Err($cut(bytes, rest, Fault::PrefixLength));
                };
                let Some(tail) = rest.get(1 + usize::from(len).div_ceil(8)..) else {
                    return Err($cut(bytes, rest, Fault::PrefixTruncated));
                };
                out.push((0, prefix));
                rest = $runs(tail, out);
            }
            Ok(())
        }

        fn $parse_add_path(bytes: &[u8], out: &mut Vec<(u32, $prefix)>) -> Result<(), Malformed> {
            const CHUNK: usize = 5 + $octets;
            out.reserve(bytes.len() / (CHUNK - 1) + 1);
            let mut rest = bytes;
            while !rest.is_empty() {
                let mut padded = [0; CHUNK];
                let &[i0, i1, i2, i3, len, ref address @ ..] = chunk(rest, &mut padded);
                let Some(prefix) = $prefix::new(<$bits>::from_be_bytes(*address), len) else {
                    return Err($cut(bytes, rest, Fault::PrefixLength));
                };
                let Some(tail) = rest.get(5 + usize::from(len).div_ceil(8)..) else {
                    return Err($cut(bytes, rest, Fault::PrefixTruncated));
                };
                out.push((u32::from_be_bytes([i0, i1, i2, i3]), prefix));
                rest = tail;
            }
            Ok(())
        }

        #[cold]
        fn $cut(bytes: &[u8], rest: &[u8], fault: fn(AfiSafi) -> Fault) -> Malformed {
            Malformed {
                code: None,
                offset: bytes.len() - rest.len(),
                fault: fault($family),
            }
        }
    };
}

nlri_of!(
    parse_ipv4,
    plain_ipv4,
    add_path_ipv4,
    malformed_ipv4,
    ipv4_runs,
    Ipv4Prefix,
    u32,
    4,
    AfiSafi::IPV4_UNICAST
);
nlri_of!(
    parse_ipv6,
    plain_ipv6,
    add_path_ipv6,
    malformed_ipv6,
    ipv6_runs,
    Ipv6Prefix,
    u128,
    16,
    AfiSafi::IPV6_UNICAST
);

/// Takes prefixes of 17 to 24 bits, which are the most frequent, four at a time. All four have the same size, so the
/// processor need not wait for one length to find the next prefix.
#[inline(always)]
fn ipv4_runs<'b>(bytes: &'b [u8], out: &mut Vec<(u32, Ipv4Prefix)>) -> &'b [u8] {
    let mut rest = bytes;
    loop {
        if let Some((four, tail)) = rest.split_first_chunk::<16>() {
            let word = |at: usize| [four[at], four[at + 1], four[at + 2], four[at + 3]];
            let all = [word(0), word(4), word(8), word(12)].map(three_octets);
            if let [Some(a), Some(b), Some(c), Some(d)] = all {
                out.extend_from_slice(&[(0, a), (0, b), (0, c), (0, d)]);
                rest = tail;
                continue;
            }
        }
        let Some((one, tail)) = rest.split_first_chunk::<4>() else {
            return rest;
        };
        let Some(prefix) = three_octets(*one) else {
            return rest;
        };
        out.push((0, prefix));
        rest = tail;
    }
}

/// Decodes a prefix that takes these four octets.
#[inline(always)]
fn three_octets([len, a, b, c]: [u8; 4]) -> Option<Ipv4Prefix> {
    match len {
        17..=24 => Ipv4Prefix::new(u32::from_be_bytes([a, b, c, 0]), len),
        _ => None,
    }
}

/// IPv6 prefixes differ too much in length for such runs.
#[inline(always)]
fn ipv6_runs<'b>(bytes: &'b [u8], _: &mut Vec<(u32, Ipv6Prefix)>) -> &'b [u8] {
    bytes
}

/// Appends a prefix, after its path identifier if there is one.
#[inline]
pub fn write_ipv4(out: &mut Vec<u8>, path_id: Option<u32>, prefix: Ipv4Prefix) {
    if let Some(path_id) = path_id {
        out.extend_from_slice(&path_id.to_be_bytes());
    }
    // One word is written; then the octets beyond the prefix length are removed.
    let end = out.len() + 1 + usize::from(prefix.len()).div_ceil(8);
    out.extend_from_slice(&word(prefix));
    out.truncate(end);
}

/// Appends many prefixes without path identifiers. The room for all of them is reserved once.
pub fn write_ipv4_all(out: &mut Vec<u8>, prefixes: &[Ipv4Prefix]) {
    if let [prefix] = prefixes {
        return write_ipv4(out, None, *prefix);
    }
    let start = out.len();
    out.resize(start + IPV4_LONGEST * prefixes.len() + 8, 0);
    let room = &mut out[start..];
    let mut at = 0;
    for &prefix in prefixes {
        // Writes a whole word for each prefix; the next prefix overwrites the octets beyond the prefix length.
        if let Some(octets) = room.get_mut(at..at + 8) {
            octets.copy_from_slice(&word(prefix));
        }
        at += 1 + usize::from(prefix.len()).div_ceil(8);
    }
    out.truncate(start + at);
}

/// Length and address, padded with zeros.
#[inline(always)]
fn word(prefix: Ipv4Prefix) -> [u8; 8] {
    (u64::from(prefix.len()) << 56 | u64::from(prefix.bits()) << 24).to_be_bytes()
}

/// Octets of the longest IPv4 prefix on the wire.
const IPV4_LONGEST: usize = 5;

/// As [`write_ipv4`], for IPv6.
#[inline]
pub fn write_ipv6(out: &mut Vec<u8>, path_id: Option<u32>, prefix: Ipv6Prefix) {
    if let Some(path_id) = path_id {
        out.extend_from_slice(&path_id.to_be_bytes());
    }
    let end = out.len() + 1 + usize::from(prefix.len()).div_ceil(8);
    let word = u128::from(prefix.len()) << 120 | prefix.bits() >> 8;
    out.extend_from_slice(&word.to_be_bytes());
    out.push(prefix.bits() as u8);
    out.truncate(end);
}

/// The next `N` octets. Near the end the rest is padded with zeros.
#[inline(always)]
fn chunk<'b, const N: usize>(rest: &'b [u8], padded: &'b mut [u8; N]) -> &'b [u8; N] {
    match rest.first_chunk() {
        Some(chunk) => chunk,
        None => {
            // A loop is faster than a call of memcpy.
            for (padded, octet) in padded.iter_mut().zip(rest) {
                *padded = *octet;
            }
            padded
        }
    }
}
