//! A quick reader of the lines that almost all lists consist of.

use rutter_irr::ListEntry;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

/// Reads a line that has just a prefix, or a prefix and an AS number, in the form that programs write:
/// `192.0.2.0/24 AS64500` or `2001:db8::/32`. Returns the row and the bytes behind the line.
///
/// `None` says nothing about the line: the caller reads it again with all rules, which also find its mistakes.
pub(crate) fn plain_row(text: &[u8]) -> Option<(ListEntry, &[u8])> {
    let (prefix, rest) = match ipv4(text) {
        Some((prefix, rest)) => (Prefix::V4(prefix), rest),
        None => {
            let (prefix, rest) = ipv6(text)?;
            (Prefix::V6(prefix), rest)
        }
    };
    let mut row = ListEntry::from(prefix);
    let mut rest = rest;
    if let Some(origin) = rest.strip_prefix(b" ") {
        let (asn, behind) = number(origin.strip_prefix(b"AS").unwrap_or(origin))?;
        row.origin = Some(u32::try_from(asn).ok()?);
        rest = behind;
    }
    match rest {
        [] => Some((row, rest)),
        [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => Some((row, rest)),
        _ => None,
    }
}

fn ipv4(text: &[u8]) -> Option<(Ipv4Prefix, &[u8])> {
    let mut bits = 0;
    let mut rest = text;
    for end in [b'.', b'.', b'.', b'/'] {
        let (octet, behind) = number(rest)?;
        bits = bits << 8 | u32::from(u8::try_from(octet).ok()?);
        rest = behind.strip_prefix(&[end])?;
    }
    let (len, rest) = number(rest)?;
    let prefix = Ipv4Prefix::new(bits, u8::try_from(len).ok()?)?;
    (prefix.bits() == bits).then_some((prefix, rest))
}

/// Either all eight groups are there, or `::` stands for all behind it.
fn ipv6(text: &[u8]) -> Option<(Ipv6Prefix, &[u8])> {
    let (mut bits, mut groups, mut rest) = (0_u128, 0, text);
    loop {
        let (group, behind) = hex_group(rest)?;
        bits = bits << 16 | u128::from(group);
        groups += 1;
        match (groups, behind) {
            (8, [b'/', behind @ ..]) => {
                rest = behind;
                break;
            }
            (1..=7, [b':', b':', b'/', behind @ ..]) => {
                bits <<= 16 * (8 - groups);
                rest = behind;
                break;
            }
            (1..=7, [b':', behind @ ..]) => rest = behind,
            _ => return None,
        }
    }
    let (len, rest) = number(rest)?;
    let prefix = Ipv6Prefix::new(bits, u8::try_from(len).ok()?)?;
    (prefix.bits() == bits).then_some((prefix, rest))
}

/// Reads a decimal number of at most ten digits, without zeros before it.
#[inline]
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut digits) = (0, 0);
    while let Some(digit @ b'0'..=b'9') = text.get(digits) {
        number = number * 10 + u64::from(digit - b'0');
        digits += 1;
        if digits > 10 {
            return None;
        }
    }
    let has_zeros = digits > 1 && text[0] == b'0';
    (digits > 0 && !has_zeros).then(|| (number, &text[digits..]))
}

/// Reads one to four hexadecimal digits.
#[inline]
fn hex_group(text: &[u8]) -> Option<(u16, &[u8])> {
    let (mut group, mut digits) = (0, 0);
    while digits < 5 {
        let digit = text.get(digits).and_then(|byte| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            b'A'..=b'F' => Some(byte - b'A' + 10),
            _ => None,
        });
        let Some(digit) = digit else { break };
        group = group << 4 | u16::from(digit);
        digits += 1;
    }
    (1..=4).contains(&digits).then(|| (group, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_lines_are_plain() {
        for (line, prefix, origin) in [
            ("192.0.2.0/24", "192.0.2.0/24", None),
            ("0.0.0.0/0\r\n", "0.0.0.0/0", None),
            ("10.0.0.0/8 64500\n", "10.0.0.0/8", Some(64_500)),
            (
                "2001:db8::/32 AS4294967295\n",
                "2001:db8::/32",
                Some(u32::MAX),
            ),
            ("2001:DB8:0:0:0:0:0:1/128", "2001:db8::1/128", None),
        ] {
            let (row, rest) = plain_row(line.as_bytes()).unwrap();
            let expected = ListEntry {
                origin,
                ..ListEntry::from(prefix.parse::<Prefix>().unwrap())
            };
            assert_eq!((row, rest), (expected, &b""[..]), "{line}");
        }
    }

    #[test]
    fn other_lines_are_left_to_the_caller() {
        for line in [
            "",
            "\n",
            "AS64500",
            " 192.0.2.0/24",
            "192.0.2.0/24 ",
            "192.0.2.0/24 le 25",
            "192.0.2.1/24",
            "192.0.2.0/33",
            "192.0.2.00/24",
            "192.0.2.0/024",
            "192.0.2.0/24 AS4294967296",
            "192.0.2.0/24 1.10",
            "192.0.2.0/24#",
            "256.0.0.0/8",
            "2001:db8::1::/64",
            "2001:db8/32",
            "::/0",
            "1:2:3:4:5:6:7:8::/64",
            "2001:db8::/32 as1",
            "12345::/16",
        ] {
            assert_eq!(plain_row(line.as_bytes()), None, "{line}");
        }
    }
}
