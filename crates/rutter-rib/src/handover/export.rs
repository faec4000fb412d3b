//! The table of the process that ends: held still for the last stage.

use parking_lot::{MutexGuard, RwLockReadGuard};
use rutter_net::Family;
use rutter_wire::handover::Writer;

use super::Tag;
use super::records::Records;
use super::stages::{Moment, NO_NUMBER, SentFamily, TableExport, begin_destination, number_of};
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::table::Id;
use crate::read::snapshot::summaries;
use crate::topology::{Peer, Topology};
use crate::{ClientStream, PeerId, PeerSummary, Rib, SessionInfo};

/// The table while it is held still. Whoever changes it waits until this is dropped.
pub struct HeldTable<'a> {
    rib: &'a Rib,
    topology: RwLockReadGuard<'a, Topology>,
    shards: Vec<MutexGuard<'a, Shard>>,
}

/// The size of a table, to compare both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableTotals {
    /// The prefixes with routes, or with routes that some client may still hold.
    pub destinations: u64,
    /// All routes, rejected ones included.
    pub routes: u64,
}

/// Other threads may change the table between two looks at it.
const ATTEMPTS: usize = 100;

impl Rib {
    /// Holds the table still, with these streams, which must be those of all clients. Their unsent parts of the log
    /// become bytes or marks. If they are not handed over after all, they go on as they are.
    ///
    /// Returns `None` while advertisement is deferred, and while new export rules or another form of a client's messages
    /// are being applied. The routes that clients hold then follow from no single state. Try again later.
    pub fn hold<'a>(&'a self, streams: &mut [&mut ClientStream]) -> Option<HeldTable<'a>> {
        for _ in 0..ATTEMPTS {
            self.encode(&self.topology.read());
            streams.iter_mut().for_each(|stream| stream.settle(self));
            let topology = self.topology.read();
            let held = HeldTable {
                rib: self,
                topology,
                shards: self.shards.iter().map(|shard| shard.lock()).collect(),
            };
            if held.is_in_transition() {
                return None;
            }
            if streams.iter().all(|s| s.is_settled()) && held.is_encoded() {
                return Some(held);
            }
        }
        None
    }
}

impl HeldTable<'_> {
    fn is_in_transition(&self) -> bool {
        let changes_style = |shard: &MutexGuard<'_, Shard>| {
            let mut catching_up = shard.clients.catching_up.iter();
            catching_up.any(|one| one.former().is_some())
        };
        self.rib.is_advertisement_deferred()
            || self.topology.export_transition.is_some()
            || self.topology.rank_walks > 0
            || self.shards.iter().any(changes_style)
    }

    /// Returns whether no change waits to be encoded.
    fn is_encoded(&self) -> bool {
        let groups = self.rib.groups.read();
        let pending = |group: &crate::advertise::group::Group| {
            let records = &group.pending_records;
            records.load(std::sync::atomic::Ordering::Acquire)
        };
        groups.iter().all(|group| pending(group) == 0)
    }

    /// All neighbors and other peers.
    pub fn peers(&self) -> Vec<PeerSummary> {
        summaries(&self.topology)
    }

    /// Writes the last stage: what has changed since the one before, the neighbors, and the streams with which the table
    /// is held. Each record is passed to `send`. The first error ends it.
    pub fn write<E>(
        &self,
        export: &mut TableExport,
        streams: &[&ClientStream],
        send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<TableTotals, E> {
        let mut last = LastStage {
            table: self,
            export,
            records: Records::new(send),
        };
        last.write(streams)
    }

    /// The totals as the table counts them itself.
    fn totals(&self) -> TableTotals {
        let destinations = self.shards.iter().map(|shard| shard.destinations());
        TableTotals {
            destinations: destinations.sum::<usize>() as u64,
            routes: self.topology.routes(),
        }
    }
}

struct LastStage<'a, S> {
    table: &'a HeldTable<'a>,
    export: &'a mut TableExport,
    records: Records<S>,
}

impl<E, S: FnMut(&[u8]) -> Result<(), E>> LastStage<'_, S> {
    fn write(&mut self, streams: &[&ClientStream]) -> Result<TableTotals, E> {
        let topology = &self.table.topology;
        for (id, peer) in topology.iter() {
            let bgp_id = topology.ranks[id.index()].bgp_id;
            write_neighbor(id, peer, bgp_id, self.records.begin(Tag::Neighbor)?);
        }
        let mut moment = Moment::new(topology);
        self.table.shards.iter().for_each(|shard| moment.add(shard));
        self.export.write(moment, &mut self.records)?;
        let shards = &self.table.shards;
        write_tombstones(shards, &mut self.export.ipv4, &mut self.records)?;
        write_tombstones(shards, &mut self.export.ipv6, &mut self.records)?;
        self.export.sets.write_changes(&mut self.records)?;
        for stream in streams {
            self.client(stream)?;
        }
        let totals = self.table.totals();
        let out = self.records.begin(Tag::End)?;
        out.number(totals.destinations);
        out.number(totals.routes);
        self.records.end()?;
        Ok(totals)
    }

    fn client(&mut self, stream: &ClientStream) -> Result<(), E> {
        let out = self.records.begin(Tag::Client)?;
        out.number(stream.peer().0);
        stream.write_state(out);
        out.bool(stream.is_live());
        if !stream.is_live() {
            let shards = &self.table.shards;
            write_marks(stream.peer(), shards, &self.export.ipv4, out);
            write_marks(stream.peer(), shards, &self.export.ipv6, out);
        }
        Ok(())
    }
}

