//! Look-ups from an address to a route: the longest match of the whole table, of one neighbor, or by next hop.
//!
//! With [`Rib::enable_lookup`] the shards keep a mirror of all accepted routes: a longest-prefix table of
//! [`rutter_lpm`] and the routes of each destination. Readers then take no lock. Without the mirror a look-up tries
//! each occurring length in the shards' own index. That takes a few microseconds, under short locks.

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
use crate::read::snapshot::{ViewContext, route_view};
use crate::{AttrSet, PeerId, Rib, RouteView};

/// A filter of routes: it accepts a route that any of its lists names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteFilter {
    /// The routes that these neighbors sent.
    pub peers: Vec<PeerId>,
    /// The routes with these next hops.
    pub next_hops: Vec<IpAddr>,
}

/// Looks addresses up; each thread needs its own.
///
/// It finds only accepted routes, stale ones included.
pub struct Lookup<'r> {
    rib: &'r Rib,
    readers: Option<Readers>,
    generation: u64,
    context: ViewContext,
}

struct Readers {
    mirror: Arc<Mirror>,
    ipv4: Reader<Ipv4Prefix>,
    ipv6: Reader<Ipv6Prefix>,
}

/// The destinations copied to the mirror under one hold of a shard's lock.
const SLICE: Id = 8 * 1024;

impl Rib {
    /// Keeps a mirror from now on, so that [`Rib::lookup`] takes no locks; present routes are copied in slices. It
    /// takes about 80 bytes a destination. It cannot be disabled, and keeps the profile of the first call.
    pub fn enable_lookup(&self, profile: Profile) {
        let mirror = self
            .mirror
            .get_or_init(|| Arc::new(Mirror::new(profile, self.shards.len())));
        for shard in &self.shards {
            // From here on the shard publishes every change.
            shard.lock().mirror = Some(Arc::clone(mirror));
            mirror_all::<Ipv4Prefix>(shard);
            mirror_all::<Ipv6Prefix>(shard);
        }
        mirror.complete.store(true, Ordering::Release);
    }

    /// Begins look-ups; keep the result for many.
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
            context: ViewContext::new(&self.topology.read()),
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
    /// Calls `with` with the longest prefix that contains the address, and its best route.
    ///
    /// It takes no locks after [`Rib::enable_lookup`]. The prefix was the longest at one instant of the call; the
    /// route was its best at the same or a later one.
    pub fn best<T>(
        &mut self,
        addr: IpAddr,
        with: impl FnOnce(Prefix, RouteView<'_>) -> T,
    ) -> Option<T> {
        self.find(addr, |routes| routes.first(), with)
    }

    /// Calls `with` with the longest prefix that contains the address and has a route that the filter accepts, and
    /// the best such route. This is the route that the neighbor, or a router with these next hops, would use for a
    /// packet.
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
                find::<Ipv4Prefix, T>(self.rib, &self.context, found, addr, choose, with)
            }
            IpAddr::V6(addr) => {
                let found = readers.map(|r| (&*r.mirror, &mut r.ipv6));
                find::<Ipv6Prefix, T>(self.rib, &self.context, found, addr, choose, with)
            }
        }
    }

    /// The neighbor's present epoch decides which routes are stale.
    fn refresh(&mut self) {
        let generation = self.rib.generation();
        if generation != self.generation {
            self.generation = generation;
            self.context = ViewContext::new(&self.rib.topology.read());
        }
    }
}

fn find<K: Stored, T>(
    rib: &Rib,
    context: &ViewContext,
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
                return Some(with(
                    longest.prefix.into(),
                    route_view(route, K::FAMILY, context),
                ));
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
    Some(with(
        held.prefix.into(),
        route_view(route, K::FAMILY, context),
    ))
}

impl RouteFilter {
    /// Returns whether the filter accepts a route.
    pub fn wants(&self, route: &RouteView<'_>) -> bool {
        self.peers.contains(&route.peer) || self.has_next_hop(route.attrs)
    }

    fn accepts(&self, route: &Route) -> bool {
        self.peers.contains(&route.peer) || self.has_next_hop(&route.attrs)
    }

    fn has_next_hop(&self, attrs: &AttrSet) -> bool {
        !self.next_hops.is_empty()
            && attrs
                .next_hop()
                .is_some_and(|next_hop| self.next_hops.contains(&next_hop))
    }
}
