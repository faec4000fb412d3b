//! How an address is looked up in the nodes: from the root down to the longest prefix that has it.
//!
//! Misses of the caches are what a look-up waits for, and the processor begins the next ones meanwhile: as many as the
//! instructions of each leave room for. So there is a loop for each way in which addresses are divided, and one for each thing that is
//! asked for, which reads no word twice.

use std::marker::PhantomData;

use crate::cpu::{Counting, count};
use crate::memory::Block;
use crate::net::{Bits, Net};
use crate::node::{Eight, Four, Node};
use crate::profile::Profile;
use crate::search::Shared;

/// What is asked of the longest match.
pub(crate) trait Goal<N: Net> {
    type Answer;

    /// The answer, where the match is one of the root's prefixes: by its record, 0 for none.
    fn of_record(shared: &Shared<N>, bits: N::Bits, record: u32) -> Self::Answer;

    /// The answer, where the match is in a node.
    fn of_entry<S: Node>(shared: &Shared<N>, bits: N::Bits, entry: Entry<'_>) -> Self::Answer;
}

/// A match in a node.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'b> {
    block: Block<'b>,
    depth: u32,
    slot: u32,
    /// What [`Node::step`] said.
    value: u32,
}

impl Entry<'_> {
    #[inline(always)]
    fn number<S: Node>(self) -> u32 {
        let at = S::resolve(self.block, self.value, self.slot);
        self.block.number(at)
    }
}

/// The number.
pub(crate) struct Number;

/// The prefix, and its number.
pub(crate) struct Prefix;

/// The number, and the length of the prefix less [`Shared::len_beyond`]. It reads no more of a node than [`Number`] does. For
/// tables in which 0 is a gap.
pub(crate) struct Beyond;

impl<N: Net> Goal<N> for Number {
    type Answer = Option<u32>;

    #[inline(always)]
    fn of_record(shared: &Shared<N>, _: N::Bits, record: u32) -> Option<u32> {
        shared.value(record)
    }

    #[inline(always)]
    fn of_entry<S: Node>(_: &Shared<N>, _: N::Bits, entry: Entry<'_>) -> Option<u32> {
        Some(entry.number::<S>())
    }
}

impl<N: Net> Goal<N> for Prefix {
    type Answer = Option<(N, u32)>;

    #[inline(always)]
    fn of_record(shared: &Shared<N>, bits: N::Bits, record: u32) -> Option<(N, u32)> {
        let (number, len) = shared.of_record(record)?;
        Some((N::from_bits(bits, len), number))
    }

    #[inline(always)]
    fn of_entry<S: Node>(_: &Shared<N>, bits: N::Bits, entry: Entry<'_>) -> Option<(N, u32)> {
        let len = entry.depth as u8 + S::entry_len(entry.block, entry.value);
        Some((N::from_bits(bits, len), entry.number::<S>()))
    }
}

impl<N: Net> Goal<N> for Beyond {
    type Answer = Option<(u32, u8)>;

    #[inline(always)]
    fn of_record(shared: &Shared<N>, _: N::Bits, record: u32) -> Option<(u32, u8)> {
        shared.of_record(record)
    }

    #[inline(always)]
    fn of_entry<S: Node>(shared: &Shared<N>, bits: N::Bits, entry: Entry<'_>) -> Option<(u32, u8)> {
        match entry.number::<S>() {
            0 => shared.find_around_gap(bits),
            number => Some((number, entry.depth as u8 + 1)),
        }
    }
}

/// Looks an address up.
#[inline(always)]
pub(crate) fn descend<N: Net, G: Goal<N>>(shared: &Shared<N>, bits: N::Bits) -> G::Answer {
    match shared.profile {
        Profile::Compact => count(Descent::<N, G, Four, 8>::new(shared, bits)),
        Profile::Balanced => count(Descent::<N, G, Eight, 8>::new(shared, bits)),
        Profile::Fast | Profile::Fastest if N::IS_IPV6 && shared.root.bits() == 24 => {
            count(Descent::<N, G, Eight, 24>::new(shared, bits))
        }
        Profile::Fast | Profile::Fastest => count(Descent::<N, G, Eight, 16>::new(shared, bits)),
    }
}

/// A look-up for one way to divide addresses.
struct Descent<'s, N: Net, G, S, const ROOT: u32> {
    shared: &'s Shared<N>,
    bits: N::Bits,
    kind: PhantomData<(G, S)>,
}

impl<'s, N: Net, G, S, const ROOT: u32> Descent<'s, N, G, S, ROOT> {
    #[inline(always)]
    fn new(shared: &'s Shared<N>, bits: N::Bits) -> Self {
        Descent {
            shared,
            bits,
            kind: PhantomData,
        }
    }
}

impl<N: Net, G: Goal<N>, S: Node, const ROOT: u32> Counting for Descent<'_, N, G, S, ROOT> {
    type Output = G::Answer;

    #[inline(always)]
    fn run(self) -> G::Answer {
        let Descent { shared, bits, .. } = self;
        let root = shared.root.slot_of::<ROOT>(bits.head(ROOT));
        let (mut rest, mut depth) = (bits << ROOT, ROOT);
        let mut node = root.child_for(rest.head(3));
        // The node that has the longest match so far, or 0 for the root, and what is known of it.
        let (mut outer, mut outer_depth, mut outer_slot, mut outer_value) = (0, 0, 0, 0);
        while node != 0 {
            let (block, slot) = (shared.memory.block(node), rest.head(S::BITS));
            let step = S::step(block, slot);
            if step.child == 0 {
                if step.value == 0 {
                    break;
                }
                let entry = Entry {
                    block,
                    depth,
                    slot,
                    value: step.value,
                };
                return G::of_entry::<S>(shared, bits, entry);
            }
            if step.value != 0 {
                (outer, outer_depth, outer_slot, outer_value) = (node, depth, slot, step.value);
            }
            node = step.child;
            rest = rest << S::BITS;
            depth += S::BITS;
        }
        if outer == 0 {
            return G::of_record(shared, bits, root.best);
        }
        let entry = Entry {
            block: shared.memory.block(outer),
            depth: outer_depth,
            slot: outer_slot,
            value: outer_value,
        };
        G::of_entry::<S>(shared, bits, entry)
    }
}
