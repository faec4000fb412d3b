//! What action communities ask for: a number for each, shared by all attribute sets that ask for the same.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;
use rutter_net::Asn;
use rutter_policy::{AudienceSpec, ExportPolicy};

use crate::PeerId;
use crate::adj_rib_in::attr_set::AttrSet;
use crate::adj_rib_in::charges::{Charges, NOBODY};
use crate::advertise::audiences::EVERYONE;
use crate::allocation::allocated;
use crate::peer_set::PeerSet;

/// The audiences of a chunk.
pub(crate) const CHUNK: usize = 256;

/// The chunk of a number, and the place in it.
pub(crate) fn place(number: u32) -> (usize, usize) {
    let number = number as usize;
    (number / CHUNK, number % CHUNK)
}

/// All specifications in use, by number and by content. Number 0 is never given out.
pub(crate) struct AudienceSpecs {
    /// In chunks, so that no new one moves all others. The place of number 0 stays empty.
    chunks: Vec<Vec<Option<Held>>>,
    /// The numbers by content, in parts, so that none takes long to grow. The hash has a secret key.
    parts: Vec<HashTable<u32>>,
    hasher: RandomState,
    /// The numbers that are free.
    free: Vec<u32>,
    count: usize,
    /// The bytes of the specifications themselves.
    heap: usize,
    /// The bytes by the neighbor that is charged for them: the one whose attribute set needed a specification last.
    charges: Charges,
}

/// A specification in use.
#[derive(Clone)]
struct Held {
    spec: Arc<AudienceSpec>,
    owner: PeerId,
}

impl Held {
    /// The bytes that a neighbor is charged for it.
    fn charge(&self) -> usize {
        heap(&self.spec) + size_of::<Option<Held>>() + INDEX_ENTRY
    }
}

/// The parts of the index: where there are a million audiences, a part grows in less than a millisecond.
const PARTS: usize = 1_024;

/// The bytes of an entry of the index, with its share of free places.
const INDEX_ENTRY: usize = 8;

impl Default for AudienceSpecs {
    fn default() -> Self {
        let mut first = Vec::with_capacity(CHUNK);
        first.push(None);
        AudienceSpecs {
            chunks: vec![first],
            parts: Vec::new(),
            hasher: RandomState::new(),
            free: Vec::new(),
            count: 0,
            heap: 0,
            charges: Charges::default(),
        }
    }
}

impl AudienceSpecs {
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// All numbers are below this.
    pub fn end(&self) -> usize {
        let full = (self.chunks.len() - 1) * CHUNK;
        full + self.chunks.last().map_or(0, Vec::len)
    }

    pub fn get(&self, number: u32) -> Option<&AudienceSpec> {
        let (chunk, at) = place(number);
        let held = self.chunks.get(chunk)?.get(at)?.as_ref()?;
        Some(&held.spec)
    }

    /// As [`AudienceSpecs::get`], to be read later.
    pub fn shared(&self, number: u32) -> Option<Arc<AudienceSpec>> {
        let (chunk, at) = place(number);
        let held = self.chunks.get(chunk)?.get(at)?.as_ref()?;
        Some(Arc::clone(&held.spec))
    }

    /// Keeps a specification of others under its number there. Nobody is charged for it, and it cannot be found by content.
    pub fn keep_as(&mut self, number: u32, spec: Arc<AudienceSpec>) {
        let (chunk, at) = place(number);
        let chunks = self.chunks.len().max(chunk + 1);
        self.chunks.resize_with(chunks, Vec::new);
        let places = self.chunks[chunk].len().max(at + 1);
        self.chunks[chunk].resize(places, None);
        let owner = NOBODY;
        self.chunks[chunk][at] = Some(Held { spec, owner });
    }

    /// The bytes of all of it.
    pub fn bytes(&self) -> usize {
        let chunks = self.chunks.len() * allocated(CHUNK * size_of::<Option<Held>>());
        let index = self.parts.len() * size_of::<HashTable<u32>>() + self.end() * INDEX_ENTRY;
        chunks + index + self.heap
    }

    /// The bytes that a neighbor is charged for.
    pub fn charged(&self, owner: PeerId) -> u64 {
        self.charges.of(owner)
    }

    /// Returns the number of the audience of a set under a policy, and charges the neighbor that is charged for the set.
    pub fn number_for(&mut self, set: &AttrSet, policy: &ExportPolicy) -> u32 {
        let attributes = set.attributes();
        match policy.advertises_unchanged(&attributes) {
            true => EVERYONE,
            false => self.number_with(set, policy, policy.audience(&attributes)),
        }
    }

