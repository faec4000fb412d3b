//! Who owns which words of the arena: pages of one block size each, so that memory freed at one size
//! serves another once its page is empty.

use crate::memory::CHUNK;

/// Words of a page; no node is larger.
const PAGE: u32 = 2048;
const PAGES_PER_CHUNK: usize = CHUNK / PAGE as usize;
/// Ends a list of free blocks: index 0 is never given away.
const NONE: u32 = 0;

/// Allocates blocks of words.
pub(crate) struct Pages {
    pages: Vec<Page>,
    /// Pages without a size.
    empty: Vec<u32>,
    /// Pages of each class with room.
    partial: Vec<Vec<u32>>,
    classes: Classes,
    /// Words in blocks handed out, by class size.
    used: usize,
}

struct Page {
    class: u8,
    /// Blocks handed out.
    used: u16,
    /// Blocks ever handed out since the page got its class; those after are untouched.
    fresh: u16,
    /// Where in `partial` it stands, or `NOWHERE`.
    at: u32,
    /// Freed blocks.
    free: Vec<u16>,
}

const NOWHERE: u32 = u32::MAX;

/// Classes that are tried before a page is opened.
const NEAR: usize = 4;

impl Pages {
    pub fn new() -> Self {
        let classes = Classes::new();
        Pages {
            pages: Vec::new(),
            empty: Vec::new(),
            partial: vec![Vec::new(); classes.sizes.len()],
            classes,
            used: 0,
        }
    }

    /// A block of at least `len` words. `grow` is called with the number of a chunk that is needed now.
    pub fn alloc(&mut self, len: u32, grow: impl FnOnce(usize)) -> u32 {
        let class = self.classes.of(len);
        // Nodes that grow leave pages of their former sizes behind, half empty: better a block a little too large.
        let mut near = class..(class + NEAR).min(self.partial.len());
        let with_room = near.find(|class| !self.partial[*class].is_empty());
        self.alloc_of(with_room.unwrap_or(class), grow)
    }

    /// A block of at least `len` words that begins where a line of the processor's cache does; `len` is up to 256.
    pub fn alloc_lines(&mut self, len: u32, grow: impl FnOnce(usize)) -> u32 {
        let class = self.classes.of(len.next_multiple_of(LINE));
        self.alloc_of(class, grow)
    }

    fn alloc_of(&mut self, class: usize, grow: impl FnOnce(usize)) -> u32 {
        let size = self.classes.sizes[class];
        let number = match self.partial[class].last() {
            Some(number) => *number,
            None => self.open(class, grow),
        };
        let page = &mut self.pages[number as usize];
        let block = page.free.pop().unwrap_or_else(|| {
            page.fresh += 1;
            page.fresh - 1
        });
        page.used += 1;
        if u32::from(page.used) == first_free(number, size).1 {
            page.at = NOWHERE;
            self.partial[class].pop();
        }
        self.used += size as usize;
        number * PAGE + first_free(number, size).0 + u32::from(block) * size
    }

    /// Takes back a block of [`Self::alloc`].
    pub fn free(&mut self, index: u32) {
        debug_assert_ne!(index, NONE);
        let number = index / PAGE;
        let page = &mut self.pages[number as usize];
        let class = page.class as usize;
        let size = self.classes.sizes[class];
        let block = (index % PAGE - first_free(number, size).0) / size;
        page.free.push(block as u16);
        page.used -= 1;
        self.used -= size as usize;
        if page.at == NOWHERE {
            page.at = self.partial[class].len() as u32;
            self.partial[class].push(number);
        }
        if page.used == 0 {
            self.close(number);
        }
    }

    /// Words handed out, rounded up to block sizes.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Octets of the book-keeping itself.
    pub fn own_size(&self) -> usize {
        let free: usize = self.pages.iter().map(|p| p.free.capacity() * 2).sum();
        let lists: usize = self.partial.iter().map(|list| list.capacity() * 4).sum();
        self.pages.capacity() * size_of::<Page>() + self.empty.capacity() * 4 + lists + free
    }

    fn open(&mut self, class: usize, grow: impl FnOnce(usize)) -> u32 {
        let number = self.empty.pop().unwrap_or_else(|| {
            let number = self.pages.len();
            if number % PAGES_PER_CHUNK == 0 {
                grow(number / PAGES_PER_CHUNK);
            }
            self.pages.push(Page {
                class: 0,
                used: 0,
                fresh: 0,
                at: NOWHERE,
                free: Vec::new(),
            });
            number as u32
        });
        let page = &mut self.pages[number as usize];
        page.class = class as u8;
        page.at = self.partial[class].len() as u32;
        self.partial[class].push(number);
        number
    }

    fn close(&mut self, number: u32) {
        let page = &mut self.pages[number as usize];
        let (class, at) = (page.class as usize, page.at as usize);
        page.fresh = 0;
        page.free = Vec::new();
        page.at = NOWHERE;
        self.partial[class].swap_remove(at);
        if let Some(moved) = self.partial[class].get(at) {
            self.pages[*moved as usize].at = at as u32;
        }
        self.empty.push(number);
    }
}

/// The offset of the first block of a page, and how many blocks it has. Index 0 means "nothing" everywhere, so the
/// first page begins later.
fn first_free(number: u32, size: u32) -> (u32, u32) {
    if number == 0 {
        (LINE, (PAGE - LINE) / size)
    } else {
        (0, PAGE / size)
    }
}

/// Words of a line of the processor's cache.
pub(crate) const LINE: u32 = 16;

/// Block sizes: exact up to 32 words, then in steps of about 6 %, whole lines among them.
struct Classes {
    sizes: Vec<u32>,
    by_len: Vec<u8>,
}

impl Classes {
    fn new() -> Self {
        let mut sizes = Vec::new();
        let mut size = 1;
        while size < 1400 {
            sizes.push(size);
            let next = size + (size / LINE).max(1);
            // Nodes may be asked for in whole lines.
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
        Classes { sizes, by_len }
    }

    fn of(&self, len: u32) -> usize {
        self.by_len[len as usize] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_pages_change_their_size() {
        let mut pages = Pages::new();
        let mut grown = 0;
        let mut blocks = Vec::new();
        for round in 0..20_000_u32 {
            let len = 1 + round * 7 % 60;
            blocks.push((pages.alloc(len, |_| grown += 1), len));
        }
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
        assert!(
            sorted
                .iter()
                .all(|(at, len)| at % PAGE + len <= PAGE && *at > 0)
        );
        let before = grown;
        for (block, _) in blocks.drain(..) {
            pages.free(block);
        }
        assert_eq!(pages.used(), 0);
        for _ in 0..600 {
            pages.alloc(900, |_| grown += 1);
        }
        assert!(grown <= before + 15, "{before} chunks, then {grown}");
    }
}
