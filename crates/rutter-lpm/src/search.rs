//! What readers and the writer share, and how prefixes are found in it.

use crate::descent::{self, descend};
use crate::direct::{Answer, Direct};
use crate::epoch::Epochs;
use crate::memory::Memory;
use crate::net::{Bits, Net};
use crate::node::{Eight, Four, Key, Node};
use crate::pages::LINE;
use crate::profile::{Profile, Stride};
use crate::root::Root;
use crate::supply::Supply;
use crate::sync::Arc;
use crate::wide::Wide;

/// The published table.
pub(crate) struct Shared<N: Net> {
    pub profile: Profile,
    pub root: Root,
    pub memory: Memory,
    pub direct: Option<Direct>,
    pub wide: Option<Wide>,
    /// Whether pointers of nodes change in place. Otherwise nothing below the root's slot changes while the slot stands.
    pub is_in_place: bool,
    pub epochs: Arc<Epochs>,
    pub family: std::marker::PhantomData<N>,
}

/// Where a prefix is, or where it would be; good until prefixes come or go.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    /// The node or the record that has it, or would; 0 where there is none.
    pub home: u32,
    /// How far the way leads there.
    pub depth: u32,
    /// The offset of the number, where there is one.
    pub at: u32,
    /// The prefix's number, where it is there.
    pub number: Option<u32>,
}

