//! A group: clients that receive the same messages. Changes are encoded once for all of them, in one stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use parking_lot::Mutex;
use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix};

use crate::adj_rib_in::route::Route;
use crate::advertise::audience::Modification;
use crate::advertise::client_stream::LONG_RANGE;
use crate::advertise::encode::{MessageWriter, Nlri, RewriteRules, Sender, Style};
use crate::advertise::log::{Log, Recipients, Run, Segment};
use crate::advertise::memfd_segment::{NewFile, SegmentFile};
use crate::advertise::octet_count::SLICE_OCTETS;
use crate::advertise::recorder::Record;
use crate::topology::Topology;
use crate::{AttrSet, PeerId};

/// The records of one shard that wait to be encoded, in the order of the shard's changes.
#[derive(Default)]
pub(crate) struct Inbox {
    pub ipv4: Vec<Record<Ipv4Prefix>>,
    pub ipv6: Vec<Record<Ipv6Prefix>>,
}

impl Inbox {
    /// Releases the memory unless it is in use.
    pub fn release_if_empty(&mut self) {
        if self.ipv4.is_empty() && self.ipv6.is_empty() {
            *self = Inbox::default();
        }
    }
}

/// A group of clients with one style.
pub(crate) struct Group {
    pub style: Style,
    /// One per shard; filled under the shard's lock.
    pub inboxes: Box<[Mutex<Inbox>]>,
    /// The number of records in the inboxes.
    pub pending_records: AtomicUsize,
    /// The octets of their attributes at most, beyond those of usual sets.
    pub pending_octets: AtomicUsize,
    /// Serialises encoding and appending. Taken after shard locks, before inbox locks.
    pub stage: Mutex<Stage>,
    /// The position after the last byte appended.
    pub end: AtomicU64,
    /// The furthest position that any client has read.
    pub lead: AtomicU64,
    /// The streams of the group, and how many of them are slow at present.
    pub clients: AtomicUsize,
    pub slow: AtomicUsize,
    /// The streams that have a backlog: see [`crate::Rib::is_output_behind`].
    pub backlogged: AtomicUsize,
    /// Bytes of the log that some client has yet to read.
    retained: Arc<AtomicUsize>,
    /// Makes files for copies of long segments.
    new_file: Option<NewFile>,
}

/// The encoder of a group and the writing end of its log.
pub(crate) struct Stage {
    pub log: Log,
    segment_file: SegmentFile,
    ipv4: Encoder<Ipv4Prefix>,
    ipv6: Encoder<Ipv6Prefix>,
    writer: MessageWriter,
    runs: Vec<Run>,
}

impl Stage {
    fn new(seed: u64) -> Self {
        Stage {
            log: Log::default(),
            segment_file: SegmentFile::default(),
            ipv4: Encoder::new(seed),
            ipv6: Encoder::new(seed),
            writer: MessageWriter::default(),
            runs: Vec::new(),
        }
    }
}

/// Message subtypes of RFC 7313.
pub(crate) const BEGIN_OF_REFRESH: u8 = 1;
pub(crate) const END_OF_REFRESH: u8 = 2;

/// A segment is closed at this size in bytes, so that readers can free the segments that they passed.
const SEGMENT_LEN: usize = 128 * 1024;

/// From this number of clients on, one copy in a file is cheaper than their copies in sockets.
const MANY_CLIENTS: usize = 8;

impl Group {
    pub fn new(style: Style, shards: usize, seed: u64, new_file: Option<NewFile>) -> Self {
        let stage = Stage::new(seed);
        Group {
            style,
            inboxes: (0..shards).map(|_| Mutex::default()).collect(),
            pending_records: AtomicUsize::new(0),
            pending_octets: AtomicUsize::new(0),
            retained: Arc::clone(stage.log.retained()),
            stage: Mutex::new(stage),
            end: AtomicU64::new(0),
            lead: AtomicU64::new(0),
            clients: AtomicUsize::new(0),
            slow: AtomicUsize::new(0),
            backlogged: AtomicUsize::new(0),
            new_file,
        }
    }

    /// Returns whether copies in files are worth it.
    fn new_file(&self) -> Option<NewFile> {
        let many = self.clients.load(Ordering::Relaxed) >= MANY_CLIENTS;
        self.new_file.filter(|_| many)
    }

    /// Encodes the pending records and appends the messages to the log, if there are at least so many (and one), or their
    /// attributes are long. Returns whether it did.
    pub fn encode(&self, records: usize, topology: &Topology) -> bool {
        if self.pending_records.load(Ordering::Acquire) < records
            && self.pending_octets.load(Ordering::Relaxed) < SLICE_OCTETS
        {
            return false;
        }
        self.encode_with(&mut self.stage.lock(), topology)
    }

