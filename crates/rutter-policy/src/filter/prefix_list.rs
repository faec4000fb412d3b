//! Named lists of prefixes with ranges of lengths.

use rutter_net::Prefix;

use crate::prefix_tables::RangeTable;
use crate::{PrefixMatch, RejectReason};

/// A named list of prefixes. Equal lists are equal, whatever their tables are.
#[derive(Debug)]
pub struct PrefixList {
    name: String,
    entries: Vec<PrefixMatch>,
    v4: RangeTable<u32>,
    v6: RangeTable<u128>,
}

impl PrefixList {
    /// Compiles a list.
    pub fn new(name: String, entries: Vec<PrefixMatch>) -> Self {
        // A table of ranges has reasons, which do not matter here.
        const REASON: RejectReason = RejectReason::Filter;
        let v4 = entries.iter().filter_map(|entry| match entry.prefix {
            Prefix::V4(p) => Some((p.bits(), p.len(), entry.min_len, entry.max_len, REASON)),
            Prefix::V6(_) => None,
        });
        let v6 = entries.iter().filter_map(|entry| match entry.prefix {
            Prefix::V6(p) => Some((p.bits(), p.len(), entry.min_len, entry.max_len, REASON)),
            Prefix::V4(_) => None,
        });
        PrefixList {
            v4: RangeTable::new(v4),
            v6: RangeTable::new(v6),
            name,
            entries,
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The entries.
    pub fn entries(&self) -> &[PrefixMatch] {
        &self.entries
    }

    /// Returns whether an entry matches the prefix. One binary search for each length of entries.
    #[inline]
    pub fn matches(&self, prefix: Prefix) -> bool {
        match prefix {
            Prefix::V4(p) => self.v4.matching(p.bits(), p.len()).is_some(),
            Prefix::V6(p) => self.v6.matching(p.bits(), p.len()).is_some(),
        }
    }
}

impl PartialEq for PrefixList {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.entries == other.entries
    }
}

impl Eq for PrefixList {}
