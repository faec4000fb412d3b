//! One number for all attributes of a route, in any order, so that one comparison checks transparency.

use rapidhash::v3::rapidhash_v3;

/// The parts of an UPDATE that carry prefixes, and the fingerprint of the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dissected<'a> {
    /// IPv4 withdrawn routes.
    pub withdrawn_v4: &'a [u8],
    /// IPv4 NLRI.
    pub announced_v4: &'a [u8],
    /// IPv6 prefixes in MP_UNREACH_NLRI.
    pub withdrawn_v6: &'a [u8],
    /// IPv6 prefixes in MP_REACH_NLRI.
    pub announced_v6: &'a [u8],
    /// Fingerprint with the next hop of the IPv4 NLRI.
    pub fingerprint_v4: u64,
    /// Fingerprint with the next hop of MP_REACH_NLRI.
    pub fingerprint_v6: u64,
    /// The attribute block.
    pub attributes: &'a [u8],
}

/// Splits the body of an UPDATE. `None`: lengths do not fit.
pub fn dissect(body: &[u8]) -> Option<Dissected<'_>> {
    let (withdrawn_v4, rest) = sized(body)?;
    let (attributes, announced_v4) = sized(rest)?;
    let mut parts = Dissected {
        withdrawn_v4,
        announced_v4,
        attributes,
        ..Dissected::default()
    };
    let (mut common, mut hop_v4, mut hop_v6) = (0_u64, 0, 0);
    let mut block = attributes;
    while !block.is_empty() {
        let (flags, code, value, rest) = attribute(block)?;
        block = rest;
        match code {
            NEXT_HOP => hop_v4 = hash(NEXT_HOP, 0, value),
            MP_REACH => {
                let length = usize::from(*value.get(3)?);
                let hop = value.get(4..4 + length)?;
                hop_v6 = hash(NEXT_HOP, 0, hop.get(..16).unwrap_or(hop));
                if value.starts_with(&[0, 2, 1]) {
                    parts.announced_v6 = value.get(5 + length..)?;
                }
            }
            MP_UNREACH if value.starts_with(&[0, 2, 1]) => parts.withdrawn_v6 = &value[3..],
            MP_UNREACH => {}
            _ => common = common.wrapping_add(hash(code, flags & !EXTENDED_LENGTH, value)),
        }
    }
    parts.fingerprint_v4 = common.wrapping_add(hop_v4);
    parts.fingerprint_v6 = common.wrapping_add(hop_v6);
    Some(parts)
}

/// The fingerprint of a whole UPDATE message that we wrote, for the family that it announces.
pub fn of_message(message: &[u8]) -> u64 {
    match message.get(19..).and_then(dissect) {
        Some(parts) if parts.announced_v6.is_empty() => parts.fingerprint_v4,
        Some(parts) => parts.fingerprint_v6,
        None => 0,
    }
}

/// The type codes and values of an attribute block, for messages about a difference.
pub fn describe(block: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = block;
    while let Some((_, code, value, after)) = attribute(rest) {
        text.push_str(&format!("{code}="));
        value
            .iter()
            .take(40)
            .for_each(|octet| text.push_str(&format!("{octet:02x}")));
        text.push(' ');
        rest = after;
    }
    text
}

fn hash(code: u8, flags: u8, value: &[u8]) -> u64 {
    rapidhash_v3(value)
        ^ (u64::from(code) << 8 | u64::from(flags)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = usize::from(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]));
    Some((bytes.get(2..2 + length)?, &bytes[2 + length..]))
}

type Attribute<'a> = (u8, u8, &'a [u8], &'a [u8]);

fn attribute(block: &[u8]) -> Option<Attribute<'_>> {
    let (&flags, &code) = (block.first()?, block.get(1)?);
    let (length, header) = if flags & EXTENDED_LENGTH == 0 {
        (usize::from(*block.get(2)?), 3)
    } else {
        (
            usize::from(u16::from_be_bytes([*block.get(2)?, *block.get(3)?])),
            4,
        )
    };
    Some((
        flags,
        code,
        block.get(header..header + length)?,
        &block[header + length..],
    ))
}

const EXTENDED_LENGTH: u8 = 0x10;
const NEXT_HOP: u8 = 3;
const MP_REACH: u8 = 14;
const MP_UNREACH: u8 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn body(attributes: &[u8]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, attributes.len() as u8];
        body.extend_from_slice(attributes);
        body.extend_from_slice(&[8, 9]);
        body
    }

    #[test]
    fn order_and_length_form_do_not_matter_but_values_do() {
        let a = body(&[0x40, 1, 1, 0, 0x40, 3, 4, 1, 2, 3, 4]);
        let b = body(&[0x40, 3, 4, 1, 2, 3, 4, 0x50, 1, 0, 1, 0]);
        let c = body(&[0x40, 1, 1, 1, 0x40, 3, 4, 1, 2, 3, 4]);
        let of = |body: &[u8]| dissect(body).unwrap().fingerprint_v4;
        assert_eq!(of(&a), of(&b));
        assert_ne!(of(&a), of(&c));
        assert_eq!(dissect(&a).unwrap().announced_v4, [8, 9]);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        assert!(dissect(&[0, 9, 0, 0]).is_none());
        assert!(dissect(&[0, 0, 0, 3, 0x40, 1, 5]).is_none());
    }
}
