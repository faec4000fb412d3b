//! Decodes feed events into rows.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;

use rutter_net::Prefix;
use rutter_rib::{FeedEvent, PeerId, PeerSummary};
use rutter_wire::attr::Attributes;
use rutter_wire::update;

use crate::message::{self, RouteAction, Scratch};
use crate::{AttrColumns, Kind, Peer, Row};

/// The times of two clocks. They diverge if the wall clock is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Wall time in microseconds since 1970.
    pub unix_us: u64,
    /// A monotonic clock in microseconds, with any start.
    pub monotonic_us: u64,
}

/// A smaller difference is drift, not a step.
const STEP_US: i64 = 1_000_000;
/// The number of cached attribute sets. Beyond it the cache is cleared.
const REMEMBERED: usize = 1 << 16;
/// The size of the cache in bytes. Peers decide how long their attributes are.
const OCTETS: usize = 64 << 20;

/// Decodes feed events into numbered rows. Each row has the peer as it was at the time of the event.
pub struct Decoder {
    collector: Arc<str>,
    run: u64,
    seq: u64,
    clocks: Now,
    peers: HashMap<PeerId, Arc<Peer>>,
    attrs: Interned,
    scratch: Scratch,
}

/// The fields that differ between the rows of an event.
struct RowContent<'a> {
    kind: Kind,
    prefix: Option<(Prefix, u32)>,
    attrs: Option<&'a Arc<AttrColumns>>,
    detail: &'a str,
}

impl Decoder {
    /// A decoder for a subscription that began with these peers ([`rutter_rib::Rib::subscribe`]).
    pub fn new(collector: &str, peers: &[PeerSummary], now: Now) -> Self {
        Self {
            collector: collector.into(),
            run: now.unix_us,
            seq: 0,
            clocks: now,
            peers: known(peers),
            attrs: Interned::default(),
            scratch: Scratch::default(),
        }
    }

    /// A decoder that goes on in the run of another process, with this number of the next event.
    pub fn continued(
        collector: &str,
        peers: &[PeerSummary],
        now: Now,
        (run, seq): (u64, u64),
    ) -> Self {
        Self {
            run,
            seq,
            ..Self::new(collector, peers, now)
        }
    }

    /// The run that rows of this decoder belong to.
    pub fn run(&self) -> u64 {
        self.run
    }

    /// Number of the next event.
    pub fn next_seq(&self) -> u64 {
        self.seq
    }

    /// A peer of the table, as of the last event.
    pub fn peer(&self, id: PeerId) -> Option<&Arc<Peer>> {
        self.peers.get(&id)
    }

    /// Replaces all peers with those of a new subscription, after a gap in the feed.
    pub fn relearn(&mut self, peers: &[PeerSummary]) {
        self.peers = known(peers);
    }

