//! The data that readers and the writer share, and the search for prefixes in it.

use crate::block_allocator::LINE;
use crate::chunk_allocator::ChunkAllocator;
use crate::descent::{self, descend};
use crate::direct_ipv4::{Answer, DirectIpv4};
use crate::direct_ipv6::DirectIpv6;
use crate::epoch::Epochs;
use crate::memory::Memory;
use crate::net::{Bits, Net};
use crate::node::{Key, Node, Stride4, Stride8};
use crate::profile::{Profile, Stride};
use crate::root::Root;
use crate::sync::Arc;

/// The published table.
pub(crate) struct SharedTable<N: Net> {
    pub profile: Profile,
    pub root: Root,
    pub memory: Memory,
    pub direct: Option<DirectIpv4>,
    pub direct_ipv6: Option<DirectIpv6>,
    /// True if pointers of nodes change in place. Otherwise everything below a root slot is immutable while the
    /// slot is unchanged.
    pub is_in_place: bool,
    pub epochs: Arc<Epochs>,
    pub family: std::marker::PhantomData<N>,
}

/// The location of a prefix, or where it would be; valid until prefixes are added or removed.
#[derive(Clone, Copy)]
pub(crate) struct Location {
    /// The node or the record that holds or would hold the prefix; 0 if there is none.
    pub home: u32,
    /// The depth that the search reached.
    pub depth: u32,
    /// The offset of the number, if there is one.
    pub at: u32,
    /// The prefix's number, if the prefix exists.
    pub number: Option<u32>,
}

impl<N: Net> SharedTable<N> {
    pub fn new(
        profile: Profile,
        epochs: Arc<Epochs>,
        chunk_allocator: std::sync::Arc<ChunkAllocator>,
        is_shard: bool,
    ) -> Self {
        let fastest = profile == Profile::Fastest;
        SharedTable {
            profile,
            root: Root::new(profile.root_bits(N::IS_IPV6, is_shard)),
            memory: Memory::new(chunk_allocator),
            direct: (fastest && !N::IS_IPV6).then(DirectIpv4::new),
            direct_ipv6: (fastest && N::IS_IPV6).then(DirectIpv6::new),
            // The search around a gap relies on the slot.
            is_in_place: profile.is_in_place() && !is_shard,
            epochs,
            family: std::marker::PhantomData,
        }
    }

    /// The value at an index; none at 0.
    #[inline(always)]
    pub fn value(&self, index: u32) -> Option<u32> {
        (index != 0).then(|| self.memory.word(index))
    }

    /// The value of the longest match.
    #[inline(always)]
    pub fn lookup(&self, bits: N::Bits) -> Option<u32> {
        match self.direct_answer(bits) {
            Answer::None => None,
            Answer::Value(value) => Some(value),
            Answer::Ask => self.find(bits),
        }
    }

    /// The answer of the direct tables, if there are any.
    #[inline(always)]
    pub fn direct_answer(&self, bits: N::Bits) -> Answer {
        if N::IS_IPV6 {
            let direct_ipv6 = self.direct_ipv6.as_ref();
            return direct_ipv6.map_or(Answer::Ask, |direct_ipv6| direct_ipv6.answer(bits.high()));
        }
        let direct = self.direct.as_ref();
        direct.map_or(Answer::Ask, |direct| direct.answer(bits.head(24)))
    }

    /// The value of the longest match, from the nodes.
    #[inline(always)]
    pub fn find(&self, bits: N::Bits) -> Option<u32> {
        descend::<N, descent::Number>(self, bits)
    }

    /// The longest match with its prefix.
    #[inline(always)]
    pub fn find_prefix(&self, bits: N::Bits) -> Option<(N, u32)> {
        descend::<N, descent::Prefix>(self, bits)
    }

    /// See [`descent::NumberAndLen`].
    #[inline(always)]
    pub fn find_with_len(&self, bits: N::Bits) -> Option<(u32, u8)> {
        descend::<N, descent::NumberAndLen>(self, bits)
    }

    /// Number and length of the prefix of a record; none for 0.
    #[inline(always)]
    pub fn number_and_len(&self, record: u32) -> Option<(u32, u8)> {
        let record = (record != 0).then(|| self.memory.block(record))?;
        Some((record.first(), record.word(1) as u8))
    }

    /// [`Self::find_with_len`] for an address whose longest prefix has left a gap.
    #[cold]
    #[inline(never)]
    pub fn find_below_gap(&self, bits: N::Bits) -> Option<(u32, u8)> {
        let at = bits.head(self.root.bits());
        let mut slot = self.root.slot(at);
        loop {
            let found = match self.profile.stride() {
                Stride::Stride4 => self.longest_entry::<Stride4>(bits, slot.child),
                Stride::Stride8 => self.longest_entry::<Stride8>(bits, slot.child),
            };
            // Gaps change without the slot. If the slot is unchanged, the shorter prefix existed when the gap
            // was seen.
            let now = self.root.slot(at);
            if now == slot {
                return found.or_else(|| self.number_and_len(slot.best));
            }
            slot = now;
        }
    }

