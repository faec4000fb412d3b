//! The table of the process that continues: read from the records of the one before.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix, PerFamily};
use rutter_policy::{ChangesId, Class, RejectReason};
use rutter_wire::attr::Attributes;
use rutter_wire::handover::{BadRecord, Reader};
use smallvec::SmallVec;

use super::{Tag, route_changes};
use crate::adj_rib_in::attr_set::Summary;
use crate::adj_rib_in::edit::{Keys, keys};
use crate::adj_rib_in::epochs::{EPOCHS, EpochSet};
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::{Id, accepted};
use crate::adj_rib_in::tally::Tally;
use crate::adj_rib_in::verdict::Verdict;
use crate::advertise::catch_up::CatchUp;
use crate::advertise::group::Group;
use crate::decision::Process;
use crate::lifecycle::style;
use crate::{
    AttrSet, ClientStream, FamilyInfo, Neighbor, NotKept, PeerId, Rib, SessionInfo, TableTotals,
};

/// Room for more destinations is made when they come.
const MOST_RESERVED: usize = 4 << 20;

/// Reads the records of a table into an empty one.
pub struct TableImport<'a> {
    rib: &'a Rib,
    /// The neighbors whose items have not arrived.
    awaited: Vec<PeerId>,
    /// The meaning of each octet.
    verdicts: [Option<Verdict>; 256],
    sets: Vec<AttrSet>,
    /// Clients catch up: their marks refer to the numbers of destinations.
    is_numbered: bool,
    /// If so, the shard and the id of each destination, in the order of the records.
    destinations: PerFamily<Vec<(u32, Id)>>,
    /// By neighbor.
    tallies: Vec<PerFamily<Tally>>,
    /// The destinations whose routes have another order here: what clients hold of them is uncertain.
    reordered: PerFamily<Vec<(u32, Id, Keys)>>,
    streams: Vec<ClientStream>,
    totals: TableTotals,
    is_complete: bool,
}

impl Rib {
    /// Begins to read the records of a table. The table must be empty, and `neighbors` those of the other table under
    /// the same ids: the identifiers of paths that clients hold follow from these.
    pub fn import(&self, neighbors: Vec<(PeerId, Neighbor)>) -> TableImport<'_> {
        let awaited: Vec<PeerId> = neighbors.iter().map(|(peer, _)| *peer).collect();
        let mut topology = self.topology.write();
        for (peer, neighbor) in neighbors {
            topology.add_as(peer, neighbor);
        }
        topology.rebuild_rules();
        let tallies = vec![PerFamily::default(); topology.peers.len()];
        drop(topology);
        self.changed();
        TableImport {
            rib: self,
            awaited,
            verdicts: [None; 256],
            sets: Vec::new(),
            is_numbered: false,
            destinations: PerFamily::default(),
            tallies,
            reordered: PerFamily::default(),
            streams: Vec::new(),
            totals: TableTotals::default(),
            is_complete: false,
        }
    }

    /// Evaluates all routes again, after they were read with the verdicts of another process. Clients receive only
    /// differences. `notify` is as in [`Rib::replace_neighbors`].
    pub fn reevaluate_all(&self, notify: impl FnMut()) {
        let peers: Vec<PeerId> = self.topology.read().iter().map(|(id, _)| id).collect();
        self.reevaluate_imports(&peers, notify);
    }
}

