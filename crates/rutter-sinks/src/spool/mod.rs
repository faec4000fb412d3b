//! Rows on disk between the feed and a store: bounded, checked, and read from the position of the store.
//!
//! A frame is `length u32, CRC-32 of the block u32, CRC-32 of both u32, block`. Frames lie in segments of a
//! bounded size. Opening a spool cuts off an incomplete frame that a crash left at the end. A segment is
//! removed when a store has committed all of it.

mod damage;
mod storage;

use std::collections::VecDeque;
use std::fmt;
use std::io;

pub use damage::Damage;
pub(crate) use damage::Unended;
pub use storage::{Disk, Storage};

use rutter_events::Missing;

use crate::block::Block;
use damage::{SpoolScan, follows};

/// A position in the rows of a run: after all rows before `next_seq`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Position {
    /// The run of the collector.
    pub run: u64,
    /// The number of the next row.
    pub next_seq: u64,
}

impl Position {
    /// The rows that may follow in the run.
    pub(crate) fn rest_of_run(self) -> Missing {
        Missing::RestOfRun {
            run: self.run,
            from: self.next_seq,
            doubtful: true,
        }
    }
}

/// A place in the spool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cursor {
    segment: u64,
    offset: u64,
}

/// The reason why a block was rejected.
#[derive(Debug)]
pub enum SpoolError {
    /// The spool would exceed its limit.
    Full,
    /// The disk failed.
    Io(io::Error),
}

impl fmt::Display for SpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str(
                "the spool is full: raise `spool-limit` or find out why the store is slow or unreachable",
            ),
            Self::Io(why) => write!(f, "the spool cannot be written: {why}"),
        }
    }
}

impl std::error::Error for SpoolError {}

struct Segment {
    number: u64,
    len: u64,
}

/// The rows missing between a position and a place in the spool.
pub(crate) enum Gap {
    /// None: the rows are consecutive.
    None,
    /// Unknown: there are no rows after the place.
    AtEnd,
    /// The missing rows, and the time of the row after them.
    Rows {
        damage: Damage,
        until_us: Option<u64>,
    },
}

/// The segments of one sink.
pub struct Spool<M> {
    storage: M,
    segments: VecDeque<Segment>,
    limit: u64,
    next_segment: u64,
    bytes: u64,
    /// The position after the last stored row.
    end: Option<Position>,
    /// The consecutive rows at the opening: the positions before the first and after the last of each range.
    initial_ranges: Vec<(Position, Position)>,
    /// The time of the first of them.
    initial_first_us: u64,
    /// The rows that were missing at the opening.
    damage: Vec<Damage>,
    /// The last run at the opening, if it had no `stop`.
    unended: Option<Unended>,
    /// True if the spool had no rows of an earlier run at the opening.
    new: bool,
    open: bool,
    /// The newest segment after it was committed. It identifies the last run until there is a newer segment.
    done: Option<Segment>,
}

impl<M: Storage> Spool<M> {
    /// Opens the spool of an earlier run, and cuts off damaged or incomplete frames. It keeps at most `limit`
    /// bytes.
    pub fn open(storage: M, limit: u64) -> io::Result<Self> {
        let mut spool = Self {
            storage,
            segments: VecDeque::new(),
            limit,
            next_segment: 0,
            bytes: 0,
            end: None,
            initial_ranges: Vec::new(),
            initial_first_us: 0,
            damage: Vec::new(),
            unended: None,
            new: true,
            open: false,
            done: None,
        };
        let mut scan = SpoolScan::default();
        let numbers = spool.storage.list()?;
        for &number in &numbers {
            spool.next_segment = number + 1;
            let good = spool.check(number, &mut scan)?;
            if good == 0 {
                spool.storage.remove(number)?;
                continue;
            }
            spool.segments.push_back(Segment { number, len: good });
            spool.bytes += good;
        }
        spool.unended = scan.finish();
        (spool.end, spool.damage) = (scan.end, scan.damage);
        spool.initial_ranges = scan.ranges;
        spool.new = spool.end.is_none();
        spool.initial_first_us = spool.first_us()?;
        Ok(spool)
    }

