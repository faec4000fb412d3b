//! Fast formatting of numbers and addresses: the printer does little else.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use rutter_net::Prefix;

/// Appends a number.
pub(super) fn number(out: &mut Vec<u8>, mut value: u32) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends an address.
pub(super) fn address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => ipv4(out, v4),
        // Writing to a vector cannot fail.
        IpAddr::V6(v6) => drop(write!(out, "{v6}")),
    }
}

/// Appends an IPv4 address.
pub(super) fn ipv4(out: &mut Vec<u8>, address: Ipv4Addr) {
    for (at, octet) in address.octets().into_iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        number(out, u32::from(octet));
    }
}

/// Appends a prefix.
pub(super) fn prefix(out: &mut Vec<u8>, prefix: Prefix) {
    address(out, prefix.addr());
    out.push(b'/');
    number(out, u32::from(prefix.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for value in [0, 9, 10, 255, 64_500, 4_294_967_295] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
        }
        for text in ["0.0.0.0/0", "192.0.2.128/25", "2001:db8::/32"] {
            let mut out = Vec::new();
            prefix(&mut out, text.parse().unwrap());
            assert_eq!(out, text.as_bytes());
        }
    }
}
