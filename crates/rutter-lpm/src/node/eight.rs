//! Nodes of 8 bits, run-compressed: slots in a row with the same answer share one *element*.
//!
//! | words | what |
//! | --- | --- |
//! | 1 | counts and offsets, see [`Head`] |
//! | 2 | for each of the 8 words of the bitmap, how many runs begin before it (an octet each) |
//! | 8 | a bit for each slot at which a run begins |
//! | | an element for each run: 0 nothing, then the entries, then the children |
//! | | for each child the element of the longest entry that covers its slot |
//! | | the children |
//! | | the values of the entries |
//! | | the keys of the entries, two a word |
//!
//! Elements are octets, or two octets each where there are more than 255. A slot with a child is a run of its own.

use super::{Contents, Key, Node, Step};
use crate::memory::Block;

/// 8/**8/8/8**, 16/**8/8/…**
pub(crate) struct Eight;

const RANKS: u32 = 1;
const BITMAP: u32 = 3;
const ELEMENTS: u32 = 11;

/// The first word, unpacked.
#[derive(Clone, Copy)]
struct Head(u32);

impl Head {
    fn new(entries: u32, children: u32, values: u32, wide: bool) -> Self {
        Head(entries | values << 9 | u32::from(wide) << 19 | children << 20)
    }

    /// How many entries.
    #[inline(always)]
    fn entries(self) -> u32 {
        self.0 & 0x1ff
    }

    /// The offset of the values.
    #[inline(always)]
    fn values(self) -> u32 {
        self.0 >> 9 & 0x3ff
    }

    /// Whether elements are two octets each.
    #[inline(always)]
    fn wide(self) -> bool {
        self.0 >> 19 & 1 == 1
    }

    /// How many children.
    #[inline(always)]
    fn children(self) -> u32 {
        self.0 >> 20
    }

    fn children_at(self) -> u32 {
        self.values() - self.children()
    }

    fn bests_at(self) -> u32 {
        self.children_at() - words_of(self.children(), self.wide())
    }
}

/// Words that `count` elements take.
fn words_of(count: u32, wide: bool) -> u32 {
    if wide {
        count.div_ceil(2)
    } else {
        count.div_ceil(4)
    }
}

#[inline(always)]
fn element(block: Block<'_>, start: u32, at: u32, wide: bool) -> u32 {
    if wide {
        block.word(start + at / 2) >> (at % 2 * 16) & 0xffff
    } else {
        block.word(start + at / 4) >> (at % 4 * 8) & 0xff
    }
}

/// The element of the run that a slot is in.
#[inline(always)]
fn element_of(block: Block<'_>, head: Head, slot: u32) -> u32 {
    let word = slot / 32;
    let starts = block.word(BITMAP + word) & (u32::MAX >> (31 - slot % 32));
    let before = block.word(RANKS + word / 4) >> (word % 4 * 8) & 0xff;
    let run = before + starts.count_ones() - 1;
    element(block, ELEMENTS, run, head.wide())
}

/// The offset of an entry's value by its element, 0 for none.
#[inline(always)]
fn value_at(head: Head, element: u32) -> u32 {
    if element == 0 {
        0
    } else {
        head.values() + element - 1
    }
}

impl Node for Eight {
    const BITS: u32 = 8;

    #[inline(always)]
    fn step(block: Block<'_>, slot: u32) -> Step {
        let head = Head(block.word(0));
        let element = element_of(block, head, slot);
        if element <= head.entries() {
            return Step {
                child: 0,
                value: value_at(head, element),
            };
        }
        let child = element - head.entries() - 1;
        let best = self::element(block, head.bests_at(), child, head.wide());
        Step {
            child: block.word(head.children_at() + child),
            value: value_at(head, best),
        }
    }

    fn read(block: Block<'_>, contents: &mut Contents) {
        contents.clear();
        let head = Head(block.word(0));
        for at in 0..head.entries() {
            let value = block.word(head.values() + at);
            contents.entries.push((key_at(block, head, at), value));
        }
        if head.children() == 0 {
            return;
        }
        let (mut run, mut child) = (0, 0);
        for word in 0..8 {
            let mut starts = block.word(BITMAP + word);
            while starts != 0 {
                if element(block, ELEMENTS, run, head.wide()) > head.entries() {
                    let slot = word * 32 + starts.trailing_zeros();
                    let index = block.word(head.children_at() + child);
                    contents.children.push((slot as u8, index));
                    child += 1;
                }
                starts &= starts - 1;
                run += 1;
            }
        }
    }

