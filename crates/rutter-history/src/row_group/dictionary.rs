//! The dictionary of a column: each string or number once.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

/// The values of a column in the order of their arrival, in Parquet's PLAIN encoding.
#[derive(Default)]
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    keys: HashTable<u32>,
    /// Hashes with a secret key, since peers choose the strings.
    hasher: RandomState,
}

impl Dictionary {
    /// Returns the key of a string.
    pub fn text(&mut self, text: &[u8]) -> u32 {
        self.key(text, LENGTH)
    }

    /// Returns the key of a number. A column has either strings or numbers.
    pub fn number(&mut self, number: u32) -> u32 {
        self.key(&number.to_le_bytes(), 0)
    }

    fn key(&mut self, value: &[u8], head: usize) -> u32 {
        let Self {
            bytes,
            ends,
            keys,
            hasher,
        } = self;
        let begin = |key: u32| {
            key.checked_sub(1)
                .map_or(0, |one| ends[one as usize] as usize)
        };
        let of = |key: u32| &bytes[begin(key) + head..ends[key as usize] as usize];
        let hash = hasher.hash_one(value);
        if let Some(key) = keys.find(hash, |key| of(*key) == value) {
            return *key;
        }
        let key = ends.len() as u32;
        if head == LENGTH {
            bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        bytes.extend_from_slice(value);
        ends.push(bytes.len() as u32);
        let begin = |key: u32| {
            key.checked_sub(1)
                .map_or(0, |one| ends[one as usize] as usize)
        };
        let hash_of =
            |key: &u32| hasher.hash_one(&bytes[begin(*key) + head..ends[*key as usize] as usize]);
        keys.insert_unique(hash, key, hash_of);
        key
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The first string.
    pub fn first(&self) -> Option<&[u8]> {
        self.bytes.get(LENGTH..*self.ends.first()? as usize)
    }

    /// The bytes of the dictionary page.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes of the length before a string.
const LENGTH: usize = 4;
