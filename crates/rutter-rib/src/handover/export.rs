//! The table of the process that ends: held still, and written.

use std::hash::BuildHasherDefault;

use hashbrown::HashMap;
use parking_lot::{MutexGuard, RwLockReadGuard};
use rapidhash::fast::RapidHasher;
use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily};
use rutter_policy::{ChangesId, Class, RejectReason};
use rutter_wire::handover::Writer;

use super::{Tag, route_changes};
use crate::adj_rib_in::attr_set::AUDIENCE_UNKNOWN;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::table::{Id, Key};
use crate::adj_rib_in::verdict::Verdict;
use crate::topology::{Peer, Topology};
use crate::{ClientStream, PeerId, Rib, SessionInfo};

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

/// A record is complete at this size in bytes.
const RECORD: usize = 64 * 1024;
/// Other threads may change the table between two looks at it.
const ATTEMPTS: usize = 100;

impl Rib {
    /// Holds the table still, with these streams, which must be those of all clients. Their unsent parts of the log
    /// become bytes or marks. If they are not handed over after all, they go on as they are.
    ///
    /// `None` while advertisement is deferred, or while other export rules or another form of a client's messages are
    /// being applied: clients then hold what follows from no single state. Try again later.
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

    /// Writes the table and the streams with which it is held as records for [`TableImport`], and passes each to
    /// `send`. The first error ends it.
    ///
    /// [`TableImport`]: crate::TableImport
    pub fn write<E>(
        &self,
        streams: &[&ClientStream],
        send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<TableTotals, E> {
        let mut export = Export {
            table: self,
            out: Writer::default(),
            send,
            totals: TableTotals::default(),
            is_numbered: false,
        };
        export.write(streams)?;
        Ok(export.totals)
    }
}

struct Export<'a, S> {
    table: &'a HeldTable<'a>,
    out: Writer,
    send: S,
    totals: TableTotals,
    /// Clients catch up: their marks refer to the numbers of destinations.
    is_numbered: bool,
}

/// The numbers of the attribute sets, by address.
type SetNumbers = HashMap<usize, u32, BuildHasherDefault<RapidHasher<'static>>>;

/// The destinations of a family in the order of the records: the ids of each shard.
type Order = Vec<Vec<Id>>;

