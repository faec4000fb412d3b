//! The rows of one list, in order.

use std::iter::FusedIterator;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::ListEntry;
use crate::entry::ANY_ORIGIN;
use crate::family_table::FamilyPrefix;

/// The rows of one list, in order of prefix, lengths, origin and line. Immutable: share it in an `Arc`.
///
/// Two versions of a list are compared in one pass, and a row is found by bisection. So a refresh costs as much as its
/// changes, and the data need not keep the lines of rows a second time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IrrList {
    ipv4: Box<[ListRow<Ipv4Prefix>]>,
    ipv6: Box<[ListRow<Ipv6Prefix>]>,
    /// Rows with AS 0. They register nothing.
    without_effect: usize,
}

/// One row: 16 bytes for IPv4, 28 for IPv6. The order of the fields is the order of rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ListRow<N: FamilyPrefix> {
    bits: N::Words,
    len: u8,
    pub min_len: u8,
    pub max_len: u8,
    /// [`ANY_ORIGIN`] for rows without an origin.
    pub origin: u32,
    /// 0 if the row has no line.
    line: u32,
}

const _: () =
    assert!(size_of::<ListRow<Ipv4Prefix>>() == 16 && size_of::<ListRow<Ipv6Prefix>>() == 28);

impl<N: FamilyPrefix> ListRow<N> {
    fn new(prefix: N, entry: &ListEntry) -> Self {
        ListRow {
            bits: prefix.words(),
            len: prefix.prefix_len(),
            min_len: entry.min_len,
            max_len: entry.max_len,
            origin: entry.origin.unwrap_or(ANY_ORIGIN),
            line: entry.line.unwrap_or(0),
        }
    }

    pub fn prefix(self) -> N {
        N::from_words(self.bits, self.len)
    }

    /// The line, from 1.
    pub fn line(self) -> Option<u32> {
        Some(self.line).filter(|line| *line > 0)
    }

    /// The statement of the row, in the order of rows. Rows that differ only in their line state the same.
    #[inline]
    pub fn statement(self) -> (N::Words, u8, u8, u8, u32) {
        (self.bits, self.len, self.min_len, self.max_len, self.origin)
    }

    fn entry(self) -> ListEntry {
        ListEntry {
            prefix: self.prefix().into(),
            min_len: self.min_len,
            max_len: self.max_len,
            origin: (self.origin != ANY_ORIGIN).then_some(self.origin),
            line: self.line(),
        }
    }
}

impl IrrList {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ipv4.len() + self.ipv6.len() + self.without_effect
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows that register something, in order.
    pub fn iter(&self) -> impl FusedIterator<Item = ListEntry> + '_ {
        let ipv4 = self.ipv4.iter().map(|row| row.entry());
        ipv4.chain(self.ipv6.iter().map(|row| row.entry()))
    }

    /// The bytes of the rows.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.ipv4) + size_of_val(&*self.ipv6)
    }

    pub(crate) fn ipv4(&self) -> &[ListRow<Ipv4Prefix>] {
        &self.ipv4
    }

    pub(crate) fn ipv6(&self) -> &[ListRow<Ipv6Prefix>] {
        &self.ipv6
    }
}

impl FromIterator<ListEntry> for IrrList {
    fn from_iter<T: IntoIterator<Item = ListEntry>>(rows: T) -> Self {
        let mut builder = IrrListBuilder::default();
        rows.into_iter().for_each(|row| builder.push(row));
        builder.build()
    }
}

/// Collects the rows of an [`IrrList`] in any order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IrrListBuilder {
    ipv4: Vec<ListRow<Ipv4Prefix>>,
    ipv6: Vec<ListRow<Ipv6Prefix>>,
    without_effect: usize,
}

impl IrrListBuilder {
    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: ListEntry) {
        match row.prefix {
            _ if row.origin == Some(ANY_ORIGIN) => self.without_effect += 1,
            Prefix::V4(prefix) => self.ipv4.push(ListRow::new(prefix, &row)),
            Prefix::V6(prefix) => self.ipv6.push(ListRow::new(prefix, &row)),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ipv4.len() + self.ipv6.len() + self.without_effect
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts the rows in order.
    pub fn build(self) -> IrrList {
        IrrList {
            ipv4: sorted(self.ipv4),
            ipv6: sorted(self.ipv6),
            without_effect: self.without_effect,
        }
    }
}

/// Comparing whole rows would mispredict branches: most rows differ in their prefix.
fn sorted<N: FamilyPrefix>(mut rows: Vec<ListRow<N>>) -> Box<[ListRow<N>]> {
    rows.sort_unstable_by_key(|row| row.prefix().sort_key());
    let same = rows.chunk_by_mut(|one, other| (one.bits, one.len) == (other.bits, other.len));
    same.for_each(<[_]>::sort_unstable);
    rows.into()
}

/// The rows that state something, among the rows of a list.
pub(crate) fn stating<N: FamilyPrefix>(
    rows: &[ListRow<N>],
    statement: (N::Words, u8, u8, u8, u32),
) -> &[ListRow<N>] {
    let from = rows.partition_point(|row| row.statement() < statement);
    let rows = &rows[from..];
    let end = rows.iter().take_while(|row| row.statement() == statement);
    &rows[..end.count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_with_their_lines() {
        let row = |prefix: &str, origin, line| ListEntry {
            origin,
            line,
            ..prefix.parse::<Prefix>().unwrap().into()
        };
        let rows = [
            row("2001:db8::/32", None, Some(1)),
            row("192.0.2.0/24", Some(64_500), Some(2)),
            row("192.0.2.0/24", None, None),
            row("10.0.0.0/8", Some(0), Some(4)),
            row("10.0.0.0/8", Some(1), Some(5)),
            row("192.0.2.0/24", Some(64_500), Some(6)),
        ];
        let list: IrrList = rows.into_iter().collect();
        let expected = [rows[4], rows[2], rows[1], rows[5], rows[0]];
        assert!(list.iter().eq(expected));
        assert_eq!((list.len(), list.memory()), (6, 4 * 16 + 28));
        let found = stating(list.ipv4(), list.ipv4()[2].statement());
        assert_eq!(found, &list.ipv4()[2..]);
    }
}
