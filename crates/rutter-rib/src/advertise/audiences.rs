//! All audiences in use. Each is found by what action communities ask for. It is resolved to peers when a route first
//! needs it after a neighbor was added or removed. Neither costs a walk over the neighbors or the audiences.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rutter_net::Asn;
use rutter_policy::{AudienceSpec, ExportPolicy};
use rutter_wire::attr::Attributes;

use crate::PeerId;
use crate::adj_rib_in::attr_set::{AttrSet, AttrStore};
use crate::adj_rib_in::leftovers::{Discarded, Leftovers};
use crate::advertise::audience::{Audience, Outcome};
use crate::advertise::audience_search::Search;
use crate::advertise::audience_specs::{AudienceSpecs, CHUNK, place};
use crate::advertise::members::{Client, Members};
use crate::allocation::allocated;
use crate::peer_set::PeerSet;

/// The index of the audience of everybody.
pub(crate) const EVERYONE: u32 = 0;

/// All audiences in use; index 0 is everybody.
pub(crate) struct Audiences {
    policy: Arc<ExportPolicy>,
    members: Members,
    everyone: Audience,
    specs: AudienceSpecs,
    /// By number, in chunks like those of `specs`.
    resolved: Vec<OnceLock<Resolved>>,
    /// About the bytes of the sets of peers of the resolved ones.
    heap: AtomicUsize,
    /// The number of audiences above which unused ones are searched for.
    most: usize,
    search: Option<Search>,
    /// The sets that got an audience lately, while a change of all audiences is prepared.
    arrived: Option<Mutex<Vec<AttrSet>>>,
    leftovers: Arc<Leftovers>,
}

/// An attribute set, and its audience at a moment.
pub(crate) struct SeenSet {
    /// Release it.
    pub set: AttrSet,
    /// The number of the audience.
    pub number: u32,
    /// `None` for everybody, and while the audience is unknown.
    pub spec: Option<Arc<AudienceSpec>>,
}

/// The audiences of a chunk that were resolved to peers. They are freed at once.
struct Resolved(Box<[OnceLock<Audience>]>);

impl Resolved {
    fn new() -> Self {
        Resolved((0..CHUNK).map(|_| OnceLock::new()).collect())
    }
}

impl Discarded for Resolved {
    fn free_some(&mut self) -> bool {
        self.0 = Box::default();
        false
    }
}

/// The attribute sets that a call of a search may look at, on average. Each is a cache miss, and a peer may cause a call with
/// every UPDATE.
const SETS_A_CALL: usize = 16;

/// The audiences that a call of a search may free.
const FREED_A_CALL: usize = 16;

/// Below this number a search for unused audiences is not worth it.
const MOST: usize = 1_024;

impl Audiences {
    /// No neighbors yet. `leftovers` frees what is not needed any more.
    pub fn new(policy: Arc<ExportPolicy>, leftovers: &Arc<Leftovers>) -> Self {
        Audiences {
            policy,
            members: Members::default(),
            everyone: Audience::everyone(),
            specs: AudienceSpecs::default(),
            resolved: Vec::new(),
            heap: AtomicUsize::new(0),
            most: MOST,
            search: None,
            arrived: None,
            leftovers: Arc::clone(leftovers),
        }
    }

    /// The same neighbors under another policy, with the audiences that it determines.
    pub fn under(&self, policy: Arc<ExportPolicy>, specs: AudienceSpecs) -> Self {
        let mut audiences = Audiences::new(policy, &self.leftovers).with_specs(specs);
        for (peer, client) in self.members.iter() {
            audiences.members.add(peer, client, &audiences.policy);
        }
        audiences
    }

    /// The same neighbors under the same policy, with some of the audiences, to be read.
    pub fn copy_with(&self, specs: AudienceSpecs) -> Self {
        Audiences {
            members: self.members.clone(),
            ..Audiences::new(Arc::clone(&self.policy), &self.leftovers).with_specs(specs)
        }
    }

    fn with_specs(self, specs: AudienceSpecs) -> Self {
        Audiences {
            resolved: (0..specs.chunks()).map(|_| OnceLock::new()).collect(),
            specs,
            ..self
        }
    }

    pub fn policy(&self) -> &Arc<ExportPolicy> {
        &self.policy
    }

    /// The number of audiences, everybody included, and about how many bytes they take.
    pub fn size(&self) -> (u64, u64) {
        (1 + self.specs.count() as u64, self.about_bytes())
    }

