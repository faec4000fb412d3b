//! Prepends for classes of round-trip times.

use crate::{RttClass, RttClasses};

/// How often to prepend for each class of round-trip times: the classes with one, two and three prepends. No class is
/// in two of the sets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RttPrepends([RttClasses; 3]);

impl RttPrepends {
    /// No prepend.
    pub const NONE: RttPrepends = RttPrepends([RttClasses::NONE; 3]);

    /// Adds a rule for classes. Rules that were added before take precedence.
    pub(crate) fn add(&mut self, classes: RttClasses, times: u8) {
        let known = self.0.iter().fold(RttClasses::NONE, |all, of| all.or(*of));
        if let Some(of) = self.0.get_mut(usize::from(times).wrapping_sub(1)) {
            *of = of.or(classes.minus(known));
        }
    }

    /// How often to prepend for a class; `None` where no rule applies.
    pub fn times(&self, class: Option<RttClass>) -> Option<u8> {
        let index = self.0.iter().position(|of| of.contains(class))?;
        Some(index as u8 + 1)
    }

    /// Returns whether there is no rule.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }
}
