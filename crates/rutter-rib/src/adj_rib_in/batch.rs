//! A batch: the UPDATEs of one peer on their way into the shards.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rutter_net::{AfiSafi, Family, Ipv4Prefix, Ipv6Prefix, PerFamily, Prefix};
use rutter_policy::{AttrVerdict, NextHop, OutsideData, RejectReason};
use rutter_wire::attr::{self, AttrContext, Attributes, Disposition, Malformed};
use rutter_wire::notification::Notification;
use rutter_wire::update;

use crate::adj_rib_in::attr_set::{AUDIENCE_UNKNOWN, Summary};
use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::later_checks::LaterChecks;
use crate::adj_rib_in::message::Message;
use crate::adj_rib_in::next_hop_octets::pack;
use crate::adj_rib_in::route::State;
use crate::adj_rib_in::shard::{Applied, Op, Stored, WITHDRAW};
use crate::adj_rib_in::verdict::Verdict;
use crate::read::feed::FeedEvent;
use crate::read::feed_batch::FeedBatch;
use crate::reevaluate::import::{Judge, state_under};
use crate::topology::Topology;
use crate::{AttrSet, Neighbor, PeerId, PeerKind, Rib, SessionInfo};

/// The facts about a peer that parsing needs; the batch keeps them until the peer changes.
struct Sender {
    peer: PeerId,
    generation: u64,
    neighbor: Neighbor,
    session: SessionInfo,
    epoch: PerFamily<u8>,
    data: Arc<OutsideData>,
    classes: Arc<ClassTable>,
}

impl Sender {
    /// The context in which the attributes of an UPDATE are read.
    #[inline(always)]
    fn context(&self, sections: &update::Sections<'_>) -> AttrContext {
        AttrContext {
            as4: self.session.as4,
            external: self.neighbor.kind.is_external(),
            accept_as_set: !self.neighbor.import.settings().reject_as_set,
            has_ipv4_nlri: !sections.nlri.is_empty(),
        }
    }
}

/// The operations of one family, by shard.
struct Ops<K> {
    by_shard: Vec<Vec<Op<K>>>,
    parsed: Vec<(u32, K)>,
}

impl<K> Default for Ops<K> {
    fn default() -> Self {
        Ops {
            by_shard: Vec::new(),
            parsed: Vec::new(),
        }
    }
}

/// Parsed UPDATEs of one peer; reused between turns, so that parsing allocates nothing.
#[derive(Default)]
pub struct Batch {
    sender: Option<Sender>,
    pub(crate) sets: Vec<AttrSet>,
    /// The verdicts on `sets`, if the sender's policy has later checks: these follow in [`Batch::conclude`].
    verdicts: Vec<AttrVerdict>,
    /// The sender's policy or outside data changed after the first push: all routes are evaluated again.
    is_mixed: bool,
    /// [`Batch::conclude`] has been called, and some of the routes may be in the table.
    is_concluded: bool,
    ipv4: Ops<Ipv4Prefix>,
    ipv6: Ops<Ipv6Prefix>,
    len: usize,
    canonical: Vec<u8>,
    merged: Vec<u8>,
    /// The events that are published once the routes are in the table.
    feed_batch: FeedBatch,
    /// The number of updates that were pushed while nobody read the feed.
    unpublished: u64,
}

/// The result of one UPDATE.
#[derive(Debug, Default)]
pub struct Pushed {
    /// The number of announced routes, rejected ones included.
    pub announced: u32,
    /// The number of withdrawn routes, by the sender or because the message is malformed.
    pub withdrawn: u32,
    /// RFC 7606 faults in the order found, empty for a well-formed message. A report of another router or of a file is
    /// kept in spite of them.
    pub faults: Vec<Malformed>,
    /// Set where the message is an End-of-RIB marker (RFC 4724 §2).
    pub end_of_rib: Option<AfiSafi>,
    /// Lengths exceed the report of another router or of a file. What it holds up to its end was applied.
    pub exceeds: bool,
    /// The NOTIFICATION with which the session must be reset. Nothing of the message was applied then.
    pub reset: Option<Notification>,
}