impl TableImport<'_> {
    /// Reads one record.
    pub fn record(&mut self, record: &[u8]) -> Result<(), BadRecord> {
        let mut items = Reader::new(record);
        while !items.is_empty() {
            if self.is_complete {
                return Err(BadRecord("end"));
            }
            let tag = Tag::from_octet(items.u8("kind")?);
            match tag.ok_or(BadRecord("kind"))? {
                Tag::Begin => self.begin(&mut items)?,
                Tag::Neighbor => self.neighbor(&mut items)?,
                Tag::Verdict => self.verdict(&mut items)?,
                Tag::AttributeSet => self.attribute_set(&mut items)?,
                Tag::Ipv4Destination => {
                    let prefix = ipv4_prefix(&mut items)?;
                    self.destination(prefix, &mut items)?;
                }
                Tag::Ipv6Destination => {
                    let prefix = ipv6_prefix(&mut items)?;
                    self.destination(prefix, &mut items)?;
                }
                Tag::Client => self.client(&mut items)?,
                Tag::End => self.end(&mut items)?,
            }
        }
        Ok(())
    }

    /// Completes the table after the last record, and returns the streams of the clients.
    pub fn finish(self) -> Result<(TableTotals, Vec<ClientStream>), BadRecord> {
        if !self.is_complete || !self.awaited.is_empty() {
            return Err(BadRecord("end"));
        }
        let topology = self.rib.topology.read();
        for ((id, peer), family) in topology
            .iter()
            .flat_map(|peer| Family::ALL.map(|family| (peer, family)))
        {
            let tally = &self.tallies[id.index()][family];
            peer.counts.add(family, tally);
            topology.count_routes(tally);
        }
        drop(topology);
        for set in self.sets {
            self.rib.store.release_unrouted(set);
        }
        self.rib.changed();
        Ok((self.totals, self.streams))
    }

    fn begin(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let ipv4: usize = item.number("count of destinations")?;
        let ipv6: usize = item.number("count of destinations")?;
        self.is_numbered = item.bool("numbers")?;
        let share = |count: usize| count.min(MOST_RESERVED) / self.rib.shards.len();
        for shard in &self.rib.shards {
            let mut shard = shard.lock();
            Ipv4Prefix::table_mut(&mut shard).reserve(share(ipv4));
            Ipv6Prefix::table_mut(&mut shard).reserve(share(ipv6));
        }
        Ok(())
    }

    fn neighbor(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let id = PeerId(item.number("neighbor")?);
        let place = self.awaited.iter().position(|awaited| *awaited == id);
        self.awaited
            .swap_remove(place.ok_or(BadRecord("neighbor"))?);
        let bgp_id = item.number("BGP Identifier")?;
        let not_kept = NotKept {
            paths: item.number("count of paths")?,
            blocked: item.number("count of blocked routes")?,
        };
        let mut topology = self.rib.topology.write();
        topology.ranks[id.index()].bgp_id = bgp_id;
        let peer = topology.peer_mut(id).ok_or(BadRecord("neighbor"))?;
        for family in Family::ALL {
            let epochs = &mut peer.epochs[family];
            epochs.present = item.u8("epoch")?;
            epochs.stale = EpochSet::from_bits(item.u8("epochs")?);
            epochs.removing = EpochSet::from_bits(item.u8("epochs")?);
            if usize::from(epochs.present) >= EPOCHS || !epochs.removing.is_empty() {
                return Err(BadRecord("epoch"));
            }
            let are_missing = item.bool("missing routes")?;
            peer.counts.restore(family, not_kept, are_missing);
        }
        if item.bool("session")? {
            let session = read_session(item)?;
            let of_client = style(peer, &session, self.rib.cluster_id);
            let of_client = of_client.filter(|style| style.advertises);
            peer.group = of_client.map(|style| self.rib.group(style));
            peer.session = Some(session);
        }
        topology.refresh_rank(id);
        Ok(())
    }

    fn verdict(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let octet = usize::from(item.u8("verdict")?);
        let find = |name: &str| {
            let mut all = RejectReason::ALL.iter().copied();
            all.find(|reason| reason.name() == name)
                .ok_or(BadRecord("reason of rejection"))
        };
        let verdict = if item.bool("verdict")? {
            let class = Class::from_bits(item.number("class")?);
            let failed = match item.string("failed check")? {
                "" => None,
                name => Some(find(name)?),
            };
            let changes = ChangesId::of(&route_changes::read(item)?);
            let class = Class {
                failed,
                changes: changes.ok_or(BadRecord("place for changes of filters"))?,
                ..class
            };
            let topology = self.rib.topology.read();
            let verdict = topology.classes.known_verdict(class);
            verdict.ok_or(BadRecord("place for a class"))?
        } else {
            Verdict::rejected(find(item.string("reason of rejection")?)?)
        };
        self.verdicts[octet] = Some(verdict);
        Ok(())
    }

    fn attribute_set(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let block = item.octets("attributes")?;
        let next_hop = item.octets("next hop")?;
        let attributes = Attributes::from_canonical(block);
        let summary = || Summary::of(&attributes);
        let owner = PeerId(item.number("neighbor of attributes")?);
        let set = self.rib.store.intern(owner, block, next_hop, summary);
        if item.bool("audience")? {
            self.rib.assign_audience(&set, &attributes);
        }
        self.sets.push(set);
        Ok(())
    }

    fn destination<K: Stored>(
        &mut self,
        prefix: K,
        item: &mut Reader<'_>,
    ) -> Result<(), BadRecord> {
        let count: usize = item.number("count of routes")?;
        // Most destinations have so few that they need no allocation.
        let mut routes: SmallVec<[Route; 2]> = SmallVec::new();
        for _ in 0..count {
            routes.push(self.route::<K>(item)?);
        }
        let end = accepted(&routes).len();
        if routes[end..].iter().any(Route::is_accepted) {
            return Err(BadRecord("order of routes"));
        }
        let former = (end > 1).then(|| keys(&routes[..end]));
        if end > 1 {
            let topology = self.rib.topology.read();
            topology.decision().sort(&mut routes[..end]);
        }
        let reordered = former.filter(|former| *former != keys(&routes[..end]));
        let number = self.rib.shard_of(prefix.seeded_hash(self.rib.seed));
        let mut shard = self.rib.shards[number].lock();
        let id = match routes.is_empty() {
            true => shard.tombstone(prefix),
            false => K::table_mut(&mut shard).find_or_insert(prefix),
        };
        let destination = K::table_mut(&mut shard).get_mut(id);
        if !destination.routes.is_empty() {
            return Err(BadRecord("prefix"));
        }
        match count {
            0..=2 => routes
                .into_iter()
                .for_each(|route| destination.routes.push(route)),
            _ => destination.routes = routes.into_vec().into(),
        }
        shard.mirror_slice::<K>(id..id + 1);
        self.totals.destinations += 1;
        self.totals.routes += count as u64;
        let number = number as u32;
        if self.is_numbered {
            self.destinations[K::FAMILY].push((number, id));
        }
        let reordered = reordered.map(|former| (number, id, former));
        self.reordered[K::FAMILY].extend(reordered);
        Ok(())
    }

    fn route<K: Stored>(&mut self, item: &mut Reader<'_>) -> Result<Route, BadRecord> {
        let number: usize = item.number("attribute set")?;
        let set = self.sets.get(number).ok_or(BadRecord("attribute set"))?;
        let peer = PeerId(item.number("neighbor")?);
        let path_id = item.number("path identifier")?;
        let of_route = item.u8("state")?;
        let verdict = self.verdicts[usize::from(item.u8("verdict")?)];
        let verdict = verdict.ok_or(BadRecord("verdict"))?;
        let summary = set.summary();
        let of_set = State::of_set(summary.neighbour_as, summary.multi_exit_disc);
        if of_route & !State::OF_ROUTE != 0 {
            return Err(BadRecord("state"));
        }
        let route = Route {
            attrs: set.clone(),
            path_id,
            peer,
            state: State(of_set.0 & !State::OF_ROUTE | of_route),
            verdict,
        };
        let tally = self.tallies.get_mut(peer.index());
        let tally = tally.ok_or(BadRecord("neighbor"))?;
        tally[K::FAMILY].count(Some(&route), 1);
        Ok(route)
    }

    fn client(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let rib = self.rib;
        let peer = PeerId(item.number("client")?);
        let group = self.group_of(peer)?;
        let is_deferred = Arc::clone(&rib.is_deferred);
        let mut stream = ClientStream::from_state(peer, group, is_deferred, item)?;
        let is_live = item.bool("client")?;
        if is_live && self.reordered.iter().all(Vec::is_empty) {
            stream.follow_from_end();
            let group = stream.group();
            // A client to which nothing is exported any more receives nothing of the log.
            let shards = rib.shards.iter().filter(|_| group.style.advertises);
            shards.for_each(|shard| shard.lock().clients.join(peer, group));
        } else {
            for shard in &rib.shards {
                let style = &stream.group().style;
                shard.lock().begin_catch_up(peer, style);
            }
            for family in Family::ALL {
                if !is_live {
                    self.marks(peer, family, item)?;
                }
                self.mark_reordered(peer, family);
            }
        }
        self.streams.push(stream);
        Ok(())
    }

    /// The group of a client, also of one to which nothing is exported any more.
    fn group_of(&self, client: PeerId) -> Result<Arc<Group>, BadRecord> {
        let mut topology = self.rib.topology.write();
        let held = topology.peer_mut(client).ok_or(BadRecord("client"))?;
        if held.group.is_none() {
            let session = held.session.as_ref();
            let style = session.and_then(|session| style(held, session, self.rib.cluster_id));
            held.group = style.map(|style| self.rib.group(style));
        }
        held.group.clone().ok_or(BadRecord("client"))
    }

    fn marks(
        &self,
        client: PeerId,
        family: Family,
        item: &mut Reader<'_>,
    ) -> Result<(), BadRecord> {
        let destinations = &self.destinations[family];
        let marked = item.octets("marks")?;
        let unchanged = item.octets("marks")?;
        let len = destinations.len().div_ceil(8);
        if marked.len() != len || unchanged.len() != len {
            return Err(BadRecord("marks"));
        }
        let is_set = |bits: &[u8], number: usize| bits[number / 8] >> (number % 8) & 1 != 0;
        let with = |place: (u32, Id), action: &mut dyn FnMut(&mut CatchUp, Id)| {
            let mut shard = self.rib.shards[place.0 as usize].lock();
            if let Some(catching_up) = shard.clients.catching_up(client) {
                action(catching_up, place.1);
            }
        };
        for (number, place) in destinations.iter().enumerate() {
            if is_set(marked, number) {
                let has_changed = !is_set(unchanged, number);
                with(*place, &mut |one, id| {
                    one.restore_mark(family, id, has_changed)
                });
            }
        }
        for _ in 0..item.number::<usize>("count of paths")? {
            let number: usize = item.number("destination")?;
            let is_complete = item.bool("paths")?;
            let mut paths = Vec::new();
            for _ in 0..item.number::<usize>("count of paths")? {
                paths.push(item.number("path")?);
            }
            let place = destinations.get(number).ok_or(BadRecord("destination"))?;
            with(*place, &mut |one, id| {
                one.restore_paths(family, id, is_complete, &paths);
            });
        }
        Ok(())
    }

    /// Sends a client the destinations again whose order is another in this process.
    fn mark_reordered(&self, client: PeerId, family: Family) {
        for (shard, id, former) in &self.reordered[family] {
            let mut shard = self.rib.shards[*shard as usize].lock();
            if let Some(catching_up) = shard.clients.catching_up(client) {
                catching_up.mark(family, *id);
                catching_up.remember_paths(family, *id, former);
            }
        }
    }

    fn end(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let totals = TableTotals {
            destinations: item.number("count of destinations")?,
            routes: item.number("count of routes")?,
        };
        if totals != self.totals {
            return Err(BadRecord("count of routes"));
        }
        self.is_complete = true;
        Ok(())
    }
}

