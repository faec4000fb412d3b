//! Signatures of the table's door; the bodies land one by one.
#![allow(missing_docs, unused_variables, dead_code)]
use std::io::IoSlice;
use std::net::IpAddr;

use rutter_net::{AfiSafi, Family, Prefix};
use rutter_policy::RejectReason;
use rutter_wire::attr::{Attributes, Malformed};
use rutter_wire::notification::Notification;

use crate::*;

/// The table. Shared by all threads behind an `Arc`; every method takes `&self`.
pub struct Rib(());

/// Why routes stay when a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retain {
    /// All routes of the family go.
    Nothing,
    /// They stay as stale (RFC 4724) until swept.
    Stale,
}

impl Rib {
    pub fn new(config: RibConfig) -> Self {
        todo!()
    }
    /// Makes a neighbor known; `Err` when all 65,535 ids are taken.
    pub fn add_neighbor(&self, neighbor: Neighbor) -> Result<PeerId, TooManyNeighbors> {
        todo!()
    }
    /// Removes a neighbor whose session is down, with all its routes.
    pub fn remove_neighbor(&self, peer: PeerId) {
        todo!()
    }
    /// Replaces settings and policy; re-evaluates this neighbor's routes in place (no refresh is asked for).
    pub fn replace_neighbor(&self, peer: PeerId, neighbor: Neighbor) {
        todo!()
    }
    /// Replaces the exchange-wide action communities; audiences are recomputed and the differences sent.
    pub fn replace_export(&self, export: std::sync::Arc<rutter_policy::ExportPolicy>) {
        todo!()
    }
    /// The session is Established: its routes may come, and it becomes a client of its group.
    /// Take its [`ClientStream`] right after.
    pub fn session_up(&self, peer: PeerId, session: SessionInfo) {
        todo!()
    }
    /// The session ended. Per family (index order) what happens to its routes. Its stream must be dropped.
    pub fn session_down(&self, peer: PeerId, retain: [Retain; 2]) {
        todo!()
    }
    /// Everything the neighbor sent for a family so far becomes stale (RFC 7313 BoRR, RFC 4724).
    pub fn mark_stale(&self, peer: PeerId, family: Family) {
        todo!()
    }
    /// Removes the neighbor's stale routes of a family (EoRR, End-of-RIB, restart timer).
    pub fn sweep_stale(&self, peer: PeerId, family: Family) {
        todo!()
    }
    /// RFC 9494: stale routes become least preferred and are sent with LLGR_STALE; those with NO_LLGR go.
    pub fn start_long_lived_stale(&self, peer: PeerId, family: Family) {
        todo!()
    }
    /// The client asked for everything again (RFC 2918); framed by BoRR/EoRR where RFC 7313 was agreed.
    pub fn refresh_client(&self, peer: PeerId, family: Family) {
        todo!()
    }
    /// Applies a batch to the shards.
    pub fn commit(&self, batch: &mut Batch) {
        todo!()
    }
    /// Encodes what commits left to be sent; `true` when streams of other threads may have something new
    /// (wake them). Call once per loop turn, after the turn's commits.
    pub fn flush(&self) -> bool {
        todo!()
    }
    /// Clients lag so far behind that reading more input would only grow buffers: stop reading sockets until false.
    pub fn congested(&self) -> bool {
        todo!()
    }
    /// The outbound stream of an established client; owned by the thread that owns the socket.
    pub fn client_stream(&self, peer: PeerId) -> ClientStream {
        todo!()
    }
    pub fn counts(&self, peer: PeerId) -> [RouteCounts; 2] {
        todo!()
    }
    /// The neighbor as known now, `None` for an id that is not in use.
    pub fn neighbor(&self, peer: PeerId) -> Option<Neighbor> {
        todo!()
    }
    /// A consistent view that costs the writers microseconds: pages are shared until written.
    pub fn snapshot(&self) -> Snapshot {
        todo!()
    }
    pub fn explain(&self, prefix: Prefix) -> Option<Explanation> {
        todo!()
    }
    /// Bytes by purpose.
    pub fn memory(&self) -> Vec<MemoryRow> {
        todo!()
    }
    /// Subscribes to the ordered change feed; events wait in a queue of `capacity`, then are counted as a gap.
    pub fn subscribe(&self, capacity: usize) -> FeedReader {
        todo!()
    }
    /// Tells feed readers that a session changed state (`unix_us`: wall time in microseconds).
    pub fn publish_peer_state(&self, peer: PeerId, up: bool, unix_us: u64) {
        todo!()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyNeighbors;

/// Parsed UPDATEs of one peer on their way into the shards; reused between turns.
pub struct Batch(());
impl Default for Batch {
    fn default() -> Self {
        todo!()
    }
}
impl Batch {
    pub fn new() -> Self {
        todo!()
    }
    /// Parses one UPDATE body of an established peer. All pushes between two commits are of one peer.
    /// `unix_us` is stored in feed events.
    pub fn push(&mut self, rib: &Rib, peer: PeerId, body: &[u8], unix_us: u64) -> Pushed {
        todo!()
    }
    pub fn is_empty(&self) -> bool {
        todo!()
    }
}

/// What one UPDATE amounted to.
#[derive(Debug, Default)]
pub struct Pushed {
    pub announced: u32,
    pub withdrawn: u32,
    /// RFC 7606 faults in the order found, empty for a well-formed message.
    pub faults: Vec<Malformed>,
    pub end_of_rib: Option<AfiSafi>,
    /// The session must be reset with this NOTIFICATION; nothing of the message was taken.
    pub reset: Option<Notification>,
}

/// The bytes still to be written to one client.
pub struct ClientStream(());
impl ClientStream {
    /// Gathers up to about `max_bytes` to send: from the group's log, or from the table while catching up.
    pub fn fill(&mut self, rib: &Rib, max_bytes: usize) {
        todo!()
    }
    /// What to write next, as shared slices (at most 1,024).
    pub fn slices<'a>(&'a self, out: &mut Vec<IoSlice<'a>>) {
        todo!()
    }
    /// The socket took this many bytes of [`ClientStream::slices`].
    pub fn consume(&mut self, written: usize) {
        todo!()
    }
    /// Nothing gathered is waiting to be written.
    pub fn is_drained(&self) -> bool {
        todo!()
    }
    /// Whether other messages (KEEPALIVE, NOTIFICATION, …) may be put on the socket now.
    pub fn at_message_boundary(&self) -> bool {
        todo!()
    }
}

/// A consistent view of the table.
pub struct Snapshot(());
impl Snapshot {
    /// Destinations of a family in no particular order, each with its routes, best first, rejected ones last.
    pub fn destinations(
        &self,
        family: Family,
    ) -> Box<dyn Iterator<Item = DestinationView<'_>> + '_> {
        todo!()
    }
    pub fn peers(&self) -> &[PeerSummary] {
        todo!()
    }
    pub fn peer(&self, peer: PeerId) -> Option<&PeerSummary> {
        todo!()
    }
}
pub struct PeerSummary {
    pub id: PeerId,
    pub neighbor: Neighbor,
    pub session: Option<SessionInfo>,
    pub counts: [RouteCounts; 2],
}
pub struct DestinationView<'a> {
    pub prefix: Prefix,
    pub routes: Vec<RouteView<'a>>,
}
pub struct RouteView<'a> {
    pub peer: PeerId,
    /// RFC 7911 path identifier as received, 0 without Add-Path.
    pub path_id: u32,
    pub attrs: &'a AttrSet,
    pub stale: bool,
    pub long_lived_stale: bool,
    /// The first reason of rejection.
    pub reject: Option<RejectReason>,
}

