//! From an address to a route: the longest match of the whole table, of one neighbor, or by next hop.
//!
//! With [`Rib::enable_lookup`] the shards keep a mirror of all accepted routes, from a longest-prefix table of
//! [`rutter_lpm`] to the routes of each destination, and readers take no lock. Without it nothing is kept and nothing
//! is paid for; the same questions are then answered by trying each length in the shards' own index, as few
//! questions may be: a few microseconds each, under short locks.

mod mirror;
mod slots;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use rutter_lpm::{Profile, Reader};
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

pub(crate) use mirror::{FamilyMirror, Mirror, ShardMirror};

use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::table::Id;
use crate::read::snapshot::{Epoch, epochs, route_view};
use crate::{AttrSet, PeerId, Rib, RouteView};

/// Whose routes are asked for: a route is filter that any of these names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteFilter {
    /// Routes that these neighbors sent.
    pub peers: Vec<PeerId>,
    /// Routes with these next hops.
    pub next_hops: Vec<IpAddr>,
}

/// Looks up addresses; one for each thread.
///
/// Only accepted routes are found, stale ones included.
pub struct Lookup<'r> {
    rib: &'r Rib,
    readers: Option<Readers>,
    generation: u64,
    epochs: Vec<[Epoch; 2]>,
}

struct Readers {
    mirror: Arc<Mirror>,
    ipv4: Reader<Ipv4Prefix>,
    ipv6: Reader<Ipv6Prefix>,
}

/// Destinations taken into the mirror under one hold of a shard's lock.
const SLICE: Id = 8 * 1024;

impl Rib {
    /// Keeps what [`Rib::lookup`] reads without locks from now on; what is in the table already is taken over in
    /// slices. About 80 octets a destination. Once on, it stays on, in the profile of the first call.
    pub fn enable_lookup(&self, profile: Profile) {
        let mirror = self
            .mirror
            .get_or_init(|| Arc::new(Mirror::new(profile, self.shards.len())));
        for shard in &self.shards {
            // From here on the shard tells of every change by itself.
            shard.lock().mirror = Some(Arc::clone(mirror));
            mirror_all::<Ipv4Prefix>(shard);
            mirror_all::<Ipv6Prefix>(shard);
        }
        mirror.complete.store(true, Ordering::Release);
    }

    /// Begins look-ups; keep it for many.
    pub fn lookup(&self) -> Lookup<'_> {
        let readers = self.mirror.get().map(|mirror| Readers {
            mirror: Arc::clone(mirror),
            ipv4: Ipv4Prefix::half(mirror).reader(),
            ipv6: Ipv6Prefix::half(mirror).reader(),
        });
        let generation = self.generation();
        Lookup {
            rib: self,
            readers,
            generation,
            epochs: epochs(&self.topology.read()),
        }
    }
}

fn mirror_all<K: Stored>(shard: &Mutex<Shard>) {
    let mut start = 0;
    while shard.lock().mirror_slice::<K>(start..start + SLICE) {
        start += SLICE;
    }
}

impl Lookup<'_> {
    /// Calls `with` with the longest prefix that has the address and its best route.
    ///
    /// Without locks where [`Rib::enable_lookup`] was called. The prefix was the longest at one instant of the
    /// call; the route was its best at the same or a later one.
    pub fn best<T>(
        &mut self,
        addr: IpAddr,
        with: impl FnOnce(Prefix, RouteView<'_>) -> T,
    ) -> Option<T> {
        self.find(addr, |routes| routes.first(), with)
    }

    /// Calls `with` with the longest prefix that has the address and that a route of those asked for leads to, and the
    /// best such route: what this neighbor, or a router with these next hops, would do with a packet.
    ///
    /// Where the longest prefix of all has no such route, shorter ones are tried in the shards, under short locks.
    pub fn best_of<T>(
        &mut self,
        addr: IpAddr,
        filter: &RouteFilter,
        with: impl FnOnce(Prefix, RouteView<'_>) -> T,
    ) -> Option<T> {
        self.find(
            addr,
            |routes| routes.iter().find(|route| filter.accepts(route)),
            with,
        )
    }

    fn find<T>(
        &mut self,
        addr: IpAddr,
        choose: impl Fn(&[Route]) -> Option<&Route>,
        with: impl FnOnce(Prefix, RouteView<'_>) -> T,
    ) -> Option<T> {
        self.refresh();
        let readers = self.readers.as_mut().filter(|r| r.mirror.is_usable());
        // An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) is an IPv4 address.
        match addr.to_canonical() {
            IpAddr::V4(addr) => {
                let found = readers.map(|r| (&*r.mirror, &mut r.ipv4));
                find::<Ipv4Prefix, T>(self.rib, &self.epochs, found, addr, choose, with)
            }
            IpAddr::V6(addr) => {
                let found = readers.map(|r| (&*r.mirror, &mut r.ipv6));
                find::<Ipv6Prefix, T>(self.rib, &self.epochs, found, addr, choose, with)
            }
        }
    }

    /// Which routes are stale is a matter of their neighbor's present epoch.
    fn refresh(&mut self) {
        let generation = self.rib.generation();
        if generation != self.generation {
            self.generation = generation;
            self.epochs = epochs(&self.rib.topology.read());
        }
    }
}

fn find<K: Stored, T>(
    rib: &Rib,
    epochs: &[[Epoch; 2]],
    readers: Option<(&Mirror, &mut Reader<K>)>,
    addr: K::Addr,
    choose: impl Fn(&[Route]) -> Option<&Route>,
    with: impl FnOnce(Prefix, RouteView<'_>) -> T,
) -> Option<T> {
    let below = match readers {
        None => K::MAX_LEN + 1,
        Some((mirror, reader)) => {
            let held = K::half(mirror).find(reader, addr)?;
            let longest = held.as_ref()?;
            if let Some(route) = choose(&longest.routes) {
                return Some(with(longest.prefix.into(), route_view::<K>(route, epochs)));
            }
            longest.prefix.prefix_len()
        }
    };
    let bits = K::addr_bits(addr);
    let held = (0..below).rev().find_map(|len| {
        let held = rib.copy_of(K::from_bits(bits, len))?;
        choose(held.accepted()).is_some().then_some(held)
    })?;
    let route = choose(held.accepted())?;
    Some(with(held.prefix.into(), route_view::<K>(route, epochs)))
}

impl RouteFilter {
    /// Whether a route is one of those asked for.
    pub fn wants(&self, route: &RouteView<'_>) -> bool {
        self.peers.contains(&route.peer) || self.has_next_hop(route.attrs)
    }

    fn accepts(&self, route: &Route) -> bool {
        self.peers.contains(&route.peer) || self.has_next_hop(&route.attrs)
    }

    fn has_next_hop(&self, attrs: &AttrSet) -> bool {
        !self.next_hops.is_empty() && self.next_hops.contains(&attrs.next_hop())
    }
}
