//! Prefix fields on the wire.

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

/// Calls `found` with each prefix of an IPv4 field. `false`: the field is malformed.
pub(crate) fn each_v4(field: &[u8], mut found: impl FnMut(Prefix)) -> bool {
    each::<4>(field, |octets, len| {
        let prefix = Ipv4Prefix::new(u32::from_be_bytes(octets), len);
        prefix.map(|prefix| found(Prefix::V4(prefix))).is_some()
    })
}

/// The same for IPv6.
pub(crate) fn each_v6(field: &[u8], mut found: impl FnMut(Prefix)) -> bool {
    each::<16>(field, |octets, len| {
        let prefix = Ipv6Prefix::new(u128::from_be_bytes(octets), len);
        prefix.map(|prefix| found(Prefix::V6(prefix))).is_some()
    })
}

fn each<const N: usize>(mut field: &[u8], mut found: impl FnMut([u8; N], u8) -> bool) -> bool {
    while let Some((&len, rest)) = field.split_first() {
        let count = usize::from(len).div_ceil(8);
        if count > N || rest.len() < count {
            return false;
        }
        let mut octets = [0; N];
        octets[..count].copy_from_slice(&rest[..count]);
        field = &rest[count..];
        if !found(octets, len) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_to_their_end_or_refused() {
        let mut found = Vec::new();
        assert!(each_v4(&[8, 9, 24, 1, 2, 3, 0], |p| found.push(p.to_string())));
        assert_eq!(found, ["9.0.0.0/8", "1.2.3.0/24", "0.0.0.0/0"]);
        assert!(each_v6(&[32, 0x2a, 0, 0, 1], |p| assert_eq!(
            p.to_string(),
            "2a00:1::/32"
        )));
        assert!(!each_v4(&[24, 1, 2], |_| {}) && !each_v4(&[33, 1, 2, 3, 4, 5], |_| {}));
    }
}
