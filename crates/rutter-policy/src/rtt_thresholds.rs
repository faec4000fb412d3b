//! Thresholds of round-trip times: they divide the clients into classes, and communities name the thresholds.

use crate::Rtt;

/// The thresholds that communities can name, in milliseconds: ascending, at most [`RttThresholds::MAX`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RttThresholds(Vec<u32>);

/// The class of a client: the number of thresholds that its round-trip time exceeds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RttClass(u8);

/// A set of classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RttClasses(u64);

impl RttThresholds {
    /// The largest number of thresholds: one less than the bits of [`RttClasses`].
    pub const MAX: usize = 63;

    /// Creates thresholds; `None` if they are too many, or not in ascending order.
    pub fn new(ms: Vec<u32>) -> Option<Self> {
        let ascending = ms.windows(2).all(|pair| pair[0] < pair[1]);
        (ascending && ms.len() <= Self::MAX).then_some(RttThresholds(ms))
    }

    /// The thresholds in milliseconds.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// The class of a client with this round-trip time.
    pub fn class_of(&self, rtt: Rtt) -> RttClass {
        let exceeds = |ms: &u32| u64::from(rtt.as_micros()) > u64::from(*ms) * 1_000;
        RttClass(self.0.partition_point(exceeds) as u8)
    }

    /// The clients whose round-trip time is at most this threshold; none if it is no threshold.
    pub fn up_to(&self, ms: u32) -> RttClasses {
        match self.0.binary_search(&ms) {
            Ok(index) => RttClasses(u64::MAX >> (63 - index)),
            Err(_) => RttClasses::NONE,
        }
    }

    /// The clients whose round-trip time exceeds this threshold; none if it is no threshold.
    pub fn above(&self, ms: u32) -> RttClasses {
        let all = RttClasses(u64::MAX >> (63 - self.0.len()));
        match self.0.binary_search(&ms) {
            Ok(_) => all.minus(self.up_to(ms)),
            Err(_) => RttClasses::NONE,
        }
    }
}

impl Default for RttThresholds {
    /// The thresholds of ARouteServer.
    fn default() -> Self {
        RttThresholds(vec![5, 10, 15, 20, 30, 50, 100, 200, 500])
    }
}

impl RttClasses {
    /// No class.
    pub const NONE: RttClasses = RttClasses(0);

    /// Returns whether a client belongs to the set. Clients without a round-trip time belong to none.
    pub fn contains(self, class: Option<RttClass>) -> bool {
        class.is_some_and(|class| self.0 >> class.0 & 1 != 0)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The classes of either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        RttClasses(self.0 | other.0)
    }

    /// The classes of this set that the other has not.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        RttClasses(self.0 & !other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples in ARouteServer's manual: lower-than is inclusive, higher-than is exclusive.
    #[test]
    fn a_threshold_includes_its_own_value_below_and_not_above() {
        let thresholds = RttThresholds::default();
        for (rtt, ms, up_to, above) in [
            ("15", 15, true, false),
            ("15.001", 15, false, true),
            ("14", 15, true, false),
            ("30", 30, true, false),
            ("31", 30, false, true),
            ("0", 5, true, false),
            ("900", 500, false, true),
            ("7", 1_000, false, false),
            ("7", 0, false, false),
        ] {
            let class = Some(thresholds.class_of(rtt.parse().unwrap()));
            assert_eq!(thresholds.up_to(ms).contains(class), up_to, "{rtt} <= {ms}");
            assert_eq!(thresholds.above(ms).contains(class), above, "{rtt} > {ms}");
        }
        assert!(!thresholds.up_to(500).contains(None) && !thresholds.above(5).contains(None));
    }

    #[test]
    fn sixty_three_thresholds_have_sixty_four_classes() {
        let thresholds = RttThresholds::new((1..=63).collect()).unwrap();
        let class = |ms: u32| Some(thresholds.class_of(Rtt::from_micros(ms * 1_000).unwrap()));
        assert!(thresholds.up_to(63).contains(class(63)));
        assert!(!thresholds.up_to(63).contains(class(64)));
        assert!(thresholds.above(63).contains(class(64)));
        assert!(thresholds.above(1).contains(class(64)) && !thresholds.above(1).contains(class(1)));
    }

    #[test]
    fn thresholds_must_ascend_and_be_few() {
        assert!(RttThresholds::new(vec![]).is_some());
        assert!(RttThresholds::new(vec![5, 5]).is_none());
        assert!(RttThresholds::new(vec![10, 5]).is_none());
        assert!(RttThresholds::new((0..64).collect()).is_none());
    }
}