fn read_session(item: &mut Reader<'_>) -> Result<SessionInfo, BadRecord> {
    let mut session = SessionInfo {
        remote_bgp_id: item.number("BGP Identifier")?,
        remote_asn: Asn(item.number("AS number")?),
        as4: item.bool("length of AS numbers")?,
        max_message_len: item.number("length of messages")?,
        enhanced_refresh: item.bool("refresh")?,
        families: PerFamily::both(None),
    };
    for family in Family::ALL {
        if item.bool("family")? {
            session.families[family] = Some(FamilyInfo {
                add_path_receive: item.bool("Add-Path")?,
                add_path_send: item.bool("Add-Path")?,
                extended_next_hop: item.bool("next hop of a family")?,
            });
        }
    }
    Ok(session)
}

fn ipv4_prefix(item: &mut Reader<'_>) -> Result<Ipv4Prefix, BadRecord> {
    let (octets, len) = prefix_octets::<4>(item)?;
    Ipv4Prefix::from_addr(Ipv4Addr::from(octets), len).ok_or(BadRecord("prefix"))
}

fn ipv6_prefix(item: &mut Reader<'_>) -> Result<Ipv6Prefix, BadRecord> {
    let (octets, len) = prefix_octets::<16>(item)?;
    Ipv6Prefix::from_addr(Ipv6Addr::from(octets), len).ok_or(BadRecord("prefix"))
}

/// The octets of a prefix that lie within its length, and the length.
fn prefix_octets<const N: usize>(item: &mut Reader<'_>) -> Result<([u8; N], u8), BadRecord> {
    let len = item.u8("prefix")?;
    let given = item.raw(usize::from(len.div_ceil(8)), "prefix")?;
    let mut octets = [0; N];
    let place = octets.get_mut(..given.len()).ok_or(BadRecord("prefix"))?;
    place.copy_from_slice(given);
    Ok((octets, len))
}
