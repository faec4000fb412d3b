//! Rows on disk between the feed and a store: bounded, checked, and read on exactly where the store stands.
//!
//! A frame is `length u32, CRC-32 of the block u32, CRC-32 of both u32, block`, all in segments of a bounded size. What a
//! crash tore off the end is cut away when the spool is opened again; a segment is removed when a store has committed all
//! of it.

mod damage;
mod storage;

use std::collections::VecDeque;
use std::fmt;
use std::io;

pub use damage::{Damage, Unended};
pub use storage::{Disk, Storage};

use rutter_events::Missing;

use crate::block::Block;
use damage::{SpoolScan, follows};

/// How far the rows of a run go: all before `next_seq`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Position {
    /// The run of the collector.
    pub run: u64,
    /// Number of the row that comes next.
    pub next_seq: u64,
}

impl Position {
    /// What may have followed in its run.
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

/// Why a block was not taken.
#[derive(Debug)]
pub enum SpoolError {
    /// It would grow beyond its limit.
    Full,
    /// The disk said no.
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

/// What lies between a position and a place.
pub(crate) enum Gap {
    /// Nothing: the rows follow each other.
    None,
    /// Nothing follows.
    AtEnd,
    /// Rows that are missing, and the time of the one behind them.
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
    /// Behind the last row that is stored.
    end: Option<Position>,
    /// What it held when it was opened: the positions before the first and behind the last of rows that follow each other.
    initial_ranges: Vec<(Position, Position)>,
    /// The time of the first of them.
    initial_first_us: u64,
    /// What was missing when it was opened.
    damage: Vec<Damage>,
    /// The last run had no end when it was opened.
    unended: Option<Unended>,
    /// Nothing of an earlier run was there when it was opened.
    new: bool,
    open: bool,
    /// The newest segment, done with: it remembers the last run until there is a newer one.
    done: Option<Segment>,
}

impl<M: Storage> Spool<M> {
    /// Reads what an earlier run left, and cuts away what is damaged or torn. At most `limit` octets are kept.
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
        let block = first.and_then(|(octets, _)| Block::decode(&octets));
        Ok(block.map_or(0, |block| {
            block.entries.first().map_or(0, |entry| entry.time_us)
        }))
    }

    /// How many octets of a segment are frames that can be read. The rest is cut away.
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
        // Of the beginning of a frame nobody was told that it is stored.
        if !torn {
            scan.skip(whole - good);
        }
        Ok(good)
    }

    /// What lies at an offset.
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

    /// Behind the last row that is stored.
    pub fn end(&self) -> Option<Position> {
        self.end
    }

    /// How many of the rows that it held when it was opened are behind a position.
    pub fn initial_rows_behind(&self, position: Option<Position>) -> u64 {
        let behind = |(first, end): &(Position, Position)| {
            let first = position.map_or(*first, |position| position.clamp(*first, *end));
            end.next_seq - first.next_seq
        };
        self.initial_ranges.iter().map(behind).sum()
    }

    /// The time of the first row that it held then.
    pub fn initial_first_us(&self) -> u64 {
        self.initial_first_us
    }

    /// ByteReader in all segments.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Most octets.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Rows that were missing when it was opened.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The last run, where it had no end when the spool was opened.
    pub fn unended(&self) -> Option<Unended> {
        self.unended
    }

    /// Whether nothing of an earlier run was there when it was opened: it always keeps the last segment.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// What lies between a position and the block at a place.
    pub(crate) fn gap_between(
        &mut self,
        behind: Option<Position>,
        cursor: Cursor,
    ) -> io::Result<Gap> {
        let Some((octets, _)) = self.next(cursor)? else {
            return Ok(Gap::AtEnd);
        };
        let before = Block::span(&octets).map(|(first, _)| first);
        // Of earlier runs than the first that there is nothing is known.
        let begin = before.map(|first| Position {
            next_seq: 0,
            ..first
        });
        if behind.or(begin).is_some_and(|at| follows(at, &octets)) {
            return Ok(Gap::None);
        }
        let block = Block::decode(&octets);
        let first = block.as_ref().and_then(|block| block.entries.first());
        Ok(Gap::Rows {
            damage: Damage {
                behind,
                before,
                octets: 0,
            },
            until_us: first.map(|entry| entry.time_us),
        })
    }

