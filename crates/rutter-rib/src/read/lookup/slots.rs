//! An array that grows without moving: its readers take no lock.

use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};

/// Slots of shared values. Each value is replaced as a whole; a reader keeps the value that it has loaded.
pub(super) struct Slots<T> {
    /// Chunk `n` has `FIRST << n` slots, so that few chunks reach far and none ever moves.
    chunks: [OnceLock<Chunk<T>>; CHUNKS],
}

type Chunk<T> = Box<[ArcSwapOption<T>]>;

/// A value as it was when it was loaded.
pub(super) type Loaded<T> = Guard<Option<Arc<T>>>;

const FIRST: u64 = 1 << 12;
/// Enough for every index of 32 bits.
const CHUNKS: usize = 21;

impl<T> Slots<T> {
    pub fn new() -> Self {
        Slots {
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }

    /// The value of a slot; nothing where nothing was ever stored.
    pub fn load(&self, index: u32) -> Option<Loaded<T>> {
        let (chunk, at) = place(index);
        Some(self.chunks[chunk].get()?[at].load())
    }

    /// Returns whether a slot has a value.
    pub fn is_set(&self, index: u32) -> bool {
        self.load(index).is_some_and(|held| held.is_some())
    }

    pub fn store(&self, index: u32, value: Option<Arc<T>>) {
        let (chunk, at) = place(index);
        let slots = self.chunks[chunk].get_or_init(|| {
            (0..FIRST << chunk)
                .map(|_| ArcSwapOption::empty())
                .collect()
        });
        slots[at].store(value);
    }

    /// Bytes of the array itself.
    pub fn size(&self) -> usize {
        let len: usize = self
            .chunks
            .iter()
            .filter_map(OnceLock::get)
            .map(|chunk| chunk.len())
            .sum();
        len * size_of::<ArcSwapOption<T>>()
    }
}

/// The chunk of an index and the place in it.
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + FIRST;
    let chunk = shifted.ilog2() - FIRST.ilog2();
    (chunk as usize, (shifted - (FIRST << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_has_a_place_of_its_own() {
        let edges = [0, 1, 4095, 4096, 12_287, 12_288, u32::MAX];
        assert_eq!(
            edges.map(place),
            [
                (0, 0),
                (0, 1),
                (0, 4095),
                (1, 0),
                (1, 8191),
                (2, 0),
                (20, 4095)
            ]
        );
        let slots = Slots::new();
        assert!(!slots.is_set(7));
        slots.store(7, Some(Arc::new("seven")));
        let loaded = slots.load(7);
        slots.store(7, None);
        assert_eq!(loaded.as_ref().and_then(|l| l.as_deref()), Some(&"seven"));
        assert!(!slots.is_set(7));
    }
}