    /// About the bytes, without a walk.
    pub fn about_bytes(&self) -> u64 {
        let chunks = self.resolved.iter().filter(|chunk| chunk.get().is_some());
        let resolved = chunks.count() * allocated(CHUNK * size_of::<OnceLock<Audience>>());
        (self.specs.bytes() + resolved + self.heap.load(Ordering::Relaxed)) as u64
    }

    /// The bytes of specifications that a neighbor is charged for.
    pub fn charged(&self, owner: PeerId) -> u64 {
        self.specs.charged(owner)
    }

    /// Charges nobody any more for the specifications of some neighbors in one chunk. Returns `false` if there is no such
    /// chunk.
    pub fn disown(&mut self, chunk: usize, owners: &PeerSet) -> bool {
        if let Some(search) = &self.search {
            search.disown(chunk * CHUNK..(chunk + 1) * CHUNK, owners);
        }
        self.specs.disown(chunk, owners)
    }

    /// Searches for unused audiences if there are many: a peer may ask for another with every route. A call looks at one
    /// part of the attribute store, or at nothing where the parts are large; later calls free some audiences each. The
    /// next search comes when it costs little per audience.
    pub fn search_unused(&mut self, store: &AttrStore) {
        if self.specs.count() >= self.most {
            self.begin_search();
        }
        if self.scan_some(store, SETS_A_CALL) {
            self.free_some();
        }
    }

    /// Begins a search unless one goes on.
    pub fn begin_search(&mut self) {
        let end = self.specs.end();
        self.search.get_or_insert_with(|| Search::new(end));
    }

    /// Returns whether a search goes on.
    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// Goes on with a search: looks at some attribute sets, about `allowance` a call. Returns whether all were seen, and
    /// [`Audiences::free_some`] is due.
    pub fn scan_some(&self, store: &AttrStore, allowance: usize) -> bool {
        let search = self.search.as_ref();
        search.is_some_and(|search| search.scan_some(store, allowance))
    }

    /// Ends a search whose scan is complete: looks at some audiences, and frees the unused ones.
    pub fn free_some(&mut self) {
        let Some(mut search) = self.search.take() else {
            return;
        };
        let Some(audiences) = search.next_users(FREED_A_CALL) else {
            self.most = MOST.max(2 * self.specs.count()).max(search.sets() / 16);
            return;
        };
        for (number, user) in audiences {
            match user {
                // The set for which it was charged may be gone, and the neighbor, too.
                Some(user) => self.specs.change_owner(number, user),
                None => self.free(number),
            }
        }
        self.search = Some(search);
    }

    fn free(&mut self, number: u32) {
        self.specs.remove(number);
        let (chunk, at) = place(number);
        let chunk = self.resolved.get_mut(chunk).and_then(OnceLock::get_mut);
        if let Some(audience) = chunk.and_then(|chunk| chunk.0[at].take()) {
            self.heap.fetch_sub(audience.heap(), Ordering::Relaxed);
        }
    }

    /// The audience of an attribute set, which [`Audiences::assign`] must have computed.
    pub fn of(&self, set: &AttrSet) -> &Audience {
        self.at(set.audience())
    }

    /// The audience of a set that had this index.
    pub fn at(&self, number: u32) -> &Audience {
        if number == EVERYONE {
            return &self.everyone;
        }
        let (chunk, at) = place(number);
        let chunk = self.resolved.get(chunk).and_then(OnceLock::get);
        match chunk.and_then(|chunk| chunk.0[at].get()) {
            Some(audience) => audience,
            None => self.resolve_at(number),
        }
    }

    #[cold]
    fn resolve_at(&self, number: u32) -> &Audience {
        let Some(spec) = self.specs.get(number) else {
            return &self.everyone;
        };
        let (chunk, at) = place(number);
        let chunk = self.resolved[chunk].get_or_init(Resolved::new);
        chunk.0[at].get_or_init(|| {
            let audience = self.resolve(spec);
            self.heap.fetch_add(audience.heap(), Ordering::Relaxed);
            audience
        })
    }

    fn resolve(&self, spec: &AudienceSpec) -> Audience {
        let mut audience = Audience::default();
        self.members.each_alike(named(spec), |asn, kind, peers| {
            audience.add(peers, Outcome::of(spec, asn, kind));
        });
        audience
    }

    /// Returns whether routes with these attributes go to everybody without changes, as almost all do. Other sets
    /// need [`Audiences::assign`].
    pub fn is_everyone(&self, attributes: &Attributes<'_>) -> bool {
        self.policy.advertises_unchanged(attributes)
    }

    /// Computes and stores the audience of a set, whatever the number of neighbors and audiences.
    pub fn assign(&mut self, set: &AttrSet) {
        let number = self.specs.number_for(set, &self.policy);
        self.store_number(set, number);
    }