/// The facts that all routes of one UPDATE and family share.
#[derive(Clone, Copy)]
struct Common {
    set: u32,
    state: State,
    verdict: AttrVerdict,
    /// Nothing is left but what [`Batch::conclude`] adds.
    is_decided: bool,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Batch::default()
    }

    /// Returns whether a commit would do nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of routes announced and withdrawn since the last commit.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Parses one UPDATE body of an established peer and evaluates its routes. All pushes between two commits must be
    /// of one peer. `unix_us` (wall time) goes into feed events.
    pub fn push(&mut self, rib: &Rib, peer: PeerId, body: &[u8], unix_us: u64) -> Pushed {
        debug_assert!(!self.is_concluded, "what a commit left comes first");
        let mut pushed = Pushed::default();
        if !self.refresh_sender(rib, peer) {
            return pushed;
        }
        if let Some(family) = update::is_end_of_rib(body) {
            pushed.end_of_rib = Some(family);
        } else if let Err(reset) = self.parse(rib, body, &mut pushed) {
            pushed.reset = Some(reset);
            return pushed;
        }
        self.queue_for_feed(rib, peer, body, unix_us);
        pushed
    }

    /// Queues an update for the feed until its commit: every later snapshot contains an event's routes.
    fn queue_for_feed(&mut self, rib: &Rib, peer: PeerId, body: &[u8], unix_us: u64) {
        if !rib.feed.is_active() {
            self.unpublished += u64::from(!self.is_empty());
            return;
        }
        if self.is_empty() {
            // No commit need follow.
            rib.feed.publish(FeedEvent::Update {
                peer,
                unix_us,
                body: body.into(),
            });
        } else {
            self.feed_batch.push(peer, unix_us, body);
        }
    }

    /// Publishes the committed updates. A reader that subscribed in the middle of a batch missed its beginning.
    pub(crate) fn publish(&mut self, rib: &Rib) {
        let lost = std::mem::take(&mut self.unpublished);
        if lost > 0 && rib.feed.is_active() {
            rib.feed.publish(FeedEvent::Gap { lost });
        }
        self.feed_batch
            .take()
            .for_each(|event| rib.feed.publish(event));
    }

    /// Reads the peer's settings unless they are known. Returns `false` where it has no session.
    fn refresh_sender(&mut self, rib: &Rib, peer: PeerId) -> bool {
        let generation = rib.generation();
        let known = self.sender.as_ref();
        if known.is_some_and(|known| known.peer == peer && known.generation == generation) {
            return true;
        }
        // Another thread may have changed a neighbor since the last push.
        let same = known.is_none_or(|known| known.peer == peer);
        debug_assert!(same || self.is_empty(), "a batch is of one peer");
        let topology = rib.topology.read();
        let sender = topology.peer(peer).and_then(|held| {
            Some(Sender {
                peer,
                generation,
                neighbor: held.neighbor.clone(),
                session: held.session.clone()?,
                epoch: held.epochs.map(|epochs| epochs.present),
                data: Arc::clone(&topology.outside_data),
                classes: Arc::clone(&topology.classes),
            })
        });
        let judges_like = |known: &Sender| {
            let same = |new: &Sender| {
                Arc::ptr_eq(&known.neighbor.import, &new.neighbor.import)
                    && Arc::ptr_eq(&known.data, &new.data)
            };
            sender.as_ref().is_some_and(same)
        };
        self.is_mixed |= !self.is_empty() && !self.sender.as_ref().is_some_and(judges_like);
        self.sender = sender;
        self.ipv4.by_shard.resize_with(rib.shards.len(), Vec::new);
        self.ipv6.by_shard.resize_with(rib.shards.len(), Vec::new);
        self.sender.is_some()
    }

    fn parse(&mut self, rib: &Rib, body: &[u8], pushed: &mut Pushed) -> Result<(), Notification> {
        let Some(sender) = self.sender.take() else {
            return Ok(());
        };
        let result = self.parse_from(rib, &sender, body, pushed);
        self.sender = Some(sender);
        result
    }

    fn parse_from(
        &mut self,
        rib: &Rib,
        sender: &Sender,
        body: &[u8],
        pushed: &mut Pushed,
    ) -> Result<(), Notification> {
        let sections = match update::split(body) {
            Ok(sections) => sections,
            Err(_) if sender.neighbor.monitored.is_some() => {
                let (sections, exceeds) = update::split_reported(body);
                pushed.exceeds = exceeds;
                self.queue_reported(rib, sender, &sections, pushed);
                return Ok(());
            }
            Err(reset) => return Err(reset),
        };
        let context = sender.context(&sections);
        let attributes = attr::parse(sections.attributes, &context, &mut pushed.faults);
        let mut message = Message::default();
        let fail = |fault: Malformed| Err(fault.notification());
        let parsed = (&mut self.ipv4.parsed, &mut self.ipv6.parsed);
        let read = message.read(&sender.session, &sections, &attributes, parsed, fail);
        let is_faulty = read.is_err() || !pushed.faults.is_empty();
        if is_faulty && sender.neighbor.monitored.is_some() {
            self.queue_reported(rib, sender, &sections, pushed);
            return Ok(());
        }
        read?;
        let worst = pushed.faults.iter().max_by_key(|fault| fault.disposition());
        let withdraw = match worst.map(|worst| (worst, worst.disposition())) {
            // A reset may take the place of disabling one family (RFC 7606 §2).
            Some((worst, Disposition::SessionReset(_) | Disposition::AfiSafiDisable(_))) => {
                return Err(worst.notification());
            }
            Some((_, Disposition::TreatAsWithdraw)) => true,
            Some((_, Disposition::AttributeDiscard)) | None => false,
        };
        self.queue_withdrawn(rib, &message, pushed);
        if withdraw {
            message.announced_become_withdrawn();
        }
        self.queue_announced(rib, sender, &attributes, &message, pushed);
        Ok(())
    }

    /// Queues the routes of a malformed UPDATE as another router or a file reports them. That router has decided about
    /// them (RFC 7606), and its decision is shown: the attributes stay as they stand, and the routes before a fault count.
    #[cold]
    fn queue_reported(
        &mut self,
        rib: &Rib,
        sender: &Sender,
        sections: &update::Sections<'_>,
        pushed: &mut Pushed,
    ) {
        pushed.faults.clear();
        let context = sender.context(sections);
        let attributes = attr::parse_reported(sections.attributes, &context, &mut pushed.faults);
        let mut message = Message::default();
        let faults = &mut pushed.faults;
        let keep = |fault: Malformed| {
            faults.push(fault);
            Ok(())
        };
        // `keep` returns no error.
        let parsed = (&mut self.ipv4.parsed, &mut self.ipv6.parsed);
        let _ = message.read(&sender.session, sections, &attributes, parsed, keep);
        message.lacks_mp_next_hop = attributes
            .mp_reach()
            .is_some_and(|reach| attr::next_hop_address(reach.next_hop).is_none());
        if message.lacks_mp_next_hop {
            message.mp_next_hop = Some(NextHop::V4(Ipv4Addr::UNSPECIFIED));
        }
        self.queue_withdrawn(rib, &message, pushed);
        self.queue_announced(rib, sender, &attributes, &message, pushed);
    }

    fn queue_withdrawn(&mut self, rib: &Rib, message: &Message, pushed: &mut Pushed) {
        let ipv4 = self
            .ipv4
            .queue(rib, 0..message.ipv4_withdrawn, Op::withdraw);
        let ipv6 = self
            .ipv6
            .queue(rib, 0..message.ipv6_withdrawn, Op::withdraw);
        self.count_withdrawn(ipv4 + ipv6, pushed);
    }

    fn count_withdrawn(&mut self, count: usize, pushed: &mut Pushed) {
        pushed.withdrawn += count as u32;
        self.len += count;
    }

    fn queue_announced(
        &mut self,
        rib: &Rib,
        sender: &Sender,
        attributes: &Attributes<'_>,
        message: &Message,
        pushed: &mut Pushed,
    ) {
        if sender.session.as4 {
            return self.queue_four_octet(rib, sender, attributes, message, pushed);
        }
        // From here on every reader sees the path that AS4_PATH completes (RFC 6793 §4.2.3).
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        attributes.write_canonical(&mut merged);
        let attributes = Attributes::from_canonical(&merged);
        self.queue_four_octet(rib, sender, &attributes, message, pushed);
        self.merged = merged;
    }

    fn queue_four_octet(
        &mut self,
        rib: &Rib,
        sender: &Sender,
        attributes: &Attributes<'_>,
        message: &Message,
        pushed: &mut Pushed,
    ) {
        let ipv4 = message.ipv4_withdrawn..self.ipv4.parsed.len();
        let ipv6 = message.ipv6_withdrawn..self.ipv6.parsed.len();
        if message.withdraw_all {
            let ipv4 = self.ipv4.queue(rib, ipv4, Op::withdraw);
            let ipv6 = self.ipv6.queue(rib, ipv6, Op::withdraw);
            return self.count_withdrawn(ipv4 + ipv6, pushed);
        }
        // The message's own NLRI field and MP_REACH_NLRI have different next hops.
        let own = ipv4.start..message.ipv4_own_end;
        let mp_ipv4 = message.ipv4_own_end..ipv4.end;
        let next_hop = attributes.next_hop().unwrap_or(Ipv4Addr::UNSPECIFIED);
        let next_hop = (NextHop::V4(next_hop), false);
        let mut count = self.announce_ipv4(rib, sender, attributes, next_hop, own);
        if let Some(next_hop) = message.mp_next_hop {
            let next_hop = (next_hop, !message.lacks_mp_next_hop);
            count += self.announce_ipv4(rib, sender, attributes, next_hop, mp_ipv4);
            count += self.announce_ipv6(rib, sender, attributes, next_hop, ipv6);
        }
        pushed.announced += count as u32;
        self.len += count;
    }

    fn announce_ipv4(
        &mut self,
        rib: &Rib,
        sender: &Sender,
        attributes: &Attributes<'_>,
        (next_hop, in_mp): (NextHop, bool),
        range: std::ops::Range<usize>,
    ) -> usize {
        if range.is_empty() {
            return 0;
        }
        let family = Family::Ipv4Unicast;
        let common = self.common(rib, sender, attributes, next_hop, in_mp, family);
        let policy = &sender.neighbor.import;
        let blackhole = common.verdict.blackhole;
        self.ipv4.queue(rib, range, |path_id, prefix: Ipv4Prefix| {
            let reject = common
                .verdict
                .reject
                .or_else(|| policy.check_ipv4(prefix, blackhole));
            common.op(sender, prefix, path_id, reject)
        })
    }

    fn announce_ipv6(
        &mut self,
        rib: &Rib,
        sender: &Sender,
        attributes: &Attributes<'_>,
        (next_hop, in_mp): (NextHop, bool),
        range: std::ops::Range<usize>,
    ) -> usize {
        if range.is_empty() {
            return 0;
        }
        let family = Family::Ipv6Unicast;
        let common = self.common(rib, sender, attributes, next_hop, in_mp, family);
        let policy = &sender.neighbor.import;
        let blackhole = common.verdict.blackhole;
        self.ipv6.queue(rib, range, |path_id, prefix: Ipv6Prefix| {
            let reject = common
                .verdict
                .reject
                .or_else(|| policy.check_ipv6(prefix, blackhole));
            common.op(sender, prefix, path_id, reject)
        })
    }

    /// Interns the attributes and evaluates the checks that depend on them alone.
    fn common(
        &mut self,
        rib: &Rib,
        sender: &Sender,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        in_mp: bool,
        family: Family,
    ) -> Common {
        let policy = &sender.neighbor.import;
        let verdict = policy.check_attributes(&sender.data, attributes, next_hop, family);
        let set = self.intern(rib, sender.peer, attributes, (next_hop, in_mp));
        if set.audience() == AUDIENCE_UNKNOWN && sender.neighbor.kind != PeerKind::Collector {
            rib.assign_audience(&set, attributes);
        }
        let summary = set.summary();
        let state = State::of_set(summary.neighbour_as, summary.multi_exit_disc)
            .in_epoch(sender.epoch[family])
            .with(State::OTHER_PREFERENCE, verdict.graceful_shutdown);
        self.sets.push(set);
        let has_later_checks = policy.has_later_checks();
        if has_later_checks {
            self.verdicts.push(verdict);
        }
        Common {
            set: (self.sets.len() - 1) as u32,
            state,
            is_decided: has_later_checks || policy.is_decided_without_data(&verdict),
            verdict,
        }
    }

    fn intern(
        &mut self,
        rib: &Rib,
        owner: PeerId,
        attributes: &Attributes<'_>,
        (next_hop, in_mp): (NextHop, bool),
    ) -> AttrSet {
        let mut octets = [0; 32];
        let mp_next_hop = if in_mp {
            pack(next_hop, &mut octets)
        } else {
            &[]
        };
        if let Some(block) = attributes.canonical_slice() {
            return rib
                .store
                .intern(owner, block, mp_next_hop, || Summary::of(attributes));
        }
        self.canonical.clear();
        attributes.write_canonical(&mut self.canonical);
        let block = &self.canonical;
        let summary = || Summary::of(&Attributes::from_canonical(block));
        rib.store.intern(owner, block, mp_next_hop, summary)
    }

    /// The operations for one shard.
    pub(crate) fn ops(&self, shard: usize) -> (&[Op<Ipv4Prefix>], &[Op<Ipv6Prefix>]) {
        (&self.ipv4.by_shard[shard], &self.ipv6.by_shard[shard])
    }

    /// Evaluates the checks that [`Batch::push`] left: those of outside data.
    pub(crate) fn conclude(&mut self) {
        if std::mem::replace(&mut self.is_concluded, true) {
            return;
        }
        let Some(sender) = self.sender.as_ref().filter(|_| !self.is_mixed) else {
            return;
        };
        if self.verdicts.is_empty() {
            return;
        }
        debug_assert_eq!(
            self.verdicts.len(),
            self.sets.len(),
            "one policy judged all"
        );
        let (policy, data) = (&sender.neighbor.import, &sender.data);
        let checks = LaterChecks::new(policy, data, &sender.classes, &mut self.verdicts);
        let (ipv4, ipv6) = (&mut self.ipv4.by_shard, &mut self.ipv6.by_shard);
        ipv4.iter_mut().for_each(|ops| checks.conclude(ops));
        ipv6.iter_mut().for_each(|ops| checks.conclude(ops));
    }

    /// Evaluates the routes again where the sender's policy or outside data changed after they were evaluated. The caller holds the
    /// topology until they are in the table.
    pub(crate) fn reevaluate_under(&mut self, topology: &Topology) {
        let Some(sender) = &mut self.sender else {
            return;
        };
        let Some(import) = topology.peer(sender.peer).map(|held| &held.neighbor.import) else {
            return;
        };
        let same_data = Arc::ptr_eq(&topology.outside_data, &sender.data)
            && Arc::ptr_eq(&topology.classes, &sender.classes);
        if same_data && Arc::ptr_eq(import, &sender.neighbor.import) && !self.is_mixed {
            return;
        }
        sender.neighbor.import = Arc::clone(import);
        sender.data = Arc::clone(&topology.outside_data);
        sender.classes = Arc::clone(&topology.classes);
        self.is_mixed = false;
        let judge = Judge::new(topology, import);
        for ops in &mut self.ipv4.by_shard {
            judge.reevaluate_queued(ops, &self.sets);
        }
        for ops in &mut self.ipv6.by_shard {
            judge.reevaluate_queued(ops, &self.sets);
        }
    }

    /// Removes the operations that are in the table: those of the shards before this one, and some of its own by family.
    #[cold]
    pub(crate) fn remove_applied(&mut self, shard: usize, (ipv4, ipv6): (&Applied, &Applied)) {
        self.len -= self.ipv4.remove_applied(shard, ipv4) + self.ipv6.remove_applied(shard, ipv6);
    }

    /// Forgets operations that are not in the table, because the session of their peer ends and none of its routes stay. Their
    /// updates are published nevertheless: they were received.
    pub fn discard(&mut self, rib: &Rib) {
        self.publish(rib);
        self.clear(rib);
    }

    /// The peer of all operations.
    pub(crate) fn peer(&self) -> Option<PeerId> {
        self.sender.as_ref().map(|sender| sender.peer)
    }

    /// Empties the batch for the next turn.
    pub(crate) fn clear(&mut self, rib: &Rib) {
        self.ipv4.by_shard.iter_mut().for_each(Vec::clear);
        self.ipv6.by_shard.iter_mut().for_each(Vec::clear);
        // Sets whose every route was replaced within the batch are unused.
        self.sets
            .drain(..)
            .for_each(|set| rib.store.release_unrouted(set));
        self.verdicts.clear();
        self.is_mixed = false;
        self.is_concluded = false;
        self.len = 0;
    }
}

