//! The attribute sets that another process has, by number.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::Tag;
use super::records::Records;
use crate::adj_rib_in::attr_set::{AUDIENCE_UNKNOWN, AttrStore};
use crate::{AttrSet, PeerId};

/// The attribute sets that another process has. They stay in memory, so that an address means one set.
#[derive(Default)]
pub(super) struct SentSets {
    /// The numbers, by address.
    index: HashTable<u32>,
    sets: Vec<AttrSet>,
    owners: Vec<PeerId>,
    /// The numbers of those without an audience.
    without_audience: Vec<u32>,
}

impl SentSets {
    /// Makes room for the sets of a table.
    pub(super) fn reserve(&mut self, store: &AttrStore) {
        if self.sets.is_empty() {
            let (count, ..) = store.size();
            self.index = HashTable::with_capacity(count as usize);
            self.sets.reserve(count as usize);
            self.owners.reserve(count as usize);
        }
    }

    /// The number of a set. A new one is written first.
    pub(super) fn number<E, S: FnMut(&[u8]) -> Result<(), E>>(
        &mut self,
        set: &AttrSet,
        records: &mut Records<S>,
    ) -> Result<u32, E> {
        let SentSets { index, sets, .. } = self;
        let hash = |number: &u32| hash_of(&sets[*number as usize]);
        let is_it = |number: &u32| sets[*number as usize].same(set);
        let next = sets.len() as u32;
        match index.entry(hash_of(set), is_it, hash) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(place) => place.insert(next),
        };
        let (owner, has_audience) = (set.owner(), set.audience() != AUDIENCE_UNKNOWN);
        let out = records.begin(Tag::AttributeSet)?;
        out.octets(set.block());
        out.octets(set.mp_next_hop());
        out.number(owner.0);
        out.bool(has_audience);
        self.sets.push(set.clone());
        self.owners.push(owner);
        if !has_audience {
            self.without_audience.push(next);
        }
        Ok(next)
    }

    /// Writes owners and audiences, which change without a change of a route.
    pub(super) fn write_changes<E, S: FnMut(&[u8]) -> Result<(), E>>(
        &self,
        records: &mut Records<S>,
    ) -> Result<(), E> {
        for ((set, before), number) in self.sets.iter().zip(&self.owners).zip(0_u32..) {
            let owner = set.owner();
            if owner != *before {
                let out = records.begin(Tag::Owner)?;
                out.number(number);
                out.number(owner.0);
            }
        }
        for number in &self.without_audience {
            if self.sets[*number as usize].audience() != AUDIENCE_UNKNOWN {
                records.begin(Tag::Audience)?.number(*number);
            }
        }
        Ok(())
    }
}

/// A hash of the address.
fn hash_of(set: &AttrSet) -> u64 {
    let product = (set.address() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}
