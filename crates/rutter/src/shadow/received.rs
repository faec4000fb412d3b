//! The routes that the other route server receives, in Rutter's table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rutter_config::Neighbor;
use rutter_daemon::OfflineTable;
use rutter_mrt::{FilePeer, PeerEvent, PeerReader, RecordOutcome};
use rutter_net::{Family, PerFamily};
use rutter_rib::FamilyInfo;

use super::files;
use super::shadow_peer::ShadowPeer;
use crate::failure::Failure;

/// The configured neighbors as peers of the table, and the peers of the files.
pub(super) struct Received<'a> {
    table: &'a OfflineTable,
    /// One for each configured neighbor.
    peers: Vec<ShadowPeer>,
    /// The neighbor of each peer of the files, once it is known.
    owners: Vec<Option<Owner>>,
    /// The peer of the files that stands for each neighbor.
    claims: Vec<Option<FilePeer>>,
    /// The peers without a neighbor, with the number of their UPDATEs and table entries.
    unmatched: BTreeMap<FilePeer, u64>,
    /// The time of the latest PEER_INDEX_TABLE, in Unix microseconds.
    dump_us: Option<u64>,
    /// Two peers of the files stand for one neighbor, or its routes are not known.
    conflict: Option<String>,
}

/// The neighbor that a peer of the files stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Neighbor(usize),
    Nobody,
}

impl<'a> Received<'a> {
    /// Loads the files in order.
    pub(super) fn load(table: &'a OfflineTable, paths: &[PathBuf]) -> Result<Self, Failure> {
        let fed = |neighbor: &rutter_daemon::OfflineNeighbor| {
            let config = &neighbor.config;
            ShadowPeer::new(neighbor.peer, config.asn, families(config))
        };
        let mut received = Received {
            table,
            peers: table.neighbors.iter().map(fed).collect(),
            owners: Vec::new(),
            claims: vec![None; table.neighbors.len()],
            unmatched: BTreeMap::new(),
            dump_us: None,
            conflict: None,
        };
        let mut reader = PeerReader::new();
        files::read("received", &files::find(paths)?, |record| {
            let outcome = reader.read(record, |number, peer, event| {
                received.event(number, peer, event, record.unix_us)
            });
            files::check_peers("--received", reader.peers().len())?;
            match received.conflict.take() {
                Some(why) => Err(Failure::Text(why)),
                None => Ok(outcome),
            }
        })?;
        for peer in &mut received.peers {
            peer.commit(&table.rib);
        }
        Ok(received)
    }

    /// Makes a neighbor a client, so that the table knows what it would be sent. `add_path`: by family, if the other
    /// route server sends it several paths.
    pub(super) fn make_client(&mut self, neighbor: usize, add_path: PerFamily<bool>) {
        self.peers[neighbor].set_add_path_send(&self.table.rib, add_path);
    }

