//! Looks up several addresses side by side, so that their cache misses overlap.

use crate::descent::may_be_stale;
use crate::direct_ipv4::Answer;
use crate::net::{Bits, Net};
use crate::node::{Node, Stride4, Stride8};
use crate::profile::Profile;
use crate::shared_table::SharedTable;

/// The number of look-ups that advance together in [`SharedTable::find_many`].
pub(crate) const LANES: usize = 32;

/// The place of the longest match.
#[derive(Clone, Copy, Default)]
struct Found {
    /// In a node the value of its step; in the root the index of the record.
    value: u32,
    /// The node, or 0 for the root.
    node: u32,
    depth: u32,
    /// The depth of the last node on the way.
    last: u32,
}

impl<N: Net> SharedTable<N> {
    /// [`Self::find`] for up to [`LANES`] addresses that advance together, so that their cache misses overlap.
    #[inline(always)]
    pub fn find_many(&self, addrs: &[N::Addr], values: &mut [Option<u32>]) {
        match self.profile {
            Profile::Compact => self.find_many_by::<Stride4, 8>(addrs, values),
            Profile::Balanced => self.find_many_by::<Stride8, 8>(addrs, values),
            Profile::Fast if N::IS_IPV6 && self.root.bits() == 24 => {
                self.find_many_by::<Stride8, 24>(addrs, values)
            }
            Profile::Fast => self.find_many_by::<Stride8, 16>(addrs, values),
            Profile::Fastest => self.find_many_direct(addrs, values),
        }
    }

    #[inline(always)]
    fn find_many_direct(&self, addrs: &[N::Addr], values: &mut [Option<u32>]) {
        for (value, addr) in values.iter_mut().zip(addrs) {
            let bits = N::addr_bits(*addr);
            *value = match self.direct_answer(bits) {
                Answer::None => None,
                Answer::Value(value) => Some(value),
                Answer::Ask => self.find(bits),
            };
        }
    }

    #[inline(always)]
    fn find_many_by<S: Node, const ROOT: u32>(
        &self,
        addrs: &[N::Addr],
        values: &mut [Option<u32>],
    ) {
        let mut found = [Found {
            depth: ROOT - S::BITS,
            last: ROOT,
            ..Found::default()
        }; LANES];
        // The lanes that have not reached their end yet, with their nodes.
        let mut going = [(0_u8, 0_u32); LANES];
        let mut count = 0;
        for (lane, addr) in addrs.iter().enumerate().take(LANES) {
            let slot = self.root.slot_of::<ROOT>(N::addr_bits(*addr).head(ROOT));
            found[lane].value = slot.best;
            going[count] = (lane as u8, slot.child);
            count += usize::from(slot.child != 0);
        }
        let mut depth = ROOT;
        while count != 0 {
            let before = std::mem::take(&mut count);
            // Short loops first, so that the processor fetches all these nodes at once, and then their words
            // for the slots.
            let slot_of = |lane: u8| (N::addr_bits(addrs[lane as usize]) << depth).head(S::BITS);
            for (_, node) in &going[..before.min(LANES)] {
                self.memory.prefetch(*node);
                self.memory.prefetch(*node + S::HEADER - 1);
            }
            for (lane, node) in &going[..before.min(LANES)] {
                let at = S::place(self.memory.block(*node), slot_of(*lane));
                self.memory.prefetch(*node + at);
            }
            for at in 0..before {
                let (lane, node) = going[at % LANES];
                let slot = slot_of(lane);
                let step = S::step(self.memory.block(node), slot);
                let found = &mut found[lane as usize % LANES];
                found.last = depth;
                if step.value != 0 {
                    (found.value, found.node, found.depth) = (step.value, node, depth);
                }
                going[count % LANES] = (lane, step.child);
                count += usize::from(step.child != 0);
            }
            depth += S::BITS;
        }
        for ((value, addr), found) in values.iter_mut().zip(addrs).zip(found) {
            *value = self.number_of::<S>(N::addr_bits(*addr), found);
        }
    }
    #[inline(always)]
    fn number_of<S: Node>(&self, bits: N::Bits, found: Found) -> Option<u32> {
        if may_be_stale::<S>(found.depth, found.last) && self.is_in_place {
            return self.find(bits);
        }
        if found.node == 0 {
            return self.value(found.value);
        }
        let (block, slot) = (
            self.memory.block(found.node),
            (bits << found.depth).head(S::BITS),
        );
        Some(block.number(S::resolve(block, found.value, slot)))
    }
}