    fn write(contents: &Contents, words: &mut Vec<u32>) {
        let runs = Runs::of(contents);
        let entries = contents.entries.len() as u32;
        let children = contents.children.len() as u32;
        let wide = entries + children > 0xff;
        let elements = words_of(runs.count as u32, wide) + words_of(children, wide);
        let values = ELEMENTS + elements + children;
        words.push(Head::new(entries, children, values, wide).0);
        words.extend(runs.ranks());
        words.extend(runs.starts);
        pack(&runs.elements[..runs.count], wide, words);
        pack(&runs.bests[..contents.children.len()], wide, words);
        words.extend(contents.children.iter().map(|(_, child)| *child));
        debug_assert_eq!(words.len() as u32, values);
        words.extend(contents.entries.iter().map(|(_, value)| *value));
        for pair in contents.entries.chunks(2) {
            let second = pair.get(1).map_or(0, |(key, _)| u32::from(key.0));
            words.push(u32::from(pair[0].0.0) | second << 16);
        }
    }

    fn entry(block: Block<'_>, key: Key) -> Option<u32> {
        let head = Head(block.word(0));
        let (mut low, mut high) = (0, head.entries());
        while low < high {
            let middle = (low + high) / 2;
            if key_at(block, head, middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = low < head.entries() && key_at(block, head, low) == key;
        found.then_some(head.values() + low)
    }

    fn child(block: Block<'_>, slot: u32) -> Option<u32> {
        let head = Head(block.word(0));
        let child = element_of(block, head, slot).checked_sub(head.entries() + 1)?;
        Some(head.children_at() + child)
    }

    fn entry_len(block: Block<'_>, value: u32) -> u8 {
        let head = Head(block.word(0));
        key_at(block, head, value - head.values()).len() as u8
    }

    fn len(block: Block<'_>) -> u32 {
        let head = Head(block.word(0));
        head.values() + head.entries() + head.entries().div_ceil(2)
    }
}

fn key_at(block: Block<'_>, head: Head, at: u32) -> Key {
    let keys = head.values() + head.entries();
    Key((block.word(keys + at / 2) >> (at % 2 * 16)) as u16)
}

fn pack(elements: &[u16], wide: bool, words: &mut Vec<u32>) {
    let (each, bits) = if wide { (2, 16) } else { (4, 8) };
    words.extend(elements.chunks(each).map(|chunk| {
        let parts = chunk.iter().enumerate();
        parts.fold(0, |word, (at, element)| {
            word | u32::from(*element) << (at * bits)
        })
    }));
}

/// The runs of a node, found in one sweep over entries and children in order.
struct Runs {
    starts: [u32; 8],
    elements: [u16; 256],
    count: usize,
    /// The slot at which the last run begins.
    last: u32,
    bests: [u16; 256],
    /// What covers the sweep's position, innermost last: the slot after its end, and its element.
    open: [(u32, u16); 10],
    depth: usize,
}

impl Runs {
    fn of(contents: &Contents) -> Self {
        let mut runs = Runs {
            starts: [1, 0, 0, 0, 0, 0, 0, 0],
            elements: [0; 256],
            count: 1,
            last: 0,
            bests: [0; 256],
            open: [(u32::MAX, 0); 10],
            depth: 0,
        };
        let mut children = contents.children.iter().enumerate().peekable();
        let first_child = contents.entries.len() as u16 + 1;
        for (at, (key, _)) in contents.entries.iter().enumerate() {
            while let Some((child, (slot, _))) =
                children.next_if(|(_, (s, _))| u32::from(*s) < key.slot())
            {
                runs.child(child, u32::from(*slot), first_child);
            }
            runs.begin(key.slot(), 256 >> key.len(), at as u16 + 1);
        }
        for (child, (slot, _)) in children {
            runs.child(child, u32::from(*slot), first_child);
        }
        runs.end_until(256);
        runs
    }

    fn child(&mut self, child: usize, slot: u32, first_child: u16) {
        self.end_until(slot);
        self.bests[child] = self.open[self.depth].1;
        self.begin(slot, 1, first_child + child as u16);
    }

    fn begin(&mut self, slot: u32, slots: u32, element: u16) {
        self.end_until(slot);
        self.depth += 1;
        self.open[self.depth] = (slot + slots, element);
        self.run(slot, element);
    }

    /// What ends at or before a slot gives way to what is around it.
    fn end_until(&mut self, slot: u32) {
        while self.open[self.depth].0 <= slot {
            let end = self.open[self.depth].0;
            self.depth -= 1;
            if end < 256 {
                self.run(end, self.open[self.depth].1);
            }
        }
    }

    /// From `slot` on the answer is `element`.
    fn run(&mut self, slot: u32, element: u16) {
        if slot != self.last {
            self.starts[slot as usize / 32] |= 1 << (slot % 32);
            self.count += 1;
            self.last = slot;
        }
        self.elements[self.count - 1] = element;
    }

    fn ranks(&self) -> [u32; 2] {
        let (mut ranks, mut before) = ([0; 2], 0);
        for (word, starts) in self.starts.iter().enumerate() {
            ranks[word / 4] |= before << (word % 4 * 8);
            before += starts.count_ones();
        }
        ranks
    }
}