    /// Facts about the files that a reader of the comparison should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.unmatched_notes();
        notes.extend(
            Family::ALL
                .into_iter()
                .filter_map(|family| self.old_dump_note(family)),
        );
        for (fed, neighbor) in self.peers.iter().zip(&self.table.neighbors) {
            let name = &neighbor.config.name;
            let counts = self.table.rib.counts(fed.peer());
            if counts.iter().any(|count| count.received > 0) && fed.bgp_id() == 0 {
                notes.push(format!(
                    "{name}: no file has its router id, so ties between routes go by address"
                ));
            }
            if fed.malformed > 0 {
                notes.push(format!(
                    "{name}: Rutter withdraws the routes of {} malformed UPDATEs (RFC 7606)",
                    fed.malformed
                ));
            }
            if fed.other_families > 0 {
                notes.push(format!(
                    "{name}: {} UPDATEs or entries have routes of a family that its `families` leaves out",
                    fed.other_families
                ));
            }
            notes.extend(limit_notes(&neighbor.config, counts));
        }
        notes
    }

    /// Names the peers without a neighbor, those with the most UPDATEs first.
    fn unmatched_notes(&self) -> Vec<String> {
        let mut all: Vec<(&FilePeer, &u64)> = self.unmatched.iter().collect();
        all.sort_by_key(|(_, updates)| std::cmp::Reverse(**updates));
        let (named, more) = all.split_at(all.len().min(NAMED_PEERS));
        let mut notes: Vec<String> = named.iter().copied().map(unmatched_note).collect();
        if !more.is_empty() {
            let updates: u64 = more.iter().map(|(_, updates)| **updates).sum();
            notes.push(format!(
                "{} more peers have no neighbor; {updates} UPDATEs or entries of them are left out",
                more.len()
            ));
        }
        notes
    }

    /// Names the neighbors that the latest table dump of a family lacks, but an earlier one has.
    fn old_dump_note(&self, family: Family) -> Option<String> {
        let latest = self
            .peers
            .iter()
            .filter_map(|fed| fed.dumped_us[family])
            .max()?;
        let is_old = |fed: &ShadowPeer| {
            let dumped = fed.dumped_us[family];
            let has_routes = || self.table.rib.counts(fed.peer())[family].received > 0;
            dumped.is_some_and(|dumped| dumped < latest) && has_routes()
        };
        let all = self.peers.iter().zip(&self.table.neighbors);
        let old = all.filter(|(fed, _)| is_old(fed));
        let names: Vec<&str> = old.map(|(_, held)| held.config.name.as_str()).collect();
        let more = match names.len().saturating_sub(NAMED_PEERS) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let named = names.get(..NAMED_PEERS).unwrap_or(&names).join(", ");
        (!names.is_empty()).then(|| {
            format!(
                "the latest table dump has no {family} routes of some neighbors, so those of an earlier one count: \
                 {named}{more}"
            )
        })
    }

    fn event(
        &mut self,
        number: usize,
        peer: &FilePeer,
        event: PeerEvent<'_>,
        unix_us: u64,
    ) -> RecordOutcome {
        if matches!(event, PeerEvent::Listed { .. }) {
            self.dump_us = Some(unix_us);
        }
        if self.owners.len() <= number {
            self.owners.resize(number + 1, None);
        }
        let owner = match self.owners[number] {
            Some(owner) => owner,
            None => self.find_owner(number, peer, matches!(event, PeerEvent::Update(_))),
        };
        let Owner::Neighbor(neighbor) = owner else {
            if matches!(event, PeerEvent::Update(_)) {
                *self.unmatched.entry(*peer).or_default() += 1;
            }
            return RecordOutcome::READ;
        };
        let (rib, fed) = (&self.table.rib, &mut self.peers[neighbor]);
        match event {
            PeerEvent::Listed { bgp_id } | PeerEvent::Opened { bgp_id } => {
                fed.identify(rib, bgp_id);
            }
            // The route server's own messages are not routes of the peer.
            PeerEvent::Update(update) if update.is_local => {}
            PeerEvent::Update(update) => {
                let outcome = fed.update(rib, peer, &update, unix_us, self.dump_us);
                if let Some(why) = fed.conflict.take() {
                    let name = &self.table.neighbors[neighbor].config.name;
                    self.conflict = Some(format!("--received: {name}: {why}"));
                }
                return outcome;
            }
            PeerEvent::Down => fed.down(rib),
            PeerEvent::Established => {}
        }
        RecordOutcome::READ
    }

    /// Finds the neighbor of a peer: by address, or by AS once it has routes.
    fn find_owner(&mut self, number: usize, peer: &FilePeer, has_routes: bool) -> Owner {
        let configured = self.table.neighbors.iter().map(|neighbor| &neighbor.config);
        let by_address = configured
            .clone()
            .position(|one| one.address == peer.address);
        let is_other = |claim: &FilePeer| claim.address != peer.address;
        let owner = match (by_address, has_routes) {
            (Some(neighbor), _) => {
                if let Some(claim) = self.claims[neighbor].filter(is_other) {
                    let name = &self.table.neighbors[neighbor].config.name;
                    self.conflict.get_or_insert(format!(
                        "--received: {} and {} both stand for {name}: give each an address in the configuration",
                        claim.address, peer.address
                    ));
                }
                Owner::Neighbor(neighbor)
            }
            (None, false) => return Owner::Nobody,
            (None, true) => {
                let free = only_with_as(configured, peer);
                let free = free.filter(|at| !self.claims[*at].as_ref().is_some_and(is_other));
                free.map_or(Owner::Nobody, Owner::Neighbor)
            }
        };
        if let Owner::Neighbor(neighbor) = owner {
            self.claims[neighbor].get_or_insert(*peer);
        }
        self.owners[number] = Some(owner);
        owner
    }
}

/// The only neighbor with the AS of a peer and an address of its family.
fn only_with_as<'n>(
    configured: impl Iterator<Item = &'n Neighbor>,
    peer: &FilePeer,
) -> Option<usize> {
    let is_same =
        |one: &Neighbor| one.asn == peer.asn && one.address.is_ipv4() == peer.address.is_ipv4();
    let mut found = configured.enumerate().filter(|(_, one)| is_same(one));
    let (first, _) = found.next()?;
    found.next().is_none().then_some(first)
}

/// The families that the configuration offers to a neighbor.
fn families(config: &Neighbor) -> PerFamily<Option<FamilyInfo>> {
    PerFamily::from_fn(|family: Family| {
        let options = config.family(family);
        options.enabled.then_some(FamilyInfo {
            add_path_receive: false,
            add_path_send: options.add_path_send,
            extended_next_hop: options.extended_next_hop,
        })
    })
}

/// The number of peers that a note names.
const NAMED_PEERS: usize = 8;

fn unmatched_note((peer, updates): (&FilePeer, &u64)) -> String {
    format!(
        "{} AS{}: no neighbor of the configuration; {updates} UPDATEs or entries of it are left out",
        peer.address, peer.asn.0
    )
}

/// The limits on prefixes that a neighbor exceeds, where the daemon would end the session.
fn limit_notes(
    config: &Neighbor,
    counts: PerFamily<rutter_rib::RouteCounts>,
) -> impl Iterator<Item = String> {
    Family::ALL.into_iter().filter_map(move |family| {
        let limit = config.family(family).max_prefix?;
        let ends = matches!(
            limit.action,
            rutter_config::LimitAction::Restart { .. } | rutter_config::LimitAction::Shutdown
        );
        (ends && counts[family].received > limit.limit).then(|| {
            format!(
                "{}: {} {family} routes exceed its max-prefix of {}, for which Rutter would end the session",
                config.name, counts[family].received, limit.limit
            )
        })
    })
}