    /// The same where the policy has determined `spec`. A set whose action communities are scrubbed goes to nobody as it is.
    pub fn number_with(&mut self, set: &AttrSet, policy: &ExportPolicy, spec: AudienceSpec) -> u32 {
        let is_rewritten = || policy.scrub() && policy.removes_any(&set.attributes());
        match spec.is_everyone() && !is_rewritten() {
            true => EVERYONE,
            false => self.number_of(spec, set.owner()),
        }
    }

    /// Returns the number of a specification, a new one if it is not known, and charges `owner` for it.
    pub fn number_of(&mut self, spec: AudienceSpec, owner: PeerId) -> u32 {
        self.parts.resize_with(PARTS, HashTable::new);
        let hash = self.hasher.hash_one(&spec);
        let part = &self.parts[part_of(hash)];
        if let Some(number) = part.find(hash, |number| self.get(*number) == Some(&spec)) {
            let number = *number;
            self.change_owner(number, owner);
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| self.new_number());
        let spec = Arc::new(without_spare_room(spec));
        self.heap += heap(&spec);
        let held = Held { spec, owner };
        self.charges.add(owner, held.charge());
        let (chunk, at) = place(number);
        self.chunks[chunk][at] = Some(held);
        self.count += 1;
        let (chunks, hasher) = (&self.chunks, &self.hasher);
        self.parts[part_of(hash)].insert_unique(hash, number, |number| {
            let (chunk, at) = place(*number);
            let held = chunks[chunk][at].as_ref().expect("a number in the index");
            hasher.hash_one(&*held.spec)
        });
        number
    }

    /// Charges a neighbor for a specification.
    pub fn change_owner(&mut self, number: u32, owner: PeerId) {
        let (chunk, at) = place(number);
        if let Some(held) = &mut self.chunks[chunk][at]
            && held.owner != owner
        {
            self.charges.subtract(held.owner, held.charge());
            self.charges.add(owner, held.charge());
            held.owner = owner;
        }
    }

    fn new_number(&mut self) -> u32 {
        let number = self.end();
        if number.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.chunks[number / CHUNK].push(None);
        number as u32
    }

    /// Forgets a specification, and frees its number.
    pub fn remove(&mut self, number: u32) {
        let (chunk, at) = place(number);
        let Some(held) = self.chunks[chunk][at].take() else {
            return;
        };
        let hash = self.hasher.hash_one(&*held.spec);
        let entry = self.parts[part_of(hash)].find_entry(hash, |other| *other == number);
        if let Ok(entry) = entry {
            entry.remove();
        }
        self.charges.subtract(held.owner, held.charge());
        self.heap -= heap(&held.spec);
        self.free.push(number);
        self.count -= 1;
    }

    /// Charges nobody any more for the specifications of some neighbors in one chunk. Returns `false` if there is no such
    /// chunk.
    pub fn disown(&mut self, chunk: usize, owners: &PeerSet) -> bool {
        let Some(chunk) = self.chunks.get_mut(chunk) else {
            return false;
        };
        for held in chunk.iter_mut().flatten() {
            if owners.contains(held.owner) {
                self.charges.subtract(held.owner, held.charge());
                self.charges.add(NOBODY, held.charge());
                held.owner = NOBODY;
            }
        }
        true
    }
}

fn part_of(hash: u64) -> usize {
    (hash >> 32) as usize % PARTS
}

/// A peer chooses the length of the lists.
fn without_spare_room(mut spec: AudienceSpec) -> AudienceSpec {
    spec.except.shrink_to_fit();
    spec.confirmed.shrink_to_fit();
    spec.prepend.shrink_to_fit();
    spec.add_no_export_to.shrink_to_fit();
    spec.add_no_advertise_to.shrink_to_fit();
    spec
}

/// The bytes of a shared specification.
fn heap(spec: &AudienceSpec) -> usize {
    let list = |list: &Vec<Asn>| allocated(list.capacity() * size_of::<Asn>());
    let lists = [
        &spec.except,
        &spec.confirmed,
        &spec.add_no_export_to,
        &spec.add_no_advertise_to,
    ];
    let prepends = allocated(spec.prepend.capacity() * size_of::<(Asn, u8)>());
    let counted = allocated(size_of::<AudienceSpec>() + 2 * size_of::<usize>());
    counted + prepends + lists.into_iter().map(list).sum::<usize>()
}