impl<E, S: FnMut(&[u8]) -> Result<(), E>> Export<'_, S> {
    fn write(&mut self, streams: &[&ClientStream]) -> Result<(), E> {
        self.begin(Tag::Begin)?;
        let shards = &self.table.shards;
        let ipv4 = shards.iter().map(|shard| Ipv4Prefix::table(shard).len());
        self.out.count(ipv4.sum());
        let ipv6 = shards.iter().map(|shard| Ipv6Prefix::table(shard).len());
        self.out.count(ipv6.sum());
        self.is_numbered = !streams.iter().all(|stream| stream.is_live());
        self.out.bool(self.is_numbered);
        for (peer, held) in self.table.topology.iter() {
            let bgp_id = self.table.topology.ranks[peer.index()].bgp_id;
            self.begin(Tag::Neighbor)?;
            write_neighbor(peer, held, bgp_id, &mut self.out);
        }
        self.verdicts()?;
        let sets = self.attribute_sets()?;
        let orders = PerFamily::new(
            self.destinations::<Ipv4Prefix>(&sets)?,
            self.destinations::<Ipv6Prefix>(&sets)?,
        );
        drop(sets);
        for stream in streams {
            self.client(stream, &orders)?;
        }
        self.begin(Tag::End)?;
        self.out.number(self.totals.destinations);
        self.out.number(self.totals.routes);
        self.send_record()
    }

    /// Begins an item, in a new record if the present one is long.
    fn begin(&mut self, tag: Tag) -> Result<(), E> {
        if self.out.bytes.len() >= RECORD {
            self.send_record()?;
        }
        self.out.u8(tag as u8);
        Ok(())
    }

    fn send_record(&mut self) -> Result<(), E> {
        let sent = (self.send)(&self.out.bytes);
        self.out.bytes.clear();
        sent
    }

    fn verdicts(&mut self) -> Result<(), E> {
        for reason in RejectReason::ALL {
            self.begin(Tag::Verdict)?;
            self.out.u8(Verdict::rejected(*reason).octet());
            self.out.bool(false);
            self.out.string(reason.name());
        }
        for (verdict, class) in self.table.topology.classes.verdicts() {
            self.begin(Tag::Verdict)?;
            self.out.u8(verdict.octet());
            self.out.bool(true);
            // A reason has a number only within one version, and changes only within one process.
            let numbered = Class {
                failed: None,
                changes: ChangesId::NONE,
                ..class
            };
            self.out.number(numbered.to_bits());
            self.out.string(class.failed.map_or("", RejectReason::name));
            let changes = class.changes.changes().unwrap_or_default();
            route_changes::write(&changes, &mut self.out);
        }
        Ok(())
    }

    fn attribute_sets(&mut self) -> Result<SetNumbers, E> {
        let mut sets = SetNumbers::default();
        let mut result = Ok(());
        let store = &self.table.rib.store;
        store.for_each(|set| {
            if result.is_err() || set.is_unused() {
                return;
            }
            result = self.begin(Tag::AttributeSet);
            self.out.octets(set.block());
            self.out.octets(set.mp_next_hop());
            self.out.number(set.owner().0);
            self.out.bool(set.audience() != AUDIENCE_UNKNOWN);
            sets.insert(set.address(), sets.len() as u32);
        });
        result.map(|()| sets)
    }

    fn destinations<K: Stored>(&mut self, sets: &SetNumbers) -> Result<Order, E> {
        let tag = match K::FAMILY {
            Family::Ipv4Unicast => Tag::Ipv4Destination,
            Family::Ipv6Unicast => Tag::Ipv6Destination,
        };
        let table = self.table;
        let mut order = Vec::new();
        for shard in &table.shards {
            let mut ids = Vec::new();
            for id in 0..shard.id_end(K::FAMILY) {
                let destination = K::table(shard).get(id);
                let is_kept = || shard.clients.tombstones[K::FAMILY].contains(&id);
                if destination.routes.is_empty() && !is_kept() {
                    continue;
                }
                if self.is_numbered {
                    ids.push(id);
                }
                self.totals.destinations += 1;
                self.begin(tag)?;
                write_prefix(destination.prefix, &mut self.out);
                self.out.count(destination.routes.len());
                for route in destination.routes.iter() {
                    write_route(route, sets, &mut self.out);
                }
                self.totals.routes += destination.routes.len() as u64;
            }
            order.push(ids);
        }
        Ok(order)
    }

    fn client(&mut self, stream: &ClientStream, orders: &PerFamily<Order>) -> Result<(), E> {
        self.begin(Tag::Client)?;
        self.out.number(stream.peer().0);
        stream.write_state(&mut self.out);
        self.out.bool(stream.is_live());
        if !stream.is_live() {
            for family in Family::ALL {
                self.marks(stream.peer(), family, &orders[family]);
            }
        }
        Ok(())
    }

    /// Appends a bit for each destination that a client catches up with, another for those of them that have not changed
    /// since, and the paths that it may hold.
    fn marks(&mut self, client: PeerId, family: Family, order: &Order) {
        let count: usize = order.iter().map(Vec::len).sum();
        let mut marked = vec![0_u8; count.div_ceil(8)];
        let mut unchanged = marked.clone();
        let mut remembered = Writer::default();
        let mut paths = 0_usize;
        let mut first = 0;
        for (shard, ids) in self.table.shards.iter().zip(order) {
            let all = &shard.clients.catching_up;
            let Some(catching_up) = all.iter().find(|one| one.peer == client) else {
                continue;
            };
            for (number, id) in (first..).zip(ids) {
                if let Some(has_changed) = catching_up.mark_of(family, *id) {
                    marked[number / 8] |= 1 << (number % 8);
                    unchanged[number / 8] |= u8::from(!has_changed) << (number % 8);
                }
            }
            for (id, is_complete, held) in catching_up.remembered_paths(family) {
                if let Ok(place) = ids.binary_search(&id) {
                    paths += 1;
                    remembered.count(first + place);
                    remembered.bool(is_complete);
                    remembered.count(held.len());
                    held.iter().for_each(|path| remembered.number(*path));
                }
            }
            first += ids.len();
        }
        self.out.octets(&marked);
        self.out.octets(&unchanged);
        self.out.count(paths);
        self.out.bytes.extend_from_slice(&remembered.bytes);
    }
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

fn write_prefix<K: Key>(prefix: K, out: &mut Writer) {
    let prefix: rutter_net::Prefix = prefix.into();
    let octets = usize::from(prefix.len().div_ceil(8));
    out.u8(prefix.len());
    match prefix.addr() {
        std::net::IpAddr::V4(address) => {
            out.bytes.extend_from_slice(&address.octets()[..octets]);
        }
        std::net::IpAddr::V6(address) => {
            out.bytes.extend_from_slice(&address.octets()[..octets]);
        }
    }
}

fn write_route(route: &Route, sets: &SetNumbers, out: &mut Writer) {
    let number = sets.get(&route.attrs.address());
    // The set of a route is in the store while the route is in the table.
    out.number(number.copied().unwrap_or(u32::MAX));
    out.number(route.peer.0);
    out.number(route.path_id);
    out.u8(route.state.0 & State::OF_ROUTE);
    out.u8(route.verdict.octet());
}
