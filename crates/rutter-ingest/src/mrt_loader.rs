//! Loads MRT records into a table. Each peer of a file becomes a peer of the table.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use rutter_net::{AfiSafi, Asn, Family, PerFamily, Prefix};
use rutter_rib::{Batch, Monitored, PeerId, Retain, Source, TooManyNeighbors, View};
use rutter_wire::attr::{AttrContext, code, parse, write_mp_reach};
use rutter_wire::bmp::PeerType;
use rutter_wire::frame::MessageType;
use rutter_wire::mrt::{
    Content, Message, PeerIndexTable, Record, Rib, RibEntry, StateChange, TableDump,
};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::update;

use crate::writer::{self, Writer};
use rutter_mrt::{RecordOutcome, Unreadable, frame};
use rutter_service::ShutdownSignal;

/// Loads records into a table.
pub struct MrtLoader {
    rib: Arc<rutter_rib::Rib>,
    peers: Writer,
    router: Arc<str>,
    known: HashMap<(IpAddr, Asn), usize>,
    slots: Vec<Slot>,
    /// The slot of each peer of the latest PEER_INDEX_TABLE.
    index: Vec<usize>,
    body: Vec<u8>,
    merged: Vec<u8>,
    loaded: LoadCounts,
}

/// The numbers of loaded items.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoadCounts {
    /// Peers.
    pub peers: u64,
    /// Routes announced, over all records.
    pub announced: u64,
    /// Routes withdrawn.
    pub withdrawn: u64,
    /// UPDATEs and routes with faults (RFC 7606) that could still be read.
    pub malformed: u64,
    /// Records of types that hold no IPv4 or IPv6 unicast routes.
    pub skipped: u64,
}

/// A peer of the table.
struct Slot {
    peer: PeerId,
    asn: Asn,
    bgp_id: u32,
    batch: Batch,
    /// `None` while its session is down.
    encoding: Option<Encoding>,
}

/// The form of a peer's updates.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Encoding {
    as4: bool,
    add_path: PerFamily<bool>,
}

/// The number of a peer's routes that are applied at once.
const BATCH: usize = 1_024;
/// The FSM state of RFC 6396 §4.4.1 in which routes are exchanged.
const ESTABLISHED: u16 = 6;

impl MrtLoader {
    /// Creates a loader. Its peers belong to `router`, which is the name of the file or the collector.
    pub fn new(rib: &Arc<rutter_rib::Rib>, router: &str) -> Self {
        MrtLoader {
            rib: Arc::clone(rib),
            peers: Writer::new(Arc::clone(rib), ShutdownSignal::new()),
            router: router.into(),
            known: HashMap::new(),
            slots: Vec::new(),
            index: Vec::new(),
            body: Vec::new(),
            merged: Vec::new(),
            loaded: LoadCounts::default(),
        }
    }