    /// Stores the audience of a set for which the policy has determined `spec`.
    pub fn assign_spec(&mut self, set: &AttrSet, spec: AudienceSpec) {
        let number = self.specs.number_with(set, &self.policy, spec);
        self.store_number(set, number);
    }

    fn store_number(&mut self, set: &AttrSet, number: u32) {
        self.resolved
            .resize_with(self.specs.chunks(), OnceLock::new);
        set.set_audience(number);
        if let Some(search) = &self.search {
            search.mark(set);
        }
        self.note_arrival(set);
    }

    /// From now on keeps the sets that get an audience, until [`Audiences::end_watch`] or until other audiences take the place
    /// of these.
    pub fn watch_arrivals(&mut self) {
        self.arrived = Some(Mutex::default());
    }

    /// A set got an audience.
    pub fn note_arrival(&self, set: &AttrSet) {
        if let Some(arrived) = &self.arrived {
            arrived.lock().push(set.clone());
        }
    }

    /// The sets that got an audience since the last call.
    pub fn take_arrived(&self) -> Vec<SeenSet> {
        let arrived = self.arrived.as_ref();
        let arrived = arrived.map(|arrived| std::mem::take(&mut *arrived.lock()));
        let arrived = arrived.into_iter().flatten();
        arrived.map(|set| self.look_at(set)).collect()
    }

    /// As [`Audiences::take_arrived`]. Further ones are not kept.
    pub fn end_watch(&mut self) -> Vec<SeenSet> {
        let last = self.take_arrived();
        self.arrived = None;
        last
    }

    /// The bytes of the attributes of these sets.
    pub fn arrived_bytes(&self) -> usize {
        let arrived = self.arrived.as_ref();
        arrived.map_or(0, |arrived| {
            arrived.lock().iter().map(|set| set.block().len()).sum()
        })
    }

    /// A set with its present audience.
    pub fn look_at(&self, set: AttrSet) -> SeenSet {
        let number = set.audience();
        SeenSet {
            spec: self.specs.shared(number),
            number,
            set,
        }
    }

    /// Gives present neighbors other properties as clients. O(these + chunks of audiences).
    pub fn change_clients(&mut self, changes: impl Iterator<Item = (PeerId, Client)>) {
        for (peer, client) in changes {
            self.members.remove(peer, &self.policy);
            self.members.add(peer, client, &self.policy);
        }
        self.forget_resolved();
    }

    /// Adds a neighbor. O(chunks of audiences).
    pub fn add_peer(&mut self, peer: PeerId, client: Client) {
        self.members.add(peer, client, &self.policy);
        self.forget_resolved();
    }

    /// Removes neighbors. O(chunks of audiences), whatever their number.
    pub fn remove_peers(&mut self, peers: &[PeerId]) {
        for peer in peers {
            self.members.remove(*peer, &self.policy);
        }
        self.forget_resolved();
    }

    /// The audiences are resolved again where they are needed. The memory is freed later, a chunk at a time.
    fn forget_resolved(&mut self) {
        for chunk in &mut self.resolved {
            if let Some(resolved) = chunk.take() {
                self.leftovers.discard(Box::new(resolved));
            }
        }
        *self.heap.get_mut() = 0;
    }

    /// Returns whether some audience may distinguish two states of a client.
    pub fn distinguish(&self, one: Client, other: Client) -> bool {
        one.asn != other.asn || one.kind(&self.policy) != other.kind(&self.policy)
    }
}

/// The AS numbers that an audience names, sorted.
fn named(spec: &AudienceSpec) -> Vec<Asn> {
    let prepended = spec.prepend.iter().map(|(asn, _)| asn);
    let lists = [
        &spec.except,
        &spec.confirmed,
        &spec.add_no_export_to,
        &spec.add_no_advertise_to,
    ];
    let mut named: Vec<Asn> = lists
        .into_iter()
        .flatten()
        .chain(prepended)
        .copied()
        .collect();
    named.sort_unstable();
    named.dedup();
    named
}

#[cfg(test)]
mod tests {
    use rutter_policy::ExportSettings;

    use super::*;
    use crate::adj_rib_in::attr_set::Summary;
    use crate::adj_rib_in::charges::NOBODY;

    fn audiences() -> (Audiences, Arc<Leftovers>) {
        let leftovers = Arc::default();
        let policy = Arc::new(ExportPolicy::new(ExportSettings::default()));
        (Audiences::new(policy, &leftovers), leftovers)
    }

