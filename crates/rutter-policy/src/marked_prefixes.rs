//! Prefixes whose routes get custom informational communities.

use rutter_net::Prefix;

use crate::prefix_tables::RangeTable;
use crate::{CustomMarks, PrefixMatch, RejectReason};

/// Lists of prefixes, each with a mark. Equal lists are equal.
#[derive(Debug, Default)]
pub struct MarkedPrefixes {
    lists: Vec<(u8, Vec<PrefixMatch>)>,
    v4: Vec<(CustomMarks, RangeTable<u32>)>,
    v6: Vec<(CustomMarks, RangeTable<u128>)>,
}

impl MarkedPrefixes {
    /// Compiles lists, each with the number of its mark.
    pub fn new(lists: Vec<(u8, Vec<PrefixMatch>)>) -> Self {
        // A table of ranges has reasons, which do not matter here.
        const REASON: RejectReason = RejectReason::PrefixNotAllowed;
        let v4 = lists.iter().map(|(number, list)| {
            let entries = list.iter().filter_map(|entry| match entry.prefix {
                Prefix::V4(p) => Some((p.bits(), p.len(), entry.min_len, entry.max_len, REASON)),
                Prefix::V6(_) => None,
            });
            (CustomMarks::of(*number), RangeTable::new(entries))
        });
        let v6 = lists.iter().map(|(number, list)| {
            let entries = list.iter().filter_map(|entry| match entry.prefix {
                Prefix::V6(p) => Some((p.bits(), p.len(), entry.min_len, entry.max_len, REASON)),
                Prefix::V4(_) => None,
            });
            (CustomMarks::of(*number), RangeTable::new(entries))
        });
        MarkedPrefixes {
            v4: v4.filter(|(_, table)| !table.is_empty()).collect(),
            v6: v6.filter(|(_, table)| !table.is_empty()).collect(),
            lists,
        }
    }

    /// Returns whether no prefix is marked.
    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// The marks of a prefix. O(lists × log entries).
    pub fn marks_of(&self, prefix: Prefix) -> CustomMarks {
        let add = |all: CustomMarks, (marks, listed): (CustomMarks, bool)| match listed {
            true => all.or(marks),
            false => all,
        };
        match prefix {
            Prefix::V4(p) => {
                let listed = |table: &RangeTable<u32>| table.matching(p.bits(), p.len()).is_some();
                let found = self.v4.iter().map(|(marks, table)| (*marks, listed(table)));
                found.fold(CustomMarks::NONE, add)
            }
            Prefix::V6(p) => {
                let listed = |table: &RangeTable<u128>| table.matching(p.bits(), p.len()).is_some();
                let found = self.v6.iter().map(|(marks, table)| (*marks, listed(table)));
                found.fold(CustomMarks::NONE, add)
            }
        }
    }
}

impl PartialEq for MarkedPrefixes {
    fn eq(&self, other: &Self) -> bool {
        self.lists == other.lists
    }
}

impl Eq for MarkedPrefixes {}