    /// The row that begins a run.
    pub fn start(&mut self, now: Now, visit: &mut dyn FnMut(&Row<'_>)) {
        self.of_collector(Kind::Start, "", now.unix_us, visit);
    }

    /// The row that ends a run after an orderly stop.
    pub fn stop(&mut self, now: Now, visit: &mut dyn FnMut(&Row<'_>)) {
        self.of_collector(Kind::Stop, "", now.unix_us, visit);
    }

    /// Calls `visit` with each row of an event, in order. Events of unknown peers have no rows.
    pub fn decode(&mut self, event: &FeedEvent, now: Now, visit: &mut dyn FnMut(&Row<'_>)) {
        self.watch_clock(now, visit);
        match event {
            FeedEvent::Update {
                peer,
                unix_us,
                body,
            } => {
                self.update(*peer, *unix_us, body, visit);
            }
            FeedEvent::PeerUp { peer, unix_us } => {
                let peer = Arc::new(Peer::from(&**peer));
                self.peers.insert(peer.id, Arc::clone(&peer));
                self.of_peer(&peer, Kind::PeerUp, "", *unix_us, visit);
            }
            FeedEvent::PeerDown {
                peer,
                unix_us,
                retained,
                reason,
            } => {
                if let Some(peer) = self.peers.get(peer).cloned() {
                    let kind = Kind::PeerDown {
                        retained: *retained,
                    };
                    self.of_peer(&peer, kind, reason, *unix_us, visit);
                }
            }
            FeedEvent::Swept { peer, routes } => {
                let Some(peer) = self.peers.get(peer).cloned() else {
                    return;
                };
                let mut rows = self.rows(Some(&peer), now.unix_us, visit);
                routes.iter().for_each(|route| {
                    rows.put(RowContent {
                        kind: Kind::Withdraw,
                        prefix: Some(*route),
                        attrs: None,
                        detail: "swept",
                    });
                });
            }
            FeedEvent::Gap { lost } => {
                let detail =
                    format!("{lost} events were lost: the reader of the feed was too slow");
                self.of_collector(Kind::Gap { lost: *lost }, &detail, now.unix_us, visit);
            }
        }
    }

    fn watch_clock(&mut self, now: Now, visit: &mut dyn FnMut(&Row<'_>)) {
        let passed = now.monotonic_us.saturating_sub(self.clocks.monotonic_us);
        let expected = self.clocks.unix_us.saturating_add(passed);
        self.clocks = now;
        let by_us = now.unix_us.wrapping_sub(expected) as i64;
        if by_us.abs() >= STEP_US {
            let detail = format!("the clock was set by {:.6} s", by_us as f64 / 1e6);
            self.of_collector(Kind::ClockStep { by_us }, &detail, now.unix_us, visit);
        }
    }

    fn update(&mut self, peer: PeerId, time_us: u64, body: &[u8], visit: &mut dyn FnMut(&Row<'_>)) {
        let Some(peer) = self.peers.get(&peer).cloned() else {
            return;
        };
        if let Some(family) = update::is_end_of_rib(body).and_then(|afi_safi| afi_safi.family()) {
            let detail = family.to_string();
            return self.of_peer(&peer, Kind::EndOfRib(family), &detail, time_us, visit);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut attrs = std::mem::take(&mut self.attrs);
        let mut rows = self.rows(Some(&peer), time_us, visit);
        let mut last: Option<(*const u8, Option<IpAddr>, Arc<AttrColumns>)> = None;
        message::read(
            body,
            &peer.reading,
            &mut scratch,
            |prefix, path_id, content| {
                let prefix = Some((prefix, path_id));
                let RouteAction::Announced(block, next_hop) = content else {
                    return rows.put(RowContent {
                        kind: Kind::Withdraw,
                        prefix,
                        attrs: None,
                        detail: "",
                    });
                };
                if !matches!(&last, Some((at, hop, _)) if *at == block.as_ptr() && hop == next_hop)
                {
                    last = Some((block.as_ptr(), *next_hop, attrs.of(block, *next_hop)));
                }
                let attrs = last.as_ref().map(|(_, _, attrs)| attrs);
                rows.put(RowContent {
                    kind: Kind::Announce,
                    prefix,
                    attrs,
                    detail: peer.remark(block, *next_hop),
                });
            },
        );
        self.scratch = scratch;
        self.attrs = attrs;
    }

    fn of_peer(
        &mut self,
        peer: &Arc<Peer>,
        kind: Kind,
        detail: &str,
        time_us: u64,
        visit: &mut dyn FnMut(&Row<'_>),
    ) {
        let content = RowContent {
            kind,
            prefix: None,
            attrs: None,
            detail,
        };
        self.rows(Some(peer), time_us, visit).put(content);
    }

    fn of_collector(
        &mut self,
        kind: Kind,
        detail: &str,
        time_us: u64,
        visit: &mut dyn FnMut(&Row<'_>),
    ) {
        let content = RowContent {
            kind,
            prefix: None,
            attrs: None,
            detail,
        };
        self.rows(None, time_us, visit).put(content);
    }

    fn rows<'r>(
        &'r mut self,
        peer: Option<&'r Arc<Peer>>,
        time_us: u64,
        visit: &'r mut dyn FnMut(&Row<'_>),
    ) -> Rows<'r> {
        Rows {
            collector: &self.collector,
            run: self.run,
            seq: &mut self.seq,
            peer,
            time_us,
            visit,
        }
    }
}

fn known(peers: &[PeerSummary]) -> HashMap<PeerId, Arc<Peer>> {
    let known = |peer: &PeerSummary| (peer.id, Arc::new(peer.into()));
    peers.iter().map(known).collect()
}

/// Numbers rows and passes them to the visitor.
struct Rows<'r> {
    collector: &'r str,
    run: u64,
    seq: &'r mut u64,
    peer: Option<&'r Arc<Peer>>,
    time_us: u64,
    visit: &'r mut dyn FnMut(&Row<'_>),
}

impl Rows<'_> {
    fn put(&mut self, content: RowContent<'_>) {
        (self.visit)(&Row {
            run: self.run,
            seq: *self.seq,
            time_us: self.time_us,
            collector: self.collector,
            peer: self.peer,
            kind: content.kind,
            prefix: content.prefix.map(|(prefix, _)| prefix),
            path_id: content.prefix.map_or(0, |(_, path_id)| path_id),
            attrs: content.attrs,
            detail: content.detail,
        });
        *self.seq += 1;
    }
}

/// An attribute block with its next hop, and its columns.
type Known = (Box<[u8]>, Option<IpAddr>, Arc<AttrColumns>);

/// A cache that converts equal attribute sets to columns only once.
#[derive(Default)]
struct Interned {
    by_hash: HashMap<u64, Known>,
    /// The approximate size of all entries in bytes.
    octets: usize,
    hasher: RandomState,
}

impl Interned {
    fn of(&mut self, block: &[u8], next_hop: Option<IpAddr>) -> Arc<AttrColumns> {
        let hash = self.hasher.hash_one((block, next_hop));
        if let Some((known, hop, columns)) = self.by_hash.get(&hash)
            && **known == *block
            && *hop == next_hop
        {
            return Arc::clone(columns);
        }
        if self.by_hash.len() >= REMEMBERED || self.octets >= OCTETS {
            self.by_hash.clear();
            self.octets = 0;
        }
        let columns = Arc::new(AttrColumns::new(
            &Attributes::from_canonical(block),
            next_hop,
        ));
        self.octets += block.len() + columns.octets();
        self.by_hash
            .insert(hash, (block.into(), next_hop, Arc::clone(&columns)));
        columns
    }
}
