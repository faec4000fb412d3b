//! Checks that the rows of files are consecutive: a missing file shows as missing numbers.

use rutter_events::Missing;

/// The expected number of the next row.
#[derive(Default)]
pub(crate) struct SequenceCheck {
    /// The run and number of the next row, if none is missing.
    expected: (u64, u64),
}

impl SequenceCheck {
    /// Starts at a position: a run, and a number in it.
    pub fn from(expected: (u64, u64)) -> Self {
        Self { expected }
    }

    /// Checks the next row. Describes the rows that are missing before it, unless the row is itself a gap.
    pub fn follow(&mut self, (run, seq): (u64, u64), kind: &str) -> Option<String> {
        let (expected_run, expected) = self.expected;
        // Each run begins with the number 0, and itself reports how the previous one ended.
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
