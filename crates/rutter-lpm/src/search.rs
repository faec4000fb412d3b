//! What readers and the writer share, and how an address is looked up in it.

use crate::direct::{Answer, Direct};
use crate::epoch::Epochs;
use crate::memory::Memory;
use crate::net::{Bits, Net};
use crate::node::{Eight, Four, Node};
use crate::profile::{Profile, Stride};
use crate::root::Root;

/// The published table.
pub(crate) struct Shared<N: Net> {
    pub profile: Profile,
    pub root: Root,
    pub memory: Memory,
    pub direct: Option<Direct>,
    pub epochs: Epochs,
    pub family: std::marker::PhantomData<N>,
}

/// Where the longest match was found: the index of its value, and what is needed to know its length.
#[derive(Clone, Copy, Default)]
struct Found {
    value: u32,
    /// The node, or 0 for a record of the root.
    node: u32,
    depth: u32,
}

/// Look-ups that walk side by side in [`Shared::find_many`].
pub(crate) const LANES: usize = 16;

impl<N: Net> Shared<N> {
    pub fn new(profile: Profile) -> Self {
        let direct = profile == Profile::Fastest && !N::IS_IPV6;
        Shared {
            profile,
            root: Root::new(profile.root_bits(N::IS_IPV6)),
            memory: Memory::new(),
            direct: direct.then(Direct::new),
            epochs: Epochs::new(),
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
    pub fn find(&self, bits: N::Bits) -> Option<u32> {
        if let Some(direct) = &self.direct {
            match direct.answer(bits.head(24)) {
                Answer::None => return None,
                Answer::Value(value) => return Some(value),
                Answer::Ask => {}
            }
        }
        self.value(self.walk(bits).value)
    }

    /// The longest match with its prefix.
    #[inline(always)]
    pub fn find_prefix(&self, bits: N::Bits) -> Option<(N, u32)> {
        let found = self.walk(bits);
        let value = self.value(found.value)?;
        Some((N::from_bits(bits, self.len_of(found)), value))
    }

    fn len_of(&self, found: Found) -> u8 {
        if found.node == 0 {
            return self.memory.block(found.value).word(1) as u8;
        }
        let (block, value) = (self.memory.block(found.node), found.value - found.node);
        let len = match self.profile.stride() {
            Stride::Four => Four::entry_len(block, value),
            Stride::Eight => Eight::entry_len(block, value),
        };
        found.depth as u8 + len
    }

    #[inline(always)]
    fn walk(&self, bits: N::Bits) -> Found {
        match self.profile.stride() {
            Stride::Four => self.walk_by::<Four>(bits),
            Stride::Eight => self.walk_by::<Eight>(bits),
        }
    }

    #[inline(always)]
    fn walk_by<S: Node>(&self, bits: N::Bits) -> Found {
        let mut depth = self.root.bits();
        let slot = self.root.slot(bits.head(depth));
        let mut found = Found {
            value: slot.best,
            node: 0,
            depth: 0,
        };
        let mut node = slot.child;
        let mut rest = bits << depth;
        while node != 0 {
            let step = S::step(self.memory.block(node), rest.head(S::BITS));
            if step.value != 0 {
                found = Found {
                    value: node + step.value,
                    node,
                    depth,
                };
            }
            if step.child == 0 {
                break;
            }
            node = step.child;
            rest = rest << S::BITS;
            depth += S::BITS;
        }
        found
    }

    /// [`Self::find`] for up to [`LANES`] addresses that advance together, so that their cache misses overlap.
    #[inline(always)]
    pub fn find_many(&self, addrs: &[N::Addr], values: &mut [Option<u32>]) {
        match (&self.direct, self.profile.stride()) {
            (Some(direct), _) => self.find_many_direct(direct, addrs, values),
            (None, Stride::Four) => self.find_many_by::<Four>(addrs, values),
            (None, Stride::Eight) => self.find_many_by::<Eight>(addrs, values),
        }
    }

    #[inline(always)]
    fn find_many_direct(&self, direct: &Direct, addrs: &[N::Addr], values: &mut [Option<u32>]) {
        for (value, addr) in values.iter_mut().zip(addrs) {
            let bits = N::addr_bits(*addr);
            *value = match direct.answer(bits.head(24)) {
                Answer::None => None,
                Answer::Value(value) => Some(value),
                Answer::Ask => self.value(self.walk_by::<Eight>(bits).value),
            };
        }
    }

    #[inline(always)]
    fn find_many_by<S: Node>(&self, addrs: &[N::Addr], values: &mut [Option<u32>]) {
        let mut nodes = [0; LANES];
        let mut found = [0; LANES];
        let depth = self.root.bits();
        for (lane, addr) in addrs.iter().enumerate().take(LANES) {
            let slot = self.root.slot(N::addr_bits(*addr).head(depth));
            (nodes[lane], found[lane]) = (slot.child, slot.best);
        }
        let mut depth = depth;
        let mut more = true;
        while more {
            more = false;
            for (lane, addr) in addrs.iter().enumerate().take(LANES) {
                let node = nodes[lane];
                if node == 0 {
                    continue;
                }
                let rest = N::addr_bits(*addr) << depth;
                let step = S::step(self.memory.block(node), rest.head(S::BITS));
                if step.value != 0 {
                    found[lane] = node + step.value;
                }
                nodes[lane] = step.child;
                more |= step.child != 0;
            }
            depth += S::BITS;
        }
        for (value, found) in values.iter_mut().zip(found).take(addrs.len()) {
            *value = self.value(found);
        }
    }
}
