//! Where in a sorted array keys with given upper bits begin.

/// A two-level radix index over sorted 32-bit keys.
///
/// The upper 16 bits select a slot. The lower bits of a slot with many keys are divided into buckets of about eight
/// keys. Keys that lie close together share a bucket, which the caller searches by bisection. So a search never costs
/// more than the logarithm of the number of keys.
#[derive(Debug)]
pub(crate) struct Directory {
    /// By upper 16 bits: the place of the first bucket in `starts`, and the number of lower bits that select one.
    slots: Vec<Slot>,
    /// The position of each bucket's first key. The next bucket's is the end.
    starts: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    bits: u8,
}

/// Buckets have about this many keys.
const BUCKET_KEYS: usize = 8;
const SLOTS: usize = 1 << 16;

impl Directory {
    /// Builds the index. The keys are in order.
    pub fn new(len: usize, key: impl Fn(usize) -> u32) -> Self {
        let mut slots = Vec::with_capacity(SLOTS);
        let mut starts = Vec::with_capacity(SLOTS + len / (BUCKET_KEYS / 2) + 1);
        let mut at = 0;
        for slot in 0..SLOTS {
            let end = slot_end(len, at, slot as u32, &key);
            let bits = bucket_bits(end - at);
            let first = starts.len() as u32;
            slots.push(Slot { first, bits });
            for bucket in 0..1_u32 << bits {
                starts.push(at as u32);
                while at < end && (key(at) & 0xffff) >> (16 - bits) == bucket {
                    at += 1;
                }
            }
        }
        starts.push(len as u32);
        starts.shrink_to_fit();
        Directory { slots, starts }
    }

    /// The positions of all keys in the bucket of `key`. Keys before are smaller, keys behind are larger.
    #[inline]
    pub fn bucket(&self, key: u32) -> (usize, usize) {
        let slot = self.slots[(key >> 16) as usize];
        let bucket = (slot.first + ((key & 0xffff) >> (16 - slot.bits))) as usize;
        (
            self.starts[bucket] as usize,
            self.starts[bucket + 1] as usize,
        )
    }

    /// The bytes of the index.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.starts.capacity() * size_of::<u32>()
    }
}

/// The first position whose key is in a later slot.
fn slot_end(len: usize, from: usize, slot: u32, key: &impl Fn(usize) -> u32) -> usize {
    let mut end = from;
    while end < len && key(end) >> 16 == slot {
        end += 1;
    }
    end
}

/// The number of bits that divide a slot into buckets.
fn bucket_bits(keys: usize) -> u8 {
    let buckets = keys.div_ceil(BUCKET_KEYS).max(1).next_power_of_two();
    (buckets.trailing_zeros() as u8).min(16)
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
