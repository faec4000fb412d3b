//! Blocks by the hash of what they say: a table of lines, each a line of the processor's cache.
//!
//! A line has twelve places, an octet of the hash for each, and how many blocks would be here but for want of room. A search
//! goes on to the next line only where there are such, so nothing has to be moved, or left behind, when a block goes.
//!
//! The lines lie in parts of a page each, so that what a smaller table leaves behind is of use to the larger ones of all shards.

/// The blocks of one shard.
pub(super) struct Index {
    parts: Vec<Box<Part>>,
    len: usize,
}

/// Lines of a part: 4 KiB.
const LINES: usize = 64;
type Part = [Line; LINES];

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line {
    /// 0 for an empty place.
    tags: [u8; PLACES],
    /// Blocks that passed by.
    passed: u32,
    blocks: [u32; PLACES],
}

const PLACES: usize = 12;
/// Blocks a line before there are more lines.
const FULL: usize = 10;

impl Index {
    pub fn new() -> Self {
        Index::with_parts(1)
    }

    fn with_parts(parts: usize) -> Self {
        let part = |_| Box::new([Line::default(); LINES]);
        Index {
            parts: (0..parts).map(part).collect(),
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Octets.
    pub fn size(&self) -> usize {
        self.parts.len() * size_of::<Part>()
    }

    /// The block with a hash of which `is_it` says so.
    pub fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let mut at = self.home(hash);
        loop {
            let line = &self.parts[at / LINES][at % LINES];
            for (place, other) in line.tags.iter().enumerate() {
                if *other == tag && is_it(line.blocks[place]) {
                    return Some(line.blocks[place]);
                }
            }
            if line.passed == 0 {
                return None;
            }
            at = self.after(at);
        }
    }

    /// Asks for the line where the search for a hash begins.
    pub fn prefetch(&self, hash: u64) {
        let at = self.home(hash);
        crate::cpu::ask_for(&self.parts[at / LINES][at % LINES]);
    }

    /// Adds a block that is not there; `hash_of` tells the hashes of others.
    pub fn insert(&mut self, hash: u64, block: u32, hash_of: impl Fn(u32) -> u64) {
        if self.len >= self.parts.len() * LINES * FULL {
            self.grow(hash_of);
        }
        self.place(hash, block);
    }

    fn place(&mut self, hash: u64, block: u32) {
        let mut at = self.home(hash);
        loop {
            let line = &mut self.parts[at / LINES][at % LINES];
            if let Some(place) = line.tags.iter().position(|tag| *tag == 0) {
                line.tags[place] = tag(hash);
                line.blocks[place] = block;
                self.len += 1;
                return;
            }
            line.passed += 1;
            at = self.after(at);
        }
    }

    /// Takes a block out that is there.
    pub fn remove(&mut self, hash: u64, block: u32) {
        let mut at = self.home(hash);
        loop {
            let line = &mut self.parts[at / LINES][at % LINES];
            let mut places = line.tags.iter().zip(&line.blocks);
            if let Some(place) = places.position(|(tag, other)| *tag != 0 && *other == block) {
                line.tags[place] = 0;
                self.len -= 1;
                return;
            }
            line.passed -= 1;
            at = self.after(at);
        }
    }

    /// Moves all to half as many parts more.
    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let larger = Index::with_parts(self.parts.len() * 3 / 2 + 1);
        for part in std::mem::replace(self, larger).parts {
            for line in part.iter() {
                let here = line.tags.iter().zip(line.blocks);
                for (_, block) in here.filter(|(tag, _)| **tag != 0) {
                    self.place(hash_of(block), block);
                }
            }
        }
    }

    /// The line where the search for a hash begins.
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * (self.parts.len() * LINES) as u128) >> 64) as usize
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.parts.len() * LINES {
            0
        } else {
            at + 1
        }
    }
}

/// Bits of the hash that do not choose the line; never 0.
fn tag(hash: u64) -> u8 {
    hash as u8 | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(block: u32) -> u64 {
        // Few values, so that lines overflow.
        u64::from(block % 97).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn what_is_there_is_found_and_nothing_else_whatever_came_between() {
        let mut index = Index::new();
        for block in 1..3_000 {
            index.insert(hash(block), block, hash);
            if block % 3 == 0 {
                index.remove(hash(block / 3), block / 3);
            }
        }
        assert_eq!(index.len(), 2_000);
        for block in 1..4_000 {
            let found = index.find(hash(block), |other| other == block);
            assert_eq!(found, (1_000..3_000).contains(&block).then_some(block));
        }
        (1_000..3_000).for_each(|block| index.remove(hash(block), block));
        let lines = index.parts.iter().flat_map(|part| part.iter());
        let mut all = lines.map(|line| line.passed + u32::from(line.tags != [0; PLACES]));
        assert!(all.all(|left| left == 0));
    }
}
