//! The outbound stream of one client: shared segments of its group's log, or its own catch-up from the table.

mod handover;
mod joined_group;
mod pace;
mod send_queue;

pub use send_queue::FileRange;
pub(crate) use send_queue::LONG_RANGE;

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix};

use joined_group::JoinedGroup;
use send_queue::SendQueue;

use crate::adj_rib_in::leftovers::Leftovers;
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::advertise::catch_up::{Ending, Phase};
use crate::advertise::encode::MessageWriter;
use crate::advertise::export_view::GroupScope;
use crate::advertise::group::{BEGIN_OF_REFRESH, Group, write_messages};
use crate::advertise::lines::{Destination, Lines, SortedLines};
use crate::advertise::log::{FREED_AT_ONCE, Segment, UnreadSegments};
use crate::advertise::octet_count::SLICE_OCTETS;
use crate::advertise::unsent::Unsent;
use crate::topology::Topology;
use crate::{PeerId, Rib};

/// The bytes still to be written to one client.
///
/// The thread that owns the socket owns it. Memory for a client that reads nothing is bounded: the gathered bytes,
/// and the group's log up to its limit. Then the client leaves the log and costs two bits a destination.
pub struct ClientStream {
    peer: PeerId,
    group: JoinedGroup,
    /// The last segment of the log that was gathered from. It is `None` while catching up: a held segment keeps all
    /// later ones. For the same reason `queue` then holds no part of the log.
    cursor: Option<Arc<Segment>>,
    /// The bytes of the segment after `cursor` that are discarded already.
    discarded: u32,
    queue: SendQueue,
    phase: Phase,
    /// The group of another style that the client joins once it has read the log of its present one.
    next_group: Option<Arc<Group>>,
    /// [`Rib::defer_advertisement`].
    is_deferred: Arc<AtomicBool>,
    leftovers: Arc<Leftovers>,
    ending: Ending,
    /// The time when the socket last accepted bytes, for [`ClientStream::check_lag`].
    progress_ms: u64,
    /// The time of the last [`ClientStream::check_lag`].
    checked_ms: u64,
    writer: MessageWriter,
}

/// The announcements and withdrawals of a slice of the table for one client.
struct ReadSlice {
    ipv4: SortedLines<Ipv4Prefix>,
    ipv6: SortedLines<Ipv6Prefix>,
    /// The number of destinations in the slice.
    destinations: usize,
}

impl ReadSlice {
    /// The octets of attributes that were read for it.
    fn octets(&self) -> usize {
        self.ipv4.octets + self.ipv6.octets
    }
}

/// The destinations visited under one hold of a shard's lock.
const SLICE: usize = 1024;
/// The routes visited under one hold of a shard's lock, but for those of the last destination.
const SLICE_ROUTES: usize = 8 * 1024;
/// The part of the log that is turned into marks at once, bytes of memory. A slice also ends after some marks.
const DISCARDED_AT_ONCE: u64 = 128 * 1024;
/// The slices without anything for the client that one call visits.
const MAX_SILENT_SLICES: usize = 8;
/// The number of destinations that are cheap enough to finish while all shards are locked.
const LAST: usize = 256;
impl ClientStream {
    pub(crate) fn new(rib: &Rib, peer: PeerId, group: Arc<Group>) -> Self {
        ClientStream {
            peer,
            group: JoinedGroup::new(group),
            cursor: None,
            discarded: 0,
            queue: SendQueue::default(),
            phase: Phase::Deferred,
            next_group: None,
            is_deferred: Arc::clone(&rib.is_deferred),
            leftovers: Arc::clone(&rib.leftovers),
            ending: Ending {
                end_of_rib: true,
                ..Ending::default()
            },
            progress_ms: 0,
            checked_ms: 0,
            writer: MessageWriter::default(),
        }
    }

    /// The client.
    pub fn peer(&self) -> PeerId {
        self.peer
    }

