//! A disk in memory that loses unsynced bytes with the power.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use rutter_bench::rng::Rng;
use rutter_sinks::{Block, Storage};

/// Segments: their bytes, and the number of synced bytes.
#[derive(Default)]
pub struct Files {
    segments: BTreeMap<u64, (Vec<u8>, usize)>,
    /// The appended blocks that did not go with the power: run and numbers of the rows, segment, and end in the
    /// segment.
    promised: Vec<Promise>,
    fail_appends: u32,
    /// The number of bytes that fit, if the disk is small.
    room: Option<usize>,
}

#[derive(Clone)]
pub struct Promise {
    pub run: u64,
    pub seqs: std::ops::Range<u64>,
    segment: u64,
    end: usize,
    /// The spool removed the segment: then the rows must be committed.
    kept: bool,
}

impl Files {
    fn used(&self) -> usize {
        self.segments.values().map(|(bytes, _)| bytes.len()).sum()
    }
}

/// The storage; its contents outlive the process that writes them.
#[derive(Clone, Default)]
pub struct Disk(Rc<RefCell<Files>>);

impl Disk {
    /// The rows that must be in the history in the end.
    pub fn promised(&self) -> Vec<Promise> {
        self.0.borrow().promised.clone()
    }

    /// Loses the power: unsynced bytes remain in part, or damaged.
    pub fn lose_power(&self, rng: &mut Rng) {
        let mut files = self.0.borrow_mut();
        for (bytes, safe) in files.segments.values_mut() {
            let kept = rng.between(*safe as u64, bytes.len() as u64) as usize;
            bytes.truncate(kept);
            if kept > *safe && rng.chance(50) {
                let at = rng.between(*safe as u64, kept as u64 - 1) as usize;
                bytes[at] ^= 0x40;
            }
        }
        let Files {
            segments, promised, ..
        } = &mut *files;
        promised.retain(|p| {
            segments
                .get(&p.segment)
                .is_some_and(|(_, safe)| p.end <= *safe)
        });
    }

    /// Changes a byte in the middle of a segment.
    pub fn corrupt(&self, segment: u64) {
        let mut files = self.0.borrow_mut();
        let (bytes, _) = files.segments.get_mut(&segment).expect("a segment");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    }

    /// Lets others fill the rest of the disk.
    pub fn fill(&self) {
        let mut files = self.0.borrow_mut();
        files.room = Some(files.used());
    }

    /// Makes the next appends fail after half of their bytes.
    pub fn fail_appends(&self, count: u32) {
        self.0.borrow_mut().fail_appends = count;
    }
}

impl Storage for Disk {
    fn list(&self) -> io::Result<Vec<u64>> {
        Ok(self.0.borrow().segments.keys().copied().collect())
    }

    fn append(&mut self, segment: u64, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        let full = files
            .room
            .is_some_and(|room| files.used() + bytes.len() > room);
        let fail = full || files.fail_appends > 0;
        files.fail_appends = files.fail_appends.saturating_sub(1);
        let (held, _) = files.segments.entry(segment).or_default();
        if fail {
            held.extend_from_slice(&bytes[..bytes.len() / 2]);
            return Err(io::Error::other("no space"));
        }
        held.extend_from_slice(bytes);
        let end = held.len();
        let block = Block::decode(&bytes[12..]).expect("a frame holds a block");
        files.promised.push(Promise {
            run: block.run,
            seqs: block.first_seq..block.end().next_seq,
            segment,
            end,
            kept: false,
        });
        Ok(())
    }

    fn sync(&mut self, segment: u64) -> io::Result<()> {
        if let Some((bytes, safe)) = self.0.borrow_mut().segments.get_mut(&segment) {
            *safe = bytes.len();
        }
        Ok(())
    }

    fn read(&mut self, segment: u64, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        let files = self.0.borrow();
        let (bytes, _) = files
            .segments
            .get(&segment)
            .ok_or(io::ErrorKind::NotFound)?;
        let from = bytes.len().min(offset as usize);
        Ok(bytes[from..bytes.len().min(from + most)].to_vec())
    }

    fn truncate(&mut self, segment: u64, len: u64) -> io::Result<()> {
        if let Some((bytes, safe)) = self.0.borrow_mut().segments.get_mut(&segment) {
            bytes.truncate(len as usize);
            *safe = (*safe).min(len as usize);
        }
        Ok(())
    }

    fn replace(&mut self, segment: u64, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        files
            .segments
            .insert(segment, (bytes.to_vec(), bytes.len()));
        Ok(())
    }

    fn remove(&mut self, segment: u64) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        files.segments.remove(&segment);
        let of_it = files.promised.iter_mut().filter(|p| p.segment == segment);
        of_it.for_each(|promise| promise.kept = true);
        Ok(())
    }
}
