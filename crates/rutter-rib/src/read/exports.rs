//! The table as one client sees it: the routes that it is sent, as they are sent, and those that it is not sent.

use std::net::{IpAddr, Ipv6Addr};
use std::ops::ControlFlow;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::Attributes;

use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::accepted;
use crate::advertise::encode::Style;
use crate::advertise::export_view::{GroupScope, Scope, Withheld};
use crate::advertise::group::Advertisement;
use crate::advertise::recorder::sent_path_id;
use crate::read::explain;
use crate::read::snapshot::{ViewContext, route_view};
use crate::topology::Topology;
use crate::{DestinationPlace, PeerId, Rib, RouteView};

/// A destination with accepted routes, and the question which of them a client is sent.
pub struct ExportedDestination<'a> {
    /// The prefix.
    pub prefix: Prefix,
    /// Its place in the table.
    pub place: DestinationPlace,
    /// Accepted routes, best first.
    pub(super) routes: &'a [Route],
    pub(super) topology: &'a Topology,
    context: &'a ViewContext,
}

/// An accepted route and what becomes of it for one client.
pub struct ExportedRoute<'a> {
    /// The route as received.
    pub route: RouteView<'a>,
    /// True if it is the best of its destination.
    pub best: bool,
    /// Why the client is not sent the route; `None`: it is sent.
    pub withheld: Option<Withheld>,
    held: &'a Route,
    scope: Scope<'a>,
    client: PeerId,
}

/// A route as one client is sent it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentRoute {
    /// The path identifier, with Add-Path (RFC 7911).
    pub path_id: Option<u32>,
    /// The next hop; the global one of two.
    pub next_hop: IpAddr,
    /// The link-local next hop beside it (RFC 2545 §3).
    pub link_local_next_hop: Option<Ipv6Addr>,
    block: Vec<u8>,
}

impl SentRoute {
    /// The attributes without MP_REACH_NLRI. AS numbers have four octets, also where the session has two (RFC 6793).
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::from_canonical(&self.block)
    }

    /// The canonical attribute block.
    pub fn block(&self) -> &[u8] {
        &self.block
    }
}

