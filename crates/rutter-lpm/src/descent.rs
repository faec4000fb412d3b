//! Looks an address up in the nodes: from the root down to the longest prefix that contains it.
//!
//! A look-up mostly waits for cache misses. The processor starts the misses of later look-ups early, as far
//! as the number of instructions per look-up allows. So there is one loop for each division of addresses and
//! for each query, and none reads a word twice.
//!
//! # Exact at one instant
//!
//! Readers see changes of the root's slot only. All nodes below it are immutable, and a change copies them. In
//! profiles with long paths ([`Profile::is_in_place`]), pointers between nodes change in place, and only the
//! rest of a node is immutable. Otherwise each update would evict the nodes near the root, which all look-ups
//! share, from the caches of the readers.
//!
//! A slot or pointer never returns to an earlier target. So for two successive pointers there is an instant at
//! which both had the values that were read. It is the time of the second read or, if the first had changed by
//! then, just before that change. So a match in the last node, in the node above it, or in the slot of the only
//! node is exact.
//!
//! This is not so for three. A shorter prefix may leave the first node, or a longer one may enter it, and then
//! the prefix below all of them may go. A reader that is on its way may see only the second change. So it reads
//! the path again until it is the same twice (`stable_way`). At the instant at which the second reading began,
//! the whole path was so.

use std::marker::PhantomData;

use crate::cpu::{BitWork, count};
use crate::memory::Block;
use crate::net::{Bits, Net};
use crate::node::{Node, Stride4, Stride8};
use crate::profile::{Profile, ROOT_OF_LONG_WAYS};
use crate::root::Slot;
use crate::shared_table::SharedTable;

/// A query for the longest match.
pub(crate) trait Goal<N: Net> {
    type Answer;

    /// The answer for a match in the root, given its record; 0 for no match.
    fn from_record(shared: &SharedTable<N>, bits: N::Bits, record: u32) -> Self::Answer;

    /// The answer for a match in a node.
    fn from_entry<S: Node>(
        shared: &SharedTable<N>,
        bits: N::Bits,
        entry: Entry<'_>,
    ) -> Self::Answer;
}

/// A match in a node.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'b> {
    block: Block<'b>,
    depth: u32,
    slot: u32,
    /// The value of [`Node::step`].
    value: u32,
}

impl Entry<'_> {
    #[inline(always)]
    fn number<S: Node>(self) -> u32 {
        let at = S::resolve(self.block, self.value, self.slot);
        self.block.number(at)
    }
}

/// Asks for the number.
pub(crate) struct Number;

/// Asks for the prefix and its number.
pub(crate) struct Prefix;

/// Asks for the number, and the length of the prefix less [`SharedTable::extra_len`]. It reads no more of a
/// node than [`Number`] does. For tables in which 0 is a gap.
pub(crate) struct NumberAndLen;

impl<N: Net> Goal<N> for Number {
    type Answer = Option<u32>;

    #[inline(always)]
    fn from_record(shared: &SharedTable<N>, _: N::Bits, record: u32) -> Option<u32> {
        shared.value(record)
    }

    #[inline(always)]
    fn from_entry<S: Node>(_: &SharedTable<N>, _: N::Bits, entry: Entry<'_>) -> Option<u32> {
        Some(entry.number::<S>())
    }
}

impl<N: Net> Goal<N> for Prefix {
    type Answer = Option<(N, u32)>;

    #[inline(always)]
    fn from_record(shared: &SharedTable<N>, bits: N::Bits, record: u32) -> Option<(N, u32)> {
        let (number, len) = shared.number_and_len(record)?;
        Some((N::from_bits(bits, len), number))
    }

    #[inline(always)]
    fn from_entry<S: Node>(
        _: &SharedTable<N>,
        bits: N::Bits,
        entry: Entry<'_>,
    ) -> Option<(N, u32)> {
        let len = entry.depth as u8 + S::entry_len(entry.block, entry.value);
        Some((N::from_bits(bits, len), entry.number::<S>()))
    }
}

