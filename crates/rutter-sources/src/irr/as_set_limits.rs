//! Limits on the size of an AS-SET.

/// The limits on one AS-SET with all sets inside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AsSetLimits {
    /// The most levels of sets inside a set.
    pub depth: usize,
    /// The most sets inside one set.
    pub sets: usize,
    /// The most AS numbers of one set.
    pub asns: usize,
}

impl Default for AsSetLimits {
    /// 32 levels, 20,000 sets, 200,000 AS numbers.
    fn default() -> Self {
        AsSetLimits {
            depth: 32,
            sets: 20_000,
            asns: 200_000,
        }
    }
}
