//! The encoded columns of attribute sets, so that each set is encoded once, however many rows share it.

use std::collections::HashMap;
use std::ops::Range;

use rutter_events::AttrColumns;

/// The number of columns of an attribute set.
pub(crate) const ATTR_COLUMNS: i16 = 9;

/// The encoded sets. A set is found by its address, so the caller keeps it alive until [`AttrCache::forget`].
#[derive(Default)]
pub(crate) struct AttrCache {
    bytes: Vec<u8>,
    known: HashMap<*const AttrColumns, Range<usize>>,
}

impl AttrCache {
    /// Returns the encoded columns of a set. `put` encodes them where the set is new.
    pub(crate) fn encoded(
        &mut self,
        attrs: &AttrColumns,
        put: impl FnOnce(&mut Vec<u8>, &AttrColumns),
    ) -> &[u8] {
        let range = self.known.entry(attrs).or_insert_with(|| {
            let start = self.bytes.len();
            put(&mut self.bytes, attrs);
            start..self.bytes.len()
        });
        &self.bytes[range.clone()]
    }

    /// Discards the encoded sets, since their addresses may be reused.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.bytes.clear();
    }
}
