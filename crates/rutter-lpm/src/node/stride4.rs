//! Nodes of 4 bits: two bitmaps, then children, then values.
//!
//! Word 0 has a bit for each of the 30 possible entries, at `1 << length | bits`; word 1 has a bit for each
//! slot with a child. A slot's longest entry is the highest bit that word 0 shares with a mask of the slot's
//! four ancestors.

use super::{Contents, Key, Node, Parts, Scratch, Step};
use crate::memory::Block;

/// 8/**4/4/4/…**
pub(crate) struct Stride4;

const HEAD: u32 = 2;

/// For each slot the bits of the entries that cover it.
const COVERS: [u32; 16] = {
    let mut masks = [0; 16];
    let mut slot = 0;
    while slot < 16 {
        let mut len = 1;
        while len <= 4 {
            masks[slot] |= 1 << place(slot as u32, len);
            len += 1;
        }
        slot += 1;
    }
    masks
};

const fn place(slot: u32, len: u32) -> u32 {
    1 << len | slot >> (4 - len)
}

const fn below(place: u32) -> u32 {
    (1 << place) - 1
}

impl Node for Stride4 {
    const BITS: u32 = 4;
    type Parts = Contents;

    fn scratch(scratch: &mut Scratch) -> &mut Contents {
        &mut scratch.contents
    }

    const HEADER: u32 = HEAD;

    #[inline(always)]
    fn place(block: Block<'_>, slot: u32) -> u32 {
        HEAD + (block.word(1) & below(slot)).count_ones()
    }

    #[inline(always)]
    fn step(block: Block<'_>, slot: u32) -> Step {
        let (entries, children) = (block.word(0), block.word(1));
        let covers = entries & COVERS[slot as usize & 15];
        let place = 31 - (covers | 1).leading_zeros();
        let rank = (entries & below(place)).count_ones();
        let value = HEAD + children.count_ones() + rank;
        let at = HEAD + (children & below(slot)).count_ones();
        let child = if children >> slot & 1 == 0 {
            0
        } else {
            block.number(at)
        };
        Step {
            child,
            at,
            value: if covers == 0 { 0 } else { value },
        }
    }

    #[inline(always)]
    fn resolve(_: Block<'_>, value: u32, _: u32) -> u32 {
        value
    }

    fn take_apart(block: Block<'_>, contents: &mut Contents) {
        contents.clear();
        let (entries, children) = (block.word(0), block.word(1));
        let mut at = HEAD;
        for slot in (0..16).filter(|slot| children >> slot & 1 == 1) {
            contents.children.push((slot, block.word(at)));
            at += 1;
        }
        for place in (2..32_u32).filter(|place| entries >> place & 1 == 1) {
            let len = place.ilog2();
            let slot = (place ^ 1 << len) << (4 - len);
            contents.entries.push((Key::new(slot, len), block.word(at)));
            at += 1;
        }
        contents.entries.sort_unstable();
    }

    fn list(parts: &Contents, contents: &mut Contents) {
        contents.clone_from(parts);
    }

    fn write(contents: &Contents, words: &mut Vec<u32>) {
        let (mut entries, mut children, mut values) = (0, 0, [0; 32]);
        for (key, value) in &contents.entries {
            let place = place(key.slot(), key.len());
            entries |= 1 << place;
            values[place as usize] = *value;
        }
        for (slot, _) in &contents.children {
            children |= 1 << slot;
        }
        words.extend([entries, children]);
        words.extend(contents.children.iter().map(|(_, child)| *child));
        let places = (0..32).filter(|place| entries >> place & 1 == 1);
        words.extend(places.map(|place| values[place]));
    }

    #[inline(always)]
    fn entry(block: Block<'_>, key: Key) -> Option<u32> {
        let (entries, place) = (block.word(0), place(key.slot(), key.len()));
        let rank = (entries & below(place)).count_ones();
        let value = HEAD + block.word(1).count_ones() + rank;
        (entries >> place & 1 == 1).then_some(value)
    }

    fn each_value(block: Block<'_>, key: Key, visit: impl FnMut(u32)) {
        Self::entry(block, key).into_iter().for_each(visit);
    }

    fn child(block: Block<'_>, slot: u32) -> Option<u32> {
        let children = block.word(1);
        let at = HEAD + (children & below(slot)).count_ones();
        (children >> slot & 1 == 1).then_some(at)
    }

    fn child_of(pointer: u32) -> u32 {
        pointer
    }

    fn pointer(_: u32, child: u32) -> u32 {
        child
    }

    fn entry_len(block: Block<'_>, value: u32) -> u8 {
        let (mut entries, children) = (block.word(0), block.word(1));
        for _ in 0..value - HEAD - children.count_ones() {
            entries &= entries - 1;
        }
        entries.trailing_zeros().ilog2() as u8
    }

    #[inline(always)]
    fn busy(block: Block<'_>, among: u8) -> u8 {
        let (entries, children) = (block.word(0), block.word(1));
        let is_busy = |slot: &usize| entries & COVERS[*slot] != 0 || children >> *slot & 1 == 1;
        (0..16)
            .filter(is_busy)
            .fold(0, |busy, slot| busy | 1 << (slot / 2))
            & among
    }

    fn len(block: Block<'_>) -> u32 {
        HEAD + block.word(0).count_ones() + block.word(1).count_ones()
    }
}
