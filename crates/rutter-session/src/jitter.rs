//! Random jitter of timers, from a seed.

/// A small random generator (splitmix64), good enough to spread timers.
#[derive(Clone, Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Jitter(seed)
    }

    /// Returns a random time between 75 % and 100 % of an interval (RFC 4271 §10).
    pub(crate) fn spread(&mut self, ms: u64) -> u64 {
        let thousandths = 750 + self.next() % 251;
        (u128::from(ms) * u128::from(thousandths) / 1_000) as u64
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
