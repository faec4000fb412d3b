//! Assigns indexes to values that rows share.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Values identified by their addresses, which stay valid while the interner holds the values.
pub(crate) struct Interner<T> {
    indexes: HashMap<usize, u32, BuildHasherDefault<AddressHasher>>,
    all: Vec<T>,
    /// The last value requested: consecutive rows of one update share it.
    last: (usize, u32),
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            indexes: HashMap::default(),
            all: Vec::new(),
            last: NONE,
        }
    }
}

impl<T> Interner<T> {
    /// The index of the value at an address. A new value is held from now on.
    pub fn index_of(&mut self, address: usize, hold: impl FnOnce() -> T) -> u32 {
        if self.last.0 == address {
            return self.last.1;
        }
        let next = self.all.len() as u32;
        let index = *self.indexes.entry(address).or_insert(next);
        if index == next {
            self.all.push(hold());
        }
        self.last = (address, index);
        index
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The values from an index on, in order.
    pub fn from(&self, index: usize) -> &[T] {
        self.all.get(index..).unwrap_or_default()
    }

    /// Discards all values.
    pub fn clear(&mut self) {
        self.indexes.clear();
        self.all.clear();
        self.last = NONE;
    }
}

/// No value has this address.
const NONE: (usize, u32) = (0, 0);

/// Hashes addresses, whose bits other than the lowest are already well distributed.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, address: usize) {
        // Multiplying by the golden ratio spreads all bits of the address to the highest ones.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}
