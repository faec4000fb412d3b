//! Whether the rows of files join: where a file is missing, its rows are.

use rutter_events::Missing;

/// Follows the numbers of rows.
#[derive(Default)]
pub(crate) struct Joins {
    /// What comes next, where nothing is missing.
    owed: (u64, u64),
}

impl Joins {
    /// From a position on: a run, and a number in it.
    pub fn from(owed: (u64, u64)) -> Self {
        Self { owed }
    }

    /// The next row. What is missing before it, in words, unless the row itself says so.
    pub fn follow(&mut self, (run, seq): (u64, u64), kind: &str) -> Option<String> {
        let (owed_run, owed) = self.owed;
        // Each run begins with the number 0: how the one before ended, it says itself.
        let owed = if run == owed_run { owed } else { 0 };
        self.owed = (run, seq + 1);
        let is_hole = seq > owed && kind != "gap";
        is_hole.then(|| {
            let missing = Missing::OfRun {
                run,
                first: owed,
                last: seq - 1,
            };
            let why = "a file of events is not there; what they said is not in the table";
            missing.because(None, why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_join_or_something_is_missing() {
        let mut joins = Joins::from((7, 5));
        assert_eq!(joins.follow((7, 5), "announce"), None);
        assert_eq!(joins.follow((7, 9), "gap"), None);
        assert_eq!(joins.follow((7, 10), "announce"), None);
        assert_eq!(joins.follow((8, 0), "start"), None);
        let hole = joins.follow((8, 3), "withdraw").unwrap();
        assert!(hole.starts_with("rows 1 to 2 of run 8"), "{hole}");
        assert!(joins.follow((9, 1), "announce").is_some());
        assert_eq!(joins.follow((9, 2), "announce"), None);
    }
}