    /// What cannot be read at a place and behind it, and where the next segment begins that can be: segments that follow
    /// each other are one loss. All before the place went up to the position.
    pub fn damage_at(&mut self, behind: Option<Position>, cursor: Cursor) -> (Damage, Cursor) {
        let (mut cursor, mut octets) = (cursor, 0);
        let following = loop {
            let segment = self.segments.iter().find(|s| s.number >= cursor.segment);
            if let Some(segment) = segment {
                cursor.segment = segment.number;
                octets += segment.len.saturating_sub(cursor.offset);
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
            octets,
        };
        (damage, cursor)
    }

    /// Stores a block; a `needed` one may go beyond the limit by its own size.
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

    /// The disk may be full of what is committed: the last block is enough to remember the last run by. `true` where that
    /// made room.
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

    /// Where the last frame of a segment begins.
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

    /// A new segment is made safe at once, so that the last run is always known.
    fn begin_segment(&mut self, number: u64, len: u64) -> io::Result<()> {
        self.storage.sync(number)?;
        self.segments.push_back(Segment { number, len });
        if let Some(done) = self.done.take() {
            // Where it stays, its rows are known to be committed.
            let _ = self.storage.remove(done.number);
        }
        Ok(())
    }

    /// Half a frame may lie there: where it cannot be taken back, what follows goes into a segment of its own.
    fn undo(&mut self, segment: u64) {
        let held = self.segments.back().filter(|last| last.number == segment);
        let undone = match held.map(|last| last.len) {
            Some(len) => self.storage.truncate(segment, len).is_ok(),
            None => {
                // Nothing is lost with it, and it may never have been made.
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
                    // Not being able to sync is not being able to promise more than a crash of the process.
                    let _ = self.storage.sync(last.number);
                }
                self.open = true;
                self.next_segment += 1;
                self.next_segment - 1
            }
        }
    }

    /// Makes all that is stored survive a loss of power.
    pub fn sync(&mut self) -> io::Result<()> {
        match self.segments.back() {
            Some(last) if self.open => self.storage.sync(last.number),
            _ => Ok(()),
        }
    }

    /// The place of the first block that is not behind `position` already.
    ///
    /// Runs of a spool ascend. A position of a later run than `current` is of a clock that was set back since: then
    /// nothing here is known to be stored.
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

    /// The block at a place, and the place behind it.
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

    /// Everything before the place is committed: its segments go.
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

    /// The place where the next segment begins.
    pub fn behind_segment(&self, cursor: Cursor) -> Cursor {
        Cursor {
            segment: cursor.segment + 1,
            offset: 0,
        }
    }

    /// The storage, for tests that damage it.
    pub fn into_storage(self) -> M {
        self.storage
    }
}

/// Whether what could not be read is gone for good.
pub(crate) fn is_gone(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::NotFound
    )
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    let octets = octets.get(at..at + 4)?;
    octets.try_into().ok().map(u32::from_le_bytes)
}

/// What lies at an offset of a segment.
enum Frame {
    /// A block, and how many octets its frame has.
    Whole(Vec<u8>, u64),
    /// Nothing, or the beginning of a frame.
    Torn,
    /// Something else than was written.
    CorruptRecord,
}

const HEAD: usize = 12;
/// No frame is longer.
const MAX_BLOCK: usize = 64 << 20;
const PIECE: usize = 1 << 20;
/// So many segments fill the spool.
const SEGMENTS: u64 = 16;
const SMALLEST: u64 = 4 << 10;
const LARGEST: u64 = 64 << 20;
