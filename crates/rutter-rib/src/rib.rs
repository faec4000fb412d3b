//! The table as the threads see it that move routes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use rutter_net::{Family, PerFamily};
use rutter_policy::ExportPolicy;
use smallvec::SmallVec;

use crate::adj_rib_in::attr_set::AttrStore;
use crate::adj_rib_in::batch::Batch;
use crate::adj_rib_in::leftovers::{Leftovers, SLICE_STEPS};
use crate::adj_rib_in::prefix_lengths::PrefixLengths;
use crate::adj_rib_in::shard::{Apply, Shard};
use crate::advertise::audiences::Audiences;
use crate::advertise::group::Group;
use crate::advertise::memfd_segment::NewFile;
use crate::read::change_log::Watching;
use crate::read::feed::{Feed, FeedEvent, FeedReader};
use crate::read::lookup::Mirror;
use crate::read::snapshot::{summaries, summary};
use crate::topology::{Peer, Topology};
use crate::{
    Intake, Neighbor, PeerId, PeerSummary, RESERVED_IDS, Retain, RouteCounts, TooManyNeighbors,
};

/// Settings of the table as a whole.
#[derive(Clone, Debug)]
pub struct RibConfig {
    /// The number of partitions of prefix space: a power of two, usually the number of I/O threads.
    pub shards: usize,
    /// Our CLUSTER_ID as a route reflector (RFC 4456).
    pub cluster_id: u32,
    /// The limit in bytes on encoded UPDATEs kept for lagging clients, per group: see [`crate::Rib::congested`].
    pub log_limit: usize,
    /// The exchange's action communities.
    pub export: Arc<ExportPolicy>,
    /// A random number that peers do not know. Without it they cannot aim prefixes at one place of the hash tables.
    pub seed: u64,
    /// Compares MULTI_EXIT_DISC between routes of different neighbouring ASes, too (RFC 4271 §9.1.2.2 c).
    pub always_compare_med: bool,
}

/// The table. All threads share it behind an `Arc`; every method takes `&self`.
///
/// Locks are taken in this order: topology, the log of changes, shards by index, a group's stage, its inboxes, the stripes of the
/// attribute store. No thread holds one while it uses a socket.
pub struct Rib {
    pub(crate) topology: RwLock<Topology>,
    pub(crate) shards: Box<[Mutex<Shard>]>,
    /// By family.
    pub(crate) lengths: PerFamily<Arc<PrefixLengths>>,
    pub(crate) leftovers: Arc<Leftovers>,
    pub(crate) store: AttrStore,
    pub(crate) groups: RwLock<Vec<Arc<Group>>>,
    pub(crate) feed: Feed,
    /// The log of changes, while somebody watches.
    pub(crate) watching: Mutex<Watching>,
    /// The mirror that look-ups read, once they are enabled.
    pub(crate) mirror: OnceLock<Arc<Mirror>>,
    pub(crate) seed: u64,
    pub(crate) log_limit: usize,
    pub(crate) cluster_id: u32,
    pub(crate) new_file: OnceLock<NewFile>,
    /// The number of times that a lagging client left its group's log.
    pub(crate) demotions: AtomicU64,
    /// True if something was appended to a log since the last flush.
    pub(crate) published: AtomicBool,
    /// Changes whenever a neighbor or a session changes.
    generation: AtomicU64,
    /// Held while one export policy replaces another.
    pub(crate) export_replacement: Mutex<()>,
    /// Held while unused classes are searched.
    pub(crate) class_search: Mutex<()>,
    /// Streams that are opened now are sent nothing: see [`Rib::defer_advertisement`].
    pub(crate) is_deferred: Arc<AtomicBool>,
}

/// A client that left its group's log costs two bits a destination: see [`crate::advertise::catch_up`].
const MARKS_PER_BYTE: usize = 4;

/// Where there are fewer clients, a slow client is not told from a slow machine.
const MANY_CLIENTS: usize = 4;

/// A log is long from this fraction of its limit on.
const LONG_LOG: usize = 2;

/// The streams of all groups.
#[derive(Clone, Copy, Default)]
pub(crate) struct AllStreams {
    /// Their number.
    pub clients: usize,
    /// The number of slow ones at present.
    pub slow: usize,
    /// The number of those with a backlog of unsent bytes.
    pub backlogged: usize,
}

impl AllStreams {
    /// The number of slow clients up to which they themselves are slow. Where more are slow, the machine may be.
    pub fn few(self) -> usize {
        (self.clients / 8).max(1)
    }

    /// Half of the clients, at least one.
    pub fn half(self) -> usize {
        (self.clients / 2).max(1)
    }

