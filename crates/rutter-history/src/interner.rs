//! Things that rows share, each with a index.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Things, told apart by their addresses, which stand as long as the things are held here.
pub(crate) struct Interner<T> {
    indexes: HashMap<usize, u32, BuildHasherDefault<AddressHasher>>,
    all: Vec<T>,
    /// The thing that was asked for last: rows of one update follow each other.
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
    /// The index of the thing at an address; what is held from now on, where it is new.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// All from a index on, in the order of their indexes.
    pub fn from(&self, index: usize) -> &[T] {
        self.all.get(index..).unwrap_or_default()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.indexes.clear();
        self.all.clear();
        self.last = NONE;
    }
}

/// No thing is there.
const NONE: (usize, u32) = (0, 0);

/// Addresses are hashes already, but for their lowest bits.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
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
