//! Whether rows follow each other, and what is missing where they do not.

use std::fmt;

use rutter_events::{Kind, Missing};

use super::Position;
use crate::block::Block;

/// Rows that were stored and cannot be read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Behind the last row before the first of them; `None` where nothing is.
    pub behind: Option<Position>,
    /// Before the first row that follows; `None` where nothing does.
    pub before: Option<Position>,
    /// How many octets were cut away.
    pub octets: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing();
        match self.octets {
            0 => write!(f, "{missing}: the spool has lost them"),
            octets => write!(f, "{missing}: {octets} bytes of the spool were damaged"),
        }
    }
}

impl Damage {
    /// The rows.
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

/// The last run that a spool knows of was not ended in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unended {
    /// Behind its last row.
    pub end: Position,
    /// The time of its last row.
    pub last_us: u64,
}

/// What was scan of a spool, block by block from its beginning.
#[derive(Default)]
pub(super) struct SpoolScan {
    /// Behind the last row.
    pub(super) end: Option<Position>,
    /// Rows that follow each other without a hole: the positions before the first and behind the last.
    pub(super) ranges: Vec<(Position, Position)>,
    last: Vec<u8>,
    skipped: u64,
    pub(super) damage: Vec<Damage>,
}

impl SpoolScan {
    /// Takes the next block; `false` where it is none.
    pub(super) fn take(&mut self, octets: Vec<u8>) -> bool {
        let Some((before, end)) = Block::span(&octets) else {
            return false;
        };
        if let Some(behind) = self.end
            && !(follows(behind, &octets) && self.explains_end(behind, &octets))
        {
            self.damage.push(Damage {
                behind: Some(behind),
                before: Some(before),
                octets: self.skipped,
            });
        }
        (self.end, self.last, self.skipped) = (Some(end), octets, 0);
        match self.ranges.last_mut() {
            Some((_, behind)) if *behind == before => *behind = end,
            _ => self.ranges.push((before, end)),
        }
        true
    }

    /// So many octets could not be read. Whether rows were among them is scan by what follows.
    pub(super) fn skip(&mut self, octets: u64) {
        self.skipped += octets;
    }

    /// Nothing follows. Whether the last run was not ended in order.
    pub(super) fn finish(&mut self) -> Option<Unended> {
        if self.skipped > 0 {
            self.damage.push(Damage {
                behind: self.end,
                before: None,
                octets: self.skipped,
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

    /// Where another run begins the one before was ended, or its rows that may be missing are told.
    fn explains_end(&self, behind: Position, octets: &[u8]) -> bool {
        let begins = Block::span(octets).is_some_and(|(first, _)| first.run != behind.run);
        !begins
            || Block::decode(&self.last).is_some_and(|block| is_end(&block))
            || Block::decode(octets).is_some_and(|block| {
                block
                    .entries
                    .iter()
                    .any(|entry| gap_size(&entry.kind).is_some())
            })
    }
}

/// Whether a block comes next behind a position, or tells itself what is missing before it.
pub(super) fn follows(behind: Position, octets: &[u8]) -> bool {
    let Some((first, _)) = Block::span(octets) else {
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
    gap == 0 || Block::decode(octets).is_some_and(|block| rows_reported_missing(&block) >= gap)
}

/// How many rows before its own a block says to be missing.
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