    /// As [`Group::encode`] for a caller that holds the stage.
    pub fn encode_with(&self, stage: &mut Stage, topology: &Topology) -> bool {
        if self.pending_records.swap(0, Ordering::AcqRel) == 0 {
            return false;
        }
        self.pending_octets.store(0, Ordering::Relaxed);
        for inbox in &self.inboxes {
            let mut inbox = inbox.lock();
            stage.ipv4.take(&mut inbox.ipv4);
            stage.ipv6.take(&mut inbox.ipv6);
        }
        let Stage {
            log,
            segment_file,
            ipv4,
            ipv6,
            writer,
            runs,
        } = stage;
        let mut sink = Sink {
            group: self,
            topology,
            writer,
            runs,
            log,
            segment_file,
            blocks: Vec::new(),
        };
        ipv4.encode(&mut sink);
        ipv6.encode(&mut sink);
        sink.close_segment();
        true
    }

    /// Releases working memory that a burst left behind.
    pub fn release_buffers(&self) {
        let mut stage = self.stage.lock();
        if self.pending_records.load(Ordering::Acquire) > 0 {
            return;
        }
        stage.ipv4 = Encoder::new(stage.ipv4.seed);
        stage.ipv6 = Encoder::new(stage.ipv6.seed);
        stage.writer = MessageWriter::default();
        stage.runs = Vec::new();
        stage.segment_file = SegmentFile::default();
        for inbox in &self.inboxes {
            inbox.lock().release_if_empty();
        }
        if let Some(filter) = &self.style.filter {
            filter.forget();
        }
    }

    /// Bytes of the log that some client has yet to read, copies in files included.
    pub fn retained(&self) -> usize {
        self.retained.load(Ordering::Relaxed)
    }
}

/// The destination of encoded messages.
struct Sink<'a> {
    group: &'a Group,
    topology: &'a Topology,
    writer: &'a mut MessageWriter,
    runs: &'a mut Vec<Run>,
    log: &'a mut Log,
    segment_file: &'a mut SegmentFile,
    /// Scratch memory for rewritten attributes.
    blocks: Vec<u8>,
}

impl Sink<'_> {
    fn end_run(&mut self, to: &Recipients) {
        let end = self.writer.bytes.len() as u32;
        match self.runs.last_mut() {
            Some(run) if run.to == *to => run.end = end,
            Some(run) if run.end == end => {}
            None if end == 0 => {}
            _ => self.runs.push(Run {
                end,
                to: to.clone(),
            }),
        }
        if self.writer.bytes.len() >= SEGMENT_LEN {
            self.close_segment();
        }
    }

    fn close_segment(&mut self) {
        if self.writer.bytes.is_empty() {
            return;
        }
        let bytes: Box<[u8]> = self.writer.bytes.as_slice().into();
        self.writer.bytes.clear();
        let runs: Box<[Run]> = self.runs.drain(..).collect();
        let new_file = self.group.new_file().filter(|_| bytes.len() >= LONG_RANGE);
        let place = new_file.and_then(|new_file| self.segment_file.append(&bytes, new_file));
        self.log.append((bytes, place), runs, &self.group.end);
        if self.writer.bytes.capacity() > 2 * SEGMENT_LEN {
            self.writer.bytes.shrink_to(SEGMENT_LEN);
        }
    }
}

/// Records with the same attributes for the same clients: the NLRI of as few UPDATEs as possible.
struct Bucket {
    set: Option<AttrSet>,
    to: Recipients,
    sender: PeerId,
    modification: Modification,
    /// The number of earlier changes of its prefixes in the same turn. Buckets are written round by round, so that
    /// the messages about one prefix keep their order.
    round: u32,
    count: u32,
}

/// Sorts records into buckets and writes the buckets.
struct Encoder<K> {
    /// The table's seed: peers choose the prefixes that are hashed here.
    seed: u64,
    records: Vec<Record<K>>,
    buckets: Vec<Bucket>,
    /// The bucket of each record since the last write.
    bucket_of: Vec<u32>,
    by_content: HashTable<u32>,
    /// The last record that opened a change of each prefix, with its round: see [`Bucket::round`].
    seen: HashTable<(u32, u32)>,
    order: Vec<u32>,
}

impl<K> Encoder<K> {
    fn new(seed: u64) -> Self {
        Encoder {
            seed,
            records: Vec::new(),
            buckets: Vec::new(),
            bucket_of: Vec::new(),
            by_content: HashTable::new(),
            seen: HashTable::new(),
            order: Vec::new(),
        }
    }
}

impl<K: Nlri> Encoder<K> {
    fn take(&mut self, inbox: &mut Vec<Record<K>>) {
        if self.records.is_empty() {
            std::mem::swap(&mut self.records, inbox);
        } else {
            self.records.append(inbox);
        }
    }

