//! Attribute sets, each kept once: canonical wire bytes and the numbers that the decision process needs.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use parking_lot::Mutex;
use rapidhash::fast::SeedableState;
use rapidhash::v3::RapidSecrets;
use rutter_net::{Asn, Community};
use rutter_policy::NextHop;
use rutter_wire::attr::{AsPath, Attributes, Origin};
use smallvec::SmallVec;
use triomphe::ThinArc;

use crate::PeerId;
use crate::adj_rib_in::charges::{Charges, NOBODY};
use crate::adj_rib_in::freed_sets::FreedSets;
use crate::allocation::allocated;
use crate::peer_set::PeerSet;

/// The facts of an attribute set that the decision process and the export rules read, decoded once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Summary {
    /// Absent counts as 0 (RFC 4271 §9.1.2.2 c).
    pub multi_exit_disc: u32,
    /// The first AS of the path, that is the neighbouring AS; 0 where the path is empty.
    pub neighbour_as: u32,
    /// Valid only with [`SetFlags::ORIGIN_AS`].
    origin_as: u32,
    /// Valid only with [`SetFlags::LOCAL_PREF`].
    local_pref: u32,
    /// [`UNREADABLE_PATH`] if the path cannot be read.
    pub as_path_len: u16,
    pub cluster_list_len: u8,
    pub flags: SetFlags,
}

/// Facts of an attribute set as bits, and its ORIGIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SetFlags(u8);

impl SetFlags {
    pub const NO_LLGR: u8 = 1;
    pub const LLGR_STALE: u8 = 2;
    pub const ONLY_TO_CUSTOMER: u8 = 4;
    const LOCAL_PREF: u8 = 8;
    const ORIGINATOR_ID: u8 = 16;
    /// The path has an origin. In a report it can be AS 0.
    const ORIGIN_AS: u8 = 32;
    /// The highest two bits are the ORIGIN as on the wire; absent counts as INCOMPLETE.
    const ORIGIN_SHIFT: u32 = 6;

    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    fn of(attrs: &Attributes<'_>) -> Self {
        let mut flags = match attrs.origin() {
            Some(Origin::Igp) => 0,
            Some(Origin::Egp) => 1,
            Some(Origin::Incomplete) | None => 2,
        } << Self::ORIGIN_SHIFT;
        for community in attrs.communities() {
            match community {
                Community::NO_LLGR => flags |= Self::NO_LLGR,
                Community::LLGR_STALE => flags |= Self::LLGR_STALE,
                _ => {}
            }
        }
        let mut set = |bit, on: bool| flags |= if on { bit } else { 0 };
        set(Self::ONLY_TO_CUSTOMER, attrs.only_to_customer().is_some());
        set(Self::LOCAL_PREF, attrs.local_pref().is_some());
        set(Self::ORIGINATOR_ID, attrs.originator_id().is_some());
        let origin_as = attrs.as_path().and_then(|path| path.origin());
        set(Self::ORIGIN_AS, origin_as.is_some());
        SetFlags(flags)
    }
}

impl Summary {
    /// Decodes the facts of a parsed block.
    pub fn of(attrs: &Attributes<'_>) -> Self {
        let path = attrs.as_path();
        Summary {
            local_pref: attrs.local_pref().unwrap_or(0),
            multi_exit_disc: attrs.multi_exit_disc().unwrap_or(0),
            neighbour_as: path.and_then(|p| p.first()).map_or(0, |asn| asn.0),
            origin_as: path.and_then(|p| p.origin()).map_or(0, |asn| asn.0),
            as_path_len: path.map_or(0, path_len),
            cluster_list_len: u8::try_from(attrs.cluster_list().count()).unwrap_or(u8::MAX),
            flags: SetFlags::of(attrs),
        }
    }

    /// The last AS of the path, `None` where the path is empty, ends in a set or cannot be read.
    pub fn origin_as(&self) -> Option<Asn> {
        let given = self.flags.has(SetFlags::ORIGIN_AS);
        given.then_some(Asn(self.origin_as))
    }

    pub fn local_pref(&self) -> Option<u32> {
        let given = self.flags.has(SetFlags::LOCAL_PREF);
        given.then_some(self.local_pref)
    }