impl<N: Net> Goal<N> for NumberAndLen {
    type Answer = Option<(u32, u8)>;

    #[inline(always)]
    fn from_record(shared: &SharedTable<N>, _: N::Bits, record: u32) -> Option<(u32, u8)> {
        shared.number_and_len(record)
    }

    #[inline(always)]
    fn from_entry<S: Node>(
        shared: &SharedTable<N>,
        bits: N::Bits,
        entry: Entry<'_>,
    ) -> Option<(u32, u8)> {
        match entry.number::<S>() {
            0 => shared.find_below_gap(bits),
            number => Some((number, entry.depth as u8 + 1)),
        }
    }
}

/// Looks an address up.
#[inline(always)]
pub(crate) fn descend<N: Net, G: Goal<N>>(shared: &SharedTable<N>, bits: N::Bits) -> G::Answer {
    match shared.profile {
        Profile::Compact => count(Descent::<N, G, Stride4, ROOT_OF_LONG_WAYS>::new(
            shared, bits,
        )),
        Profile::Balanced => count(Descent::<N, G, Stride8, ROOT_OF_LONG_WAYS>::new(
            shared, bits,
        )),
        Profile::Fast | Profile::Fastest if N::IS_IPV6 && shared.root.bits() == 24 => {
            count(Descent::<N, G, Stride8, 24>::new(shared, bits))
        }
        Profile::Fast | Profile::Fastest => count(Descent::<N, G, Stride8, 16>::new(shared, bits)),
    }
}

/// A look-up for one division of addresses.
struct Descent<'s, N: Net, G, S, const ROOT: u32> {
    shared: &'s SharedTable<N>,
    bits: N::Bits,
    kind: PhantomData<(G, S)>,
}

impl<'s, N: Net, G, S, const ROOT: u32> Descent<'s, N, G, S, ROOT> {
    #[inline(always)]
    fn new(shared: &'s SharedTable<N>, bits: N::Bits) -> Self {
        Descent {
            shared,
            bits,
            kind: PhantomData,
        }
    }
}

impl<N: Net, G: Goal<N>, S: Node, const ROOT: u32> BitWork for Descent<'_, N, G, S, ROOT> {
    type Output = G::Answer;

    #[inline(always)]
    fn run(self) -> G::Answer {
        let Descent { shared, bits, .. } = self;
        let found = way::<N, S, ROOT>(shared, bits, |_, _| ());
        match ROOT == ROOT_OF_LONG_WAYS && found.may_be_stale && shared.is_in_place {
            true => answer::<N, G, S>(shared, bits, stable_way::<N, S, ROOT>(shared, bits)),
            false => answer::<N, G, S>(shared, bits, found),
        }
    }
}

/// The result of a way down.
struct Found<'s> {
    root: Slot,
    /// `None` for a match in the root.
    entry: Option<Entry<'s>>,
    may_be_stale: bool,
}

#[inline(always)]
fn answer<N: Net, G: Goal<N>, S: Node>(
    shared: &SharedTable<N>,
    bits: N::Bits,
    found: Found<'_>,
) -> G::Answer {
    match found.entry {
        Some(entry) => G::from_entry::<S>(shared, bits, entry),
        None => G::from_record(shared, bits, found.root.best),
    }
}