    fn encode(&mut self, sink: &mut Sink<'_>) {
        let records = std::mem::take(&mut self.records);
        // If the table grew on its own, it would look every prefix up again.
        let seed = self.seed;
        self.seen.reserve(records.len(), |(record, _)| {
            records[*record as usize].prefix.seeded_hash(seed)
        });
        let mut round = 0;
        for (index, record) in records.iter().enumerate() {
            if record.opens_change {
                round = self.round_of(&records, index);
            }
            self.sort_in(record, round);
        }
        self.write(&records, sink);
        self.recycle(records);
    }

    /// Keeps the allocation for the next turn unless a burst made it large.
    fn recycle(&mut self, mut records: Vec<Record<K>>) {
        records.clear();
        if records.capacity() <= 16 * 1024 {
            self.records = records;
        } else {
            *self = Encoder::new(self.seed);
        }
    }

    fn round_of(&mut self, records: &[Record<K>], index: usize) -> u32 {
        let (prefix, seed) = (records[index].prefix, self.seed);
        let entry = self.seen.entry(
            prefix.seeded_hash(seed),
            |(record, _)| records[*record as usize].prefix == prefix,
            |(record, _)| records[*record as usize].prefix.seeded_hash(seed),
        );
        match entry {
            Entry::Occupied(mut seen) => {
                let (record, round) = seen.get_mut();
                *record = index as u32;
                *round += 1;
                *round
            }
            Entry::Vacant(vacant) => {
                vacant.insert((index as u32, 0));
                0
            }
        }
    }

    fn sort_in(&mut self, record: &Record<K>, round: u32) {
        if let Some(last) = self.bucket_of.last().copied()
            && self.buckets[last as usize].holds(record, round)
        {
            self.buckets[last as usize].count += 1;
            self.bucket_of.push(last);
            return;
        }
        let hash = content_hash(&record.set, record.sender);
        let buckets = &self.buckets;
        let found = self
            .by_content
            .find(hash, |index| buckets[*index as usize].holds(record, round))
            .copied();
        let index = found.unwrap_or_else(|| {
            let index = self.buckets.len() as u32;
            self.buckets.push(Bucket {
                set: record.set.clone(),
                to: record.to.clone(),
                sender: record.sender,
                modification: record.modification,
                round,
                count: 0,
            });
            let buckets = &self.buckets;
            self.by_content.insert_unique(hash, index, |index| {
                let bucket = &buckets[*index as usize];
                content_hash(&bucket.set, bucket.sender)
            });
            index
        });
        self.buckets[index as usize].count += 1;
        self.bucket_of.push(index);
    }

    /// Writes the buckets round by round, those for the same clients next to each other.
    fn write(&mut self, records: &[Record<K>], sink: &mut Sink<'_>) {
        debug_assert_eq!(records.len(), self.bucket_of.len());
        let mut ends = Vec::with_capacity(self.buckets.len());
        let mut end = 0;
        for bucket in &self.buckets {
            ends.push(end);
            end += bucket.count;
        }
        self.order.clear();
        self.order.resize(records.len(), 0);
        for (record, bucket) in self.bucket_of.iter().enumerate() {
            let place = &mut ends[*bucket as usize];
            self.order[*place as usize] = record as u32;
            *place += 1;
        }
        let mut buckets: Vec<u32> = (0..self.buckets.len() as u32).collect();
        buckets.sort_by_key(|index| {
            let bucket = &self.buckets[*index as usize];
            (bucket.round, run_key(&bucket.to))
        });
        for index in buckets {
            let bucket = &self.buckets[index as usize];
            let end = ends[index as usize] as usize;
            let members = &self.order[end - bucket.count as usize..end];
            let members = members.iter().map(|record| &records[*record as usize]);
            sink.write_bucket(bucket, members);
        }
        self.buckets.clear();
        self.bucket_of.clear();
        self.by_content.clear();
        self.seen.clear();
    }
}

impl Bucket {
    fn holds<K>(&self, record: &Record<K>, round: u32) -> bool {
        let same_set = match (&self.set, &record.set) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        };
        same_set
            && self.round == round
            && (self.set.is_none() || self.sender == record.sender)
            && self.modification == record.modification
            && self.to == record.to
    }
}

fn content_hash(set: &Option<AttrSet>, sender: PeerId) -> u64 {
    let address = set.as_ref().map_or(0, AttrSet::address) as u64;
    let product = u128::from(address ^ u64::from(sender.0) << 48) * 0x9e37_79b9_7f4a_7c15_u128;
    (product as u64) ^ (product >> 64) as u64
}

