//! The root: an array over the first bits of an address.
//!
//! A slot is one word of 64 bits, so that a reader sees both halves together: the node below, and the record of
//! the longest prefix of the root's own lengths. Everything below a slot is immutable while the slot is
//! unchanged, except for the values and, in some profiles, pointers between nodes. [`crate::descent`] explains
//! what makes a look-up exact at one instant.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::zeroed::zeroed;

/// The slots of a page of a sparse root: 32 KiB. All IPv6 prefixes of 2025 use ten pages.
const PAGE: usize = 1 << 12;
/// The widest root that is one array.
const FLAT: u32 = 16;

/// A slot. Zero means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    /// A bit for each eighth of the child's slots: whether it has an entry or a child there. Many look-ups in
    /// sparse parts of the address space need not read the child.
    pub busy: u8,
    /// The node with the longer prefixes.
    pub child: u32,
    /// The record of the best prefix up to the root's length.
    pub best: u32,
}

/// The array, in pages if it is large and sparse.
pub(crate) struct Root {
    bits: u32,
    /// All slots, if one page is enough.
    flat: Box<[AtomicU64]>,
    pages: Box<[OnceLock<Box<[AtomicU64]>>]>,
    /// The common content of all slots of a page that does not exist yet.
    absent: Box<[AtomicU64]>,
}

impl Root {
    pub fn new(bits: u32) -> Self {
        let (flat, pages) = if bits <= FLAT {
            (1 << bits, 0)
        } else {
            (0, (1 << bits) / PAGE)
        };
        Root {
            bits,
            flat: if flat == 0 { empty(0) } else { zeroed(flat) },
            pages: (0..pages).map(|_| OnceLock::new()).collect(),
            absent: empty(pages),
        }
    }

    /// The address bits resolved.
    #[inline(always)]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    #[inline]
    pub fn slot(&self, at: u32) -> Slot {
        if self.bits <= FLAT {
            self.slot_of::<FLAT>(at)
        } else {
            self.slot_of::<24>(at)
        }
    }

    /// [`Self::slot`] for a root that is known to have `BITS`, or up to [`FLAT`].
    #[inline(always)]
    pub fn slot_of<const BITS: u32>(&self, at: u32) -> Slot {
        let at = at as usize;
        let word = if BITS <= FLAT {
            &self.flat[at]
        } else {
            match self.pages[at / PAGE].get() {
                Some(page) => &page[at % PAGE],
                None => &self.absent[at / PAGE],
            }
        };
        Slot::of(word.load(Ordering::Acquire))
    }

    /// Writer: publishes a node and its [`Slot::busy`].
    pub fn set_child(&self, at: u32, child: u32, busy: u8) {
        let best = self.slot(at).best;
        let slot = Slot { busy, child, best };
        let (page, at) = self.place(at as usize);
        self.make_page(page)[at].store(slot.word(), Ordering::Release);
    }

    /// Writer: applies `change` to the best record of the slots `first..=last`.
    pub fn change_best(&self, first: u32, last: u32, change: impl Fn(u32) -> u32) {
        let (first, last) = (first as usize, last as usize);
        let apply = |word: &AtomicU64| {
            let slot = Slot::of(word.load(Ordering::Relaxed));
            let best = change(slot.best);
            if best != slot.best {
                word.store(Slot { best, ..slot }.word(), Ordering::Release);
            }
        };
        let ((first, low), (last, high)) = (self.place(first), self.place(last));
        for number in first..=last {
            let low = if number == first { low } else { 0 };
            let high = if number == last { high } else { PAGE - 1 };
            let whole = low == 0 && high == PAGE - 1;
            match self.page(number) {
                None if whole => apply(&self.absent[number]),
                _ => self.make_page(number)[low..=high].iter().for_each(apply),
            }
        }
    }

    /// The first slot from `from` to `last` that has a child.
    pub fn next_child(&self, from: u32, last: u32) -> Option<(u32, u32)> {
        let (mut at, last) = (from as usize, last as usize);
        while at <= last {
            let (number, place) = self.place(at);
            let Some(page) = self.page(number) else {
                at = (at / PAGE + 1) * PAGE;
                continue;
            };
            let child = Slot::of(page[place].load(Ordering::Acquire)).child;
            if child != 0 {
                return Some((at as u32, child));
            }
            at += 1;
        }
        None
    }

    /// The bytes taken from the system.
    pub fn size(&self) -> usize {
        let pages = self.pages.iter().filter_map(|page| page.get());
        let slots: usize = pages.map(|page| page.len()).sum();
        (self.flat.len() + slots) * 8
            + self.pages.len() * (8 + size_of::<OnceLock<Box<[AtomicU64]>>>())
    }

    /// The page of a slot, and the index in the page.
    fn place(&self, at: usize) -> (usize, usize) {
        if self.bits <= FLAT {
            (0, at)
        } else {
            (at / PAGE, at % PAGE)
        }
    }

    fn page(&self, number: usize) -> Option<&[AtomicU64]> {
        if self.bits <= FLAT {
            Some(&self.flat)
        } else {
            self.pages[number].get().map(|page| &**page)
        }
    }

    fn make_page(&self, number: usize) -> &[AtomicU64] {
        if self.bits <= FLAT {
            return &self.flat;
        }
        self.pages[number].get_or_init(|| {
            let fill = self.absent[number].load(Ordering::Relaxed);
            (0..PAGE).map(|_| AtomicU64::new(fill)).collect()
        })
    }
}

fn empty(slots: usize) -> Box<[AtomicU64]> {
    (0..slots).map(|_| AtomicU64::new(0)).collect()
}

/// The width of an index of the arena.
const INDEX: u32 = 28;

impl Slot {
    #[inline(always)]
    fn of(word: u64) -> Self {
        let index = |word| word as u32 & ((1 << INDEX) - 1);
        Slot {
            busy: (word >> (2 * INDEX)) as u8,
            child: index(word >> INDEX),
            best: index(word),
        }
    }

    fn word(self) -> u64 {
        u64::from(self.busy) << (2 * INDEX) | u64::from(self.child) << INDEX | u64::from(self.best)
    }

    /// The child, or 0 if it has nothing for addresses with these next three bits.
    #[inline(always)]
    pub fn child_for(self, eighth: u32) -> u32 {
        let is_busy = u32::from(self.busy) >> eighth & 1;
        self.child & is_busy.wrapping_neg()
    }
}
