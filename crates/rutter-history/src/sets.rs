//! The columns of attribute sets: each text is made once for all rows of a batch that share the set.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use rutter_events::AttrColumns;

/// The sets of a batch, and which of them each row has.
#[derive(Default)]
pub(crate) struct Sets {
    /// By the address of the set, which stands as long as `sets` holds it.
    places: HashMap<usize, u32, BuildHasherDefault<ByAddress>>,
    sets: Vec<Arc<AttrColumns>>,
    rows: Vec<Option<u32>>,
}

impl Sets {
    /// Adds a row.
    pub fn push(&mut self, attrs: Option<&Arc<AttrColumns>>) {
        let place = attrs.map(|attrs| self.place(attrs));
        self.rows.push(place);
    }

    fn place(&mut self, attrs: &Arc<AttrColumns>) -> u32 {
        // Rows of one update follow each other.
        if let (Some(last), Some(Some(place))) = (self.sets.last(), self.rows.last())
            && Arc::ptr_eq(last, attrs)
            && *place as usize + 1 == self.sets.len()
        {
            return *place;
        }
        let next = self.sets.len() as u32;
        let place = *self
            .places
            .entry(Arc::as_ptr(attrs) as usize)
            .or_insert(next);
        if place == next {
            self.sets.push(Arc::clone(attrs));
        }
        place
    }

    /// The next batch begins.
    pub fn clear(&mut self) {
        self.places.clear();
        self.sets.clear();
        self.rows.clear();
    }

    /// A text of each row, as `write` writes it; it returns whether there is one. Equal texts of different sets are
    /// found when they are stored.
    pub fn text(
        &self,
        write: impl Fn(&AttrColumns, &mut String) -> bool,
    ) -> Result<ArrayRef, ArrowError> {
        let mut words = Words::default();
        let keys = self.sets.iter().map(|set| words.add(|out| write(set, out)));
        let keys: Vec<Option<i32>> = keys.collect();
        words.finish(self.gather(&keys).collect())
    }

    /// A number of each row.
    pub fn number(&self, of: impl Fn(&AttrColumns) -> Option<u32>) -> ArrayRef {
        let numbers: Vec<Option<u32>> = self.sets.iter().map(|set| of(set)).collect();
        Arc::new(UInt32Array::from_iter(self.gather(&numbers)))
    }

    fn gather<'s, T: Copy>(
        &'s self,
        values: &'s [Option<T>],
    ) -> impl Iterator<Item = Option<T>> + 's {
        self.rows
            .iter()
            .map(|row| row.and_then(|row| values[row as usize]))
    }
}

/// The values of a dictionary.
#[derive(Default)]
pub(crate) struct Words {
    ends: Vec<i32>,
    octets: String,
}

impl Words {
    /// The key of a new text, where `write` says that there is one.
    pub fn add(&mut self, write: impl FnOnce(&mut String) -> bool) -> Option<i32> {
        let begin = self.octets.len();
        if !write(&mut self.octets) {
            self.octets.truncate(begin);
            return None;
        }
        self.ends.push(self.octets.len() as i32);
        Some(self.ends.len() as i32 - 1)
    }

    /// The column.
    pub fn finish(self, keys: Int32Array) -> Result<ArrayRef, ArrowError> {
        let mut begin = 0;
        let texts = self.ends.iter().map(|end| {
            let text = &self.octets[begin..*end as usize];
            begin = *end as usize;
            text
        });
        let values = StringArray::from_iter_values(texts);
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
            keys,
            Arc::new(values),
        )?))
    }
}

/// Addresses are hashes already, but for their lowest bits.
#[derive(Default)]
pub(crate) struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, octets: &[u8]) {
        octets
            .iter()
            .for_each(|octet| self.write_usize(usize::from(*octet)));
    }

    fn write_usize(&mut self, address: usize) {
        // The golden ratio: all bits of the address reach the highest ones.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}
