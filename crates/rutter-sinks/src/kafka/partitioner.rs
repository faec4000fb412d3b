//! Assigns keys to partitions as Kafka's own clients do, so that other producers and joins agree with us.

/// The partition of a key among `count` partitions.
pub(super) fn partition_of(key: &[u8], count: usize) -> usize {
    let positive = murmur2(key) & 0x7fff_ffff;
    positive as usize % count.max(1)
}

/// MurmurHash2 (Appleby) with the seed that Kafka's clients use.
fn murmur2(key: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ key.len() as u32;
    let mut chunks = key.chunks_exact(4);
    for chunk in &mut chunks {
        let mut k = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        k = k.wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        for (index, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * index);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    /// Values from Kafka's own test of its `Utils.murmur2`.
    #[test]
    fn keys_hash_as_in_kafka() {
        for (key, hash) in [
            ("21", -973_932_308_i32),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
        ] {
            assert_eq!(super::murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }
}
