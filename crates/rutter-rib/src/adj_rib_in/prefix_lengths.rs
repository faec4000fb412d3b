//! The prefix lengths that occur in a family. A search by length skips the others without a lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The lengths of all prefixes that are or were in the table. A length is added before its first prefix is visible in
/// a shard.
#[derive(Debug, Default)]
pub(crate) struct PrefixLengths([AtomicU64; 3]);

impl PrefixLengths {
    /// Adds a length.
    #[inline(always)]
    pub fn add(&self, len: u8) {
        let (word, bit) = self.place(len);
        // It is almost always present already. A load leaves the cache line shared.
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// Returns whether a prefix of this length is or was in the table.
    pub fn has(&self, len: u8) -> bool {
        let (word, bit) = self.place(len);
        word.load(Relaxed) & bit != 0
    }

    #[inline(always)]
    fn place(&self, len: u8) -> (&AtomicU64, u64) {
        (&self.0[usize::from(len / 64)], 1 << (len % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_there() {
        let lengths = PrefixLengths::default();
        let some = [0, 24, 63, 64, 127, 128];
        some.iter().for_each(|len| lengths.add(*len));
        let there: Vec<u8> = (0..=128).filter(|len| lengths.has(*len)).collect();
        assert_eq!(there, some);
    }
}