    /// More than half of the clients have no backlog, so the machine is not slow. One or two clients show nothing about it:
    /// to serve them from the table costs little, and otherwise all input would wait for a slow one.
    pub fn most_keep_up(self) -> bool {
        self.clients <= 2 || 2 * self.backlogged < self.clients
    }

    /// More than half of several clients have no backlog: the others are slow, whatever the machine does.
    pub fn surely_keep_up(self) -> bool {
        self.clients >= MANY_CLIENTS && 2 * self.backlogged < self.clients
    }
}

impl Rib {
    /// An empty table without neighbors.
    pub fn new(config: RibConfig) -> Self {
        let shards = config.shards.max(1).next_power_of_two();
        let seed = config.seed;
        let (lengths, leftovers) = Default::default();
        let audiences = Audiences::new(config.export, &leftovers);
        Rib {
            topology: RwLock::new(Topology::new(
                audiences,
                Arc::default(),
                config.always_compare_med,
            )),
            shards: (0..shards)
                .map(|index| Mutex::new(Shard::new(index, seed, &lengths, &leftovers)))
                .collect(),
            lengths,
            leftovers,
            store: AttrStore::new(seed),
            groups: RwLock::default(),
            feed: Feed::default(),
            watching: Mutex::default(),
            mirror: OnceLock::new(),
            seed,
            log_limit: config.log_limit,
            cluster_id: config.cluster_id,
            new_file: OnceLock::new(),
            demotions: AtomicU64::new(0),
            published: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            export_replacement: Mutex::new(()),
            class_search: Mutex::default(),
            is_deferred: Arc::default(),
        }
    }

    /// Sends nothing to clients, and no End-of-RIB, until [`Rib::begin_advertisement`] (RFC 4724 §4.1). Call it before the
    /// first session. The table receives, selects and answers as usual; a waiting client costs two bits a destination.
    pub fn defer_advertisement(&self) {
        self.is_deferred.store(true, Ordering::Release);
    }

    /// Ends [`Rib::defer_advertisement`]: all clients are sent the table, then End-of-RIB. Wake the threads that own
    /// their streams.
    pub fn begin_advertisement(&self) {
        self.is_deferred.store(false, Ordering::Release);
    }

    /// Returns whether clients are sent nothing yet.
    pub fn is_advertisement_deferred(&self) -> bool {
        self.is_deferred.load(Ordering::Acquire)
    }