    /// ORIGIN as the decision process ranks it: lower is better.
    pub fn origin(&self) -> u8 {
        self.flags.0 >> SetFlags::ORIGIN_SHIFT
    }
}

/// The length of a path that cannot be read. It is longer than any that an UPDATE can hold, so the route comes last. Only
/// a report of another router or of a file can have such a path.
const UNREADABLE_PATH: u16 = u16::MAX;

fn path_len(path: AsPath<'_>) -> u16 {
    match path.is_readable() {
        true => u16::try_from(path.path_len()).unwrap_or(UNREADABLE_PATH),
        false => UNREADABLE_PATH,
    }
}

/// The header of a set. There are hundreds of thousands of sets: every byte counts.
struct Header {
    hash: ShortHash,
    summary: Summary,
    /// Octets of the next hop of MP_REACH_NLRI, which follows the attribute block: 0, 4, 16 or 32.
    next_hop_len: u16,
    /// The neighbor that is charged for the set. Written under the lock of the stripe.
    owner: AtomicU16,
    /// The index of the audience, see [`crate::advertise::audience`]; [`AUDIENCE_UNKNOWN`] until computed.
    audience: AtomicU32,
}

const _: () = assert!(size_of::<Header>() == 32);

/// The half of a hash that is kept with a set.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ShortHash(u32);

impl ShortHash {
    /// Spreads the hash over all bits: the index uses some as tags and others as the stripe.
    fn long(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The audience of this set has not been computed under the present export policy.
pub(crate) const AUDIENCE_UNKNOWN: u32 = u32::MAX;

/// An interned attribute set: one allocation, cheap to clone. Equal sets are the same allocation.
pub struct AttrSet(ThinArc<Header, u8>);

impl Clone for AttrSet {
    fn clone(&self) -> Self {
        AttrSet(self.0.clone())
    }
}

impl fmt::Debug for AttrSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "AttrSet({:02x?} via {:?})",
            self.block(),
            self.next_hop()
        )
    }
}

impl AttrSet {
    /// The canonical path attribute block, as sent to a client unless it must be rewritten. IPv4 routes carry
    /// NEXT_HOP inside; the next hop of MP_REACH_NLRI is [`AttrSet::mp_next_hop`].
    pub fn block(&self) -> &[u8] {
        &self.0.slice[..self.block_len()]
    }

    /// The next hop octets of MP_REACH_NLRI (4, 16 or 32), empty for routes in the IPv4 NLRI field.
    pub fn mp_next_hop(&self) -> &[u8] {
        &self.0.slice[self.block_len()..]
    }

    /// The number of octets of the block and of the next hop.
    #[inline]
    pub(crate) fn octets(&self) -> usize {
        self.0.slice.len()
    }

    fn block_len(&self) -> usize {
        self.0.slice.len() - usize::from(self.0.header.header.next_hop_len)
    }

