//! The guard against data that shrank too much.

use std::fmt;

/// Refuses data with far fewer entries than before, until an operator accepts them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShrinkGuard {
    limit_percent: Option<u8>,
    refused: Option<Shrink>,
    accepted: Option<usize>,
}

impl ShrinkGuard {
    /// A guard that refuses data that lost more than `limit_percent` percent of their entries. `None` refuses nothing.
    pub fn new(limit_percent: Option<u8>) -> Self {
        ShrinkGuard {
            limit_percent,
            ..ShrinkGuard::default()
        }
    }

    /// Changes the limit. Earlier refusals and acceptances stay.
    pub fn set_limit(&mut self, limit_percent: Option<u8>) {
        self.limit_percent = limit_percent;
    }

    /// Compares the number of entries in force with that of new data.
    ///
    /// # Errors
    /// If the new data are refused. [`refused`](Self::refused) has the numbers until other data pass.
    pub fn check(&mut self, old: usize, new: usize) -> Result<(), Shrink> {
        let refused = self.shrink(old, new);
        // An accepted size allows that size and what the limit allows below it.
        let accepted = self
            .accepted
            .is_some_and(|size| self.shrink(size, new).is_none());
        if let Some(shrink) = refused.filter(|_| !accepted) {
            self.refused = Some(shrink);
            return Err(shrink);
        }
        self.refused = None;
        self.accepted = None;
        Ok(())
    }

    /// The data that were refused last, if none passed since.
    pub fn refused(&self) -> Option<Shrink> {
        self.refused
    }

    /// Lets the next data pass that are as large as the refused ones. Returns whether there were any.
    pub fn accept(&mut self) -> bool {
        if let Some(shrink) = self.refused {
            self.accepted = Some(shrink.new);
        }
        self.refused.is_some()
    }

    fn shrink(&self, old: usize, new: usize) -> Option<Shrink> {
        let limit_percent = self.limit_percent?;
        let lost = old.saturating_sub(new) as u128 * 100;
        let is_too_much = lost > old as u128 * u128::from(limit_percent);
        is_too_much.then_some(Shrink {
            old,
            new,
            limit_percent,
        })
    }
}

/// The numbers of refused data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shrink {
    /// The number of entries in force.
    pub old: usize,
    /// The number of entries of the refused data.
    pub new: usize,
    /// The largest loss that is not refused, in percent.
    pub limit_percent: u8,
}

impl fmt::Display for Shrink {
    /// For example: `12 entries instead of 100: 88 % fewer, more than the limit of 20 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shrink {
            old,
            new,
            limit_percent,
        } = *self;
        let lost = (old.saturating_sub(new) as u128 * 100).div_ceil(old.max(1) as u128);
        write!(
            f,
            "{new} entries instead of {old}: {lost} % fewer, more than the limit of {limit_percent} %"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_lost_more_than_the_limit_are_refused() {
        for (limit, old, new, passes) in [
            (Some(20), 100, 80, true),
            (Some(20), 100, 79, false),
            (Some(20), 0, 0, true),
            (Some(20), 1, 0, false),
            (Some(20), 10, 1000, true),
            (Some(0), 3_200_000, 3_199_999, false),
            (Some(100), 5, 0, true),
            (None, 5, 0, true),
            (Some(20), usize::MAX, 1, false),
        ] {
            let mut guard = ShrinkGuard::new(limit);
            assert_eq!(
                guard.check(old, new).is_ok(),
                passes,
                "{limit:?} {old} {new}"
            );
            assert_eq!(guard.refused().is_none(), passes);
        }
        let shrink = ShrinkGuard::new(Some(20)).check(100, 12).unwrap_err();
        let written = "12 entries instead of 100: 88 % fewer, more than the limit of 20 %";
        assert_eq!(shrink.to_string(), written);
    }

    #[test]
    fn an_accepted_size_passes_once() {
        let mut guard = ShrinkGuard::new(Some(20));
        assert!(!guard.accept());
        assert!(guard.check(100, 50).is_err());
        assert!(guard.accept());
        // Still smaller data are another change, which nobody accepted.
        assert!(guard.check(100, 30).is_err());
        assert!(guard.accept());
        assert!(guard.check(100, 28).is_ok());
        assert!(guard.check(100, 28).is_err());
    }

    #[test]
    fn a_recovered_source_forgets_the_refusal() {
        let mut guard = ShrinkGuard::new(Some(20));
        assert!(guard.check(100, 0).is_err());
        guard.accept();
        assert!(guard.check(100, 100).is_ok());
        assert!(guard.check(100, 0).is_err());
        assert_eq!(guard.refused().map(|shrink| shrink.new), Some(0));
    }
}