/// A key that sorts buckets with equal recipients together.
fn run_key(to: &Recipients) -> (u8, u64) {
    match to {
        Recipients::AllBut(a, b) => (0, u64::from(a.0) << 16 | u64::from(b.0)),
        Recipients::Set(set) => (1, set.digest()),
        Recipients::Only(peer) => (2, u64::from(peer.0)),
    }
}

impl Sink<'_> {
    fn write_bucket<'r, K: Nlri>(
        &mut self,
        bucket: &Bucket,
        members: impl Iterator<Item = &'r Record<K>> + Clone,
    ) {
        let add_path = self.group.style.add_path[K::FAMILY];
        let prefixes = members.map(|r| (r.prefix, add_path.then_some(r.path_id)));
        write_messages(
            self.writer,
            &mut self.blocks,
            &self.group.style,
            self.topology,
            bucket.set.as_ref().map(|set| Advertisement {
                set,
                sender: bucket.sender,
                modification: bucket.modification,
            }),
            prefixes,
        );
        self.end_run(&bucket.to);
    }
}

/// A route as a message announces it.
#[derive(Clone, Copy)]
pub(crate) struct Advertisement<'a> {
    pub set: &'a AttrSet,
    pub sender: PeerId,
    pub modification: Modification,
}

impl<'a> Advertisement<'a> {
    /// A route with this modification.
    pub fn of(route: &'a Route, modification: Modification) -> Self {
        Advertisement {
            set: &route.attrs,
            sender: route.peer,
            modification,
        }
    }

    /// Appends the attributes that clients of a style are sent. Returns the next hop octets for MP_REACH_NLRI; `None`
    /// where the NLRI go into the message's own field.
    pub fn write<'s>(
        &'s self,
        style: &Style,
        topology: &Topology,
        family: Family,
        block: &mut Vec<u8>,
        own: &'s mut [u8; 16],
    ) -> Option<&'s [u8]> {
        let rules = RewriteRules {
            policy: topology.audiences.policy(),
            classes: &topology.classes,
            class: self.modification.class,
        };
        let sender = sender_of(topology, self.sender);
        style.write_attributes(block, self.set, family, self.modification, sender, rules);
        style.mp_next_hop(self.set, family, rules, own)
    }
}

/// Writes prefixes that share attributes, or withdrawn ones.
pub(crate) fn write_messages<K: Nlri>(
    writer: &mut MessageWriter,
    block: &mut Vec<u8>,
    style: &Style,
    topology: &Topology,
    advertisement: Option<Advertisement<'_>>,
    prefixes: impl Iterator<Item = (K, Option<u32>)> + Clone,
) {
    let Some(advertisement) = advertisement else {
        return writer.withdraw(prefixes);
    };
    block.clear();
    let mut own = [0; 16];
    let next_hop = advertisement.write(style, topology, K::FAMILY, block, &mut own);
    let max = style.max_message_len;
    writer.announce(block, next_hop, max, prefixes);
}

pub(crate) fn sender_of(topology: &Topology, peer: PeerId) -> Sender {
    let rank = topology.ranks.get(peer.index());
    Sender {
        internal: rank.is_some_and(|rank| !rank.external),
        bgp_id: rank.map_or(0, |rank| rank.bgp_id),
        asn: topology
            .peer(peer)
            .map_or(Asn(0), |peer| peer.neighbor.remote_asn),
        default_local_pref: rank.map_or(100, |rank| rank.default_local_pref),
    }
}

/// A segment of bytes for one client alone, outside the group's log.
pub(crate) fn private_segment(bytes: &[u8], peer: PeerId) -> Arc<Segment> {
    let run = Run {
        end: bytes.len() as u32,
        to: Recipients::Only(peer),
    };
    let runs = Box::from([run]);
    Arc::new(Segment::new(bytes.into(), runs, 0, &Arc::default()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::adj_rib_in::table::Key;
    use crate::advertise::test_support::plain_style;

    /// With a seed that everybody can read a peer could choose such prefixes.
    #[test]
    fn prefixes_that_collide_under_another_seed_do_not_collide_in_the_encoder() {
        let group = Group::new(plain_style(), 1, 7, None);
        let seed = group.stage.lock().ipv6.seed;
        let low_bits = |prefix: &Ipv6Prefix, seed| prefix.seeded_hash(seed) & 0xfff;
        let all = (0..1_000_000).filter_map(|number: u128| Ipv6Prefix::new(number << 80, 48));
        let colliding: Vec<Ipv6Prefix> = all.filter(|p| low_bits(p, 0x5eed) == 0).collect();
        let places: BTreeSet<u64> = colliding.iter().map(|p| low_bits(p, seed)).collect();
        assert!(colliding.len() > 100);
        assert!(places.len() > colliding.len() * 3 / 4, "{}", places.len());
    }
}