    /// The attributes as a view.
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::from_canonical(self.block())
    }

    /// The (global) next hop. Only a report of another router or of a file can lack it.
    pub fn next_hop(&self) -> Option<IpAddr> {
        let mp = self.mp_next_hop();
        if let Some(octets) = mp.first_chunk::<16>() {
            return Some(IpAddr::V6(Ipv6Addr::from(*octets)));
        }
        if let Some(octets) = mp.first_chunk::<4>() {
            return Some(IpAddr::V4(Ipv4Addr::from(*octets)));
        }
        self.attributes().next_hop().map(IpAddr::V4)
    }

    /// The link-local next hop beside a global one (RFC 2545 §3).
    pub fn link_local_next_hop(&self) -> Option<Ipv6Addr> {
        let octets: [u8; 16] = self.mp_next_hop().get(16..32)?.try_into().ok()?;
        Some(Ipv6Addr::from(octets))
    }

    /// The next hop in the form that the import policy takes.
    pub fn policy_next_hop(&self) -> NextHop {
        match self.next_hop() {
            Some(IpAddr::V6(global)) => NextHop::V6 {
                global,
                link_local: self.link_local_next_hop(),
            },
            Some(IpAddr::V4(address)) => NextHop::V4(address),
            None => NextHop::V4(Ipv4Addr::UNSPECIFIED),
        }
    }

    /// The last AS of the path, `None` where the path is empty, ends in a set or cannot be read.
    pub fn origin_as(&self) -> Option<Asn> {
        self.summary().origin_as()
    }

    /// Returns whether both are the same interned set.
    pub fn same(&self, other: &AttrSet) -> bool {
        self.address() == other.address()
    }

    /// A number that identifies the set while it lives.
    pub(crate) fn address(&self) -> usize {
        self.0.slice.as_ptr() as usize
    }

    /// The hash of the bytes under the table's seed.
    pub(crate) fn hash(&self) -> u64 {
        self.0.header.header.hash.long()
    }

    /// ORIGINATOR_ID (RFC 4456). It is rare outside of route reflection, so it is read from the block.
    pub(crate) fn originator_id(&self) -> Option<u32> {
        let given = self.summary().flags.has(SetFlags::ORIGINATOR_ID);
        given.then(|| self.attributes().originator_id()).flatten()
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.0.header.header.summary
    }

    pub(crate) fn audience(&self) -> u32 {
        self.0.header.header.audience.load(Ordering::Relaxed)
    }

    pub(crate) fn set_audience(&self, audience: u32) {
        self.0
            .header
            .header
            .audience
            .store(audience, Ordering::Relaxed);
    }

    fn heap_size(&self) -> usize {
        // The header, a reference count and a length precede the bytes.
        allocated(size_of::<Header>() + 2 * size_of::<usize>() + self.0.slice.len())
    }

    /// The bytes that a neighbor is charged for the set.
    fn charge(&self) -> usize {
        self.heap_size() + INDEX_ENTRY
    }

    pub(crate) fn is_unused(&self) -> bool {
        ThinArc::strong_count(&self.0) == 1
    }

    /// The neighbor that is charged for the set.
    pub(crate) fn owner(&self) -> PeerId {
        PeerId(self.0.header.header.owner.load(Ordering::Relaxed))
    }

    /// Charges another neighbor for the set. The lock of its stripe is held.
    fn change_owner(&self, owner: PeerId, charges: &Charges) {
        let bytes = self.charge();
        charges.subtract(self.owner(), bytes);
        charges.add(owner, bytes);
        let of_set = &self.0.header.header.owner;
        of_set.store(owner.0, Ordering::Relaxed);
    }
}

const STRIPES: usize = 64;

/// The most bytes that a set takes in the index: a place and its tag, where 7 of 16 places are in use.
const INDEX_ENTRY: usize = ((size_of::<AttrSet>() + 1) * 16).div_ceil(7);

/// All attribute sets in use, found by a hash of their bytes before anything is decoded.
///
/// The locks are striped: interning takes one, once per UPDATE. A set is removed with its last route.
pub(crate) struct AttrStore {
    stripes: Box<[Mutex<Stripe>]>,
    /// Per stripe: whether it may hold sets without routes, because someone else held them when their last route was
    /// removed.
    may_have_unused: Box<[AtomicBool]>,
    /// Drawn from the table's seed. With the public secrets of rapidhash a peer could choose bytes that cancel the seed.
    secrets: RapidSecrets,
    charges: Charges,
    freed: FreedSets,
}

#[derive(Default)]
struct Stripe {
    sets: HashTable<AttrSet>,
    /// Bytes allocated for the sets.
    bytes: usize,
}

impl Stripe {
    /// Drops unused sets.
    fn sweep(&mut self, charges: &Charges, freed: &FreedSets) {
        let bytes = &mut self.bytes;
        self.sets.retain(|set| {
            let used = !set.is_unused();
            if !used {
                *bytes -= set.heap_size();
                freed.count(set.audience(), set.heap_size());
                charges.subtract(set.owner(), set.charge());
            }
            used
        });
    }
}

impl AttrStore {
    pub fn new(seed: u64) -> Self {
        AttrStore {
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            may_have_unused: (0..STRIPES).map(|_| AtomicBool::new(false)).collect(),
            secrets: RapidSecrets::seed(seed),
            charges: Charges::default(),
            freed: FreedSets::default(),
        }
    }