impl<K: Stored> Ops<K> {
    fn queue(
        &mut self,
        rib: &Rib,
        range: std::ops::Range<usize>,
        mut op: impl FnMut(u32, K) -> Op<K>,
    ) -> usize {
        let count = range.len();
        for (path_id, prefix) in &self.parsed[range] {
            let shard = rib.shard_of(prefix.seeded_hash(rib.seed));
            self.by_shard[shard].push(op(*path_id, *prefix));
        }
        count
    }

    /// Removes the operations of the shards before this one, and those of this that were applied. Returns their number.
    fn remove_applied(&mut self, shard: usize, applied: &Applied) -> usize {
        let before = self.by_shard[..shard].iter_mut();
        let of_others: usize = before.map(|ops| ops.drain(..).len()).sum();
        let ops = &mut self.by_shard[shard];
        let left: Vec<Op<K>> = { applied.left.iter() }
            .map(|at| ops[*at as usize])
            .collect();
        ops.splice(..applied.ops, left);
        of_others + applied.count()
    }
}

impl<K> Op<K> {
    fn withdraw(path_id: u32, prefix: K) -> Self {
        Op {
            prefix,
            path_id,
            set: WITHDRAW,
            state: State::default(),
            verdict: Verdict::PLAIN,
        }
    }
}

impl Common {
    /// The operation for a route, `reject` being the result of the checks without outside data.
    #[inline(always)]
    fn op<K: Copy + Into<Prefix>>(
        &self,
        sender: &Sender,
        prefix: K,
        path_id: u32,
        reject: Option<RejectReason>,
    ) -> Op<K> {
        let mut op = Op {
            prefix,
            path_id,
            set: self.set,
            state: self.state,
            verdict: reject.map_or(Verdict::PLAIN, Verdict::rejected),
        };
        if !self.is_decided {
            self.conclude(sender, reject, &mut op);
        }
        op
    }

    /// Adds the class that the attributes alone determine.
    #[inline(never)]
    fn conclude<K: Copy + Into<Prefix>>(
        &self,
        sender: &Sender,
        reject: Option<RejectReason>,
        op: &mut Op<K>,
    ) {
        let policy = &sender.neighbor.import;
        let verdict = policy.conclude(&sender.data, op.prefix.into(), &self.verdict, reject);
        op.state = state_under(self.state, verdict);
        op.verdict = sender.classes.verdict(verdict);
    }
}
