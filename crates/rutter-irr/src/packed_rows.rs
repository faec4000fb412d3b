//! Rows of prefixes in few bytes.

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::ListEntry;

/// Rows of prefixes, packed: an IPv4 prefix without a range takes two to six bytes, an IPv6 prefix up to eighteen.
///
/// A row begins with its length (plus 64 for IPv6), the bytes of the address that the length reaches, and
/// flags. A range, an origin and a line follow where the flags have them. A line after that of the row before takes no
/// bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PackedRows {
    bytes: Box<[u8]>,
    rows: u32,
}

impl PackedRows {
    /// Packs rows in their order.
    pub fn new(rows: impl IntoIterator<Item = ListEntry>) -> Self {
        let mut bytes = Vec::new();
        let mut count = 0;
        let mut line = None;
        for row in rows {
            pack(&mut bytes, &row, line);
            line = row.line;
            count += 1;
        }
        PackedRows {
            bytes: bytes.into(),
            rows: count,
        }
    }

    /// Packs prefixes in order, without duplicates.
    pub fn of_prefixes(mut prefixes: Vec<Prefix>) -> Self {
        prefixes.sort_unstable();
        prefixes.dedup();
        Self::new(prefixes.into_iter().map(ListEntry::from))
    }

    /// Takes bytes that [`bytes`](Self::bytes) returned. `None` if they are not packed rows.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut rows: u32 = 0;
        let mut line = None;
        while !rest.is_empty() {
            line = unpack(&mut rest, line)?.line;
            rows = rows.checked_add(1)?;
        }
        Some(PackedRows {
            bytes: bytes.into(),
            rows,
        })
    }

    /// The packed rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = ListEntry> + '_ {
        let mut rest = &*self.bytes;
        let mut line = None;
        std::iter::from_fn(move || {
            let row = unpack(&mut rest, line)?;
            line = row.line;
            Some(row)
        })
    }
}

/// Added to the length of an IPv6 prefix.
const IPV6: u8 = 64;
const HAS_RANGE: u8 = 1;
const HAS_ORIGIN: u8 = 2;
const HAS_LINE: u8 = 4;
/// The row has the line after that of the row before.
const HAS_NEXT_LINE: u8 = 8;

/// `before`: the line of the row before.
fn pack(bytes: &mut Vec<u8>, row: &ListEntry, before: Option<u32>) {
    let len = row.prefix.len();
    let octets = usize::from(len.div_ceil(8));
    match row.prefix {
        Prefix::V4(prefix) => {
            bytes.push(len);
            bytes.extend_from_slice(&prefix.bits().to_be_bytes()[..octets]);
        }
        Prefix::V6(prefix) => {
            bytes.push(IPV6 + len);
            bytes.extend_from_slice(&prefix.bits().to_be_bytes()[..octets]);
        }
    }
    let has_range = (row.min_len, row.max_len) != (len, len);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let is_next = row.line.is_some() && row.line == next_line(before);
    let line = row.line.filter(|_| !is_next);
    bytes.push(
        flag(has_range, HAS_RANGE)
            | flag(row.origin.is_some(), HAS_ORIGIN)
            | flag(line.is_some(), HAS_LINE)
            | flag(is_next, HAS_NEXT_LINE),
    );
    if has_range {
        bytes.extend_from_slice(&[row.min_len, row.max_len]);
    }
    for number in [row.origin, line].into_iter().flatten() {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn next_line(before: Option<u32>) -> Option<u32> {
    before.and_then(|line| line.checked_add(1))
}

fn unpack(rest: &mut &[u8], before: Option<u32>) -> Option<ListEntry> {
    let tag = byte(rest)?;
    let prefix: Prefix = match tag.checked_sub(IPV6) {
        None => Ipv4Prefix::new(u32::from_be_bytes(address(rest, tag)?), tag)?.into(),
        Some(len) => Ipv6Prefix::new(u128::from_be_bytes(address(rest, len)?), len)?.into(),
    };
    let flags = byte(rest)?;
    let mut row = ListEntry::from(prefix);
    if flags & HAS_RANGE != 0 {
        row.min_len = byte(rest)?;
        row.max_len = byte(rest)?;
    }
    if flags & HAS_ORIGIN != 0 {
        row.origin = Some(number(rest)?);
    }
    if flags & HAS_LINE != 0 {
        row.line = Some(number(rest)?);
    }
    if flags & HAS_NEXT_LINE != 0 {
        row.line = next_line(before);
    }
    Some(row)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    rest.split_off_first().copied()
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let octets = rest.split_off(..4)?;
    Some(u32::from_le_bytes(octets.try_into().ok()?))
}

/// An address of which only the octets that the length reaches are there.
fn address<const N: usize>(rest: &mut &[u8], len: u8) -> Option<[u8; N]> {
    let octets = rest.split_off(..usize::from(len.div_ceil(8)))?;
    let mut address = [0; N];
    address.get_mut(..octets.len())?.copy_from_slice(octets);
    Some(address)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row() -> impl Strategy<Value = ListEntry> {
        let v4 = (any::<u32>(), 0..=32_u8)
            .prop_map(|(bits, len)| Prefix::from(Ipv4Prefix::new(bits, len).unwrap()));
        let v6 = (any::<u128>(), 0..=128_u8)
            .prop_map(|(bits, len)| Prefix::from(Ipv6Prefix::new(bits, len).unwrap()));
        let numbers = (any::<Option<u32>>(), any::<Option<u32>>());
        let range = any::<Option<(u8, u8)>>();
        (prop_oneof![v4, v6], range, numbers).prop_map(|(prefix, range, (origin, line))| {
            let mut row = ListEntry {
                origin,
                line,
                ..prefix.into()
            };
            if let Some(range) = range {
                (row.min_len, row.max_len) = range;
            }
            row
        })
    }

    proptest! {
        #[test]
        fn rows_are_the_same_after_packing(rows in prop::collection::vec(row(), 0..20)) {
            let packed = PackedRows::new(rows.iter().copied());
            prop_assert_eq!(packed.len(), rows.len());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), rows);
            prop_assert_eq!(PackedRows::from_bytes(packed.bytes()), Some(packed));
        }

        #[test]
        fn any_bytes_are_rows_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(packed) = PackedRows::from_bytes(&bytes) {
                prop_assert_eq!(packed.iter().count(), packed.len());
            }
        }
    }

    #[test]
    fn prefixes_are_in_order_and_small() {
        let prefixes = ["198.51.100.0/24", "192.0.2.0/24", "198.51.100.0/24"];
        let packed = PackedRows::of_prefixes(prefixes.map(|p| p.parse().unwrap()).into());
        assert_eq!((packed.len(), packed.bytes().len()), (2, 10));
        let first = packed.iter().next().unwrap();
        assert_eq!(first.prefix.to_string(), "192.0.2.0/24");
    }
}