    /// As [`FreedSets::take_enough`].
    pub fn take_freed(&self) -> bool {
        let sets = || (0..STRIPES).map(|stripe| self.sets_of_stripe(stripe)).sum();
        self.freed.take_enough(sets)
    }

    fn hash(&self, block: &[u8], mp_next_hop: &[u8]) -> ShortHash {
        let RapidSecrets { seed, secrets } = &self.secrets;
        let mut hasher = SeedableState::custom(*seed, secrets).build_hasher();
        hasher.write(block);
        hasher.write(mp_next_hop);
        hasher.write_u32(block.len() as u32);
        ShortHash((hasher.finish() >> 32) as u32)
    }

    /// Returns the set of these bytes, and charges `owner` for it unless that is [`NOBODY`]; calls `summary` only where it is new.
    pub fn intern(
        &self,
        owner: PeerId,
        block: &[u8],
        mp_next_hop: &[u8],
        summary: impl FnOnce() -> Summary,
    ) -> AttrSet {
        let hash = self.hash(block, mp_next_hop);
        let number = stripe_of(hash);
        let mut stripe = self.stripes[number].lock();
        let is_full = stripe.sets.len() == stripe.sets.capacity();
        if is_full && self.may_have_unused[number].swap(false, Ordering::Relaxed) {
            // Before the table grows.
            stripe.sweep(&self.charges, &self.freed);
        }
        let Stripe { sets, bytes } = &mut *stripe;
        let entry = sets.entry(
            hash.long(),
            |set| matches(set, hash, block, mp_next_hop),
            AttrSet::hash,
        );
        match entry {
            Entry::Occupied(entry) => {
                let set = entry.get();
                if set.owner() != owner && owner != NOBODY {
                    set.change_owner(owner, &self.charges);
                }
                set.clone()
            }
            Entry::Vacant(entry) => {
                let header = Header {
                    hash,
                    summary: summary(),
                    next_hop_len: mp_next_hop.len() as u16,
                    owner: AtomicU16::new(owner.0),
                    audience: AtomicU32::new(AUDIENCE_UNKNOWN),
                };
                let set = AttrSet(new_arc(header, block, mp_next_hop));
                let size = set.heap_size();
                *bytes += size;
                self.charges.add(owner, set.charge());
                entry.insert(set.clone());
                set
            }
        }
    }

    /// Releases a route's use; the last use frees the set.
    pub fn release(&self, set: AttrSet) {
        if ThinArc::strong_count(&set.0) > 2 {
            let flag = &self.may_have_unused[stripe_of(set.0.header.header.hash)];
            // It is usually set already. A load leaves the cache line shared between threads.
            if !flag.load(Ordering::Relaxed) {
                flag.store(true, Ordering::Relaxed);
            }
            return;
        }
        self.release_unrouted(set);
    }

    /// As [`AttrStore::release`] for a use that did not belong to a route.
    pub fn release_unrouted(&self, set: AttrSet) {
        // Another holder frees it.
        let _ = self.free_last_use(set);
    }

    /// Frees a set that nobody else uses. Returns any other.
    pub fn free_last_use(&self, set: AttrSet) -> Option<AttrSet> {
        if ThinArc::strong_count(&set.0) > 2 {
            return Some(set);
        }
        let hash = set.0.header.header.hash;
        let mut stripe = self.stripes[stripe_of(hash)].lock();
        // Under the lock nobody can gain a use: this one and the store's own are the only ones.
        if ThinArc::strong_count(&set.0) > 2 {
            return Some(set);
        }
        if let Ok(entry) = stripe
            .sets
            .find_entry(hash.long(), |other| other.same(&set))
        {
            entry.remove();
            let size = set.heap_size();
            stripe.bytes -= size;
            self.freed.count(set.audience(), size);
            self.charges.subtract(set.owner(), set.charge());
        }
        None
    }

    /// Drops unused sets and releases the memory of emptied stripes.
    pub fn shrink(&self) {
        for stripe in &self.stripes {
            let mut stripe = stripe.lock();
            stripe.sweep(&self.charges, &self.freed);
            let sets = &mut stripe.sets;
            if sets.capacity() > 4 * sets.len().max(16) {
                sets.shrink_to(0, AttrSet::hash);
            }
        }
    }

