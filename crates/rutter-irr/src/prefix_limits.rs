//! The numbers of prefixes that networks recommend as limits, and the headroom above them.

use std::collections::BTreeMap;

use rutter_net::PerFamily;

/// The recommended limits by AS number. Networks without any are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PrefixLimits(BTreeMap<u32, PerFamily<Option<u32>>>);

impl PrefixLimits {
    /// The limits of a network; `None` where it recommends none.
    pub fn of(&self, asn: u32) -> PerFamily<Option<u32>> {
        self.0.get(&asn).copied().unwrap_or_default()
    }

    /// The networks with their limits, in the order of their AS numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, PerFamily<Option<u32>>)> {
        self.0.iter().map(|(asn, limits)| (*asn, *limits))
    }

    /// Returns the number of networks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no network recommends a limit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(u32, PerFamily<Option<u32>>)> for PrefixLimits {
    fn from_iter<T: IntoIterator<Item = (u32, PerFamily<Option<u32>>)>>(limits: T) -> Self {
        let has_any = |limits: &PerFamily<Option<u32>>| limits.iter().any(Option::is_some);
        let limits = limits.into_iter().filter(|(_, limits)| has_any(limits));
        PrefixLimits(limits.collect())
    }
}

/// The room that a member has above the limit that its network recommends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PrefixHeadroom {
    /// Prefixes that are added first.
    pub absolute: u32,
    /// The share of the sum that is added then, in percent.
    pub relative_percent: u32,
}

impl Default for PrefixHeadroom {
    /// The headroom of ARouteServer: 100 prefixes, then 15 %.
    fn default() -> Self {
        PrefixHeadroom {
            absolute: 100,
            relative_percent: 15,
        }
    }
}

impl PrefixHeadroom {
    /// Adds the headroom to a limit: `(limit + absolute) * (1 + relative / 100)`, rounded down.
    pub fn above(self, limit: u32) -> u32 {
        let sum = u64::from(limit) + u64::from(self.absolute);
        let increased = sum.saturating_mul(100 + u64::from(self.relative_percent)) / 100;
        u32::try_from(increased).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_absolute_headroom_counts_before_the_relative_one() {
        let above = |absolute, relative_percent, limit| {
            PrefixHeadroom {
                absolute,
                relative_percent,
            }
            .above(limit)
        };
        assert_eq!(PrefixHeadroom::default().above(900), 1_150);
        assert_eq!(above(0, 0, 900), 900);
        assert_eq!(above(50, 0, 900), 950);
        assert_eq!(above(0, 200, 900), 2_700);
        assert_eq!(above(0, 15, 1), 1, "a part of a prefix is no prefix");
        assert_eq!(above(u32::MAX, u32::MAX, u32::MAX), u32::MAX);
    }

    #[test]
    fn networks_without_numbers_are_left_out() {
        let limits = [
            (1, PerFamily::new(Some(7), None)),
            (2, PerFamily::both(None)),
        ];
        let limits = PrefixLimits::from_iter(limits);
        assert_eq!((limits.len(), limits.is_empty()), (1, false));
        assert_eq!(limits.of(1), PerFamily::new(Some(7), None));
        assert_eq!(limits.of(2), PerFamily::both(None));
    }
}
