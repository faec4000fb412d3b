//! Loads the table from an MRT table dump (TABLE_DUMP_V2, TABLE_DUMP).

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rutter_api::{AttributesRow, RouteSelector, RouteSource};
use rutter_mrt::{
    EntryReader, PeerIndex, Progress, Reader, RecordOutcome, Skipped, UpdateForm, UpdateReader,
    find_files,
};
use rutter_net::{Asn, Prefix};
use rutter_wire::mrt::{Content, PeerEntry, PeerIndexTable, Record, Rib, RibEntry, TableDump};

use crate::best::{Block, Candidate, Read, best};
use crate::{ReadError, Set, Table};

/// The table of a dump, and how completely the dump was read.
#[derive(Debug)]
pub struct Dump {
    /// The routes that could be read.
    pub table: Table,
    /// Fails if a part of the dump could not be read. Its records were reported one by one.
    pub verdict: Result<(), String>,
    /// The dump ended before its end, or could not be unpacked.
    pub is_cut_off: bool,
}

impl Dump {
    /// A table that was read completely.
    pub fn whole(table: Table) -> Self {
        Dump {
            table,
            verdict: Ok(()),
            is_cut_off: false,
        }
    }
}

/// Reads a table dump, compressed or not, from a file, a folder or standard input (`-`). For each prefix it takes the
/// best of the selected routes, by the decision process of RFC 4271.
///
/// Everything that can be read counts as it stands. `report` is called with each line about odd and unreadable records,
/// as every reader of MRT files prints them. UPDATEs are read for this report only.
pub fn from_mrt(path: &Path, of: &RouteSelector, report: &dyn Fn(&str)) -> Result<Dump, ReadError> {
    let inputs = find_files(&[PathBuf::from(path)]).map_err(|e| ReadError(e.to_string()))?;
    let mut reader = Reader::new(&Progress::new(), report);
    let mut reading = Reading::new(of);
    for input in &inputs {
        let read: Result<(), ReadError> = reader.read(input, |record| Ok(reading.take(record)));
        read?;
    }
    let name = match inputs.first() {
        Some(input) if inputs.len() == 1 => input.to_string(),
        _ => path.display().to_string(),
    };
    let verdict = reader.verdict();
    if !reading.has_dump {
        let none =
            || format!("{name}: the file contains no table dump (TABLE_DUMP_V2, TABLE_DUMP)");
        return Err(ReadError(verdict.err().unwrap_or_else(none)));
    }
    Ok(Dump {
        table: reading.end(&name)?,
        verdict,
        is_cut_off: reader.is_cut_off(),
    })
}

/// The state while a dump is read.
struct Reading<'w> {
    of: &'w RouteSelector,
    wanted: Vec<Asked<'w>>,
    /// All peers, and whether their routes are selected.
    peers: Vec<(PeerEntry, bool)>,
    /// By address, AS, and the number of peers with both before it in its PEER_INDEX_TABLE.
    numbers: HashMap<(IpAddr, Asn, u32), u32>,
    /// The number of each peer of the latest PEER_INDEX_TABLE.
    index: PeerIndex<u32>,
    /// A record of a table dump was read.
    has_dump: bool,
    entries: EntryReader<Read>,
    updates: UpdateReader,
    /// The routes of the older format, which has a record for each.
    old: Vec<(Prefix, Candidate)>,
    table: Table,
    sets: HashMap<(u32, Rc<Block>), u32>,
}

/// A peer as a person names it. A dump has only addresses and AS numbers.
struct Asked<'w> {
    text: &'w str,
    address: Option<IpAddr>,
    asn: Option<Asn>,
}

