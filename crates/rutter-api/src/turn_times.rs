//! The processor time of the turns of one I/O thread.

use std::time::Duration;

/// The turns of one I/O thread since the daemon started, by their processor time. All neighbors of a thread wait for the
/// end of its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TurnTimes {
    /// The turns by their time: at index `i` those of at most `BOUNDS[i]` and more than the bound before, at the end all
    /// others.
    pub counts: [u64; TurnTimes::BUCKETS],
    /// The time of all turns, nanoseconds.
    pub total_ns: u64,
    /// The time of the longest turn, nanoseconds.
    pub longest_ns: u64,
}

impl TurnTimes {
    /// The upper bounds of the times.
    pub const BOUNDS: [Duration; 11] = [
        Duration::from_micros(500),
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(20),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(200),
        Duration::from_millis(500),
        Duration::from_secs(1),
    ];
    /// The number of counts: one for each bound, and one for longer turns.
    pub const BUCKETS: usize = TurnTimes::BOUNDS.len() + 1;

    /// The index of the count of a turn with this time, nanoseconds.
    pub fn bucket(ns: u64) -> usize {
        let is_longer = |bound: &&Duration| u128::from(ns) > bound.as_nanos();
        TurnTimes::BOUNDS.iter().take_while(is_longer).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        assert_eq!([0, 500_000, 500_001].map(TurnTimes::bucket), [0, 0, 1]);
        assert_eq!(TurnTimes::bucket(1_000_000_000), 10);
        assert_eq!(TurnTimes::bucket(1_000_000_001), 11);
    }
}