    /// The number of sets in one stripe.
    pub fn sets_of_stripe(&self, stripe: usize) -> usize {
        let place = self.stripes.get(stripe);
        place.map_or(0, |place| place.lock().sets.len())
    }

    /// Drops the unused sets of one stripe and calls `visit` for the others. Returns `false` if there is no such stripe.
    pub fn visit_stripe(&self, stripe: usize, visit: impl FnMut(&AttrSet)) -> bool {
        let Some(place) = self.stripes.get(stripe) else {
            return false;
        };
        let mut stripe = place.lock();
        stripe.sweep(&self.charges, &self.freed);
        stripe.sets.iter().for_each(visit);
        true
    }

    /// The sets in one stripe, `None` if there is no such stripe. Release each.
    pub fn sets_of(&self, stripe: usize) -> Option<Vec<AttrSet>> {
        let stripe = self.stripes.get(stripe)?.lock();
        Some(stripe.sets.iter().cloned().collect())
    }

    /// Calls `visit` for each set; it may miss new ones. It holds no lock.
    pub fn for_each(&self, mut visit: impl FnMut(&AttrSet)) {
        for stripe in 0..STRIPES {
            for set in self.sets_of(stripe).unwrap_or_default() {
                visit(&set);
                self.release_unrouted(set);
            }
        }
    }

    /// The bytes of the sets that a neighbor is charged for.
    pub fn charged(&self, owner: PeerId) -> u64 {
        self.charges.of(owner)
    }

    /// Charges another neighbor for a set.
    pub fn charge(&self, set: &AttrSet, owner: PeerId) {
        let stripe = &self.stripes[stripe_of(set.0.header.header.hash)];
        let _stripe = stripe.lock();
        set.change_owner(owner, &self.charges);
    }

    /// Charges nobody any more for the sets of some neighbors in one stripe. Returns `false` if there is no such stripe.
    pub fn disown(&self, stripe: usize, owners: &PeerSet) -> bool {
        let Some(place) = self.stripes.get(stripe) else {
            return false;
        };
        for set in &place.lock().sets {
            if owners.contains(set.owner()) {
                set.change_owner(NOBODY, &self.charges);
            }
        }
        true
    }

    /// The number of sets, and the bytes of sets and of the index.
    pub fn size(&self) -> (u64, u64, u64) {
        let (mut count, mut sets, mut index) = (0, 0, 0);
        for stripe in &self.stripes {
            let stripe = stripe.lock();
            count += stripe.sets.len() as u64;
            sets += stripe.bytes as u64;
            index += allocated(stripe.sets.allocation_size()) as u64;
        }
        (count, sets, index)
    }
}

fn stripe_of(hash: ShortHash) -> usize {
    (hash.long() >> 32) as usize % STRIPES
}

fn matches(set: &AttrSet, hash: ShortHash, block: &[u8], mp_next_hop: &[u8]) -> bool {
    set.0.header.header.hash == hash && set.block() == block && set.mp_next_hop() == mp_next_hop
}

/// One allocation with the header and both runs of bytes. Most sets have no second one.
fn new_arc(header: Header, block: &[u8], mp_next_hop: &[u8]) -> ThinArc<Header, u8> {
    if mp_next_hop.is_empty() {
        return ThinArc::from_header_and_slice(header, block);
    }
    let mut octets: SmallVec<[u8; 256]> = SmallVec::from_slice(block);
    octets.extend_from_slice(mp_next_hop);
    ThinArc::from_header_and_slice(header, &octets)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The first public secret of rapidhash at offset 48 cancels the state there, whatever the seed. The next eight
    /// bytes are then free.
    #[test]
    fn blocks_with_public_secrets_do_not_collide() {
        let store = AttrStore::new(0x0123_4567_89ab_cdef);
        let hash = |number: u64| {
            let mut block = [0; 80];
            block[48..56].copy_from_slice(&0x2d35_8dcc_aa6c_78a5_u64.to_le_bytes());
            block[56..64].copy_from_slice(&number.to_le_bytes());
            store.hash(&block, &[]).0
        };
        let hashes: BTreeSet<u32> = (0..10_000).map(hash).collect();
        assert!(hashes.len() > 9_990, "{} of 10,000", hashes.len());
    }
}
