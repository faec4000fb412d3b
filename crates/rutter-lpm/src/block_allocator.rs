//! Allocates blocks of the arena. Each page holds blocks of one size, so that memory freed at one size serves
//! another size once its page is empty.
//!
//! A free block contains the index of the next one in its page, so that the book-keeping takes 16 bytes a page.

use crate::memory::{CHUNK, Memory};

/// The words of a page; no node is larger.
const PAGE: u32 = 2048;
const PAGES_PER_CHUNK: usize = CHUNK / PAGE as usize;
/// Index 0 is never allocated.
const NONE: u32 = 0;

/// Allocates blocks of words.
pub(crate) struct BlockAllocator {
    pages: Vec<Page>,
    /// Pages without a size.
    empty: Vec<u32>,
    /// For each class the first page with a free block, or [`NOWHERE`].
    partial: Vec<u32>,
    classes: Classes,
    /// The number of words in allocated blocks, by class size.
    used: usize,
}

struct Page {
    class: u8,
    /// The number of allocated blocks.
    used: u16,
    /// The number of blocks allocated at least once since the page got its class; later ones are untouched.
    fresh: u16,
    /// The word at which the first freed block begins, or [`ALL_TAKEN`].
    free: u16,
    /// The neighbours in the class's list of pages with free blocks, or [`NOWHERE`].
    before: u32,
    after: u32,
}

const NOWHERE: u32 = u32::MAX;
const ALL_TAKEN: u16 = u16::MAX;

/// The number of classes that are tried before a page is opened.
const NEAR: usize = 4;

impl BlockAllocator {
    pub fn new() -> Self {
        let classes = Classes::new();
        BlockAllocator {
            pages: Vec::new(),
            empty: Vec::new(),
            partial: vec![NOWHERE; classes.sizes.len()],
            classes,
            used: 0,
        }
    }

    /// Allocates a block of at least `len` words.
    pub fn alloc(&mut self, len: u32, memory: &Memory) -> u32 {
        let class = self.classes.of(len);
        // Growing nodes leave half-empty pages of their former sizes. A slightly larger block there is better
        // than a new page.
        let mut near = class..(class + NEAR).min(self.partial.len());
        let with_room = near.find(|class| self.partial[*class] != NOWHERE);
        self.alloc_of(with_room.unwrap_or(class), memory)
    }

    /// Allocates a block of at least `len` words, aligned to a cache line; `len` is up to 256.
    pub fn alloc_lines(&mut self, len: u32, memory: &Memory) -> u32 {
        let class = self.classes.of(len.next_multiple_of(LINE));
        self.alloc_of(class, memory)
    }

    fn alloc_of(&mut self, class: usize, memory: &Memory) -> u32 {
        let number = match self.partial[class] {
            NOWHERE => self.open(class, memory),
            number => number,
        };
        let size = self.classes.sizes[class];
        let page = &mut self.pages[number as usize];
        let index = match page.free {
            ALL_TAKEN => {
                page.fresh += 1;
                number * PAGE + first(number) + u32::from(page.fresh - 1) * size
            }
            free => {
                let index = number * PAGE + u32::from(free);
                page.free = memory.word(index) as u16;
                if page.free != ALL_TAKEN {
                    // The next caller reads the first line of that block, and writes all lines.
                    let next = number * PAGE + u32::from(page.free);
                    let lines = size.div_ceil(LINE).min(MOST_LINES);
                    (0..lines).for_each(|line| memory.prefetch(next + line * LINE));
                }
                index
            }
        };
        page.used += 1;
        self.used += size as usize;
        if page.used == self.classes.blocks(number, class) {
            self.unlink(number);
        }
        index
    }

    /// Frees a block of [`Self::alloc`], which nobody reads any more.
    pub fn free(&mut self, index: u32, memory: &Memory) {
        debug_assert_ne!(index, NONE);
        let number = index / PAGE;
        let page = &mut self.pages[number as usize];
        let class = page.class as usize;
        memory.set(index, page.free.into());
        page.free = (index % PAGE) as u16;
        page.used -= 1;
        let used = page.used;
        self.used -= self.classes.sizes[class] as usize;
        if used + 1 == self.classes.blocks(number, class) {
            self.link(number);
        }
        if used == 0 {
            self.unlink(number);
            self.empty.push(number);
        }
    }