/// Goes down to the last node that affects an address. `pass` receives the places of pointers, and their
/// targets.
#[inline(always)]
fn way<N: Net, S: Node, const ROOT: u32>(
    shared: &SharedTable<N>,
    bits: N::Bits,
    mut pass: impl FnMut(u32, u32),
) -> Found<'_> {
    let root = shared.root.slot_of::<ROOT>(bits.head(ROOT));
    let (mut rest, mut depth) = (bits << ROOT, ROOT);
    let mut node = root.child_for(rest.head(3));
    // The node with the longest match so far, or 0 for the root, and its details.
    let (mut outer, mut outer_depth) = (0, ROOT - S::BITS);
    let (mut outer_slot, mut outer_value) = (0, 0);
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
            return Found {
                root,
                entry: Some(entry),
                may_be_stale: false,
            };
        }
        if step.value != 0 {
            (outer, outer_depth, outer_slot, outer_value) = (node, depth, slot, step.value);
        }
        pass(node + step.at, step.child);
        node = step.child;
        rest = rest << S::BITS;
        depth += S::BITS;
    }
    let entry = (outer != 0).then(|| Entry {
        block: shared.memory.block(outer),
        depth: outer_depth,
        slot: outer_slot,
        value: outer_value,
    });
    Found {
        root,
        entry,
        may_be_stale: may_be_stale::<S>(outer_depth, depth),
    }
}

/// Returns whether a match at one depth may have changed before the last node was reached. The root counts as a node.
#[inline(always)]
pub(crate) fn may_be_stale<S: Node>(found: u32, last: u32) -> bool {
    last - found >= 2 * S::BITS
}

/// Returns the result of a way that is the same when read again.
#[cold]
#[inline(never)]
fn stable_way<N: Net, S: Node, const ROOT: u32>(
    shared: &SharedTable<N>,
    bits: N::Bits,
) -> Found<'_> {
    loop {
        let (mut pointers, mut count) = ([(0, 0); MOST_POINTERS], 0);
        let found = way::<N, S, ROOT>(shared, bits, |at, child| {
            pointers[count] = (at, child);
            count += 1;
        });
        let is_like_before =
            |(at, child): &(u32, u32)| S::child_of(shared.memory.word(*at)) == *child;
        let now = shared.root.slot_of::<ROOT>(bits.head(ROOT));
        if now == found.root && pointers[..count].iter().all(is_like_before) {
            return found;
        }
    }
}

/// The most pointers on one way: IPv6 in nodes of 4 bits.
const MOST_POINTERS: usize = 30;

/// `RUSTFLAGS="--cfg loom" cargo test -p rutter-lpm --release --lib explored` explores every interleaving of
/// these.
#[cfg(all(test, loom))]
mod explored {
    use crate::sync::{Arc, AtomicU64, Ordering};
    use loom::thread;

    /// A way of two words that change. The first is the slot. It leads to a node with a short prefix, or to its
    /// replacement with a longer prefix, too. Both lead to the same node, whose pointer is the second word.
    /// That leads to the longest prefix, or to a replacement without it.
    struct Model {
        slot: AtomicU64,
        pointer: AtomicU64,
    }

    const SHORT: u64 = 1;
    const LONGER: u64 = 2;
    const LONGEST: u64 = 3;
    const NOTHING: u64 = 4;

    fn way(model: &Model) -> [u64; 2] {
        [&model.slot, &model.pointer].map(|word| word.load(Ordering::Acquire))
    }

    fn answer([slot, pointer]: [u64; 2]) -> u64 {
        if pointer == LONGEST { LONGEST } else { slot }
    }

    /// A longer prefix is added, then the longest is removed. A concurrent reader must never find the shortest.
    fn explore(look_up: fn(&Model) -> u64) {
        loom::model(move || {
            let model = Arc::new(Model {
                slot: AtomicU64::new(SHORT),
                pointer: AtomicU64::new(LONGEST),
            });
            let other = Arc::clone(&model);
            let reader = thread::spawn(move || assert_ne!(look_up(&other), SHORT));
            model.slot.store(LONGER, Ordering::Release);
            model.pointer.store(NOTHING, Ordering::Release);
            reader.join().unwrap();
        });
    }

    #[test]
    fn a_way_that_is_the_same_twice_was_so_at_one_instant() {
        explore(|model| {
            loop {
                let found = way(model);
                if way(model) == found {
                    return answer(found);
                }
            }
        });
    }

    #[test]
    #[should_panic]
    fn a_way_read_once_may_never_have_been_so() {
        explore(|model| answer(way(model)));
    }
}