impl<N: Net> Shared<N> {
    pub fn new(
        profile: Profile,
        epochs: Arc<Epochs>,
        supply: std::sync::Arc<Supply>,
        is_shard: bool,
    ) -> Self {
        let fastest = profile == Profile::Fastest;
        Shared {
            profile,
            root: Root::new(profile.root_bits(N::IS_IPV6, is_shard)),
            memory: Memory::new(supply),
            direct: (fastest && !N::IS_IPV6).then(Direct::new),
            wide: (fastest && N::IS_IPV6).then(Wide::new),
            // Who looks around a gap relies on the slot.
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

    /// What the direct tables say, where there are any.
    #[inline(always)]
    pub fn direct_answer(&self, bits: N::Bits) -> Answer {
        if N::IS_IPV6 {
            let wide = self.wide.as_ref();
            return wide.map_or(Answer::Ask, |wide| wide.answer(bits.high()));
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

    /// See [`descent::Beyond`].
    #[inline(always)]
    pub fn find_beyond(&self, bits: N::Bits) -> Option<(u32, u8)> {
        descend::<N, descent::Beyond>(self, bits)
    }

    /// Number and length of the prefix of a record; none for 0.
    #[inline(always)]
    pub fn of_record(&self, record: u32) -> Option<(u32, u8)> {
        let record = (record != 0).then(|| self.memory.block(record))?;
        Some((record.first(), record.word(1) as u8))
    }

    /// [`Self::find_beyond`] for an address of which the longest prefix has left a gap.
    #[cold]
    #[inline(never)]
    pub fn find_around_gap(&self, bits: N::Bits) -> Option<(u32, u8)> {
        let at = bits.head(self.root.bits());
        let mut slot = self.root.slot(at);
        loop {
            let found = match self.profile.stride() {
                Stride::Four => self.longest_entry::<Four>(bits, slot.child),
                Stride::Eight => self.longest_entry::<Eight>(bits, slot.child),
            };
            // A gap comes and goes without the slot: where this stands, the shorter prefix was there when the gap was seen.
            let now = self.root.slot(at);
            if now == slot {
                return found.or_else(|| self.of_record(slot.best));
            }
            slot = now;
        }
    }

    /// What nodes from one on say of an address, length by length.
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

    /// Where exactly this prefix is, or would be, which is one that nodes have; `node` is [`Self::child_of_root`].
    #[inline(always)]
    pub fn spot(&self, prefix: N, node: u32) -> Spot {
        match self.profile.stride() {
            Stride::Four => self.spot_by::<Four>(prefix, node, |_, _| ()),
            Stride::Eight => self.spot_by::<Eight>(prefix, node, |_, _| ()),
        }
    }

    /// [`Self::spot`] for the table's stride; `pass` is told the nodes on the way, and the slots that led on.
    #[inline(always)]
    pub fn spot_by<S: Node>(&self, prefix: N, node: u32, mut pass: impl FnMut(u32, u32)) -> Spot {
        let (bits, home) = (prefix.bits(), self.home::<S>(prefix));
        let (mut node, mut depth) = (node, self.root.bits());
        while node != 0 && depth < home {
            let slot = (bits << depth).head(S::BITS);
            pass(node, slot);
            node = S::step(self.memory.block(node), slot).child;
            depth += S::BITS;
        }
        let mut spot = Spot {
            home: node,
            depth,
            at: 0,
            number: None,
        };
        if node != 0 {
            let block = self.memory.block(node);
            if let Some(at) = S::entry(block, key_of::<N, S>(prefix, home)) {
                (spot.at, spot.number) = (at, Some(block.number(at)));
            }
        }
        spot
    }

    /// The depth of the node that has a prefix longer than the root's.
    #[inline(always)]
    pub fn home<S: Node>(&self, prefix: N) -> u32 {
        let below = u32::from(prefix.prefix_len()) - self.root.bits() - 1;
        self.root.bits() + below / S::BITS * S::BITS
    }

    /// A spot that was found a while ago, with the number that is there now, where it is still the spot: only for a prefix of the
    /// first nodes, and for who has been a reader at work ever since. As long as the root's slot leads to the same node, nothing of it
    /// has changed but numbers, and no other node can have come to lie there.
    #[inline]
    pub fn spot_again(&self, prefix: N, spot: Spot) -> Option<Spot> {
        let is_first = u32::from(prefix.prefix_len()).wrapping_sub(self.root.bits() + 1)
            < self.profile.stride().bits();
        (is_first && self.child_of_root(prefix) == spot.home).then(|| Spot {
            number: spot.number.map(|_| self.memory.word(spot.home + spot.at)),
            ..spot
        })
    }

    /// The record of exactly this prefix, which is one that the root has: 0 where there is none. `None` where its first slot
    /// names a longer one.
    #[inline]
    pub fn exact_head(&self, prefix: N) -> Option<u32> {
        let best = self.root.slot(prefix.bits().head(self.root.bits())).best;
        let len = match best {
            0 => return Some(0),
            record => self.memory.block(record).word(1),
        };
        // All that the slot may name cover it, so of one length there is one.
        match len.cmp(&u32::from(prefix.prefix_len())) {
            std::cmp::Ordering::Less => Some(0),
            std::cmp::Ordering::Equal => Some(best),
            std::cmp::Ordering::Greater => None,
        }
    }

    /// The node below the root on the way to a prefix, or 0.
    #[inline]
    pub fn child_of_root(&self, prefix: N) -> u32 {
        let bits = self.root.bits();
        self.root.slot(prefix.bits().head(bits)).child
    }

    /// Asks for the lines of a node, of which most have no more.
    #[inline(always)]
    pub fn prefetch_node(&self, node: u32) {
        (0..3).for_each(|line| self.memory.prefetch(node + line * LINE));
    }

    /// How much longer a prefix is than the shortest of its node; 0 for one that the root has. At most 7.
    pub fn len_beyond(&self, prefix: N) -> u8 {
        let below = prefix.prefix_len().checked_sub(self.root.bits() as u8 + 1);
        below.map_or(0, |below| below % self.profile.stride().bits() as u8)
    }
}

/// Where in a node at `depth` a prefix is.
#[inline(always)]
pub(crate) fn key_of<N: Net, S: Node>(prefix: N, depth: u32) -> Key {
    let slot = (prefix.bits() << depth).head(S::BITS);
    Key::new(slot, u32::from(prefix.prefix_len()) - depth)
}