    /// The number of allocated words, rounded up to block sizes.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The bytes of the book-keeping itself.
    pub fn own_size(&self) -> usize {
        let numbers = self.partial.capacity() + self.empty.capacity();
        self.pages.capacity() * size_of::<Page>() + numbers * 4
    }

    /// Assigns a page without a size to a class.
    fn open(&mut self, class: usize, memory: &Memory) -> u32 {
        let new = Page {
            class: class as u8,
            used: 0,
            fresh: 0,
            free: ALL_TAKEN,
            before: NOWHERE,
            after: NOWHERE,
        };
        let number = match self.empty.pop() {
            Some(number) => {
                self.pages[number as usize] = new;
                number
            }
            None => {
                let number = self.pages.len();
                if number.is_multiple_of(PAGES_PER_CHUNK) {
                    memory.grow(number / PAGES_PER_CHUNK);
                }
                self.pages.push(new);
                number as u32
            }
        };
        self.link(number);
        number
    }

    /// Puts a page at the head of its class's list.
    fn link(&mut self, number: u32) {
        let page = &mut self.pages[number as usize];
        let first = &mut self.partial[page.class as usize];
        (page.before, page.after) = (NOWHERE, *first);
        *first = number;
        let after = page.after;
        if let Some(after) = self.pages.get_mut(after as usize) {
            after.before = number;
        }
    }

    fn unlink(&mut self, number: u32) {
        let Page {
            class,
            before,
            after,
            ..
        } = self.pages[number as usize];
        match self.pages.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => self.partial[class as usize] = after,
        }
        if let Some(after) = self.pages.get_mut(after as usize) {
            after.before = before;
        }
    }
}

/// The word of a page at which its first block begins. Index 0 means "nothing" everywhere, so the first page
/// begins later.
fn first(number: u32) -> u32 {
    if number == 0 { LINE } else { 0 }
}

/// The words of a cache line.
pub(crate) const LINE: u32 = 16;
/// The number of lines of a block that are prefetched before its allocation.
const MOST_LINES: u32 = 4;

/// The block sizes: exact up to 32 words, then in steps of about 6 %, with whole lines among them.
struct Classes {
    sizes: Vec<u32>,
    /// The number of blocks in a page.
    blocks: Vec<u16>,
    by_len: Vec<u8>,
}

impl Classes {
    fn new() -> Self {
        let mut sizes = Vec::new();
        let mut size = 1;
        while size < 1400 {
            sizes.push(size);
            let next = size + (size / LINE).max(1);
            // Nodes may need whole lines.
            let line = (size + 1).next_multiple_of(LINE);
            size = if size < 256 { next.min(line) } else { next };
        }
        sizes.push(1400);
        let mut by_len = Vec::new();
        let mut class = 0;
        for len in 0..=1400 {
            if sizes[class] < len {
                class += 1;
            }
            by_len.push(class as u8);
        }
        let blocks = sizes.iter().map(|size| (PAGE / size) as u16).collect();
        Classes {
            sizes,
            blocks,
            by_len,
        }
    }

    /// The number of blocks of a class in a page.
    fn blocks(&self, number: u32, class: usize) -> u16 {
        match number {
            0 => ((PAGE - LINE) / self.sizes[class]) as u16,
            _ => self.blocks[class],
        }
    }

    fn of(&self, len: u32) -> usize {
        self.by_len[len as usize] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk_allocator::ChunkAllocator;

    #[test]
    fn blocks_do_not_overlap_and_pages_change_their_size() {
        let (mut pages, memory) = (
            BlockAllocator::new(),
            Memory::new(ChunkAllocator::new(1).into()),
        );
        let mut blocks = Vec::new();
        for round in 0..20_000_u32 {
            let len = 1 + round * 7 % 60;
            blocks.push((pages.alloc(len, &memory), len));
            // A quarter of the blocks are freed again, in another order.
            if round % 4 == 3 {
                let (block, _) = blocks.swap_remove(blocks.len() / 3);
                pages.free(block, &memory);
            }
        }
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
        assert!(
            sorted
                .iter()
                .all(|(at, len)| at % PAGE + len <= PAGE && *at > 0)
        );
        let before = pages.pages.len();
        for (block, _) in blocks.drain(..) {
            pages.free(block, &memory);
        }
        assert_eq!(pages.used(), 0);
        assert_eq!(pages.empty.len(), before);
        for _ in 0..600 {
            pages.alloc(900, &memory);
        }
        let most = before.max(300) + 1;
        assert!(pages.pages.len() <= most, "{before} pages, then more");
    }
}