    /// The time of the first row.
    fn first_us(&mut self) -> io::Result<u64> {
        let first = self.next(self.begin())?;
        let block = first.and_then(|(bytes, _)| Block::decode(&bytes));
        Ok(block.map_or(0, |block| {
            block.entries.first().map_or(0, |entry| entry.time_us)
        }))
    }

    /// Returns the number of bytes of a segment that are readable frames, and cuts off the rest.
    fn check(&mut self, number: u64, scan: &mut SpoolScan) -> io::Result<u64> {
        let mut good = 0;
        let torn = loop {
            match self.frame(number, good)? {
                Frame::Whole(block, len) => match scan.take(block) {
                    true => good += len,
                    false => break false,
                },
                Frame::Torn => break true,
                Frame::CorruptRecord => break false,
            }
        };
        let mut whole = good;
        loop {
            let rest = self.storage.read(number, whole, PIECE)?;
            if rest.is_empty() {
                break;
            }
            whole += rest.len() as u64;
        }
        if whole > good && good > 0 {
            self.storage.truncate(number, good)?;
        }
        // An incomplete frame was never acknowledged.
        if !torn {
            scan.skip(whole - good);
        }
        Ok(good)
    }

    /// Reads the frame at an offset.
    fn frame(&mut self, segment: u64, offset: u64) -> io::Result<Frame> {
        let head = self.storage.read(segment, offset, HEAD)?;
        let (Some(len), Some(sum), Some(own)) = (word(&head, 0), word(&head, 4), word(&head, 8))
        else {
            return Ok(Frame::Torn);
        };
        if crc32fast::hash(&head[..8]) != own || len as usize > MAX_BLOCK {
            return Ok(Frame::CorruptRecord);
        }
        let at = offset + HEAD as u64;
        let block = self.storage.read(segment, at, len as usize)?;
        Ok(match block.len() == len as usize {
            true if crc32fast::hash(&block) == sum => {
                Frame::Whole(block, HEAD as u64 + u64::from(len))
            }
            true => Frame::CorruptRecord,
            false => Frame::Torn,
        })
    }

    /// The position after the last stored row.
    pub fn end(&self) -> Option<Position> {
        self.end
    }

    /// The number of rows from the opening that are after a position.
    pub fn initial_rows_behind(&self, position: Option<Position>) -> u64 {
        let behind = |(first, end): &(Position, Position)| {
            let first = position.map_or(*first, |position| position.clamp(*first, *end));
            end.next_seq - first.next_seq
        };
        self.initial_ranges.iter().map(behind).sum()
    }

    /// The time of the first row from the opening.
    pub fn initial_first_us(&self) -> u64 {
        self.initial_first_us
    }

    /// The number of bytes in all segments.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The largest number of bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The rows that were missing at the opening.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The last run at the opening, if it had no `stop`.
    pub(crate) fn unended(&self) -> Option<Unended> {
        self.unended
    }

    /// Returns whether the spool had no rows of an earlier run at the opening. A used spool always keeps its last
    /// segment.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Returns the rows missing between a position and the block at a place.
    pub(crate) fn gap_between(
        &mut self,
        behind: Option<Position>,
        cursor: Cursor,
    ) -> io::Result<Gap> {
        let Some((bytes, _)) = self.next(cursor)? else {
            return Ok(Gap::AtEnd);
        };
        let before = Block::span(&bytes).map(|(first, _)| first);
        // Without a position, earlier runs are unknown: assume the start of the run.
        let begin = before.map(|first| Position {
            next_seq: 0,
            ..first
        });
        if behind.or(begin).is_some_and(|at| follows(at, &bytes)) {
            return Ok(Gap::None);
        }
        let block = Block::decode(&bytes);
        let first = block.as_ref().and_then(|block| block.entries.first());
        Ok(Gap::Rows {
            damage: Damage {
                behind,
                before,
                bytes: 0,
            },
            until_us: first.map(|entry| entry.time_us),
        })
    }