    fn client(asn: u32) -> Client {
        Client {
            asn: Asn(asn),
            external: true,
            rtt: None,
            receives_blackhole: true,
        }
    }

    fn all_but(asn: u32) -> AudienceSpec {
        AudienceSpec {
            except: vec![Asn(asn)],
            ..AudienceSpec::EVERYONE
        }
    }

    /// Adds the audience of all but one AS and returns its number.
    fn add(audiences: &mut Audiences, asn: u32) -> u32 {
        let number = audiences.specs.number_of(all_but(asn), NOBODY);
        let chunks = audiences.specs.chunks();
        audiences.resolved.resize_with(chunks, OnceLock::new);
        number
    }

    #[test]
    fn a_search_looks_at_few_attribute_sets_in_each_call() {
        let store = AttrStore::new(7);
        let set = |number: u32| store.intern(NOBODY, &number.to_be_bytes(), &[], Summary::default);
        let sets: Vec<AttrSet> = (0..40_000).map(set).collect();
        let (mut audiences, _) = audiences();
        audiences.most = 0;
        let mut calls = 0;
        loop {
            audiences.search_unused(&store);
            calls += 1;
            let Some(search) = &audiences.search else {
                break;
            };
            assert!(search.sets() <= calls * SETS_A_CALL, "{calls} calls");
        }
        let parts = 64;
        assert!(calls <= sets.len() / SETS_A_CALL + parts + 2, "{calls}");
    }

    #[test]
    fn a_search_frees_few_audiences_in_each_call() {
        let store = AttrStore::new(7);
        let (mut audiences, _) = audiences();
        for asn in 0..100_000 {
            add(&mut audiences, asn);
        }
        let mut before = audiences.size().0;
        audiences.search_unused(&store);
        while audiences.search.is_some() {
            audiences.search_unused(&store);
            let now = audiences.size().0;
            assert!(before - now <= FREED_A_CALL as u64);
            before = now;
        }
        assert_eq!(before, 1, "that of everybody is left");
        assert_eq!(add(&mut audiences, 7), 100_000, "a free number is used");
    }

    /// A new audience costs a step for each AS that it names and for each kind of client, however many members there are.
    #[test]
    fn an_audience_is_resolved_in_few_steps_among_many_members() {
        let (mut audiences, _) = audiences();
        for member in 0..1_000 {
            audiences.add_peer(PeerId(member), client(u32::from(member)));
        }
        let spec = AudienceSpec {
            prepend: vec![(Asn(5), 2), (Asn(70_000), 1)],
            ..all_but(7)
        };
        let mut steps = 0;
        let names = named(&spec);
        audiences.members.each_alike(names, |_, _, _| steps += 1);
        assert_eq!(steps, 3, "AS5, AS7, and all others");
        let audience = audiences.resolve(&spec);
        for member in 0..1_000 {
            let peer = PeerId(member);
            assert_eq!(audience.allows(peer), member != 7);
            let prepend = audience.modification(peer).prepend;
            assert_eq!(prepend, if member == 5 { 2 } else { 0 });
        }
    }

    /// A neighbor that comes or goes costs a step a chunk of audiences. Later each slice frees one chunk.
    #[test]
    fn a_neighbor_comes_and_goes_without_a_walk_over_the_audiences() {
        let (mut audiences, leftovers) = audiences();
        audiences.add_peer(PeerId(1), client(1));
        let numbers: Vec<u32> = (0..100_000).map(|asn| add(&mut audiences, asn)).collect();
        for number in &numbers {
            audiences.at(*number);
        }
        let chunks = audiences.resolved.len();
        assert!(chunks <= 100_000 / CHUNK + 1, "{chunks}");
        audiences.add_peer(PeerId(2), client(2));
        assert_eq!(
            audiences.heap.load(Ordering::Relaxed),
            0,
            "none is resolved"
        );
        let mut slices = 1;
        while leftovers.free_some() {
            slices += 1;
        }
        assert_eq!(slices, chunks);
        let allowed = |audiences: &Audiences, asn: usize| {
            let audience = audiences.at(numbers[asn]);
            [1, 2].map(|peer| audience.allows(PeerId(peer)))
        };
        assert_eq!(allowed(&audiences, 1), [false, true]);
        assert_eq!(allowed(&audiences, 2), [true, false]);
        audiences.remove_peers(&[PeerId(2)]);
        assert_eq!(allowed(&audiences, 3), [true, false]);
        audiences.add_peer(PeerId(2), client(1));
        assert_eq!(allowed(&audiences, 1), [false, false], "the id is reused");
    }
}