/// Writes the destinations without routes that clients may still hold.
fn write_tombstones<K: Stored, E, S: FnMut(&[u8]) -> Result<(), E>>(
    shards: &[MutexGuard<'_, Shard>],
    sent: &mut SentFamily<K>,
    records: &mut Records<S>,
) -> Result<(), E> {
    for (shard, of_shard) in shards.iter().zip(&mut sent.shards) {
        for id in &shard.clients.tombstones[K::FAMILY] {
            // One that has routes again was written with them.
            if *id < shard.id_end(K::FAMILY) && K::table(shard).get(*id).routes.is_empty() {
                let number = number_of(&mut of_shard.numbers, *id, &mut sent.numbers);
                let prefix = K::table(shard).get(*id).prefix;
                begin_destination(records, prefix, number)?.count(0);
            }
        }
    }
    Ok(())
}

/// Appends a bit for each number of a destination that a client catches up with, another for those of them that have not
/// changed since, and the paths that it may hold.
fn write_marks<K: Stored>(
    client: PeerId,
    shards: &[MutexGuard<'_, Shard>],
    sent: &SentFamily<K>,
    out: &mut Writer,
) {
    let mut marked = vec![0_u8; (sent.numbers as usize).div_ceil(8)];
    let mut unchanged = marked.clone();
    let mut remembered = Writer::default();
    let mut paths = 0_usize;
    for (shard, of_shard) in shards.iter().zip(&sent.shards) {
        let all = &shard.clients.catching_up;
        let Some(catching_up) = all.iter().find(|one| one.peer == client) else {
            continue;
        };
        let number = |id: Id| {
            let number = of_shard.numbers.get(id as usize).copied();
            let number = number.filter(|number| *number != NO_NUMBER)?;
            is_there::<K>(shard, id).then_some(number)
        };
        for id in 0..of_shard.numbers.len() as Id {
            if let Some(has_changed) = catching_up.mark_of(K::FAMILY, id)
                && let Some(number) = number(id)
            {
                let (byte, bit) = (number as usize / 8, number % 8);
                marked[byte] |= 1 << bit;
                unchanged[byte] |= u8::from(!has_changed) << bit;
            }
        }
        for (id, is_complete, held) in catching_up.remembered_paths(K::FAMILY) {
            if let Some(number) = number(id) {
                paths += 1;
                remembered.number(number);
                remembered.bool(is_complete);
                remembered.count(held.len());
                held.iter().for_each(|path| remembered.number(*path));
            }
        }
    }
    out.octets(&marked);
    out.octets(&unchanged);
    out.count(paths);
    out.bytes.extend_from_slice(&remembered.bytes);
}

/// Returns whether an id has a destination.
fn is_there<K: Stored>(shard: &Shard, id: Id) -> bool {
    id < shard.id_end(K::FAMILY)
        && (!K::table(shard).get(id).routes.is_empty()
            || shard.clients.tombstones[K::FAMILY].contains(&id))
}

fn write_neighbor(id: PeerId, peer: &Peer, bgp_id: u32, out: &mut Writer) {
    out.number(id.0);
    out.number(bgp_id);
    let not_kept = peer.counts.not_kept();
    out.number(not_kept.paths);
    out.number(not_kept.blocked);
    for family in Family::ALL {
        let epochs = &peer.epochs[family];
        out.u8(epochs.present);
        out.u8(epochs.stale.bits());
        out.u8(epochs.removing.bits());
        out.bool(peer.counts.are_missing(family));
    }
    out.bool(peer.session.is_some());
    if let Some(session) = &peer.session {
        write_session(session, out);
    }
}

fn write_session(session: &SessionInfo, out: &mut Writer) {
    out.number(session.remote_bgp_id);
    out.number(session.remote_asn.0);
    out.bool(session.as4);
    out.count(session.max_message_len);
    out.bool(session.enhanced_refresh);
    for family in session.families.iter() {
        out.bool(family.is_some());
        if let Some(family) = family {
            out.bool(family.add_path_receive);
            out.bool(family.add_path_send);
            out.bool(family.extended_next_hop);
        }
    }
}