impl Rib {
    /// Calls `each` with the destinations of a slice of the table that have accepted routes and whose prefix is wanted.
    /// Returns the place to go on with, `None` after the last slice. After a break that is the destination at which
    /// `each` broke off.
    ///
    /// A destination keeps its place while it has routes, so successive calls visit each such destination once. The
    /// slice shares a page of the table, as snapshots do, so peers' updates go on. A neighbor or a session that changes
    /// waits for the slice.
    pub fn visit_exports(
        &self,
        family: Family,
        from: DestinationPlace,
        wanted: impl Fn(Prefix) -> bool,
        each: impl FnMut(&ExportedDestination<'_>) -> ControlFlow<()>,
    ) -> Option<DestinationPlace> {
        match family {
            Family::Ipv4Unicast => self.visit_exports_of::<Ipv4Prefix>(from, wanted, each),
            Family::Ipv6Unicast => self.visit_exports_of::<Ipv6Prefix>(from, wanted, each),
        }
    }

    /// Calls `with` with one destination; `None` for a prefix without accepted routes.
    pub fn exports_of<T>(
        &self,
        prefix: Prefix,
        with: impl FnOnce(&ExportedDestination<'_>) -> T,
    ) -> Option<T> {
        match prefix {
            Prefix::V4(prefix) => self.exports_of_copy(prefix, with),
            Prefix::V6(prefix) => self.exports_of_copy(prefix, with),
        }
    }

    fn exports_of_copy<K: Stored, T>(
        &self,
        prefix: K,
        with: impl FnOnce(&ExportedDestination<'_>) -> T,
    ) -> Option<T> {
        let topology = self.topology.read();
        let destination = self.copy_of(prefix)?;
        let routes = accepted(&destination.routes);
        (!routes.is_empty()).then(|| {
            with(&ExportedDestination {
                prefix: prefix.into(),
                place: DestinationPlace::default(),
                routes,
                topology: &topology,
                context: &ViewContext::new(&topology),
            })
        })
    }

    fn visit_exports_of<K: Stored>(
        &self,
        from: DestinationPlace,
        wanted: impl Fn(Prefix) -> bool,
        mut each: impl FnMut(&ExportedDestination<'_>) -> ControlFlow<()>,
    ) -> Option<DestinationPlace> {
        // The audience of a set follows the topology, so both are read under one lock. That of the shard is held for a
        // reference count only.
        let topology = self.topology.read();
        let shard = self.shards.get(from.shard as usize)?;
        let page = K::table(&shard.lock()).share_page(from.slot);
        let Some((first, page)) = page else {
            return self.next_shard(from);
        };
        let context = ViewContext::new(&topology);
        let at = |slot: u32| DestinationPlace { slot, ..from };
        for (destination, slot) in page.iter().zip(first..) {
            let routes = accepted(&destination.routes);
            let prefix = destination.prefix.into();
            if slot < from.slot || routes.is_empty() || !wanted(prefix) {
                continue;
            }
            let exported = ExportedDestination {
                prefix,
                place: at(slot),
                routes,
                topology: &topology,
                context: &context,
            };
            if each(&exported).is_break() {
                return Some(at(slot));
            }
        }
        Some(at(first + page.len() as u32))
    }

    pub(crate) fn next_shard(&self, from: DestinationPlace) -> Option<DestinationPlace> {
        let shard = from.shard + 1;
        let exists = (shard as usize) < self.shards.len();
        exists.then_some(DestinationPlace { shard, slot: 0 })
    }
}

impl<'a> ExportedDestination<'a> {
    /// A destination outside a walk, whose place is not known.
    pub(crate) fn new(
        prefix: Prefix,
        routes: &'a [Route],
        topology: &'a Topology,
        context: &'a ViewContext,
    ) -> Self {
        ExportedDestination {
            prefix,
            place: DestinationPlace::default(),
            routes,
            topology,
            context,
        }
    }

    /// The routes, best first, each with whether it is the best.
    pub(super) fn views(&self) -> impl Iterator<Item = (RouteView<'a>, bool)> + use<'a> {
        let (family, context) = (self.prefix.family(), self.context);
        let view = move |route: &'a Route| route_view(route, family, context);
        self.routes
            .iter()
            .enumerate()
            .map(move |(at, route)| (view(route), at == 0))
    }

    /// The routes that a client is sent, and the better ones that it is not sent, best first. Without Add-Path the routes
    /// behind the one that it is sent are left out. Empty without a session.
    pub fn to(&self, client: PeerId) -> impl Iterator<Item = ExportedRoute<'a>> + use<'a> {
        let held = self
            .topology
            .peer(client)
            .and_then(|held| held.group.as_ref());
        let scope = held.map(|group| {
            let scope = GroupScope {
                topology: self.topology,
                style: &group.style,
            };
            scope.at(self.prefix)
        });
        let (routes, family, context) = (self.routes, self.prefix.family(), self.context);
        scope.into_iter().flat_map(move |scope| {
            let verdict = explain::client(&scope, routes, client);
            let sent = verdict.receives.into_iter().map(|index| (index, None));
            let skipped = verdict.skipped.into_iter();
            let skipped = skipped.map(|(index, why)| (index, Some(why)));
            let mut all: Vec<_> = sent.chain(skipped).collect();
            all.sort_unstable_by_key(|(index, _)| *index);
            all.into_iter().map(move |(index, withheld)| ExportedRoute {
                route: route_view(&routes[index], family, context),
                best: index == 0,
                withheld,
                held: &routes[index],
                scope,
                client,
            })
        })
    }
}

impl ExportedRoute<'_> {
    /// The rule of the client's export filters that rejects the route, as text.
    pub fn filter_evidence(&self) -> Option<String> {
        let is_filtered = self.withheld == Some(Withheld::Filter);
        is_filtered.then(|| self.scope.filter_evidence(self.held))?
    }

    /// The route as the client is sent it; `None` if it is withheld.
    pub fn sent(&self) -> Option<SentRoute> {
        if self.withheld.is_some() {
            return None;
        }
        let Scope {
            topology,
            style,
            family,
            ..
        } = self.scope;
        let style = Style {
            as4: true,
            ..style.clone()
        };
        let modification = self.scope.modification(self.held, self.client);
        let advertised = Advertisement::of(self.held, modification);
        let (mut block, mut own) = (Vec::new(), [0; 16]);
        let next_hop = advertised.write(&style, topology, family, &mut block, &mut own);
        let attributes = Attributes::from_canonical(&block);
        let octets = next_hop.unwrap_or_default();
        let address = |octets: [u8; 16]| Ipv6Addr::from(octets);
        let global = octets.first_chunk::<16>().copied().map(address);
        let ipv4 = || octets.first_chunk::<4>().map(|octets| (*octets).into());
        let ipv4 = || ipv4().or(attributes.next_hop()).map(IpAddr::V4);
        Some(SentRoute {
            path_id: self.scope.has_add_path().then(|| sent_path_id(self.held)),
            next_hop: global.map(IpAddr::V6).or_else(ipv4)?,
            link_local_next_hop: octets.get(16..32).and_then(|rest| {
                let octets: [u8; 16] = rest.try_into().ok()?;
                Some(address(octets))
            }),
            block,
        })
    }
}
