//! The text of gaps: the one place that formats it for every `gap` and parses it.

use std::fmt;

use crate::utc;

/// The lost messages or rows. Its text is the start of a gap's detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A number of messages that never became rows.
    Messages(u64),
    /// Rows of the run that reports them.
    Rows {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// Rows inside a run.
    OfRun {
        /// The run with the missing rows.
        run: u64,
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// The last rows of a run.
    RestOfRun {
        /// The run with the missing rows.
        run: u64,
        /// The first of them.
        from: u64,
        /// It is unknown whether there were any.
        doubtful: bool,
    },
    /// The last rows of a run, and all rows up to one of a later run.
    UpToRun {
        /// The run that ended.
        run: u64,
        /// The first of them.
        from: u64,
        /// The later run.
        later: u64,
        /// The first row that is present again.
        before: u64,
    },
    /// Rows before one of a run, including those of earlier runs. Their start is unknown.
    Before {
        /// The run whose first rows are missing.
        run: u64,
        /// The first row that is present again, or would be next.
        row: u64,
    },
    /// Rows of a run of which nothing else is known.
    OfEarlierRun,
}

impl Missing {
    /// Formats the detail of a gap: the lost rows, their time if it is known, and the reason.
    pub fn because(self, times_us: Option<(u64, u64)>, why: impl fmt::Display) -> String {
        let (since, until) = times_us.unzip();
        self.between(since, until, why)
    }

    /// Like [`Missing::because`], if only one of both times is known.
    pub fn between(
        self,
        since_us: Option<u64>,
        until_us: Option<u64>,
        why: impl fmt::Display,
    ) -> String {
        match (since_us.map(utc), until_us.map(utc)) {
            (None, None) => format!("{self}: {why}"),
            (Some(since), Some(until)) => format!("{self}, from {since} to {until}: {why}"),
            (Some(since), None) => format!("{self}, from {since} on: {why}"),
            (None, Some(until)) => format!("{self}, up to {until}: {why}"),
        }
    }

    /// Formats the detail for messages that arrived faster than they could be read.
    pub fn overrun(messages: u64, times_us: (u64, u64)) -> String {
        Self::Messages(messages).because(Some(times_us), "they came faster than they could be read")
    }

    /// Returns the run that the detail of a gap names. If it is not the gap's own run, it ended before the latter
    /// began.
    pub fn run_named(detail: &str) -> Option<u64> {
        let words: Vec<&str> = detail.split(' ').take(7).collect();
        match *words {
            ["rows", "of", "run", run, ..] | ["rows", _, "to", _, "of", "run", run] => {
                run.parse().ok()
            }
            _ => None,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Messages(count) => write!(f, "{count} messages are missing"),
            Self::Rows { first, last } => write!(f, "rows {first} to {last} are missing"),
            Self::OfRun { run, first, last } => {
                write!(f, "rows {first} to {last} of run {run} are missing")
            }
            Self::RestOfRun {
                run,
                from,
                doubtful,
            } => {
                let doubt = if *doubtful { ", if there were any" } else { "" };
                write!(f, "rows of run {run} from row {from} on are missing{doubt}")
            }
            Self::UpToRun {
                run,
                from,
                later,
                before,
            } => write!(
                f,
                "rows of run {run} from row {from} on are missing, up to row {before} of run {later}"
            ),
            Self::Before { run, row } => {
                write!(f, "rows before row {row} of run {run} are missing")
            }
            Self::OfEarlierRun => f.write_str("rows of an earlier run are missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_gap_is_read_again() {
        let (run, first, last) = (1_795_176_000_000_000, 5, 9);
        let rest = |doubtful| Missing::RestOfRun {
            run,
            from: first,
            doubtful,
        };
        let up_to = Missing::UpToRun {
            run,
            from: first,
            later: run + 1,
            before: 0,
        };
        for (missing, text, named) in [
            (Missing::Messages(7), "7 messages are missing", None),
            (
                Missing::Rows { first, last },
                "rows 5 to 9 are missing",
                None,
            ),
            (
                Missing::OfRun { run, first, last },
                "rows 5 to 9 of run 1795176000000000 are missing",
                Some(run),
            ),
            (
                rest(false),
                "rows of run 1795176000000000 from row 5 on are missing",
                Some(run),
            ),
            (
                rest(true),
                "rows of run 1795176000000000 from row 5 on are missing, if there were any",
                Some(run),
            ),
            (
                up_to,
                "rows of run 1795176000000000 from row 5 on are missing, up to row 0 of run 1795176000000001",
                Some(run),
            ),
            (
                Missing::Before { run, row: first },
                "rows before row 5 of run 1795176000000000 are missing",
                None,
            ),
            (
                Missing::OfEarlierRun,
                "rows of an earlier run are missing",
                None,
            ),
        ] {
            assert_eq!(missing.to_string(), text);
            for detail in [
                text.to_owned(),
                missing.because(None, "rows of run 3 from row 1"),
                missing.because(Some((run, run)), "a disk"),
            ] {
                assert_eq!(Missing::run_named(&detail), named, "{detail}");
            }
        }
    }

    #[test]
    fn a_gap_names_its_rows_time_and_reason() {
        assert_eq!(
            Missing::overrun(7, (0, 1_000_001)),
            "7 messages are missing, from 1970-01-01 00:00:00.000000 UTC to 1970-01-01 00:00:01.000001 UTC: \
             they came faster than they could be read"
        );
        let rows = || Missing::Before { run: 7, row: 5 };
        assert_eq!(
            rows().between(None, Some(1_000_001), "a backup"),
            "rows before row 5 of run 7 are missing, up to 1970-01-01 00:00:01.000001 UTC: a backup"
        );
        assert_eq!(
            rows().between(Some(0), None, "a backup"),
            "rows before row 5 of run 7 are missing, from 1970-01-01 00:00:00.000000 UTC on: a backup"
        );
    }
}