    /// Returns the unreadable rows from a place on, and the start of the next readable segment. Consecutive
    /// unreadable segments are one loss. `behind` is the position of the rows before the place.
    pub(crate) fn damage_at(
        &mut self,
        behind: Option<Position>,
        cursor: Cursor,
    ) -> (Damage, Cursor) {
        let (mut cursor, mut bytes) = (cursor, 0);
        let following = loop {
            let segment = self.segments.iter().find(|s| s.number >= cursor.segment);
            if let Some(segment) = segment {
                cursor.segment = segment.number;
                bytes += segment.len.saturating_sub(cursor.offset);
            }
            cursor = self.behind_segment(cursor);
            match self.next(cursor) {
                Err(why) if is_gone(&why) => {}
                following => break following.ok().flatten(),
            }
        };
        let span = following.and_then(|(block, _)| Block::span(&block));
        let damage = Damage {
            behind,
            before: span.map(|(first, _)| first).or(self.end),
            bytes,
        };
        (damage, cursor)
    }

    /// Stores a block. A `needed` block may exceed the limit by its own size.
    pub fn append(&mut self, block: &[u8], needed: bool) -> Result<(), SpoolError> {
        let len = (HEAD + block.len()) as u64;
        if self.bytes + len > self.limit && !needed {
            return Err(SpoolError::Full);
        }
        let mut frame = Vec::with_capacity(len as usize);
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(crc32fast::hash(block).to_le_bytes());
        frame.extend(crc32fast::hash(&frame).to_le_bytes());
        frame.extend_from_slice(block);
        let stored = match self.put(&frame) {
            Err(_) if self.shrink_done_segment() => self.put(&frame),
            stored => stored,
        };
        stored.map_err(SpoolError::Io)?;
        self.bytes += len;
        self.end = Block::span(block).map(|(_, end)| end).or(self.end);
        Ok(())
    }

    fn put(&mut self, frame: &[u8]) -> io::Result<()> {
        let len = frame.len() as u64;
        let segment = self.segment_for(len);
        let held = self
            .segments
            .back_mut()
            .filter(|last| last.number == segment);
        let appended = self.storage.append(segment, frame);
        let stored = match held {
            Some(last) => appended.map(|()| last.len += len),
            None => appended.and_then(|()| self.begin_segment(segment, len)),
        };
        if stored.is_err() {
            self.undo(segment);
        }
        stored
    }

    /// Shrinks the committed newest segment to its last block, which is enough to identify the last run.
    /// Returns `true` if that freed space on a full disk.
    fn shrink_done_segment(&mut self) -> bool {
        let Some((number, len)) = self.done.as_ref().map(|done| (done.number, done.len)) else {
            return false;
        };
        let Some(last) = self.last_frame(number, len).filter(|last| *last > 0) else {
            return false;
        };
        let kept = self.storage.read(number, last, (len - last) as usize);
        let cut = kept.and_then(|kept| self.storage.replace(number, &kept));
        if cut.is_ok() {
            self.done = Some(Segment {
                number,
                len: len - last,
            });
        }
        cut.is_ok()
    }

    /// The offset of the last frame of a segment.
    fn last_frame(&mut self, segment: u64, len: u64) -> Option<u64> {
        let mut offset = 0;
        while let Ok(Frame::Whole(_, of_frame)) = self.frame(segment, offset) {
            if offset + of_frame >= len {
                return Some(offset);
            }
            offset += of_frame;
        }
        None
    }

    /// Adds a segment and syncs it at once, so that the last run is always known.
    fn begin_segment(&mut self, number: u64, len: u64) -> io::Result<()> {
        self.storage.sync(number)?;
        self.segments.push_back(Segment { number, len });
        if let Some(done) = self.done.take() {
            // If removing fails, its rows are still known to be committed.
            let _ = self.storage.remove(done.number);
        }
        Ok(())
    }

    /// Removes an incomplete frame. If that fails, the next frame goes into a new segment.
    fn undo(&mut self, segment: u64) {
        let held = self.segments.back().filter(|last| last.number == segment);
        let undone = match held.map(|last| last.len) {
            Some(len) => self.storage.truncate(segment, len).is_ok(),
            None => {
                // It contains nothing else, and may not exist.
                let _ = self.storage.remove(segment);
                false
            }
        };
        self.open = undone;
    }

