//! Loads MRT records into a table. Each peer of a file becomes a peer of the table.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use rutter_net::{AfiSafi, Asn, Family, PerFamily, Prefix};
use rutter_rib::{Batch, Monitored, PeerId, Retain, Source, TooManyNeighbors, View};
use rutter_wire::attr::{Attributes, code};
use rutter_wire::bmp::PeerType;
use rutter_wire::mrt::{
    BgpSession, Content, Message, PeerIndexTable, Record, Rib, RibEntry, StateChange, TableDump,
};
use rutter_wire::update;

use crate::writer::{self, Writer};
use rutter_mrt::{RecordOutcome, Skipped, Unreadable, UpdateForm, UpdateReader};
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
    updates: UpdateReader,
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
    /// UPDATEs and table entries that an RFC forbids. Their readable parts are loaded.
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
            updates: UpdateReader::default(),
            loaded: LoadCounts::default(),
        }
    }

    /// Loads a record. Its routes are in the table after [`MrtLoader::finish`] at the latest. Fails if there is no
    /// room for its peer.
    pub fn take(&mut self, record: &Record<'_>) -> Result<RecordOutcome, TooManyNeighbors> {
        let unix_us = record.unix_us;
        let content = match record.decode() {
            Ok(content) => content,
            Err(error) => return Ok(error.into()),
        };
        match content {
            Content::PeerIndexTable(table) => self.peers(&table),
            Content::Rib(rib) => Ok(self.rib(&rib, unix_us)),
            Content::TableDump(route) => self.old_route(&route, unix_us),
            Content::Message(message) => self.message(&message, unix_us),
            Content::OldUpdate(update) => {
                self.update(&update.session, OLD_FORM, update.body, unix_us)
            }
            Content::StateChange(change) => self.state_change(&change, unix_us),
            Content::Other => {
                self.loaded.skipped += 1;
                let skipped = Skipped::Type(record.kind, record.subtype);
                Ok(RecordOutcome::Skipped(skipped))
            }
        }
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> Result<RecordOutcome, TooManyNeighbors> {
        self.index.clear();
        for peer in table.peers() {
            let peer = match peer {
                Ok(peer) => peer,
                Err(error) => return Ok(error.into()),
            };
            let slot = self.slot(peer.address, peer.asn, peer.bgp_id)?;
            self.index.push(slot);
        }
        Ok(RecordOutcome::Read)
    }

    fn rib(&mut self, rib: &Rib<'_>, unix_us: u64) -> RecordOutcome {
        let form = UpdateForm {
            as4: true,
            add_path: rib.add_path,
        };
        let mut outcome = RecordOutcome::Read;
        for entry in rib.entries() {
            outcome = outcome.and(match entry {
                Ok(entry) => self.rib_entry(rib.prefix, &entry, form, unix_us),
                Err(error) => error.into(),
            });
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
        entry: &RibEntry<'_>,
        form: UpdateForm,
        unix_us: u64,
    ) -> RecordOutcome {
        let index = entry.peer_index;
        match self.index.get(usize::from(index)) {
            Some(slot) => self.entry(*slot, prefix, entry, form, unix_us),
            None => Unreadable::NoSuchPeer(index).into(),
        }
    }

    fn old_route(
        &mut self,
        route: &TableDump<'_>,
        unix_us: u64,
    ) -> Result<RecordOutcome, TooManyNeighbors> {
        let slot = self.slot(route.peer, route.peer_asn, 0)?;
        Ok(self.entry(slot, route.prefix, &route.entry(), OLD_FORM, unix_us))
    }

    /// Loads a table entry as an UPDATE that announces it.
    fn entry(
        &mut self,
        slot: usize,
        prefix: Prefix,
        entry: &RibEntry<'_>,
        form: UpdateForm,
        unix_us: u64,
    ) -> RecordOutcome {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        entry.write_update(&mut body, prefix, form.add_path);
        let families = Families::of(prefix.family());
        let outcome = self.push(slot, form, families, &body, unix_us);
        self.body = body;
        outcome
    }

    fn message(
        &mut self,
        message: &Message<'_>,
        unix_us: u64,
    ) -> Result<RecordOutcome, TooManyNeighbors> {
        let form = UpdateForm {
            as4: message.session.as4,
            add_path: message.add_path,
        };
        match rutter_mrt::update(message) {
            // The collector's own messages are not routes of the peer.
            Ok(Some(body)) if message.local => Ok(self.outcome(form, body)),
            Ok(Some(body)) => self.update(&message.session, form, body, unix_us),
            Ok(None) => Ok(RecordOutcome::Read),
            Err(fault) => Ok(fault.into()),
        }
    }

    fn update(
        &mut self,
        session: &BgpSession,
        form: UpdateForm,
        body: &[u8],
        unix_us: u64,
    ) -> Result<RecordOutcome, TooManyNeighbors> {
        let slot = self.slot(session.peer, session.peer_asn, 0)?;
        Ok(self.push(slot, form, Families::in_update(body), body, unix_us))
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
        form: UpdateForm,
        families: Families,
        body: &[u8],
        unix_us: u64,
    ) -> RecordOutcome {
        let slot = &mut self.slots[slot];
        let mut encoding = slot.encoding.unwrap_or(Encoding {
            as4: form.as4,
            add_path: PerFamily::both(false),
        });
        encoding.as4 = form.as4;
        for family in Family::ALL
            .into_iter()
            .filter(|family| families.read[*family])
        {
            encoding.add_path[family] = form.add_path;
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
        let is_malformed = pushed.reset.is_some() || !pushed.faults.is_empty();
        if slot.batch.len() >= BATCH {
            self.rib.commit(&mut slot.batch);
        }
        match is_malformed || families.others {
            true => self.outcome(form, body),
            false => RecordOutcome::Read,
        }
    }

    /// The outcome of an UPDATE, as every other reader of the file reports it.
    fn outcome(&mut self, form: UpdateForm, body: &[u8]) -> RecordOutcome {
        let outcome = match self.updates.read(body, form) {
            Ok(update) => update.outcome,
            Err(fault) => fault.into(),
        };
        let counts = matches!(
            outcome,
            RecordOutcome::Odd(_) | RecordOutcome::Unreadable(_)
        );
        self.loaded.malformed += u64::from(counts);
        outcome
    }
}

/// The form of the formats without four-octet AS numbers.
const OLD_FORM: UpdateForm = UpdateForm {
    as4: false,
    add_path: false,
};

/// The families of an UPDATE's routes.
#[derive(Clone, Copy)]
struct Families {
    /// The families that the table holds.
    read: PerFamily<bool>,
    /// There are others.
    others: bool,
}

impl Families {
    fn of(family: Family) -> Self {
        let mut read = PerFamily::both(false);
        read[family] = true;
        let others = false;
        Families { read, others }
    }

    fn in_update(body: &[u8]) -> Self {
        let mut families = Families {
            read: PerFamily::both(false),
            others: false,
        };
        let Ok(sections) = update::split(body) else {
            return families;
        };
        let has_ipv4 = !sections.withdrawn.is_empty() || !sections.nlri.is_empty();
        families.read[Family::Ipv4Unicast] = has_ipv4;
        let view = Attributes::as_reported(sections.attributes, true);
        for code in [code::MP_REACH_NLRI, code::MP_UNREACH_NLRI] {
            let Some([high, low, safi, ..]) = view.value(code) else {
                continue;
            };
            let afi = u16::from_be_bytes([*high, *low]);
            match (AfiSafi { afi, safi: *safi }).family() {
                Some(family) => families.read[family] = true,
                None => families.others = true,
            }
        }
        families
    }
}
