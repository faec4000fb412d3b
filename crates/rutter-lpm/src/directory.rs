//! Where in a sorted array keys with given upper bits begin.

use crate::cpu::prefetch;

/// A two-level radix index over sorted 32-bit keys.
///
/// The upper bits (16 of them, fewer for short arrays) select a slot. A slot with many keys is divided into buckets of
/// about eight keys by the next bits. Keys that lie close together share a bucket, which the caller searches by bisection. So a search never costs
/// more than the logarithm of the number of keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directory {
    /// The number of bits that select a slot, 1 to 16.
    slot_bits: u32,
    /// By upper bits: the place of the first bucket in `starts` in the upper 27 bits, and below it the number of next
    /// bits that select one.
    slots: Vec<u32>,
    /// The position of each bucket's first key. The next bucket's is the end.
    starts: Vec<u32>,
}

/// Buckets have about this many keys.
const BUCKET_KEYS: usize = 8;
/// The bits of a slot that count the next bits.
const COUNT_BITS: u32 = 5;

impl Directory {
    /// The largest number of keys.
    pub const MAX_LEN: usize = (1 << 26) - 1;

    /// Builds the index over `len` keys in ascending order; `key` returns the one at a position.
    ///
    /// # Panics
    ///
    /// If there are more than [`Self::MAX_LEN`] keys.
    pub fn new(len: usize, key: impl Fn(usize) -> u32) -> Self {
        assert!(len <= Self::MAX_LEN, "{len} keys are too many");
        let slot_bits = len.max(2).ilog2().min(16);
        let mut slots = Vec::with_capacity(1 << slot_bits);
        let mut starts = Vec::with_capacity((1 << slot_bits) + len / (BUCKET_KEYS / 2) + 1);
        let mut at = 0;
        for slot in 0..1_u32 << slot_bits {
            let in_slot = |at: usize| at < len && key(at) >> (32 - slot_bits) == slot;
            let keys = (at..).take_while(|at| in_slot(*at)).count();
            let bits = bucket_bits(keys).min(32 - slot_bits);
            slots.push((starts.len() as u32) << COUNT_BITS | bits);
            for bucket in 0..1_u32 << bits {
                starts.push(at as u32);
                while in_slot(at) && place(key(at), slot_bits, bits) == bucket {
                    at += 1;
                }
            }
        }
        starts.push(len as u32);
        starts.shrink_to_fit();
        Directory {
            slot_bits,
            slots,
            starts,
        }
    }

    /// The positions of all keys in the bucket of `key`. Keys before are smaller, keys behind are larger.
    #[inline]
    pub fn bucket(&self, key: u32) -> (usize, usize) {
        let (from, to) = self.range(self.bucket_number(key));
        (from as usize, to as usize)
    }

    /// The number of the bucket of `key`.
    #[inline]
    pub(crate) fn bucket_number(&self, key: u32) -> u32 {
        let slot = self.slots[(key >> (32 - self.slot_bits)) as usize];
        let bits = slot & ((1 << COUNT_BITS) - 1);
        (slot >> COUNT_BITS) + place(key, self.slot_bits, bits)
    }

    /// The positions of all keys in a bucket.
    #[inline]
    pub(crate) fn range(&self, bucket: u32) -> (u32, u32) {
        let bucket = bucket as usize;
        (self.starts[bucket], self.starts[bucket + 1])
    }

    /// Prefetches what [`Self::range`] reads.
    #[inline]
    pub(crate) fn prefetch_range(&self, bucket: u32) {
        prefetch(&self.starts[bucket as usize]);
    }

    /// The bytes of the index.
    pub fn memory(&self) -> usize {
        (self.slots.capacity() + self.starts.capacity()) * size_of::<u32>()
    }
}

/// The bucket of a key in its slot: the `bits` bits that follow the slot's. At most 31.
#[inline]
fn place(key: u32, slot_bits: u32, bits: u32) -> u32 {
    ((u64::from(key << slot_bits) << bits) >> 32) as u32
}

/// The number of bits that divide a slot into buckets.
fn bucket_bits(keys: usize) -> u32 {
    let buckets = keys.div_ceil(BUCKET_KEYS).max(1).next_power_of_two();
    buckets.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_its_bucket() {
        let mut keys: Vec<u32> = (0..3000)
            .map(|n: u32| n.wrapping_mul(2_654_435_761))
            .collect();
        keys.extend((0..3000).map(|n| 0x0a00_0000 + n * 3));
        keys.extend([0, u32::MAX, u32::MAX]);
        keys.sort_unstable();
        let directory = Directory::new(keys.len(), |at| keys[at]);
        for probe in keys
            .iter()
            .flat_map(|k| [k.wrapping_sub(1), *k, k.wrapping_add(1)])
        {
            let (from, to) = directory.bucket(probe);
            assert!(keys[..from].iter().all(|key| *key < probe));
            assert!(keys[to..].iter().all(|key| *key > probe));
        }
        let empty = Directory::new(0, |_| 0);
        assert_eq!(empty.bucket(7), (0, 0));
    }
}
