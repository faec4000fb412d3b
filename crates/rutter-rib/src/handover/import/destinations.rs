//! The destinations of a table that is read, with their routes.

use std::net::{Ipv4Addr, Ipv6Addr};

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix};
use rutter_wire::handover::{BadRecord, Reader};
use smallvec::SmallVec;

use super::TableImport;
use crate::PeerId;
use crate::adj_rib_in::edit::{Keys, keys};
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::table::{Id, accepted};
use crate::decision::{Decision, Process};
use crate::topology::Topology;

/// The place of a destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) shard: u32,
    pub(super) id: Id,
}

/// The place of a number without a destination.
const NOWHERE: Place = Place {
    shard: u32::MAX,
    id: Id::MAX,
};

/// Places by the number of the destination.
#[derive(Default)]
pub(super) struct Places(Vec<Place>);

impl Places {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The place of the destination with a number.
    pub(super) fn find(&self, number: usize) -> Result<Place, BadRecord> {
        let place = self.0.get(number).copied();
        let held = place.filter(|place| *place != NOWHERE);
        held.ok_or(BadRecord("destination"))
    }

    fn is_free(&self, number: usize) -> bool {
        number == self.0.len() || self.0.get(number) == Some(&NOWHERE)
    }

    /// Gives a free number to a destination.
    fn set(&mut self, number: usize, place: Place) {
        match self.0.get_mut(number) {
            Some(free) => *free = place,
            None => self.0.push(place),
        }
    }

    fn free(&mut self, number: usize) {
        self.0[number] = NOWHERE;
    }
}

/// A prefix type that records have.
pub(super) trait Recorded: Stored {
    fn read(item: &mut Reader<'_>) -> Result<Self, BadRecord>;
}

impl Recorded for Ipv4Prefix {
    fn read(item: &mut Reader<'_>) -> Result<Self, BadRecord> {
        let (octets, len) = prefix_octets::<4>(item)?;
        Ipv4Prefix::from_addr(Ipv4Addr::from(octets), len).ok_or(BadRecord("prefix"))
    }
}

impl Recorded for Ipv6Prefix {
    fn read(item: &mut Reader<'_>) -> Result<Self, BadRecord> {
        let (octets, len) = prefix_octets::<16>(item)?;
        Ipv6Prefix::from_addr(Ipv6Addr::from(octets), len).ok_or(BadRecord("prefix"))
    }
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

/// Most destinations have so few routes that they need no allocation.
type ReadRoutes = SmallVec<[Route; 2]>;

impl TableImport<'_> {
    pub(super) fn destination<K: Recorded>(
        &mut self,
        item: &mut Reader<'_>,
    ) -> Result<(), BadRecord> {
        let number: usize = item.number("destination")?;
        let prefix = K::read(item)?;
        let mut routes = self.routes::<K>(item)?;
        let former = self.order(&mut routes)?;
        let place = match self.places[K::FAMILY].is_free(number) {
            true => self.add(number, prefix, routes.is_empty())?,
            false => self.places[K::FAMILY].find(number)?,
        };
        let mut shard = self.rib.shards[place.shard as usize].lock();
        let destination = K::table_mut(&mut shard).get_mut(place.id);
        if destination.prefix != prefix {
            return Err(BadRecord("prefix"));
        }
        self.totals.routes += routes.len() as u64;
        let mut before = std::mem::take(&mut destination.routes);
        match routes.len() {
            0..=2 => routes
                .into_iter()
                .for_each(|route| destination.routes.push(route)),
            _ => destination.routes = routes.into_vec().into(),
        }
        shard.mirror_slice::<K>(place.id..place.id + 1);
        drop(shard);
        self.forget::<K>(place, &before.take());
        let former = former.map(|former| ((place.shard, place.id), former));
        self.reordered[K::FAMILY].extend(former);
        Ok(())
    }

    pub(super) fn removal<K: Recorded>(&mut self, item: &mut Reader<'_>) -> Result<(), BadRecord> {
        let number: usize = item.number("destination")?;
        let place = self.places[K::FAMILY].find(number)?;
        self.places[K::FAMILY].free(number);
        let mut shard = self.rib.shards[place.shard as usize].lock();
        let routes = &mut K::table_mut(&mut shard).get_mut(place.id).routes;
        let before = routes.take();
        shard.mirror_slice::<K>(place.id..place.id + 1);
        K::table_mut(&mut shard).remove(place.id);
        drop(shard);
        self.totals.destinations -= 1;
        self.forget::<K>(place, &before);
        Ok(())
    }

