//! Loads MRT records into a table. Each peer of a file becomes a peer of the table.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use rutter_net::{Asn, Family, PerFamily};
use rutter_rib::{Batch, Monitored, PeerId, Retain, Source, TooManyNeighbors, View};
use rutter_wire::bmp::PeerType;
use rutter_wire::mrt::Record;

use crate::writer::{self, Writer};
use rutter_mrt::{
    FilePeer, FileUpdate, Finding, PeerEvent, PeerReader, RecordOutcome, Skipped, UpdateForm,
    UpdateReader,
};
use rutter_service::ShutdownSignal;

/// Loads records into a table.
pub struct MrtLoader {
    reader: PeerReader,
    peers: Peers,
}

/// The peers of the table that are made from those of the file.
struct Peers {
    rib: Arc<rutter_rib::Rib>,
    writer: Writer,
    router: Arc<str>,
    known: HashMap<PeerKey, usize>,
    /// The addresses of the known peers.
    addresses: Occurrences<IpAddr>,
    slots: Vec<Slot>,
    /// The slot of each peer of the file.
    slot_of: Vec<Option<usize>>,
    updates: UpdateReader,
    loaded: LoadCounts,
}

/// Address, AS, and the number of peers with both before it in its PEER_INDEX_TABLE.
type PeerKey = (IpAddr, Asn, u32);

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

impl MrtLoader {
    /// Creates a loader. Its peers belong to `router`, which is the name of the file or the collector.
    pub fn new(rib: &Arc<rutter_rib::Rib>, router: &str) -> Self {
        MrtLoader {
            reader: PeerReader::new(),
            peers: Peers {
                rib: Arc::clone(rib),
                writer: Writer::new(Arc::clone(rib), ShutdownSignal::new()),
                router: router.into(),
                known: HashMap::new(),
                addresses: Occurrences::default(),
                slots: Vec::new(),
                slot_of: Vec::new(),
                updates: UpdateReader::default(),
                loaded: LoadCounts::default(),
            },
        }
    }

    /// Begins another router: the peers from now on belong to it. Records may still refer to the latest
    /// PEER_INDEX_TABLE.
    pub fn begin_router(&mut self, router: &str) {
        self.peers.router = router.into();
        self.peers.known.clear();
        self.peers.addresses = Occurrences::default();
        self.peers.slot_of.clear();
    }

    /// Loads a record. Its routes are in the table after [`MrtLoader::finish`] at the latest. Fails if there is no
    /// room for its peer.
    pub fn take(&mut self, record: &Record<'_>) -> Result<RecordOutcome, TooManyNeighbors> {
        let (unix_us, peers) = (record.unix_us, &mut self.peers);
        let mut failed = Ok(());
        let outcome = self.reader.read(record, |number, peer, event| {
            peers
                .event(number, peer, event, unix_us)
                .unwrap_or_else(|why| {
                    failed = Err(why);
                    RecordOutcome::READ
                })
        });
        failed?;
        let mut findings = outcome.findings().iter();
        let is_other = findings.any(|one| matches!(one, Finding::Skipped(Skipped::Type(..))));
        peers.loaded.skipped += u64::from(is_other);
        Ok(outcome)
    }

    /// Applies pending routes and returns the counts. The routes stay in the table.
    pub fn finish(mut self) -> LoadCounts {
        for slot in &mut self.peers.slots {
            self.peers.rib.commit(&mut slot.batch);
        }
        self.peers.loaded
    }

    /// The counts so far.
    pub fn loaded(&self) -> LoadCounts {
        self.peers.loaded
    }
}

impl Peers {
    fn event(
        &mut self,
        number: usize,
        peer: &FilePeer,
        event: PeerEvent<'_>,
        unix_us: u64,
    ) -> Result<RecordOutcome, TooManyNeighbors> {
        let bgp_id = match event {
            PeerEvent::Listed { bgp_id } => bgp_id,
            PeerEvent::Opened { .. } => return Ok(RecordOutcome::READ),
            // The collector's own messages are not routes of the peer.
            PeerEvent::Update(update) if update.is_local => {
                return Ok(self.outcome(update.form, update.body));
            }
            PeerEvent::Update(_) | PeerEvent::Established | PeerEvent::Down => 0,
        };
        let slot = match self.slot_of.get(number).copied().flatten() {
            Some(slot) => slot,
            None => self.slot(number, peer, bgp_id)?,
        };
        Ok(match event {
            PeerEvent::Update(update) => self.push(slot, &update, unix_us),
            PeerEvent::Down => self.down(slot, unix_us),
            _ => RecordOutcome::READ,
        })
    }