    /// The longest entry for an address in the nodes from `child` on, searched length by length.
    fn longest_entry<S: Node>(&self, bits: N::Bits, child: u32) -> Option<(u32, u8)> {
        let (mut node, mut depth, mut found) = (child, self.root.bits(), None);
        while node != 0 {
            let (block, slot) = (self.memory.block(node), (bits << depth).head(S::BITS));
            let value = |len: u32| {
                let key = Key::new(slot >> (S::BITS - len) << (S::BITS - len), len);
                let value = self.memory.word(node + S::entry(block, key)?);
                (value != 0).then_some((value, depth as u8 + 1))
            };
            found = (1..=S::BITS).rev().find_map(value).or(found);
            node = S::step(block, slot).child;
            depth += S::BITS;
        }
        found
    }

    /// The location of a prefix that is longer than the root's prefixes; `node` is [`Self::child_of_root`].
    #[inline(always)]
    pub fn location(&self, prefix: N, node: u32) -> Location {
        match self.profile.stride() {
            Stride::Stride4 => self.location_by::<Stride4>(prefix, node, |_, _| ()),
            Stride::Stride8 => self.location_by::<Stride8>(prefix, node, |_, _| ()),
        }
    }

    /// [`Self::location`] for the table's stride; `pass` receives the nodes on the path, and the slots that led
    /// on.
    #[inline(always)]
    pub fn location_by<S: Node>(
        &self,
        prefix: N,
        node: u32,
        mut pass: impl FnMut(u32, u32),
    ) -> Location {
        let (bits, home) = (prefix.bits(), self.home::<S>(prefix));
        let (mut node, mut depth) = (node, self.root.bits());
        while node != 0 && depth < home {
            let slot = (bits << depth).head(S::BITS);
            pass(node, slot);
            node = S::step(self.memory.block(node), slot).child;
            depth += S::BITS;
        }
        let mut location = Location {
            home: node,
            depth,
            at: 0,
            number: None,
        };
        if node != 0 {
            let block = self.memory.block(node);
            if let Some(at) = S::entry(block, key_of::<N, S>(prefix, home)) {
                (location.at, location.number) = (at, Some(block.number(at)));
            }
        }
        location
    }

    /// The depth of the node that holds a prefix longer than the root's.
    #[inline(always)]
    pub fn home<S: Node>(&self, prefix: N) -> u32 {
        let below = u32::from(prefix.prefix_len()) - self.root.bits() - 1;
        self.root.bits() + below / S::BITS * S::BITS
    }

    /// A location that was found earlier, with the present number, if it is still valid. Only for a prefix of
    /// the first nodes, and for a caller that has been an active reader ever since. If the root's slot still
    /// leads to the same node, only numbers have changed in it, and its memory cannot have been reused.
    #[inline]
    pub fn location_again(&self, prefix: N, location: Location) -> Option<Location> {
        let is_first = u32::from(prefix.prefix_len()).wrapping_sub(self.root.bits() + 1)
            < self.profile.stride().bits();
        (is_first && self.child_of_root(prefix) == location.home).then(|| Location {
            number: location
                .number
                .map(|_| self.memory.word(location.home + location.at)),
            ..location
        })
    }

    /// The record of exactly this prefix of the root: 0 if there is none. `None` if its first slot has a longer
    /// prefix.
    #[inline]
    pub fn exact_in_root(&self, prefix: N) -> Option<u32> {
        let best = self.root.slot(prefix.bits().head(self.root.bits())).best;
        let len = match best {
            0 => return Some(0),
            record => self.memory.block(record).word(1),
        };
        // All prefixes of the slot cover it, so there is one of each length.
        match len.cmp(&u32::from(prefix.prefix_len())) {
            std::cmp::Ordering::Less => Some(0),
            std::cmp::Ordering::Equal => Some(best),
            std::cmp::Ordering::Greater => None,
        }
    }

    /// The node below the root on the path to a prefix, or 0.
    #[inline]
    pub fn child_of_root(&self, prefix: N) -> u32 {
        let bits = self.root.bits();
        self.root.slot(prefix.bits().head(bits)).child
    }

    /// Prefetches the lines of a node. Most nodes have no more.
    #[inline(always)]
    pub fn prefetch_node(&self, node: u32) {
        (0..3).for_each(|line| self.memory.prefetch(node + line * LINE));
    }

    /// How much longer a prefix is than the shortest of its node; 0 for a prefix of the root. At most 7.
    pub fn extra_len(&self, prefix: N) -> u8 {
        let below = prefix.prefix_len().checked_sub(self.root.bits() as u8 + 1);
        below.map_or(0, |below| below % self.profile.stride().bits() as u8)
    }
}

/// The key of a prefix in a node at `depth`.
#[inline(always)]
pub(crate) fn key_of<N: Net, S: Node>(prefix: N, depth: u32) -> Key {
    let slot = (prefix.bits() << depth).head(S::BITS);
    Key::new(slot, u32::from(prefix.prefix_len()) - depth)
}