    /// Gathers up to about `max_bytes` to send: from the group's log, or from the table while catching up. Where the
    /// table has little for the client, this ends sooner and [`ClientStream::has_more`] stays true.
    pub fn fill(&mut self, rib: &Rib, max_bytes: usize) {
        let (mut silent, mut octets) = (0, 0);
        while self.queue.len() < max_bytes {
            let before = self.queue.len();
            match self.phase {
                Phase::Deferred if self.is_deferred.load(Ordering::Acquire) => break,
                Phase::Deferred => {
                    self.phase = Phase::CatchingUp;
                    continue;
                }
                Phase::Live => self.follow(max_bytes, u64::MAX),
                Phase::Leaving { until } => {
                    self.follow(max_bytes, until);
                    if self.position() >= until {
                        self.stop_following();
                        break;
                    }
                }
                Phase::Discarding { until } => {
                    self.discard(rib, until);
                    break;
                }
                Phase::CatchingUp => octets += self.catch_up(rib),
            }
            if self.queue.len() == before {
                silent += 1;
                if self.phase == Phase::Live || silent == MAX_SILENT_SLICES {
                    break;
                }
            }
            if octets >= SLICE_OCTETS {
                break;
            }
        }
    }

    /// Returns whether the next bytes come from the table instead of the log: a [`ClientStream::fill`] takes long.
    pub fn is_catching_up(&self) -> bool {
        match self.phase {
            Phase::Deferred => !self.is_deferred.load(Ordering::Acquire),
            phase => phase == Phase::CatchingUp,
        }
    }

    /// Returns whether [`ClientStream::fill`] would find anything; a few loads, no lock.
    pub fn has_more(&self) -> bool {
        match self.phase {
            Phase::Live => self.next_segment().is_some(),
            Phase::Deferred => !self.is_deferred.load(Ordering::Acquire),
            Phase::Leaving { .. } | Phase::Discarding { .. } | Phase::CatchingUp => true,
        }
    }

    fn next_segment(&self) -> Option<&Arc<Segment>> {
        self.cursor.as_ref()?.next()
    }

    /// The position in the log up to which bytes were gathered.
    fn position(&self) -> u64 {
        self.cursor.as_ref().map_or(u64::MAX, |cursor| cursor.end)
    }

    fn stop_following(&mut self) {
        self.cursor = None;
        self.phase = Phase::CatchingUp;
        self.queue.detach(self.peer);
        if let Some(group) = self.next_group.take() {
            self.group = JoinedGroup::new(group);
        }
    }

    /// Changes the style of the client's messages to that of another group. The families and Add-Path stay as
    /// negotiated.
    pub(crate) fn restyle(&mut self, rib: &Rib, group: Arc<Group>) {
        if self.phase == Phase::Deferred {
            self.group = JoinedGroup::new(group);
            return;
        }
        self.leave_log(rib);
        // Before the first change of style takes effect, a second one only replaces it.
        if self.next_group.is_none() {
            for shard in &rib.shards {
                shard.lock().restyle(self.peer, &self.group.style);
            }
        }
        match self.phase {
            Phase::CatchingUp => self.group = JoinedGroup::new(group),
            _ => self.next_group = Some(group),
        }
    }

    fn follow(&mut self, max_bytes: usize, until: u64) {
        while self.queue.len() < max_bytes && self.position() < until {
            let Some(next) = self.next_segment().map(Arc::clone) else {
                break;
            };
            self.queue.push_for(self.peer, &next);
            self.cursor = Some(next);
        }
        self.group
            .lead
            .fetch_max(self.position(), Ordering::Relaxed);
    }

    fn push_private(&mut self) {
        if self.writer.bytes.is_empty() {
            return;
        }
        self.queue.push_private(self.peer, &self.writer.bytes);
        self.writer.bytes.clear();
    }

    /// Runs one slice of catch-up. Goes live when nothing is left. Returns the octets of attributes that it read.
    fn catch_up(&mut self, rib: &Rib) -> usize {
        let topology = rib.topology.read();
        let mut left = 0;
        for shard in &rib.shards {
            let mut shard = shard.lock();
            let slice = self.read_slice(&mut shard, &topology, SLICE);
            left += shard
                .clients
                .catching_up(self.peer)
                .map_or(0, |one| one.left());
            drop(shard);
            if slice.destinations > 0 {
                self.write_slice(&topology, &slice);
                self.push_private();
                return slice.octets();
            }
        }
        if left <= LAST {
            self.go_live(rib, &topology);
        }
        self.push_private();
        0
    }