/// An interned attribute set (cheap to clone).
#[derive(Clone)]
pub struct AttrSet(());
impl AttrSet {
    /// The canonical path attribute block (without MP_REACH_NLRI).
    pub fn block(&self) -> &[u8] {
        todo!()
    }
    pub fn attributes(&self) -> Attributes<'_> {
        todo!()
    }
    pub fn next_hop(&self) -> IpAddr {
        todo!()
    }
    /// Link-local next hop beside the global one (RFC 2545 §3).
    pub fn link_local_next_hop(&self) -> Option<std::net::Ipv6Addr> {
        todo!()
    }
}

/// Why a prefix goes where it goes.
pub struct Explanation {
    pub prefix: Prefix,
    /// Best first; rejected ones last.
    pub candidates: Vec<Candidate>,
    /// Per established client: which candidate it hears, or why none.
    pub clients: Vec<ClientVerdict>,
}
pub struct Candidate {
    pub peer: PeerId,
    pub path_id: u32,
    pub attrs: AttrSet,
    pub stale: bool,
    pub reject: Option<RejectReason>,
    /// All findings of the import policy, computed now from the kept route.
    pub findings: Vec<rutter_policy::Finding>,
    /// The decision step at which this candidate lost to the one before it; `None` for the best.
    pub lost_at: Option<Step>,
}
pub struct ClientVerdict {
    pub peer: PeerId,
    pub hears: Option<usize>,
    pub skipped: Vec<(usize, Withheld)>,
}
/// Why a candidate is not for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    OwnRoute,
    ActionCommunity,
    NoAdvertise,
    NoExport,
    Reflection,
    Role,
    ExportDenied,
    FamilyOff,
}
impl std::fmt::Display for Withheld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
/// A step of the decision process (RFC 4271 §9.1.2.2 and extensions), `Display` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    LongLivedStale,
    LocalPref,
    AsPathLength,
    Origin,
    MultiExitDisc,
    ExternalOverInternal,
    OriginatorId,
    ClusterListLength,
    PeerAddress,
    PathId,
}
impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}

pub struct MemoryRow {
    pub what: &'static str,
    pub count: u64,
    pub bytes: u64,
}

/// One reader of the change feed.
pub struct FeedReader(());
impl FeedReader {
    /// Next event, waiting at most `timeout`.
    pub fn next(&self, timeout: std::time::Duration) -> Option<FeedEvent> {
        todo!()
    }
}
pub enum FeedEvent {
    Update {
        peer: PeerId,
        unix_us: u64,
        /** UPDATE body as received */
        body: std::sync::Arc<[u8]>,
    },
    PeerState {
        peer: PeerId,
        unix_us: u64,
        up: bool,
    },
    /// This many events did not fit the queue and are lost to this reader.
    Gap { lost: u64 },
}
