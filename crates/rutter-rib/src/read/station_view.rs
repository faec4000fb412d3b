//! The table as a BMP station is shown it: before and after the import policy, the selected routes, and what each client
//! is sent (RFC 7854, 8671, 9069).

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};

use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::accepted;
use crate::advertise::encode::{RewriteRules, write_post_policy};
use crate::advertise::group::sender_of;
use crate::advertise::recorder::{path_id_of, sent_path_id};
use crate::read::exports::ExportedDestination;
use crate::read::snapshot::{ViewContext, route_view};
use crate::topology::Topology;
use crate::{DestinationPlace, ExportedRoute, PeerId, Rib, RouteView};

/// Reads the table for a station. It keeps what it derived from the export policy until that changes.
pub struct StationView {
    rib: Arc<Rib>,
    unscrubbed: Unscrubbed,
}

/// The export policy, and one that leaves action communities in place.
#[derive(Clone)]
struct Unscrubbed {
    of: Arc<ExportPolicy>,
    policy: Arc<ExportPolicy>,
}

/// A destination, also one without routes.
pub struct ReportedDestination<'a> {
    /// The prefix.
    pub prefix: Prefix,
    routes: &'a [Route],
    topology: &'a Topology,
    context: &'a ViewContext,
    unscrubbed: &'a ExportPolicy,
    /// Clients are sent nothing yet: see [`Rib::defer_advertisement`].
    is_deferred: bool,
}

/// A route of a destination.
pub struct ReportedRoute<'a> {
    /// The route as received.
    pub route: RouteView<'a>,
    held: &'a Route,
    family: Family,
    topology: &'a Topology,
    unscrubbed: &'a ExportPolicy,
}

impl StationView {
    /// A reader of a table.
    pub fn new(rib: Arc<Rib>) -> Self {
        let of = Arc::clone(rib.topology.read().audiences.policy());
        let unscrubbed = Unscrubbed::new(of);
        StationView { rib, unscrubbed }
    }