impl<'w> Reading<'w> {
    fn new(of: &'w RouteSelector) -> Self {
        let asked = |text: &'w String| Asked {
            text,
            address: text.parse().ok(),
            asn: text.parse().ok(),
        };
        Reading {
            of,
            wanted: of.peers.iter().map(asked).collect(),
            peers: Vec::new(),
            numbers: HashMap::new(),
            index: PeerIndex::default(),
            has_dump: false,
            entries: EntryReader::default(),
            updates: UpdateReader::default(),
            old: Vec::new(),
            table: Table::default(),
            sets: HashMap::new(),
        }
    }

    fn take(&mut self, record: &Record<'_>) -> RecordOutcome {
        let old = UpdateForm {
            as4: false,
            add_path: false,
        };
        match record.decode() {
            Ok(Content::PeerIndexTable(table)) => self.peers(&table),
            Ok(Content::Rib(rib)) => self.rib(&rib),
            Ok(Content::TableDump(route)) => self.old_route(&route),
            Ok(Content::Message(message)) => {
                let (body, outcome) = rutter_mrt::update(&message);
                let (as4, add_path) = (message.session.as4, message.add_path);
                let form = UpdateForm { as4, add_path };
                outcome.and(body.map_or(RecordOutcome::READ, |body| self.update(body, form)))
            }
            Ok(Content::OldUpdate(update)) => self.update(update.body, old),
            Ok(Content::StateChange(_)) => RecordOutcome::READ,
            Ok(Content::Other) => Skipped::Type(record.kind, record.subtype).into(),
            Err(error) => error.into(),
        }
    }

    /// UPDATEs are no part of a dump. Their faults are those of the file.
    fn update(&mut self, body: &[u8], form: UpdateForm) -> RecordOutcome {
        self.updates.read(body, form).outcome
    }

    fn peers(&mut self, table: &PeerIndexTable<'_>) -> RecordOutcome {
        self.has_dump = true;
        let mut index = std::mem::take(&mut self.index);
        let outcome = index.read(table, |peer, before| self.number(*peer, before));
        self.index = index;
        outcome
    }

    fn number(&mut self, peer: PeerEntry, listed_before: u32) -> u32 {
        let next = self.peers.len() as u32;
        let key = (peer.address, peer.asn, listed_before);
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            let is_wanted = |asked: &Asked<'_>| {
                asked.address == Some(peer.address) || asked.asn == Some(peer.asn)
            };
            self.peers.push((peer, self.wanted.iter().any(is_wanted)));
        }
        number
    }

    fn rib(&mut self, rib: &Rib<'_>) -> RecordOutcome {
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut index = std::mem::take(&mut self.index);
        let outcome = index.entries(rib, |peer, entry, replaces| {
            if replaces {
                candidates.retain(|one| (one.peer, one.path_id) != (*peer, entry.path_id));
            }
            self.entry(*peer, rib.prefix, entry, true, &mut candidates)
        });
        self.index = index;
        self.insert(rib.prefix, candidates);
        outcome
    }

    fn old_route(&mut self, route: &TableDump<'_>) -> RecordOutcome {
        self.has_dump = true;
        let peer = PeerEntry {
            bgp_id: 0,
            address: route.peer,
            asn: route.peer_asn,
        };
        let peer = self.number(peer, 0);
        let mut candidates = Vec::new();
        let entry = route.entry();
        let outcome = self.entry(peer, route.prefix, &entry, false, &mut candidates);
        let routes = candidates.into_iter().map(|one| (route.prefix, one));
        self.old.extend(routes);
        outcome
    }

    /// Reads an entry, and adds its route to the candidates if it is selected.
    fn entry(
        &mut self,
        peer: u32,
        prefix: Prefix,
        entry: &RibEntry<'_>,
        as4: bool,
        candidates: &mut Vec<Candidate>,
    ) -> RecordOutcome {
        let read = self.entries.read(entry, prefix, as4, |read, update| {
            *read = Read::of(update);
        });
        let (read, outcome) = match read {
            Ok(read) => read,
            Err(fault) => return fault.into(),
        };
        let next_hop = read.block.next_hop;
        let via = || next_hop.is_some_and(|address| self.of.next_hops.contains(&address));
        if self.of.is_any() || self.peers[peer as usize].1 || via() {
            let read = read.clone();
            candidates.push(Candidate {
                peer,
                path_id: entry.path_id,
                read,
            });
        }
        outcome.clone()
    }

    fn insert(&mut self, prefix: Prefix, candidates: Vec<Candidate>) {
        let peers = &self.peers;
        let Some(best) = best(candidates, |number| peers[number as usize].0) else {
            return;
        };
        let (table, peer) = (&mut self.table, &peers[best.peer as usize].0);
        let set = *self
            .sets
            .entry((best.peer, Rc::clone(&best.read.block)))
            .or_insert_with(|| table.add_set(set_of(peer, &best.read.block)));
        self.table.insert(prefix, set);
    }

    /// Inserts the routes of the older format, whose prefixes may be in any order. Of two routes of a peer the later one
    /// counts.
    fn insert_old(&mut self) {
        let mut old = std::mem::take(&mut self.old);
        old.sort_by_key(|(prefix, one)| (*prefix, one.peer));
        let mut old = old.into_iter().peekable();
        while let Some((prefix, first)) = old.next() {
            let mut candidates = vec![first];
            while let Some((_, next)) = old.next_if(|(other, _)| *other == prefix) {
                if candidates.last().is_some_and(|last| last.peer == next.peer) {
                    candidates.pop();
                }
                candidates.push(next);
            }
            self.insert(prefix, candidates);
        }
    }

    fn end(mut self, name: &str) -> Result<Table, ReadError> {
        self.insert_old();
        let is_met = self.peers.iter().any(|(_, wanted)| *wanted);
        if let (Some(asked), false) = (self.wanted.first(), is_met) {
            let text = asked.text;
            return Err(ReadError(format!(
                "{name}: no peer of the dump has the address or AS number `{text}`"
            )));
        }
        Ok(self.table)
    }
}

fn set_of(peer: &PeerEntry, block: &Block) -> Set {
    let view = block.view();
    Set {
        peer: RouteSource {
            name: peer.address.to_string(),
            address: peer.address,
            asn: peer.asn.0,
        },
        origin_as: view
            .as_path()
            .and_then(|path| path.origin())
            .map(|asn| asn.0),
        attributes: AttributesRow {
            next_hop: block.next_hop,
            ..AttributesRow::of(&view)
        },
    }
}
