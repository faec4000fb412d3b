//! NLRI of the unicast families, with and without path identifiers (RFC 4271 §4.3, RFC 4760 §5, RFC 7911 §3).

use rutter_net::{Ipv4Prefix, Ipv6Prefix};

use crate::attr::Malformed;

/// Appends all prefixes to `out`, with path identifier 0 where `add_path` is off. Bits below a length are cleared.
pub fn parse_ipv4(
    bytes: &[u8],
    add_path: bool,
    out: &mut Vec<(u32, Ipv4Prefix)>,
) -> Result<(), Malformed> {
    let _ = (bytes, add_path, out);
    todo!()
}

/// As [`parse_ipv4`], for IPv6.
pub fn parse_ipv6(
    bytes: &[u8],
    add_path: bool,
    out: &mut Vec<(u32, Ipv6Prefix)>,
) -> Result<(), Malformed> {
    let _ = (bytes, add_path, out);
    todo!()
}

/// Appends a prefix, behind its path identifier where one is given.
pub fn write_ipv4(out: &mut Vec<u8>, path_id: Option<u32>, prefix: Ipv4Prefix) {
    let _ = (out, path_id, prefix);
    todo!()
}

/// As [`write_ipv4`], for IPv6.
pub fn write_ipv6(out: &mut Vec<u8>, path_id: Option<u32>, prefix: Ipv6Prefix) {
    let _ = (out, path_id, prefix);
    todo!()
}