    /// Loads a record. Its routes are in the table after [`MrtLoader::finish`] at the latest. Fails if there is no
    /// room for its peer.
    pub fn take(&mut self, record: &Record<'_>) -> Result<RecordOutcome, TooManyNeighbors> {
        let unix_us = record.unix_us;
        let content = match record.decode() {
            Ok(content) => content,
            Err(error) => return Ok(RecordOutcome::Unreadable(error.into())),
        };
        match content {
            Content::PeerIndexTable(table) => self.peers(&table),
            Content::Rib(rib) => Ok(self.rib(&rib, unix_us)),
            Content::TableDump(route) => self.old_route(&route, unix_us),
            Content::Message(message) => self.message(&message, unix_us),
            Content::StateChange(change) => self.state_change(&change, unix_us),
            Content::Other => {
                self.loaded.skipped += 1;
                Ok(RecordOutcome::Skipped)
            }
        }
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> Result<RecordOutcome, TooManyNeighbors> {
        self.index.clear();
        for peer in table.peers() {
            let peer = match peer {
                Ok(peer) => peer,
                Err(error) => return Ok(RecordOutcome::Unreadable(error.into())),
            };
            let slot = self.slot(peer.address, peer.asn, peer.bgp_id)?;
            self.index.push(slot);
        }
        Ok(RecordOutcome::Read)
    }

    fn rib(&mut self, rib: &Rib<'_>, unix_us: u64) -> RecordOutcome {
        let mut outcome = RecordOutcome::Read;
        for entry in rib.entries() {
            let one = match entry {
                Ok(entry) => self.rib_entry(rib.prefix, rib.add_path, &entry, unix_us),
                Err(error) => Err(error.into()),
            };
            outcome = outcome.and(one.err());
        }
        outcome
    }

    /// Applies pending routes and returns the counts. The routes stay in the table.
    pub fn finish(mut self) -> LoadCounts {
        for slot in &mut self.slots {
            self.rib.commit(&mut slot.batch);
        }
        self.loaded
    }

    /// The counts so far.
    pub fn loaded(&self) -> LoadCounts {
        self.loaded
    }

    fn slot(&mut self, address: IpAddr, asn: Asn, bgp_id: u32) -> Result<usize, TooManyNeighbors> {
        if let Some(slot) = self.known.get(&(address, asn)) {
            return Ok(*slot);
        }
        // Peers with the same address get different distinguishers, in order of appearance, because some keys omit the
        // AS.
        let before = self
            .known
            .keys()
            .filter(|(known, _)| *known == address)
            .count();
        let monitored = Monitored {
            router: Arc::clone(&self.router),
            source: Source::Mrt,
            view: View::AdjRibInPre,
            peer_type: PeerType::Global,
            distinguisher: before as u64,
        };
        let name = match before {
            0 => address.to_string(),
            _ => format!("{address} AS{}", asn.0),
        };
        let peer = self.peers.add_peer(&name, address, asn, monitored)?;
        self.slots.push(Slot {
            peer,
            asn,
            bgp_id,
            batch: Batch::new(),
            encoding: None,
        });
        self.loaded.peers += 1;
        let slot = self.slots.len() - 1;
        self.known.insert((address, asn), slot);
        Ok(slot)
    }

    fn rib_entry(
        &mut self,
        prefix: Prefix,
        add_path: bool,
        entry: &RibEntry<'_>,
        unix_us: u64,
    ) -> Result<(), Unreadable> {
        let index = entry.peer_index;
        let slot = *self
            .index
            .get(usize::from(index))
            .ok_or(Unreadable::NoSuchPeer(index))?;
        if !entry.is_whole() {
            return Err(Unreadable::Attributes);
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let path_id = add_path.then_some(entry.path_id);
        let next_hop = entry.next_hop().unwrap_or_default();
        let attributes = entry.view();
        let others = attributes
            .iter()
            .filter(|raw| raw.code != code::MP_REACH_NLRI);
        let next_hop = (next_hop, attributes.value(code::MP_REACH_NLRI).is_some());
        write_update(&mut body, prefix, path_id, next_hop, |out| {
            others.for_each(|raw| out.extend_from_slice(raw.wire));
        });
        let pushed = self.push(slot, true, &[(prefix.family(), add_path)], &body, unix_us);
        self.body = body;
        pushed
    }

    fn old_route(
        &mut self,
        route: &TableDump<'_>,
        unix_us: u64,
    ) -> Result<RecordOutcome, TooManyNeighbors> {
        let entry = route.entry();
        if !entry.is_whole() {
            return Ok(RecordOutcome::Unreadable(Unreadable::Attributes));
        }
        let slot = self.slot(route.peer, route.peer_asn, 0)?;
        let context = AttrContext {
            as4: false,
            external: false,
            accept_as_set: true,
            has_ipv4_nlri: false,
        };
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        let attributes = parse(route.attributes, &context, &mut Vec::new());
        attributes.write_canonical(&mut merged);
        let next_hop = entry.next_hop().unwrap_or_default();
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let in_mp = entry.view().value(code::MP_REACH_NLRI).is_some();
        write_update(&mut body, route.prefix, None, (next_hop, in_mp), |out| {
            out.extend_from_slice(&merged);
        });
        let family = (route.prefix.family(), false);
        let pushed = self.push(slot, true, &[family], &body, unix_us);
        (self.body, self.merged) = (body, merged);
        Ok(pushed.into())
    }

    fn message(
        &mut self,
        message: &Message<'_>,
        unix_us: u64,
    ) -> Result<RecordOutcome, TooManyNeighbors> {
        let frame = match frame(message) {
            Ok(frame) => frame,
            Err(fault) => return Ok(RecordOutcome::Unreadable(fault)),
        };
        // The collector's own messages are not routes of the peer.
        if message.local || frame.kind != MessageType::Update {
            return Ok(RecordOutcome::Read);
        }
        let session = &message.session;
        let slot = self.slot(session.peer, session.peer_asn, 0)?;
        let families: Vec<(Family, bool)> = families(frame.body)
            .into_iter()
            .map(|family| (family, message.add_path))
            .collect();
        let pushed = self.push(slot, session.as4, &families, frame.body, unix_us);
        Ok(pushed.into())
    }

    fn state_change(
        &mut self,
        change: &StateChange,
        unix_us: u64,
    ) -> Result<RecordOutcome, TooManyNeighbors> {
        let slot = self.slot(change.session.peer, change.session.peer_asn, 0)?;
        let slot = &mut self.slots[slot];
        if change.new == ESTABLISHED || slot.encoding.is_none() {
            return Ok(RecordOutcome::Read);
        }
        self.rib.commit(&mut slot.batch);
        let retain = PerFamily::both(Retain::Nothing);
        let reason = "the session ended in the MRT file";
        self.rib
            .publish_peer_down(slot.peer, retain, reason, unix_us);
        self.rib.session_down(slot.peer, retain);
        slot.encoding = None;
        Ok(RecordOutcome::Read)
    }

    /// Adds a peer's UPDATE to its batch. First opens a session of the right form, if needed.
    fn push(
        &mut self,
        slot: usize,
        as4: bool,
        families: &[(Family, bool)],
        body: &[u8],
        unix_us: u64,
    ) -> Result<(), Unreadable> {
        let slot = &mut self.slots[slot];
        let mut encoding = slot.encoding.unwrap_or(Encoding {
            as4,
            add_path: PerFamily::both(false),
        });
        encoding.as4 = as4;
        for (family, add_path) in families {
            encoding.add_path[*family] = *add_path;
        }
        if slot.encoding != Some(encoding) {
            self.rib.commit(&mut slot.batch);
            let session = writer::session(slot.asn, slot.bgp_id, encoding.as4, encoding.add_path);
            self.rib.session_up(slot.peer, session);
            self.rib.publish_peer_up(slot.peer, unix_us);
            slot.encoding = Some(encoding);
        }
        let pushed = slot.batch.push(&self.rib, slot.peer, body, unix_us);
        self.loaded.announced += u64::from(pushed.announced);
        self.loaded.withdrawn += u64::from(pushed.withdrawn);
        if !pushed.faults.is_empty() {
            self.loaded.malformed += 1;
        }
        if slot.batch.len() >= BATCH {
            self.rib.commit(&mut slot.batch);
        }
        match pushed.reset {
            Some(_) => Err(Unreadable::Update),
            None => Ok(()),
        }
    }
}

/// Writes the body of an UPDATE that announces one route. The next hop goes where the record has it: into
/// MP_REACH_NLRI or NEXT_HOP.
fn write_update(
    out: &mut Vec<u8>,
    prefix: Prefix,
    path_id: Option<u32>,
    (next_hop, in_mp): (&[u8], bool),
    others: impl FnOnce(&mut Vec<u8>),
) {
    out.extend_from_slice(&[0; 4]);
    others(out);
    let plain = match prefix {
        Prefix::V4(prefix) if !in_mp => Some(prefix),
        _ => None,
    };
    if plain.is_none() {
        let afi_safi: AfiSafi = prefix.family().afi_safi();
        write_mp_reach(out, afi_safi, next_hop, |out| match prefix {
            Prefix::V4(prefix) => write_ipv4(out, path_id, prefix),
            Prefix::V6(prefix) => write_ipv6(out, path_id, prefix),
        });
    }
    // If the attributes exceed an UPDATE, their length is capped, and the table finds them malformed.
    let len = u16::try_from(out.len() - 4).unwrap_or(u16::MAX);
    out[2..4].copy_from_slice(&len.to_be_bytes());
    if let Some(prefix) = plain {
        write_ipv4(out, path_id, prefix);
    }
}

/// The families of an UPDATE's routes.
fn families(body: &[u8]) -> Vec<Family> {
    let Ok(sections) = update::split(body) else {
        return Vec::new();
    };
    let mut families = Vec::new();
    if !sections.withdrawn.is_empty() || !sections.nlri.is_empty() {
        families.push(Family::Ipv4Unicast);
    }
    let view = rutter_wire::attr::Attributes::from_canonical(sections.attributes);
    for raw in view.iter() {
        if !matches!(raw.code, code::MP_REACH_NLRI | code::MP_UNREACH_NLRI) {
            continue;
        }
        if let Some([high, low, safi]) = view.value(raw.code).and_then(|v| v.first_chunk::<3>()) {
            let afi = u16::from_be_bytes([*high, *low]);
            families.extend(AfiSafi { afi, safi: *safi }.family());
        }
    }
    families
}
