//! Marks for custom informational communities.

/// A set of marks, by number: each stands for the communities of one name in the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CustomMarks([u8; 3]);

impl CustomMarks {
    /// The largest number of marks.
    pub const MAX: usize = 24;

    /// No mark.
    pub const NONE: CustomMarks = CustomMarks([0; 3]);

    /// The set with one mark; without any for a number from [`Self::MAX`] on.
    pub fn of(number: u8) -> Self {
        match usize::from(number) < Self::MAX {
            true => CustomMarks::from_bits(1 << number),
            false => CustomMarks::NONE,
        }
    }

    /// The marks of both sets.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        CustomMarks::from_bits(self.to_bits() | other.to_bits())
    }

    /// Returns whether the set has a mark.
    pub fn has(self, number: u8) -> bool {
        CustomMarks::of(number).to_bits() & self.to_bits() != 0
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.to_bits() == 0
    }

    /// The set as a number of 24 bits.
    pub(crate) fn to_bits(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }

    /// The set of a number from [`Self::to_bits`]; other bits are ignored.
    pub(crate) fn from_bits(bits: u32) -> Self {
        let [low, middle, high, _] = bits.to_le_bytes();
        CustomMarks([low, middle, high])
    }
}
