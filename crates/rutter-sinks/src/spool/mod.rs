//! Rows on disk between the feed and a store: bounded, checked, and read on exactly where the store stands.
//!
//! A frame is `length u32, CRC-32 u32, block`, all in segments of a bounded size. What a crash tore off the end is
//! cut away when the spool is opened again; a segment is removed when a store has committed all of it.

mod medium;

use std::collections::VecDeque;
use std::fmt;
use std::io;

pub use medium::{Disk, Medium};

use crate::block::Block;

/// How far the rows of a run go: all before `next_seq`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Position {
    /// The run of the collector.
    pub run: u64,
    /// Number of the row that comes next.
    pub next_seq: u64,
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
                "the spool is full: raise `spool-limit` or see why the store is slow or away",
            ),
            Self::Io(why) => write!(f, "the spool cannot be written: {why}"),
        }
    }
}

impl std::error::Error for SpoolError {}

/// Rows that were stored and could not be read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Behind the last row before the first of them; `None` where nothing is.
    pub behind: Option<Position>,
    /// How many octets were cut away.
    pub octets: u64,
}

struct Segment {
    number: u64,
    len: u64,
}

/// The segments of one sink.
pub struct Spool<M> {
    medium: M,
    segments: VecDeque<Segment>,
    limit: u64,
    next_segment: u64,
    bytes: u64,
    /// Behind the last row that is stored.
    end: Option<Position>,
    /// What was damaged when it was opened.
    damage: Option<Damage>,
    open: bool,
    /// The newest segment, done with: it remembers the last run until there is a newer one.
    done: Option<u64>,
}

impl<M: Medium> Spool<M> {
    /// Reads what an earlier run left, and cuts away what is damaged or torn. At most `limit` octets are kept.
    pub fn open(medium: M, limit: u64) -> io::Result<Self> {
        let mut spool = Self {
            medium,
            segments: VecDeque::new(),
            limit,
            next_segment: 0,
            bytes: 0,
            end: None,
            damage: None,
            open: false,
            done: None,
        };
        for number in spool.medium.list()? {
            spool.next_segment = number + 1;
            let (good, whole) = spool.check(number)?;
            spool.note_damage(number, good, whole)?;
            if good == 0 {
                spool.medium.remove(number)?;
                continue;
            }
            if good < whole {
                spool.medium.truncate(number, good)?;
            }
            spool.segments.push_back(Segment { number, len: good });
            spool.bytes += good;
        }
        Ok(spool)
    }

    /// Notes what is cut away of a segment, unless it is the beginning of a frame that a crash tore off: that was never
    /// said to be stored.
    fn note_damage(&mut self, number: u64, good: u64, whole: u64) -> io::Result<()> {
        let head = self.medium.read(number, good, HEAD)?;
        let len = word(&head, 0).map_or(u64::MAX, u64::from);
        let torn = whole - good < len.saturating_add(HEAD as u64) && len <= MOST as u64
            || head.len() < HEAD;
        if whole > good && !torn {
            let behind = self.end;
            let damage = self.damage.get_or_insert(Damage { behind, octets: 0 });
            damage.octets += whole - good;
        }
        Ok(())
    }

    /// How many octets of a segment are frames that can be read, and how many it has.
    fn check(&mut self, number: u64) -> io::Result<(u64, u64)> {
        let mut good = 0;
        while let Some((block, len)) = self.frame(number, good)? {
            let Some((_, end)) = Block::span(&block) else {
                break;
            };
            self.end = Some(end);
            good += len;
        }
        let mut whole = good;
        loop {
            let rest = self.medium.read(number, whole, PIECE)?;
            whole += rest.len() as u64;
            if rest.is_empty() {
                return Ok((good, whole));
            }
        }
    }

    /// The frame at an offset with its length; `None` where there is none that is whole.
    fn frame(&mut self, segment: u64, offset: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        let head = self.medium.read(segment, offset, HEAD)?;
        let (Some(len), Some(sum)) = (word(&head, 0), word(&head, 4)) else {
            return Ok(None);
        };
        if len as usize > MOST {
            return Ok(None);
        }
        let block = self
            .medium
            .read(segment, offset + HEAD as u64, len as usize)?;
        let whole = block.len() == len as usize && crc32fast::hash(&block) == sum;
        Ok(whole.then(|| (block, HEAD as u64 + u64::from(len))))
    }

    /// Behind the last row that is stored.
    pub fn end(&self) -> Option<Position> {
        self.end
    }

    /// Octets in all segments.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Most octets.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What was damaged when it was opened.
    pub fn damage(&self) -> Option<Damage> {
        self.damage
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
        frame.extend_from_slice(block);
        let segment = self.segment_for(len);
        let held = self
            .segments
            .back_mut()
            .filter(|last| last.number == segment);
        let appended = self.medium.append(segment, &frame);
        let stored = match held {
            Some(last) => appended.map(|()| last.len += len),
            None => appended.and_then(|()| self.begin_segment(segment, len)),
        };
        if let Err(why) = stored {
            self.undo(segment);
            return Err(SpoolError::Io(why));
        }
        self.bytes += len;
        self.end = Block::span(block).map(|(_, end)| end).or(self.end);
        Ok(())
    }

    /// A new segment is made safe at once, so that the last run is always known.
    fn begin_segment(&mut self, number: u64, len: u64) -> io::Result<()> {
        self.medium.sync(number)?;
        self.segments.push_back(Segment { number, len });
        if let Some(done) = self.done.take() {
            // Where it stays, its rows are known to be committed.
            let _ = self.medium.remove(done);
        }
        Ok(())
    }

    /// Half a frame may lie there: where it cannot be taken back, what follows goes into a segment of its own.
    fn undo(&mut self, segment: u64) {
        let held = self.segments.back().filter(|last| last.number == segment);
        let undone = match held.map(|last| last.len) {
            Some(len) => self.medium.truncate(segment, len).is_ok(),
            None => {
                // Nothing is lost with it, and it may never have been made.
                let _ = self.medium.remove(segment);
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
                    let _ = self.medium.sync(last.number);
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
            Some(last) if self.open => self.medium.sync(last.number),
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
            let Some((block, len)) = self.frame(cursor.segment, cursor.offset)? else {
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
            let (number, len) = (first.number, first.len);
            self.segments.pop_front();
            self.bytes -= len;
            if self.segments.is_empty() {
                self.open = false;
                self.done = Some(number);
            } else {
                self.medium.remove(number)?;
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

    /// The medium, for tests that damage it.
    pub fn into_medium(self) -> M {
        self.medium
    }
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    let octets = octets.get(at..at + 4)?;
    octets.try_into().ok().map(u32::from_le_bytes)
}

const HEAD: usize = 8;
/// No frame is longer.
const MOST: usize = 64 << 20;
const PIECE: usize = 1 << 20;
/// So many segments fill the spool.
const SEGMENTS: u64 = 16;
const SMALLEST: u64 = 4 << 10;
const LARGEST: u64 = 64 << 20;
