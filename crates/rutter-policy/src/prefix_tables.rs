//! The two tables that every received prefix is looked up in. Look-ups do not allocate.

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::{PrefixMatch, RejectReason};

/// Address bits of a family.
pub(crate) trait Bits: Copy + Ord + std::fmt::Debug {
    /// The top eight bits.
    fn top_octet(self) -> usize;
    /// Clears the bits below this prefix length.
    fn masked(self, len: u8) -> Self;
}

impl Bits for u32 {
    fn top_octet(self) -> usize {
        (self >> 24) as usize
    }
    fn masked(self, len: u8) -> u32 {
        self & Ipv4Prefix::mask(len)
    }
}

impl Bits for u128 {
    fn top_octet(self) -> usize {
        (self >> 120) as usize
    }
    fn masked(self, len: u8) -> u128 {
        self & Ipv6Prefix::mask(len)
    }
}

/// Prefixes with a value that applies to all their subnets, too. The entries are disjoint, because an entry inside
/// another is omitted. So the last entry that starts at or before a prefix is the only candidate.
#[derive(Debug)]
pub(crate) struct CoverTable<B, T = RejectReason> {
    entries: Vec<Cover<B, T>>,
    /// For each top octet the index of its first entry; bounds the search.
    first: Box<[u32; 257]>,
}

#[derive(Clone, Copy, Debug)]
struct Cover<B, T> {
    bits: B,
    len: u8,
    value: T,
}

impl<B: Bits, T: Copy + Ord> CoverTable<B, T> {
    /// Builds the table from entries `(bits, length, value)` in any order.
    pub(crate) fn new(entries: impl IntoIterator<Item = (B, u8, T)>) -> Self {
        let mut sorted: Vec<_> = entries.into_iter().collect();
        sorted.sort_unstable();
        let mut entries: Vec<Cover<B, T>> = Vec::with_capacity(sorted.len());
        for (bits, len, value) in sorted {
            if entries
                .last()
                .is_none_or(|last| bits.masked(last.len) != last.bits)
            {
                entries.push(Cover { bits, len, value });
            }
        }
        let mut first = Box::new([0; 257]);
        for (octet, slot) in first.iter_mut().enumerate() {
            *slot = entries.partition_point(|e| e.bits.top_octet() < octet) as u32;
        }
        CoverTable { entries, first }
    }

    /// Returns the value of the entry that covers the prefix.
    pub(crate) fn covering(&self, bits: B, len: u8) -> Option<T> {
        let octet = bits.top_octet();
        let (from, to) = (self.first[octet] as usize, self.first[octet + 1] as usize);
        let after = from + self.entries[from..to].partition_point(|e| e.bits <= bits);
        let entry = self.entries[..after].last()?;
        (entry.len <= len && bits.masked(entry.len) == entry.bits).then_some(entry.value)
    }
}

/// A set of prefixes with all their subnets, of both families.
#[derive(Debug)]
pub(crate) struct PrefixCover {
    v4: CoverTable<u32, ()>,
    v6: CoverTable<u128, ()>,
}

impl PrefixCover {
    /// Builds the set from prefixes in any order.
    pub(crate) fn new(prefixes: &[Prefix]) -> Self {
        let v4 = prefixes.iter().filter_map(|prefix| match prefix {
            Prefix::V4(p) => Some((p.bits(), p.len(), ())),
            Prefix::V6(_) => None,
        });
        let v6 = prefixes.iter().filter_map(|prefix| match prefix {
            Prefix::V4(_) => None,
            Prefix::V6(p) => Some((p.bits(), p.len(), ())),
        });
        PrefixCover {
            v4: CoverTable::new(v4),
            v6: CoverTable::new(v6),
        }
    }

    /// Returns whether the set has the prefix or one that covers it.
    #[inline]
    pub(crate) fn covers(&self, prefix: Prefix) -> bool {
        match prefix {
            Prefix::V4(p) => self.v4.covering(p.bits(), p.len()).is_some(),
            Prefix::V6(p) => self.v6.covering(p.bits(), p.len()).is_some(),
        }
    }
}

/// Prefixes with ranges of lengths, grouped by the length of the covering prefix. A look-up takes one binary search
/// for each length in use.
#[derive(Debug)]
pub(crate) struct RangeTable<B> {
    levels: Vec<(u8, Vec<Range<B>>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Range<B> {
    bits: B,
    min_len: u8,
    max_len: u8,
    reason: RejectReason,
}

impl<B: Bits> RangeTable<B> {
    /// Builds the table from entries `(bits, length, shortest, longest, reason)`.
    pub(crate) fn new(entries: impl IntoIterator<Item = (B, u8, u8, u8, RejectReason)>) -> Self {
        let mut levels: Vec<(u8, Vec<Range<B>>)> = Vec::new();
        for (bits, len, min_len, max_len, reason) in entries {
            let range = Range {
                bits,
                min_len,
                max_len,
                reason,
            };
            match levels.binary_search_by_key(&len, |(len, _)| *len) {
                Ok(index) => levels[index].1.push(range),
                Err(index) => levels.insert(index, (len, vec![range])),
            }
        }
        for (_, level) in &mut levels {
            level.sort_unstable();
            level.dedup();
        }
        RangeTable { levels }
    }

    /// Returns whether the table has no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Returns the reason of an entry that the prefix matches.
    pub(crate) fn matching(&self, bits: B, len: u8) -> Option<RejectReason> {
        self.find(bits, len, |range| {
            range.min_len <= len && len <= range.max_len
        })
    }

    /// Returns whether some entry covers the prefix, regardless of its range of lengths.
    pub(crate) fn covers(&self, bits: B, len: u8) -> bool {
        self.find(bits, len, |_| true).is_some()
    }

    fn find(&self, bits: B, len: u8, fits: impl Fn(&Range<B>) -> bool) -> Option<RejectReason> {
        let usable = self.levels.iter().take_while(|(level, _)| *level <= len);
        for (level, ranges) in usable {
            let wanted = bits.masked(*level);
            let from = ranges.partition_point(|r| r.bits < wanted);
            let same = ranges[from..].iter().take_while(|r| r.bits == wanted);
            if let Some(range) = { same }.find(|r| fits(r)) {
                return Some(range.reason);
            }
        }
        None
    }
}

/// The entries of a black list by table: whole subtrees, and ranges of lengths.
pub(crate) type Split<B> = (
    Vec<(B, u8, RejectReason)>,
    Vec<(B, u8, u8, u8, RejectReason)>,
);

/// Adds the IPv4 entries of a list to the table that fits them.
pub(crate) fn split_v4(list: &[PrefixMatch], reason: RejectReason, out: &mut Split<u32>) {
    for entry in list {
        if let Prefix::V4(p) = entry.prefix {
            push(p.bits(), p.len(), entry, Ipv4Prefix::MAX_LEN, reason, out);
        }
    }
}

/// Adds the IPv6 entries of a list to the table that fits them.
pub(crate) fn split_v6(list: &[PrefixMatch], reason: RejectReason, out: &mut Split<u128>) {
    for entry in list {
        if let Prefix::V6(p) = entry.prefix {
            push(p.bits(), p.len(), entry, Ipv6Prefix::MAX_LEN, reason, out);
        }
    }
}

fn push<B: Bits>(
    bits: B,
    len: u8,
    entry: &PrefixMatch,
    full: u8,
    reason: RejectReason,
    (covers, ranges): &mut Split<B>,
) {
    if entry.min_len <= len && entry.max_len == full && len > 0 {
        covers.push((bits, len, reason));
    } else {
        ranges.push((bits, len, entry.min_len, entry.max_len, reason));
    }
}
