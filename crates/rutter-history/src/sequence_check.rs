//! Whether the rows of files join: where a file is missing, its rows are.

use rutter_events::Missing;

/// Follows the numbers of rows.
#[derive(Default)]
pub(crate) struct SequenceCheck {
    /// What comes next, where nothing is missing.
    expected: (u64, u64),
}

impl SequenceCheck {
    /// From a position on: a run, and a number in it.
    pub fn from(expected: (u64, u64)) -> Self {
        Self { expected }
    }

    /// The next row. What is missing before it, in words, unless the row itself says so.
    pub fn follow(&mut self, (run, seq): (u64, u64), kind: &str) -> Option<String> {
        let (expected_run, expected) = self.expected;
        // Each run begins with the number 0: how the one before ended, it says itself.
        let expected = if run == expected_run { expected } else { 0 };
        self.expected = (run, seq + 1);
        let is_gap = seq > expected && kind != "gap";
        is_gap.then(|| {
            let missing = Missing::OfRun {
                run,
                first: expected,
                last: seq - 1,
            };
            let why = "a file of events is missing; its events are not in the table";
            missing.because(None, why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_join_or_something_is_missing() {
        let mut sequence = SequenceCheck::from((7, 5));
        assert_eq!(sequence.follow((7, 5), "announce"), None);
        assert_eq!(sequence.follow((7, 9), "gap"), None);
        assert_eq!(sequence.follow((7, 10), "announce"), None);
        assert_eq!(sequence.follow((8, 0), "start"), None);
        let hole = sequence.follow((8, 3), "withdraw").unwrap();
        assert!(hole.starts_with("rows 1 to 2 of run 8"), "{hole}");
        assert!(sequence.follow((9, 1), "announce").is_some());
        assert_eq!(sequence.follow((9, 2), "announce"), None);
    }
}