    /// Takes up to `most` marked destinations of each family, fewer where they have many routes or long attributes.
    fn read_slice(&self, shard: &mut Shard, topology: &Topology, most: usize) -> ReadSlice {
        let mut destinations = 0;
        let ipv4 = self.read_family(shard, topology, most, SLICE_OCTETS, &mut destinations);
        // Each family gets on, whatever the other needs.
        let rest = SLICE_OCTETS.saturating_sub(ipv4.octets);
        let rest = rest.max(SLICE_OCTETS / 4);
        let ipv6 = self.read_family(shard, topology, most, rest, &mut destinations);
        ReadSlice {
            ipv4,
            ipv6,
            destinations,
        }
    }

    fn read_family<K: Stored>(
        &self,
        shard: &mut Shard,
        topology: &Topology,
        most: usize,
        octets: usize,
        destinations: &mut usize,
    ) -> SortedLines<K> {
        let scope = GroupScope {
            topology,
            style: &self.group.style,
        };
        let mut lines = Lines::new(scope, self.peer);
        let (table, clients) = K::split(shard);
        let Some(client) = clients.catching_up(self.peer) else {
            return lines.sorted();
        };
        let former = client.former().cloned();
        let former = { former.as_ref() }.map(|style| GroupScope { style, ..scope });
        let (mut ids, mut routes) = (Vec::new(), 0);
        while ids.len() < most && routes < SLICE_ROUTES && lines.octets() < octets {
            let Some((id, changed)) = client.take_next(K::FAMILY) else {
                break;
            };
            ids.push(id);
            let held = client.take_paths(K::FAMILY, id);
            if id < table.id_end() {
                routes += table.get(id).routes.len();
                let destination = Destination::of(table, id);
                lines.add(&destination, changed, &held, former.as_ref());
            }
        }
        *destinations += ids.len();
        let lines = lines.sorted();
        shard.free_unheld::<K>(ids.into_iter());
        lines
    }

    fn write_slice(&mut self, topology: &Topology, slice: &ReadSlice) {
        self.write_lines(topology, &slice.ipv4);
        self.write_lines(topology, &slice.ipv6);
    }

    fn write_lines<K: Stored>(&mut self, topology: &Topology, lines: &SortedLines<K>) {
        let mut block = Vec::new();
        let mut write = |announced, prefixes: &[(K, Option<u32>)]| {
            write_messages(
                &mut self.writer,
                &mut block,
                &self.group.style,
                topology,
                announced,
                prefixes.iter().copied(),
            );
        };
        write(None, lines.withdrawn());
        for (announced, prefixes) in lines.announced() {
            write(Some(announced), prefixes);
        }
    }

    /// Locks every shard, sends the last few destinations, then follows the log from its end.
    fn go_live(&mut self, rib: &Rib, topology: &Topology) {
        let mut shards: Vec<_> = rib.shards.iter().map(|shard| shard.lock()).collect();
        let left: usize = shards
            .iter_mut()
            .map(|shard| shard.clients.catching_up(self.peer).map_or(0, |c| c.left()))
            .sum();
        if left > LAST {
            return;
        }
        let mut octets = 0;
        for shard in &mut shards {
            loop {
                let slice = self.read_slice(shard, topology, LAST);
                if slice.destinations == 0 {
                    break;
                }
                self.write_slice(topology, &slice);
                octets += slice.octets();
                if octets >= SLICE_OCTETS {
                    // More may be left: the next slice comes without the locks.
                    return;
                }
            }
        }
        let mut stage = self.group.stage.lock();
        if self.group.encode_with(&mut stage, topology) {
            rib.published.store(true, Ordering::Release);
        }
        self.cursor = Some(stage.log.tail());
        drop(stage);
        for shard in &mut shards {
            shard.end_catch_up(self.peer);
            if self.group.style.advertises {
                shard.clients.join(self.peer, self.group.shared());
            }
        }
        drop(shards);
        self.phase = Phase::Live;
        self.ending.write(&self.group.style, &mut self.writer);
    }

    /// Advertises a family again (RFC 2918, RFC 7313).
    pub(crate) fn refresh(&mut self, rib: &Rib, family: Family, framed: bool) {
        // While advertisement is deferred nothing has been sent, and everything will be.
        if !self.group.style.families[family] || self.phase == Phase::Deferred {
            return;
        }
        self.leave_log(rib);
        for shard in &rib.shards {
            let mut shard = shard.lock();
            match family {
                Family::Ipv4Unicast => shard.mark_all::<Ipv4Prefix>(self.peer),
                Family::Ipv6Unicast => shard.mark_all::<Ipv6Prefix>(self.peer),
            }
        }
        if framed {
            self.writer.route_refresh(family, BEGIN_OF_REFRESH);
            self.ending.end_of_refresh[family] = true;
        }
    }

