//! The columns of attribute sets: each text is made once for all rows of a batch that share the set.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use rutter_events::AttrColumns;

/// The sets of a batch, and which of them each row has.
#[derive(Default)]
pub(crate) struct Sets {
    /// By the address of the set, which stands as long as `sets` holds it.
    places: HashMap<usize, u32>,
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

    /// A text of each row.
    pub fn text<'s>(
        &'s self,
        of: impl Fn(&'s AttrColumns) -> Option<Word<'s>>,
    ) -> Result<ArrayRef, ArrowError> {
        let mut words = Words::default();
        let keys = self
            .sets
            .iter()
            .map(|set| of(set).map(|word| words.key(word)));
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

/// A text that is at hand, or was made.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Word<'s> {
    Held(&'s str),
    Made(String),
}

impl Word<'_> {
    fn as_str(&self) -> &str {
        match self {
            Word::Held(text) => text,
            Word::Made(text) => text,
        }
    }
}

/// The values of a dictionary.
#[derive(Default)]
pub(crate) struct Words<'s> {
    keys: HashMap<Word<'s>, i32>,
    texts: Vec<i32>,
    bytes: String,
}

impl<'s> Words<'s> {
    /// The key of a text.
    pub fn key(&mut self, word: Word<'s>) -> i32 {
        let next = self.texts.len() as i32;
        let entry = self.keys.entry(word);
        *entry.or_insert_with_key(|word| {
            self.bytes.push_str(word.as_str());
            self.texts.push(self.bytes.len() as i32);
            next
        })
    }

    /// The column.
    pub fn finish(self, keys: Int32Array) -> Result<ArrayRef, ArrowError> {
        let mut begin = 0;
        let texts = self.texts.iter().map(|end| {
            let text = &self.bytes[begin..*end as usize];
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
