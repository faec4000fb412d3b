//! The prefixes in the root: each has a record, which the slots that it covers refer to.

use crate::net::{Bits, Net};

use super::Table;
use crate::shared_table::Location;

impl<N: Net> Table<N> {
    /// Returns whether the root has prefixes of this length.
    pub(super) fn is_in_root(&self, prefix: N) -> bool {
        u32::from(prefix.prefix_len()) <= self.shared.root.bits()
    }

    pub(super) fn seek_in_root(&self, prefix: N) -> Location {
        let by_slot = self.shared.exact_in_root(prefix);
        let record =
            by_slot.unwrap_or_else(|| self.root_prefixes.get(&prefix).copied().unwrap_or(0));
        Location {
            home: record,
            depth: 0,
            at: 0,
            number: (record != 0).then(|| self.shared.memory.word(record)),
        }
    }

    pub(super) fn put_in_root(&mut self, prefix: N, location: Location, number: u32) {
        if location.number.is_some() {
            return self.shared.memory.set(location.home, number);
        }
        let len = u32::from(prefix.prefix_len());
        let record = self.store(&[&[number, len]]);
        self.root_prefixes.insert(prefix, record);
        let (first, last) = self.root_range(prefix);
        let memory = &self.shared.memory;
        self.shared.root.change_best(first, last, |best| {
            let longer = best != 0 && memory.block(best).word(1) > len;
            if longer { best } else { record }
        });
    }

    pub(super) fn pull_from_root(&mut self, prefix: N, location: Location) {
        let record = location.home;
        self.root_prefixes.remove(&prefix);
        let shorter = (0..prefix.prefix_len()).rev();
        let outer = shorter.filter_map(|len| self.root_prefixes.get(&prefix.shortened(len)));
        let outer = outer.copied().next().unwrap_or(0);
        let (first, last) = self.root_range(prefix);
        let root = &self.shared.root;
        root.change_best(
            first,
            last,
            |best| if best == record { outer } else { best },
        );
        self.retire(record);
    }

    /// The root slots that a prefix covers, or the slot that contains it.
    pub(crate) fn root_range(&self, prefix: N) -> (u32, u32) {
        let bits = self.shared.root.bits();
        (prefix.bits().head(bits), prefix.last_bits().head(bits))
    }
}
