//! Formats prefixes and numbers without `std::fmt`, since there are many of them.

use std::net::Ipv6Addr;

use rutter_net::Prefix;

/// Appends the same text as `Display`.
pub(crate) fn push_prefix(out: &mut Vec<u8>, prefix: Prefix) {
    match prefix {
        Prefix::V4(prefix) => {
            for (at, byte) in prefix.bits().to_be_bytes().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                push_octet(out, byte);
            }
        }
        Prefix::V6(prefix) => push_ipv6(out, prefix.addr()),
    }
    out.push(b'/');
    push_octet(out, prefix.len());
}

fn push_octet(out: &mut Vec<u8>, byte: u8) {
    if byte >= 100 {
        out.push(b'0' + byte / 100);
    }
    if byte >= 10 {
        out.push(b'0' + byte / 10 % 10);
    }
    out.push(b'0' + byte % 10);
}

/// Appends the same text as `Display`.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u32) {
    let (mut digits, mut at) = ([0; 10], 10);
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}

/// RFC 5952: lower case, no leading zeros, and `::` for the first of the longest runs of zeros.
fn push_ipv6(out: &mut Vec<u8>, address: Ipv6Addr) {
    if address.to_ipv4_mapped().is_some() {
        // Rare, and written with dots.
        return out.extend(address.to_string().into_bytes());
    }
    let segments = address.segments();
    let (start, len) = longest_zeros(&segments);
    let mut at = 0;
    while at < 8 {
        if at == start && len > 1 {
            out.extend(b"::");
            at += len;
            continue;
        }
        if at > 0 && !(len > 1 && at == start + len) {
            out.push(b':');
        }
        push_segment(out, segments[at]);
        at += 1;
    }
}

fn longest_zeros(segments: &[u16; 8]) -> (usize, usize) {
    let (mut best, mut here) = ((0, 0), (0, 0));
    for (at, segment) in segments.iter().enumerate() {
        here = match (*segment, here.1) {
            (0, 0) => (at, 1),
            (0, len) => (here.0, len + 1),
            _ => (0, 0),
        };
        if here.1 > best.1 {
            best = here;
        }
    }
    best
}

fn push_segment(out: &mut Vec<u8>, segment: u16) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (16 - segment.leading_zeros()).div_ceil(4).max(1);
    for at in (0..digits).rev() {
        out.push(DIGITS[usize::from(segment >> (4 * at) & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_display() {
        let fixed = [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "192.0.2.255/32",
            "203.100.9.0/24",
            "::/0",
            "::1/128",
            "1::/16",
            "2001:db8::/32",
            "2001:db8:0:1::/64",
            "2001:0:0:1::/64",
            "1:0:0:2:0:0:0:3/128",
            "0:1::/32",
            "1:2:3:4:5:6:7:8/128",
            "1:2:3:4:5:6:7:0/112",
            "::ffff:192.0.2.0/120",
            "::192.0.2.0/120",
            "0:1:2:3:4:5:6:7/128",
        ];
        for text in fixed {
            check(text.parse().unwrap());
        }
        let mut state = 7u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let segments: [u16; 8] = std::array::from_fn(|at| match state >> (at * 5) & 3 {
                0 | 1 => 0,
                2 => (state >> 40) as u16,
                _ => (state >> (at + 7)) as u16 & 0xff,
            });
            let len = (state >> 50) as u8 % 129;
            check(Prefix::from_addr(Ipv6Addr::from(segments).into(), len).unwrap());
        }
    }

    #[test]
    fn numbers_are_those_of_display() {
        for number in [0, 9, 10, 65_535, 4_294_967_295] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    fn check(prefix: Prefix) {
        let mut out = Vec::new();
        push_prefix(&mut out, prefix);
        assert_eq!(String::from_utf8(out).unwrap(), prefix.to_string());
    }
}