    /// Stops following the log: later changes become marks. The client still reads the messages that were appended
    /// before.
    fn leave_log(&mut self, rib: &Rib) {
        if self.phase != Phase::Live {
            return;
        }
        let topology = rib.topology.read();
        let mut shards: Vec<_> = rib.shards.iter().map(|shard| shard.lock()).collect();
        for shard in &mut shards {
            shard.clients.leave(self.peer);
            shard.begin_catch_up(self.peer, &self.group.style);
        }
        let mut stage = self.group.stage.lock();
        if self.group.encode_with(&mut stage, &topology) {
            rib.published.store(true, Ordering::Release);
        }
        let until = stage.log.tail().end;
        self.phase = Phase::Leaving { until };
    }

    /// Returns whether the client has left the log and its unread part is being discarded: call
    /// [`ClientStream::discard_some`] every turn.
    pub fn is_discarding(&self) -> bool {
        matches!(self.phase, Phase::Discarding { .. })
    }

    /// Discards some of the log that the client left unread. It is sent the present state of the destinations in it
    /// later.
    pub fn discard_some(&mut self, rib: &Rib) {
        if let Phase::Discarding { until } = self.phase {
            self.discard(rib, until);
        }
    }

    /// Turns a slice of the unsent part of the log into marks. The log may be long, and others wait.
    fn discard(&mut self, rib: &Rib, until: u64) {
        let mut unsent = Unsent::new(rib, self.peer, self.group.style.add_path);
        let end = until.min(self.position() + DISCARDED_AT_ONCE);
        while self.position() < end {
            let Some(next) = self.next_segment().map(Arc::clone) else {
                break;
            };
            let is_read = next.ranges_for(self.peer).all(|(start, end)| {
                let start = start.max(self.discarded);
                if start < end {
                    let read = unsent.read(&next.bytes[start as usize..end as usize]);
                    self.discarded = start + read as u32;
                }
                self.discarded >= end
            });
            if !is_read {
                break;
            }
            self.discarded = 0;
            self.cursor = Some(next);
        }
        unsent.finish();
        if self.position() >= until {
            self.stop_following();
            rib.demotions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Leaves the segments of the log that only this client held to be freed in slices: they may be all of the log.
    fn discard_segments(&mut self) {
        let mut held: VecDeque<_> = self.queue.take_segments().collect();
        held.extend(self.cursor.take());
        let end = self.group.end.load(Ordering::Relaxed);
        let first = held.iter().find(|segment| segment.next().is_some());
        let unread = first.map_or(0, |segment| end.saturating_sub(segment.end));
        if unread > FREED_AT_ONCE as u64 {
            self.leftovers.discard(Box::new(UnreadSegments::new(held)));
        }
    }

    /// Returns the next bytes as shared slices (at most 1,024), up to the next [`ClientStream::file_range`].
    #[inline]
    pub fn slices<'a>(&'a self, out: &mut Vec<IoSlice<'a>>) {
        self.queue.slices(out);
    }

    /// Returns the next bytes where they lie in a file and are long, so that the kernel need not copy them.
    /// [`ClientStream::slices`] has the same bytes.
    #[inline]
    pub fn file_range(&self) -> Option<FileRange<'_>> {
        self.queue.file_range()
    }

    /// Notes that the socket accepted this many bytes of [`ClientStream::slices`] or [`ClientStream::file_range`].
    pub fn consume(&mut self, written: usize, now_ms: u64) {
        if written > 0 {
            self.progress_ms = now_ms;
        }
        self.queue.consume(written);
    }

    /// Returns whether no gathered bytes wait to be written.
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty()
    }

    /// The number of bytes gathered and not yet written.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether other messages (KEEPALIVE, NOTIFICATION, …) may be put on the socket now: the last message
    /// written is complete.
    pub fn at_message_boundary(&self) -> bool {
        self.queue.at_message_boundary(self.peer)
    }
}

impl Drop for ClientStream {
    fn drop(&mut self) {
        self.discard_segments();
    }
}