    fn slot(
        &mut self,
        number: usize,
        peer: &FilePeer,
        bgp_id: u32,
    ) -> Result<usize, TooManyNeighbors> {
        let key = (peer.address, peer.asn, peer.listed_before);
        let slot = match self.known.get(&key) {
            Some(slot) => *slot,
            None => self.add(key, bgp_id)?,
        };
        if number >= self.slot_of.len() {
            self.slot_of.resize(number + 1, None);
        }
        self.slot_of[number] = Some(slot);
        Ok(slot)
    }

    fn add(
        &mut self,
        (address, asn, listed_before): PeerKey,
        bgp_id: u32,
    ) -> Result<usize, TooManyNeighbors> {
        // Peers with the same address get different distinguishers, in order of appearance, because some keys omit the
        // AS.
        let before = self.addresses.add(address);
        let monitored = Monitored {
            router: Arc::clone(&self.router),
            source: Source::Mrt,
            view: View::AdjRibInPre,
            peer_type: PeerType::Global,
            distinguisher: before,
        };
        let name = match (before, listed_before) {
            (0, _) => address.to_string(),
            (_, 0) => format!("{address} AS{}", asn.0),
            _ => format!("{address} AS{} #{}", asn.0, listed_before + 1),
        };
        let peer = self.writer.add_peer(&name, address, asn, monitored)?;
        self.slots.push(Slot {
            peer,
            asn,
            bgp_id,
            batch: Batch::new(),
            encoding: None,
        });
        self.loaded.peers += 1;
        let slot = self.slots.len() - 1;
        self.known.insert((address, asn, listed_before), slot);
        Ok(slot)
    }

    fn down(&mut self, slot: usize, unix_us: u64) -> RecordOutcome {
        let slot = &mut self.slots[slot];
        if slot.encoding.is_none() {
            return RecordOutcome::READ;
        }
        self.rib.commit(&mut slot.batch);
        let retain = PerFamily::both(Retain::Nothing);
        let reason = "the session ended in the MRT file";
        self.rib
            .publish_peer_down(slot.peer, retain, reason, unix_us);
        self.rib.session_down(slot.peer, retain);
        slot.encoding = None;
        RecordOutcome::READ
    }

    /// Adds a peer's UPDATE to its batch. First opens a session of the right form, if needed.
    fn push(&mut self, slot: usize, update: &FileUpdate<'_>, unix_us: u64) -> RecordOutcome {
        let FileUpdate {
            form,
            families,
            body,
            ..
        } = *update;
        let slot = &mut self.slots[slot];
        let mut encoding = slot.encoding.unwrap_or(Encoding {
            as4: form.as4,
            add_path: PerFamily::both(false),
        });
        encoding.as4 = form.as4;
        for family in Family::ALL
            .into_iter()
            .filter(|family| families.unicast[*family])
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
        let is_malformed = pushed.exceeds || !pushed.faults.is_empty();
        if slot.batch.len() >= BATCH {
            self.rib.commit(&mut slot.batch);
        }
        match is_malformed || families.others {
            true => self.outcome(form, body),
            false => RecordOutcome::READ,
        }
    }

    /// The outcome of an UPDATE, as every other reader of the file reports it.
    fn outcome(&mut self, form: UpdateForm, body: &[u8]) -> RecordOutcome {
        let outcome = self.updates.read(body, form).outcome;
        let mut findings = outcome.findings().iter();
        let is_malformed = findings.any(|one| !matches!(one, Finding::Skipped(_)));
        self.loaded.malformed += u64::from(is_malformed);
        outcome
    }
}

/// Counts how often each key occurs. A key costs the same however many there are.
struct Occurrences<K>(HashMap<K, u64>);

impl<K> Default for Occurrences<K> {
    fn default() -> Self {
        Occurrences(HashMap::new())
    }
}

impl<K: Eq + Hash> Occurrences<K> {
    /// Adds a key. Returns how often it was added before.
    fn add(&mut self, key: K) -> u64 {
        let count = self.0.entry(key).or_default();
        *count += 1;
        *count - 1
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    thread_local!(static COMPARED: Cell<u64> = const { Cell::new(0) });

    /// A key that counts its comparisons.
    struct Counted(u64);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    /// Nearly all keys differ, as the addresses of peers do.
    #[test]
    fn a_key_is_compared_with_few_others() {
        const KEYS: u64 = 20_000;
        let mut counts = Occurrences::default();
        for key in 0..KEYS {
            assert_eq!(counts.add(Counted(key)), 0);
        }
        assert_eq!((counts.add(Counted(7)), counts.add(Counted(7))), (1, 2));
        assert!(COMPARED.get() < KEYS, "{} comparisons", COMPARED.get());
    }
}
