//! NLRI of the unicast families, with and without path identifiers (RFC 4271 §4.3, RFC 4760 §5, RFC 7911 §3).

use rutter_net::{AfiSafi, Ipv4Prefix, Ipv6Prefix};

use crate::attr::{Fault, Malformed};

macro_rules! nlri_of {
    ($parse:ident, $parse_plain:ident, $parse_add_path:ident, $cut:ident,
     $prefix:ident, $bits:ty, $octets:literal, $family:expr) => {
        /// Appends all prefixes to `out`, with path identifier 0 where `add_path` is off. Bits below a length are
        /// cleared. On a fault, what stands before it has been appended.
        ///
        /// The fault has no attribute; give it one with [`Malformed::within`] where the NLRI stand in one.
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
            let mut rest = bytes;
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
                rest = tail;
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
    Ipv6Prefix,
    u128,
    16,
    AfiSafi::IPV6_UNICAST
);

/// Appends a prefix, behind its path identifier where one is given.
#[inline]
pub fn write_ipv4(out: &mut Vec<u8>, path_id: Option<u32>, prefix: Ipv4Prefix) {
    if let Some(path_id) = path_id {
        out.extend_from_slice(&path_id.to_be_bytes());
    }
    // One word goes out; what the length does not cover is taken back.
    let end = out.len() + 1 + usize::from(prefix.len()).div_ceil(8);
    let word = u64::from(prefix.len()) << 56 | u64::from(prefix.bits()) << 24;
    out.extend_from_slice(&word.to_be_bytes());
    out.truncate(end);
}

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

/// The next `N` octets; near the end, what is left with zeros behind it.
#[inline(always)]
fn chunk<'b, const N: usize>(rest: &'b [u8], padded: &'b mut [u8; N]) -> &'b [u8; N] {
    match rest.first_chunk() {
        Some(chunk) => chunk,
        None => {
            padded[..rest.len()].copy_from_slice(rest);
            padded
        }
    }
}
