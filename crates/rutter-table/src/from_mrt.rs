//! Loads the table from an MRT table dump (TABLE_DUMP_V2).

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

use rutter_api::{AttributesRow, RouteSelector, RouteSource};
use rutter_mrt::{Input, Progress, Stream};
use rutter_net::Asn;
use rutter_wire::attr::Attributes;
use rutter_wire::mrt::{Content, PeerEntry, Rib};

use crate::best::{Candidate, best};
use crate::{ReadError, Set, Table};

/// Reads a table dump, compressed or not, from a file or from standard input (`-`). For each prefix it takes the best
/// of the selected routes, by the decision process of RFC 4271.
pub fn from_mrt(path: &Path, of: &RouteSelector) -> Result<Table, ReadError> {
    let input = match path.as_os_str() == "-" {
        true => Input::Stdin,
        false => Input::File(path.to_owned()),
    };
    let failed = |error: &dyn std::fmt::Display| ReadError(error.to_string());
    let mut stream = Stream::open(&input, &Progress::new()).map_err(|e| failed(&e))?;
    let mut reading = Reading::new(of);
    while let Some(record) = stream.next_record().map_err(|e| failed(&e))? {
        let content = record.decode();
        let content = content.map_err(|e| ReadError(format!("{input}: {e}")))?;
        let done = match content {
            Content::PeerIndexTable(peers) => {
                let all: Result<Vec<_>, _> = peers.peers().collect();
                all.map(|all| reading.meet(all))
            }
            Content::Rib(rib) => reading.take(&rib),
            _ => Ok(()),
        };
        done.map_err(|e| ReadError(format!("{input}: {e}")))?;
    }
    reading.end(&input)
}

/// The state while a dump is read.
struct Reading<'w> {
    of: &'w RouteSelector,
    wanted: Vec<Asked<'w>>,
    /// The peers of the index table, and whether their routes are selected.
    peers: Vec<(PeerEntry, bool)>,
    /// `true` if any peer was selected.
    met: bool,
    table: Table,
    known: HashMap<(u16, Box<[u8]>), u32>,
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
            met: false,
            table: Table::default(),
            known: HashMap::new(),
        }
    }

    fn meet(&mut self, peers: Vec<PeerEntry>) {
        let wanted = &self.wanted;
        let is_wanted = |peer: &PeerEntry| {
            let mut asked = wanted.iter();
            asked.any(|a| a.address == Some(peer.address) || a.asn == Some(peer.asn))
        };
        let judged = peers.into_iter().map(|peer| (peer, is_wanted(&peer)));
        self.peers = judged.collect();
        self.met |= self.peers.iter().any(|(_, wanted)| *wanted);
        self.known.clear();
    }

    fn take(&mut self, rib: &Rib<'_>) -> Result<(), rutter_wire::mrt::MrtError> {
        let mut candidates = Vec::new();
        for entry in rib.entries() {
            let entry = entry?;
            let Some((peer, asked)) = self.peers.get(usize::from(entry.peer_index)) else {
                continue;
            };
            let next_hop = entry.next_hop();
            let via = || {
                next_hop
                    .and_then(address)
                    .is_some_and(|a| self.of.next_hops.contains(&a))
            };
            if self.of.is_any() || *asked || via() {
                candidates.push(Candidate {
                    peer: (entry.peer_index, *peer),
                    octets: entry.attributes,
                    next_hop,
                });
            }
        }
        if let Some(best) = best(&candidates) {
            let set = self.set(&best);
            self.table.insert(rib.prefix, set);
        }
        Ok(())
    }

    fn set(&mut self, route: &Candidate<'_>) -> u32 {
        let key = (route.peer.0, Box::from(route.octets));
        if let Some(set) = self.known.get(&key) {
            return *set;
        }
        let set = self.table.add_set(set_of(route));
        self.known.insert(key, set);
        set
    }

    fn end(self, input: &Input) -> Result<Table, ReadError> {
        if self.peers.is_empty() {
            return Err(ReadError(format!(
                "{input}: the file contains no table dump (TABLE_DUMP_V2)"
            )));
        }
        if let (Some(asked), false) = (self.wanted.first(), self.met) {
            let text = asked.text;
            return Err(ReadError(format!(
                "{input}: no peer of the dump has the address or AS number `{text}`"
            )));
        }
        Ok(self.table)
    }
}

fn set_of(route: &Candidate<'_>) -> Set {
    let view = Attributes::from_canonical(route.octets);
    let (_, peer) = route.peer;
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
            next_hop: route.next_hop.and_then(address),
            ..AttributesRow::of(&view)
        },
    }
}

/// The (global) next hop.
fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.first_chunk::<16>() {
        Some(octets) => Some(IpAddr::from(*octets)),
        None => octets
            .first_chunk::<4>()
            .map(|octets| IpAddr::from(*octets)),
    }
}