    fn segment_for(&mut self, len: u64) -> u64 {
        let most = (self.limit / SEGMENTS).clamp(SMALLEST, LARGEST);
        match self.segments.back() {
            Some(last) if self.open && last.len + len <= most => last.number,
            last => {
                if let Some(last) = last.filter(|_| self.open) {
                    // Without a sync, the rows survive only a crash of the process.
                    let _ = self.storage.sync(last.number);
                }
                self.open = true;
                self.next_segment += 1;
                self.next_segment - 1
            }
        }
    }

    /// Makes all stored rows survive a loss of power.
    pub fn sync(&mut self) -> io::Result<()> {
        match self.segments.back() {
            Some(last) if self.open => self.storage.sync(last.number),
            _ => Ok(()),
        }
    }

    /// The place of the first block that is not before `position`.
    ///
    /// The runs in a spool ascend. A position of a later run than `current` means that the clock was set back:
    /// then no row of the spool is known to be stored.
    pub fn seek(&mut self, position: Option<Position>, current: u64) -> io::Result<Cursor> {
        let mut cursor = self.begin();
        let Some(position) = position.filter(|position| position.run <= current) else {
            return Ok(cursor);
        };
        while let Some((block, next)) = self.next(cursor)? {
            if Block::span(&block).is_some_and(|(first, _)| first >= position) {
                break;
            }
            cursor = next;
        }
        Ok(cursor)
    }

    fn begin(&self) -> Cursor {
        Cursor {
            segment: self
                .segments
                .front()
                .map_or(self.next_segment, |first| first.number),
            offset: 0,
        }
    }

    /// The block at a place, and the place after it.
    pub fn next(&mut self, cursor: Cursor) -> io::Result<Option<(Vec<u8>, Cursor)>> {
        let mut cursor = cursor;
        loop {
            let after = self.segments.iter().find(|s| s.number >= cursor.segment);
            let Some(segment) = after.map(|s| (s.number, s.len)) else {
                return Ok(None);
            };
            if segment.0 > cursor.segment {
                cursor = Cursor {
                    segment: segment.0,
                    offset: 0,
                };
            }
            if cursor.offset >= segment.1 {
                if self
                    .segments
                    .back()
                    .is_none_or(|last| last.number == segment.0)
                {
                    return Ok(None);
                }
                cursor = Cursor {
                    segment: segment.0 + 1,
                    offset: 0,
                };
                continue;
            }
            let Frame::Whole(block, len) = self.frame(cursor.segment, cursor.offset)? else {
                let why = format!(
                    "segment {:x} is damaged at {}",
                    cursor.segment, cursor.offset
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            };
            cursor.offset += len;
            return Ok(Some((block, cursor)));
        }
    }

    /// Removes the segments before the place, whose rows are committed.
    pub fn acknowledge(&mut self, cursor: Cursor) -> io::Result<()> {
        while let Some(first) = self.segments.front() {
            let done = first.number < cursor.segment
                || first.number == cursor.segment && first.len <= cursor.offset;
            if !done {
                break;
            }
            let Some(first) = self.segments.pop_front() else {
                break;
            };
            self.bytes -= first.len;
            if self.segments.is_empty() {
                self.open = false;
                self.done = Some(first);
            } else {
                self.storage.remove(first.number)?;
            }
        }
        Ok(())
    }

    /// The start of the next segment.
    pub fn behind_segment(&self, cursor: Cursor) -> Cursor {
        Cursor {
            segment: cursor.segment + 1,
            offset: 0,
        }
    }
}

/// Returns whether unreadable bytes are lost for good.
pub(crate) fn is_gone(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::NotFound
    )
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// The bytes at an offset of a segment.
enum Frame {
    /// A block, and the number of bytes of its frame.
    Whole(Vec<u8>, u64),
    /// Nothing, or the beginning of a frame.
    Torn,
    /// Bytes that were not written there.
    CorruptRecord,
}

const HEAD: usize = 12;
/// The largest block.
const MAX_BLOCK: usize = 64 << 20;
const PIECE: usize = 1 << 20;
/// The number of segments that fill the spool.
const SEGMENTS: u64 = 16;
const SMALLEST: u64 = 4 << 10;
const LARGEST: u64 = 64 << 20;