    /// Keeps long runs of messages for many clients in files that `new_file` makes, for [`ClientStream::file_range`].
    /// Call it before the first session.
    ///
    /// [`ClientStream::file_range`]: crate::ClientStream::file_range
    pub fn use_files(&self, new_file: NewFile) {
        let _ = self.new_file.set(new_file);
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The shard of a prefix by its hash. The index inside a shard uses the low bits and the top seven.
    pub(crate) fn shard_of(&self, hash: u64) -> usize {
        (hash >> 40) as usize & (self.shards.len() - 1)
    }

    /// Adds a neighbor. Fails when all ids are taken, and for a peer of a monitored router or of a file when only
    /// [`RESERVED_IDS`] are left.
    pub fn add_neighbor(&self, neighbor: Neighbor) -> Result<PeerId, TooManyNeighbors> {
        let added = self.topology.write().add(neighbor);
        self.changed();
        added
    }

    /// The number of ids that are free for peers of monitored routers and of files.
    pub fn free_monitored_ids(&self) -> usize {
        self.topology.read().free_ids().saturating_sub(RESERVED_IDS)
    }

    /// Returns the settings of a neighbor, `None` for an id that is not in use.
    pub fn neighbor(&self, peer: PeerId) -> Option<Neighbor> {
        let topology = self.topology.read();
        topology.peer(peer).map(|peer| peer.neighbor.clone())
    }

    /// Applies a batch to the shards and empties it. Returns the steps beyond one for each route: a peer can send many paths
    /// of each prefix, and a change of one costs a step for some of the others. Communities decide how many sets of clients are
    /// computed. With a short message it can have long attributes of other routes sent to clients.
    pub fn commit(&self, batch: &mut Batch) -> usize {
        self.commit_some(batch, usize::MAX)
    }

    /// As [`Rib::commit`], but after so many steps beyond one for each route, at least one, the other routes stay in the
    /// batch. Call it again after others were served, and before anything else of the peer is handled.
    pub fn commit_some(&self, batch: &mut Batch, max_steps: usize) -> usize {
        let (mut more_steps, mut is_done) = (0, true);
        if let Some(peer) = batch.peer()
            && !batch.is_empty()
        {
            batch.conclude();
            let topology = self.topology.read();
            batch.reevaluate_under(&topology);
            let with = Apply {
                topology: &topology,
                store: &self.store,
                peer,
            };
            let max_steps = max_steps.max(1);
            for (index, shard) in self.shards.iter().enumerate() {
                let (ipv4, ipv6) = batch.ops(index);
                if ipv4.is_empty() && ipv6.is_empty() {
                    continue;
                }
                let mut shard = shard.lock();
                let sets = &batch.sets;
                let of_ipv4 =
                    shard.apply(&with, (ipv4, sets), max_steps.saturating_sub(more_steps));
                more_steps += of_ipv4.more_steps;
                let of_ipv6 =
                    shard.apply(&with, (ipv6, sets), max_steps.saturating_sub(more_steps));
                more_steps += of_ipv6.more_steps;
                is_done = of_ipv4.count() + of_ipv6.count() == ipv4.len() + ipv6.len();
                if !is_done {
                    drop(shard);
                    batch.remove_applied(index, (&of_ipv4, &of_ipv6));
                    break;
                }
            }
        }
        if is_done {
            batch.publish(self);
            batch.clear(self);
        }
        more_steps
    }

    /// Returns whether the table has work that nobody waits for: call [`Rib::tidy`] every turn. It costs a load.
    pub fn has_leftovers(&self) -> bool {
        self.leftovers.is_noted()
    }

    /// Does some of the work that nobody waits for, about a tenth of a millisecond. It moves entries of an index that
    /// grows while no more prefixes come. It frees destinations without routes after the last client has caught up, some
    /// memory that was discarded, and the audiences of sets that are gone.
    pub fn tidy(&self) {
        if self.store.take_freed() {
            self.topology.write().audiences.begin_search();
            self.leftovers.note();
        }
        if !self.leftovers.take() {
            return;
        }
        let steps = (SLICE_STEPS / self.shards.len()).max(1);
        let left = self.shards.iter().map(|shard| shard.lock().tidy(steps));
        let left = left.fold(self.search_unused_audiences(), |all, one| all | one);
        if self.leftovers.free_some() || left {
            self.leftovers.note();
        }
    }

    /// Goes on with a search for unused audiences. Returns whether it has not ended.
    fn search_unused_audiences(&self) -> bool {
        let is_complete = {
            let topology = self.topology.read();
            if !topology.audiences.is_searching() {
                return false;
            }
            topology.audiences.scan_some(&self.store, SLICE_STEPS)
        };
        if is_complete {
            self.topology.write().audiences.free_some();
        }
        true
    }

    /// Encodes the records that commits left. Returns `true` when streams may have new messages: wake the threads
    /// that own them. Call it once per loop turn, after the turn's commits.
    pub fn flush(&self) -> bool {
        self.encode(&self.topology.read());
        self.published.swap(false, Ordering::AcqRel)
    }

    /// As [`Rib::flush`], but the next flush still reports the new messages.
    pub(crate) fn encode(&self, topology: &Topology) {
        self.encode_from(1, topology);
    }

    /// As [`Rib::encode`] for groups with at least so many pending records.
    pub(crate) fn encode_from(&self, records: usize, topology: &Topology) {
        for group in self.groups.read().iter() {
            if group.encode(records, topology) {
                self.published.store(true, Ordering::Release);
            }
        }
    }

    /// Returns whether a client may hold a log back. While it is `true`, call [`crate::ClientStream::check_lag`] on every
    /// stream now and then: slow clients leave the log before it is full.
    pub fn has_long_log(&self) -> bool {
        let is_long = |group: &Arc<Group>| group.retained() > self.log_limit / LONG_LOG;
        self.groups.read().iter().any(is_long)
    }

    /// Returns whether clients lag so far behind that more input would only grow buffers. While it is `true`, stop
    /// reading sockets.
    ///
    /// A log may grow to [`RibConfig::log_limit`], and at least to the size that its slow clients would cost outside
    /// of it. Where many clients are slow they go on sharing the log, instead of each being served from the table.
    pub fn congested(&self) -> bool {
        let long = |group: &&Arc<Group>| group.retained() > self.log_limit;
        let state = |group: &Arc<Group>| (group.retained(), group.slow.load(Ordering::Relaxed));
        let long: SmallVec<[_; 4]> = self.groups.read().iter().filter(long).map(state).collect();
        if long.is_empty() {
            return false;
        }
        let marks = self.id_end() / MARKS_PER_BYTE;
        long.iter()
            .any(|(retained, slow)| *retained > self.log_limit.max(slow * marks))
    }

    /// Returns whether more than half of the clients have a backlog of unsent bytes: changes come faster than the
    /// machine can send them. Whatever is read now waits behind the backlog, so read only from neighbors that send
    /// little. A few slow clients do not count: they alone receive everything late.
    pub fn is_output_behind(&self) -> bool {
        let all = self.all_streams();
        all.clients >= MANY_CLIENTS && 2 * all.backlogged > all.clients
    }

    /// Counts the streams.
    pub(crate) fn all_streams(&self) -> AllStreams {
        let mut all = AllStreams::default();
        for group in self.groups.read().iter() {
            all.clients += group.clients.load(Ordering::Relaxed);
            all.slow += group.slow.load(Ordering::Relaxed);
            all.backlogged += group.backlogged.load(Ordering::Relaxed);
        }
        all
    }

    /// The number of ids in use, in all shards and families: a few more than there are destinations.
    fn id_end(&self) -> usize {
        let ids = |shard: &Mutex<Shard>| {
            let shard = shard.lock();
            Family::ALL.map(|family| shard.id_end(family) as usize)
        };
        self.shards.iter().flat_map(ids).sum()
    }

    /// The number of routes of a neighbor, per family.
    pub fn counts(&self, peer: PeerId) -> PerFamily<RouteCounts> {
        let topology = self.topology.read();
        topology
            .peer(peer)
            .map_or_else(Default::default, |peer| peer.counts_by_family())
    }

    /// The routes of a neighbor that are kept, and the others.
    pub fn intake(&self, peer: PeerId) -> Intake {
        let topology = self.topology.read();
        topology
            .peer(peer)
            .map_or_else(Intake::default, Peer::intake)
    }

    /// All routes of a family were requested from a neighbor: those that are not kept from now on are missing.
    pub fn begin_resend(&self, peer: PeerId, family: Family) {
        if let Some(peer) = self.topology.read().peer(peer) {
            peer.counts.begin_resend(family);
        }
    }

    /// Subscribes to the ordered change feed. Events wait in a queue of `capacity`, and of a kilobyte for each of these;
    /// further ones count as a gap. Also returns the neighbors as they are at this point of the feed.
    ///
    /// To follow the table exactly, take a snapshot *after* subscribing, then apply the events to it. Events that the
    /// snapshot already contains change nothing.
    pub fn subscribe(&self, capacity: usize) -> (FeedReader, Vec<PeerSummary>) {
        // Sessions change under the same lock, so no update can be read with another session's capabilities.
        let topology = self.topology.read();
        (self.feed.subscribe(capacity), summaries(&topology))
    }

    /// Publishes the establishment of a session (`unix_us`: wall time in microseconds). Call it after
    /// [`Rib::session_up`] and before the session's first update.
    pub fn publish_peer_up(&self, peer: PeerId, unix_us: u64) {
        self.log_session(peer, None);
        if !self.feed.is_active() {
            return;
        }
        let peer = summary(&self.topology.read(), peer);
        if let Some(peer) = peer.map(Arc::new) {
            self.feed.publish(FeedEvent::PeerUp { peer, unix_us });
        }
    }

    /// Publishes the end of a session (`unix_us`: wall time in microseconds) and the fate of its routes. Call it
    /// before [`Rib::session_down`] with the same `retain`.
    ///
    /// From here on the session counts as ended: a new subscriber learns of the end by the event or by the neighbor's
    /// summary.
    pub fn publish_peer_down(
        &self,
        peer: PeerId,
        retain: PerFamily<Retain>,
        reason: &str,
        unix_us: u64,
    ) {
        self.log_session(peer, Some(reason));
        if !self.feed.is_active() {
            return;
        }
        let mut topology = self.topology.write();
        if let Some(held) = topology.peer_mut(peer) {
            held.session = None;
        }
        self.feed.publish(FeedEvent::PeerDown {
            peer,
            unix_us,
            retained: retain.map(|retain| retain == Retain::Stale),
            reason: reason.into(),
        });
    }

    /// The number of routes that were added, changed, removed or advertised again so far: how busy the table is, not
    /// an exact count.
    pub fn changes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().changes).sum()
    }

    /// The number of verdicts that lost their marks because more classes are in use than a route can name. A route that
    /// filters change is rejected instead. See [`Rib::restore_marks`].
    pub fn unmarked_verdicts(&self) -> u64 {
        self.topology.read().classes.overflows()
    }

    /// The number of times that a lagging client left the shared log and was served from the table instead.
    pub fn demotions(&self) -> u64 {
        self.demotions.load(Ordering::Relaxed)
    }
}