    /// Adds a destination under a free number.
    fn add<K: Recorded>(
        &mut self,
        number: usize,
        prefix: K,
        is_tombstone: bool,
    ) -> Result<Place, BadRecord> {
        let index = self.rib.shard_of(prefix.seeded_hash(self.rib.seed));
        let mut shard = self.rib.shards[index].lock();
        let before = K::table(&shard).len();
        let id = match is_tombstone {
            true => shard.tombstone(prefix),
            false => K::table_mut(&mut shard).find_or_insert(prefix),
        };
        if K::table(&shard).len() == before {
            return Err(BadRecord("prefix"));
        }
        let place = Place {
            shard: index as u32,
            id,
        };
        self.places[K::FAMILY].set(number, place);
        self.totals.destinations += 1;
        Ok(place)
    }

    /// Forgets the routes that a destination had in a stage before.
    fn forget<K: Recorded>(&mut self, place: Place, routes: &[Route]) {
        self.totals.routes -= routes.len() as u64;
        for route in routes {
            self.tallies[route.peer.index()][K::FAMILY].count(Some(route), -1);
        }
        self.reordered[K::FAMILY].remove(&(place.shard, place.id));
    }

    fn routes<K: Recorded>(&mut self, item: &mut Reader<'_>) -> Result<ReadRoutes, BadRecord> {
        let count: usize = item.number("count of routes")?;
        let mut routes = ReadRoutes::new();
        for _ in 0..count {
            let route = self.route(item)?;
            self.tallies[route.peer.index()][K::FAMILY].count(Some(&route), 1);
            routes.push(route);
        }
        Ok(routes)
    }

    /// Reads a route of a neighbor whose tally there is.
    fn route(&self, item: &mut Reader<'_>) -> Result<Route, BadRecord> {
        let set = self.set(item)?;
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
        if peer.index() >= self.tallies.len() {
            return Err(BadRecord("neighbor"));
        }
        Ok(Route {
            attrs: set.clone(),
            path_id,
            peer,
            state: State(of_set.0 & !State::OF_ROUTE | of_route),
            verdict,
        })
    }

    /// Puts the routes of a destination in order. Returns the order in the process before if that is another.
    fn order(&self, routes: &mut [Route]) -> Result<Option<Keys>, BadRecord> {
        let end = accepted(routes).len();
        if routes[end..].iter().any(Route::is_accepted) {
            return Err(BadRecord("order of routes"));
        }
        if end < 2 {
            return Ok(None);
        }
        let topology = self.rib.topology.read();
        Ok(sort(&self.decision(&topology), &mut routes[..end]))
    }

    fn decision<'t>(&'t self, topology: &'t Topology) -> Decision<'t> {
        Decision {
            ranks: &self.ranks,
            ..topology.decision()
        }
    }

    /// Puts all routes in order again if the neighbors' ranks are others than those by which it was done.
    pub(super) fn put_in_order(&mut self) {
        let topology = self.rib.topology.read();
        let present = |id: usize| topology.ranks.get(id).copied().unwrap_or_default();
        for id in 0..self.ranks.len() {
            self.set_rank(PeerId(id as u16), present(id));
        }
        if !std::mem::take(&mut self.has_other_ranks) {
            return;
        }
        let decision = Decision {
            ranks: &self.ranks,
            ..topology.decision()
        };
        for (index, shard) in self.rib.shards.iter().enumerate() {
            let mut shard = shard.lock();
            let ipv4 = sort_all::<Ipv4Prefix>(&mut shard, &decision);
            let ipv6 = sort_all::<Ipv6Prefix>(&mut shard, &decision);
            for (family, sorted) in Family::ALL.into_iter().zip([ipv4, ipv6]) {
                for (id, former) in sorted {
                    let place = (index as u32, id);
                    self.reordered[family].entry(place).or_insert(former);
                }
            }
        }
    }
}

/// Sorts accepted routes. Returns their former order if it was another.
fn sort(decision: &Decision<'_>, routes: &mut [Route]) -> Option<Keys> {
    let former = keys(routes);
    decision.sort(routes);
    (former != keys(routes)).then_some(former)
}

/// Sorts the routes of all destinations. Returns the destinations that had another order, with that order.
fn sort_all<K: Stored>(shard: &mut Shard, decision: &Decision<'_>) -> Vec<(Id, Keys)> {
    let mut sorted = Vec::new();
    for id in 0..shard.id_end(K::FAMILY) {
        let end = shard.accepted::<K>(id).len();
        if end < 2 {
            continue;
        }
        let routes = &mut K::table_mut(shard).get_mut(id).routes;
        if let Some(former) = sort(decision, &mut routes[..end]) {
            sorted.push((id, former));
            shard.mirror_slice::<K>(id..id + 1);
        }
    }
    sorted
}
