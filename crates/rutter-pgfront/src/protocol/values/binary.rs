//! Values in the binary format.

use std::net::IpAddr;

use datafusion::common::ScalarValue;
use pgwire::api::Type;

use super::{text, time};
use crate::values::{EPOCH_DAYS, EPOCH_US, Span};

/// Returns whether the binary format of a type is its text.
pub fn is_text(kind: &Type) -> bool {
    matches!(
        *kind,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::CHAR
    ) || matches!(*kind, Type::JSON | Type::XML | Type::UNKNOWN)
}

/// Decodes a value. The outer `None`: the type's binary format is not supported; the inner: invalid bytes.
pub fn read(octets: &[u8], kind: &Type) -> Option<Option<ScalarValue>> {
    use ScalarValue as Value;
    Some(match *kind {
        Type::BOOL => exactly(octets).map(|[flag]| Value::Boolean(Some(flag != 0))),
        Type::OID => {
            exactly(octets).map(|octets| Value::Int64(Some(u32::from_be_bytes(octets).into())))
        }
        Type::INT2 | Type::INT4 | Type::INT8 => whole(octets).map(|of| Value::Int64(Some(of))),
        Type::FLOAT4 => {
            exactly(octets).map(|octets| Value::Float64(Some(f32::from_be_bytes(octets).into())))
        }
        Type::FLOAT8 => {
            exactly(octets).map(|octets| Value::Float64(Some(f64::from_be_bytes(octets))))
        }
        Type::TIMESTAMPTZ | Type::TIMESTAMP => whole(octets)
            .and_then(|since| since.checked_add(EPOCH_US))
            .map(|micros| time(micros, kind)),
        Type::DATE => whole(octets)
            .and_then(|since| i32::try_from(since).ok()?.checked_add(EPOCH_DAYS))
            .map(|days| Value::Date32(Some(days))),
        Type::TIME => whole(octets).map(|of| Value::Time64Microsecond(Some(of))),
        Type::INTERVAL => Span::of_octets(octets)
            .and_then(Span::parts)
            .map(|parts| Value::IntervalMonthDayNano(Some(parts))),
        Type::NUMERIC => decimal(octets).and_then(|text| text::number(&text)),
        Type::INET | Type::CIDR => network(octets).map(|text| Value::Utf8(Some(text))),
        Type::BYTEA => Some(Value::Binary(Some(octets.to_vec()))),
        _ => return None,
    })
}

fn exactly<const N: usize>(octets: &[u8]) -> Option<[u8; N]> {
    octets.try_into().ok()
}

/// Decodes an integer of any supported length.
fn whole(octets: &[u8]) -> Option<i64> {
    match octets.len() {
        2 => exactly(octets).map(|octets| i16::from_be_bytes(octets).into()),
        4 => exactly(octets).map(|octets| i32::from_be_bytes(octets).into()),
        _ => exactly(octets).map(i64::from_be_bytes),
    }
}

/// Decodes an address or a prefix to a string: family, bits, the flag of a prefix, length, bytes.
fn network(octets: &[u8]) -> Option<String> {
    let [_, bits, _, _, address @ ..] = octets else {
        return None;
    };
    let address = <[u8; 4]>::try_from(address)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(address).map(IpAddr::from));
    let address = address.ok()?;
    let full = if address.is_ipv4() { 32 } else { 128 };
    match *bits {
        bits if bits == full => Some(address.to_string()),
        bits if bits < full => Some(format!("{address}/{bits}")),
        _ => None,
    }
}

/// Decodes a decimal to a string.
fn decimal(octets: &[u8]) -> Option<String> {
    let mut words = octets
        .chunks_exact(2)
        .map(|word| u16::from_be_bytes([word[0], word[1]]));
    let count = usize::from(words.next()?);
    let weight = words.next()? as i16;
    let sign = match words.next()? {
        0 => "",
        0x4000 => "-",
        0xc000 => return Some("NaN".to_owned()),
        0xd000 => return Some("Infinity".to_owned()),
        0xf000 => return Some("-Infinity".to_owned()),
        _ => return None,
    };
    let scale = usize::from(words.next()?);
    let groups: Vec<u16> = words.collect();
    if groups.len() != count || groups.iter().any(|group| *group > 9_999) {
        return None;
    }
    let group = |place: i32| {
        let at = usize::try_from(i32::from(weight) - place).ok();
        at.and_then(|at| groups.get(at)).copied().unwrap_or(0)
    };
    let digits = |places: &mut dyn Iterator<Item = i32>| -> String {
        places.map(|place| format!("{:04}", group(place))).collect()
    };
    let whole = digits(&mut (0..=i32::from(weight)).rev());
    let mut part = digits(&mut (1..=scale.div_ceil(4) as i32).map(|place| -place));
    part.truncate(scale);
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let point = if part.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{part}"))
}

/// Decodes the items of a list.
pub fn items(octets: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let word = |octets: &[u8]| Some(i32::from_be_bytes(*octets.first_chunk()?));
    let (dimensions, count) = (word(octets)?, octets.get(12..).and_then(word));
    match dimensions {
        0 => return Some(Vec::new()),
        1 => {}
        _ => return None,
    }
    let mut rest = octets.get(20..)?;
    let mut items = Vec::new();
    for _ in 0..count? {
        let length = word(rest)?;
        rest = &rest[4..];
        let Ok(length) = usize::try_from(length) else {
            items.push(None);
            continue;
        };
        items.push(Some(rest.get(..length)?));
        rest = &rest[length..];
    }
    rest.is_empty().then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_lists_with_a_wrong_length_are_refused() {
        let longer = [
            &[0_u8; 3][..],
            &[1],
            &[0; 8],
            &[127, 255, 255, 255],
            &[0; 4],
        ]
        .concat();
        assert_eq!(items(&longer), None);
    }

    #[test]
    fn decimal_numbers_are_exact() {
        for (words, expected) in [
            (&[0_i16, 0, 0, 0][..], "0"),
            (&[3, 1, 0, 3, 1, 0, 5000], "10000.500"),
            (&[1, -2, 0x4000, 5, 1000], "-0.00001"),
            (&[1, 2, 0, 0, 1], "100000000"),
        ] {
            let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(decimal(&octets).as_deref(), Some(expected));
        }
        assert_eq!(decimal(&[0, 1, 0, 0, 0, 0, 0, 0]), None);
    }
}
