//! Things that rows share, each with a place.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// The things of a page. They are told apart by their addresses, which stand as long as they are held here.
pub(crate) struct Places<T> {
    places: HashMap<usize, u32, BuildHasherDefault<ByAddress>>,
    all: Vec<Arc<T>>,
    last: u32,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self {
            places: HashMap::default(),
            all: Vec::new(),
            last: 0,
        }
    }
}

impl<T> Places<T> {
    /// The place of one.
    pub fn of(&mut self, thing: &Arc<T>) -> u32 {
        // Rows of one update follow each other.
        if let Some(last) = self.all.get(self.last as usize)
            && Arc::ptr_eq(last, thing)
        {
            return self.last;
        }
        let next = self.all.len() as u32;
        let address = Arc::as_ptr(thing) as usize;
        self.last = *self.places.entry(address).or_insert(next);
        if self.last == next {
            self.all.push(Arc::clone(thing));
        }
        self.last
    }

    /// All, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter().map(|thing| &**thing)
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.places.clear();
        self.all.clear();
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