    /// Calls `each` with the destinations of a slice of the table. Returns the place to go on with, `None` after the last
    /// slice. After a break that is the place behind the destination at which `each` broke off.
    ///
    /// A destination keeps its place while it has routes, so successive calls visit each such destination once. The
    /// slice shares a page of the table, as snapshots do, so peers' updates go on. A neighbor or a session that changes
    /// waits for the slice.
    pub fn visit(
        &mut self,
        family: Family,
        from: DestinationPlace,
        each: impl FnMut(&ReportedDestination<'_>) -> ControlFlow<()>,
    ) -> Option<DestinationPlace> {
        match family {
            Family::Ipv4Unicast => self.visit_of::<Ipv4Prefix>(from, each),
            Family::Ipv6Unicast => self.visit_of::<Ipv6Prefix>(from, each),
        }
    }

    fn visit_of<K: Stored>(
        &mut self,
        from: DestinationPlace,
        mut each: impl FnMut(&ReportedDestination<'_>) -> ControlFlow<()>,
    ) -> Option<DestinationPlace> {
        let topology = self.rib.topology.read();
        self.unscrubbed.follow(topology.audiences.policy());
        let shard = self.rib.shards.get(from.shard as usize)?;
        let page = K::table(&shard.lock()).share_page(from.slot);
        let Some((first, page)) = page else {
            return self.rib.next_shard(from);
        };
        let context = ViewContext::new(&topology);
        let is_deferred = self.rib.is_advertisement_deferred();
        for (destination, slot) in page.iter().zip(first..) {
            if slot < from.slot || destination.routes.is_empty() {
                continue;
            }
            let shown = ReportedDestination {
                prefix: destination.prefix.into(),
                routes: &destination.routes,
                topology: &topology,
                context: &context,
                unscrubbed: &self.unscrubbed.policy,
                is_deferred,
            };
            if each(&shown).is_break() {
                return Some(DestinationPlace {
                    slot: slot + 1,
                    ..from
                });
            }
        }
        let slot = first + page.len() as u32;
        Some(DestinationPlace { slot, ..from })
    }

    /// Calls `each` with these destinations as they are now, until it breaks. A neighbor or a session that changes waits, so
    /// the number of prefixes should be small.
    pub fn look(
        &mut self,
        prefixes: impl IntoIterator<Item = Prefix>,
        mut each: impl FnMut(&ReportedDestination<'_>) -> ControlFlow<()>,
    ) {
        let topology = self.rib.topology.read();
        self.unscrubbed.follow(topology.audiences.policy());
        let context = ViewContext::new(&topology);
        let is_deferred = self.rib.is_advertisement_deferred();
        for prefix in prefixes {
            let routes = match prefix {
                Prefix::V4(prefix) => self.rib.copy_of(prefix).map(|held| held.routes.to_vec()),
                Prefix::V6(prefix) => self.rib.copy_of(prefix).map(|held| held.routes.to_vec()),
            };
            let shown = ReportedDestination {
                prefix,
                routes: routes.as_deref().unwrap_or_default(),
                topology: &topology,
                context: &context,
                unscrubbed: &self.unscrubbed.policy,
                is_deferred,
            };
            if each(&shown).is_break() {
                return;
            }
        }
    }
}

impl Unscrubbed {
    fn new(of: Arc<ExportPolicy>) -> Self {
        let settings = ExportSettings {
            scrub: false,
            actions: Vec::new(),
            ..of.settings().clone()
        };
        let policy = Arc::new(ExportPolicy::new(settings));
        Unscrubbed { of, policy }
    }

    fn follow(&mut self, present: &Arc<ExportPolicy>) {
        if !Arc::ptr_eq(&self.of, present) {
            *self = Unscrubbed::new(Arc::clone(present));
        }
    }
}

impl<'a> ReportedDestination<'a> {
    /// The routes of the Adj-RIBs-In, rejected ones included, without those of ended sessions.
    pub fn routes(&self) -> impl Iterator<Item = ReportedRoute<'a>> + use<'a, '_> {
        let family = self.prefix.family();
        let stays = move |route: &&Route| !self.context.is_being_removed(family, route);
        let routes = self.routes.iter().filter(stays);
        routes.map(|held| self.monitored(held))
    }

    /// The route that the decision process selected.
    pub fn best(&self) -> Option<ReportedRoute<'a>> {
        let best = accepted(self.routes).first();
        best.map(|held| self.monitored(held))
    }

    fn monitored(&self, held: &'a Route) -> ReportedRoute<'a> {
        let family = self.prefix.family();
        ReportedRoute {
            route: route_view(held, family, self.context),
            held,
            family,
            topology: self.topology,
            unscrubbed: self.unscrubbed,
        }
    }

    /// Returns whether a neighbor is a client at all: its session is up, it may receive routes, and advertisement is not
    /// deferred.
    pub fn is_client(&self, client: PeerId) -> bool {
        let held = self.topology.peer(client);
        !self.is_deferred && held.is_some_and(|held| held.group.is_some())
    }

    /// The routes that a client is sent, best first. There are none while advertisement is deferred.
    pub fn sent_to(&self, client: PeerId) -> impl Iterator<Item = ExportedRoute<'a>> + use<'a> {
        let accepted = ExportedDestination::new(
            self.prefix,
            accepted(self.routes),
            self.topology,
            self.context,
        );
        let is_deferred = self.is_deferred;
        let sent = move |route: &ExportedRoute<'_>| !is_deferred && route.withheld.is_none();
        accepted.to(client).filter(sent)
    }

    /// The path identifiers that a client with Add-Path may know for the routes of this destination.
    pub fn path_ids(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.routes.iter().map(sent_path_id)
    }
}

impl<'a> ReportedRoute<'a> {
    /// The attributes of an accepted route after the import policy, without MP_REACH_NLRI: with the changes of filters, the
    /// communities of the route's class, and ONLY_TO_CUSTOMER where RFC 9234 §5 adds it.
    pub fn post_policy(&self) -> Cow<'a, [u8]> {
        let rules = RewriteRules {
            policy: self.topology.audiences.policy(),
            classes: &self.topology.classes,
            class: self.held.verdict.class(),
        };
        let sender = sender_of(self.topology, self.held.peer);
        write_post_policy(
            &self.held.attrs,
            self.family,
            sender,
            rules,
            self.unscrubbed,
        )
    }
}

/// The path identifier with which clients with Add-Path are sent a route of a peer.
pub fn advertised_path_id(peer: PeerId, path_id: u32) -> u32 {
    path_id_of(peer, path_id)
}
