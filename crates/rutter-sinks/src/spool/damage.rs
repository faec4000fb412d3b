//! Checks that rows are consecutive, and describes the missing ones.

use std::fmt;

use rutter_events::{Kind, Missing};

use super::Position;
use crate::block::Block;

/// Rows that were stored and cannot be read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The position after the last row before the missing ones; `None` if there is no such row.
    pub behind: Option<Position>,
    /// The position before the first row after them; `None` if there is no such row.
    pub before: Option<Position>,
    /// The number of bytes that were cut off.
    pub bytes: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing();
        match self.bytes {
            0 => write!(f, "{missing}: the spool has lost them"),
            bytes => write!(f, "{missing}: {bytes} bytes of the spool were damaged"),
        }
    }
}

impl Damage {
    /// The missing rows.
    pub(crate) fn missing(&self) -> Missing {
        match (self.behind, self.before) {
            (Some(behind), Some(before)) if behind.run == before.run => Missing::OfRun {
                run: behind.run,
                first: behind.next_seq,
                last: before.next_seq.saturating_sub(1),
            },
            (Some(behind), Some(before)) => Missing::UpToRun {
                run: behind.run,
                from: behind.next_seq,
                later: before.run,
                before: before.next_seq,
            },
            (Some(behind), None) => Missing::RestOfRun {
                run: behind.run,
                from: behind.next_seq,
                doubtful: false,
            },
            (None, Some(before)) => Missing::Before {
                run: before.run,
                row: before.next_seq,
            },
            (None, None) => Missing::OfEarlierRun,
        }
    }
}

/// The last run in a spool, if it has no `stop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unended {
    /// The position after its last row.
    pub end: Position,
    /// The time of its last row.
    pub last_us: u64,
}

/// The state of a scan over a spool, block by block from its beginning.
#[derive(Default)]
pub(super) struct SpoolScan {
    /// The position after the last row.
    pub(super) end: Option<Position>,
    /// Ranges of consecutive rows: the positions before the first and after the last of each.
    pub(super) ranges: Vec<(Position, Position)>,
    last: Vec<u8>,
    skipped: u64,
    pub(super) damage: Vec<Damage>,
}

impl SpoolScan {
    /// Adds the next block. Returns `false` if the bytes are not a block.
    pub(super) fn take(&mut self, bytes: Vec<u8>) -> bool {
        let Some((before, end)) = Block::span(&bytes) else {
            return false;
        };
        if let Some(behind) = self.end
            && !(follows(behind, &bytes) && self.explains_end(behind, &bytes))
        {
            self.damage.push(Damage {
                behind: Some(behind),
                before: Some(before),
                bytes: self.skipped,
            });
        }
        (self.end, self.last, self.skipped) = (Some(end), bytes, 0);
        match self.ranges.last_mut() {
            Some((_, behind)) if *behind == before => *behind = end,
            _ => self.ranges.push((before, end)),
        }
        true
    }

    /// Skips unreadable bytes. The following block shows whether rows were among them.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.skipped += bytes;
    }

    /// Ends the scan. Returns the last run if it has no `stop`.
    pub(super) fn finish(&mut self) -> Option<Unended> {
        if self.skipped > 0 {
            self.damage.push(Damage {
                behind: self.end,
                before: None,
                bytes: self.skipped,
            });
            return None;
        }
        let end = self.end?;
        let block = Block::decode(&self.last)?;
        (!is_end(&block)).then(|| Unended {
            end,
            last_us: block.entries.last().map_or(0, |entry| entry.time_us),
        })
    }

    /// Returns whether the end of a run before a new run is explained: by a `stop`, or by a gap in the next block.
    fn explains_end(&self, behind: Position, bytes: &[u8]) -> bool {
        let begins = Block::span(bytes).is_some_and(|(first, _)| first.run != behind.run);
        !begins
            || Block::decode(&self.last).is_some_and(|block| is_end(&block))
            || Block::decode(bytes).is_some_and(|block| {
                block
                    .entries
                    .iter()
                    .any(|entry| gap_size(&entry.kind).is_some())
            })
    }
}

/// Returns whether a block continues at a position, or itself reports the rows that are missing before it.
pub(super) fn follows(behind: Position, bytes: &[u8]) -> bool {
    let Some((first, _)) = Block::span(bytes) else {
        return false;
    };
    let expected = match first.run == behind.run {
        true => behind.next_seq,
        false => 0,
    };
    let Some(gap) = first
        .next_seq
        .checked_sub(expected)
        .filter(|_| first.run >= behind.run)
    else {
        return false;
    };
    gap == 0 || Block::decode(bytes).is_some_and(|block| rows_reported_missing(&block) >= gap)
}

/// The number of rows before the block that the block reports as missing.
fn rows_reported_missing(block: &Block) -> u64 {
    let mut kinds = block.entries.iter().map(|entry| entry.kind);
    let first = kinds.find(|kind| !matches!(kind, Kind::ClockStep { .. }));
    first.as_ref().and_then(gap_size).unwrap_or(0)
}

fn gap_size(kind: &Kind) -> Option<u64> {
    match kind {
        Kind::Gap { lost } => Some(*lost),
        _ => None,
    }
}

fn is_end(block: &Block) -> bool {
    block
        .entries
        .last()
        .is_some_and(|entry| entry.kind == Kind::Stop)
}
