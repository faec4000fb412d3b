//! The one place that decides which routes of a destination a client receives.
//!
//! Everything that advertises derives from [`export_view`]. The recorder sends the difference of two views, and
//! catch-up sends a whole view. A changed export policy compares the views of two policies, and `explain` names the
//! reasons. The fast path of a plain exchange is a special case: its tests prove that it agrees.

use std::cell::Cell;
use std::fmt;

use rutter_net::{Family, Prefix};
use rutter_policy::ChangesId;
use smallvec::SmallVec;

use crate::PeerId;
use crate::adj_rib_in::route::Route;
use crate::advertise::audience::{Audience, Modification};
use crate::advertise::audiences::EVERYONE;
use crate::advertise::encode::Style;
use crate::advertise::export_filter::Export;
use crate::advertise::first_paths::{first_paths, first_paths_by_med};
use crate::advertise::recorder::with_route_state;
use crate::peer_set::PeerSet;
use crate::topology::Topology;

/// The routes that some clients receive, best first, each with its recipients.
///
/// Without Add-Path no client receives two of them.
pub(crate) type ExportView<'r, C = PeerSet> = SmallVec<[(&'r Route, C); 4]>;

/// The context of views of many destinations: the rules between peers, and the parameters that one group of clients
/// negotiated.
#[derive(Clone, Copy)]
pub(crate) struct GroupScope<'a> {
    pub topology: &'a Topology,
    pub style: &'a Style,
}

impl<'a> GroupScope<'a> {
    /// The context of a view of one destination.
    pub fn at(self, prefix: impl Into<Prefix>) -> Scope<'a> {
        let prefix = prefix.into();
        Scope {
            topology: self.topology,
            style: self.style,
            family: prefix.family(),
            prefix,
            comparisons: None,
        }
    }
}

/// The context of a view.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub topology: &'a Topology,
    pub style: &'a Style,
    pub family: Family,
    /// The destination, for export filters.
    pub prefix: Prefix,
    /// Counts the comparisons for views in edits of the table, see [`crate::advertise::clients::Clients::take_steps`]. `None`
    /// for readers.
    pub comparisons: Option<&'a Cell<usize>>,
}

/// The export policy that a view follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    Present,
    /// The policy before the present one, while a walk applies the present one.
    Former,
}

/// The reason why a candidate is not for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Withheld {
    /// The client sent it.
    OwnRoute,
    /// An action community keeps it from this client, or NO_ADVERTISE or NO_EXPORT where they are honoured.
    Audience,
    /// The route was accepted for BLACKHOLE, and the client does not receive such routes (RFC 7999).
    Blackhole,
    /// The rules between kinds of peers: internal to internal without reflection, collectors.
    Reflection,
    /// ONLY_TO_CUSTOMER and the session's role (RFC 9234).
    Role,
    /// An export filter of the client rejects it.
    Filter,
    /// The client does not take this family, or not with this kind of next hop (RFC 8950).
    Family,
    /// Add-Path is on and better candidates fill the limit.
    PathLimit,
}

impl Withheld {
    /// All reasons.
    pub const ALL: [Withheld; 8] = [
        Withheld::OwnRoute,
        Withheld::Audience,
        Withheld::Blackhole,
        Withheld::Reflection,
        Withheld::Role,
        Withheld::Filter,
        Withheld::Family,
        Withheld::PathLimit,
    ];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Withheld::OwnRoute => "own-route",
            Withheld::Audience => "communities",
            Withheld::Blackhole => "blackhole",
            Withheld::Reflection => "reflection",
            Withheld::Role => "role",
            Withheld::Filter => "export-filter",
            Withheld::Family => "family",
            Withheld::PathLimit => "path-limit",
        }
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Withheld::OwnRoute => "it is the client's own route",
            Withheld::Audience => "its communities keep it from this client",
            Withheld::Blackhole => "it does not receive routes with BLACKHOLE (RFC 7999)",
            Withheld::Reflection => "the rules between internal and collecting peers",
            Withheld::Role => "ONLY_TO_CUSTOMER and the session's role (RFC 9234)",
            Withheld::Filter => "an export filter rejects it",
            Withheld::Family => "the session does not carry this family or next hop",
            Withheld::PathLimit => "better candidates fill the Add-Path limit",
        })
    }
}

/// Clients of one group: a set of them, or a single one without the cost of a set.
pub(crate) trait ClientSet: Clone + Default {
    fn is_empty(&self) -> bool;
    fn and(self, other: &Self) -> Self;
    fn minus(self, other: &Self) -> Self;
    fn extend(&mut self, other: &Self);
    /// The clients among these that may receive a route.
    fn recipients(&self, scope: &Scope<'_>, rules: Rules, route: &Route) -> Self;
}

/// A single client, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OneClient(pub Option<PeerId>);

impl ClientSet for PeerSet {
    fn is_empty(&self) -> bool {
        PeerSet::is_empty(self)
    }

    fn and(self, other: &Self) -> Self {
        PeerSet::and(self, other)
    }

    fn minus(self, other: &Self) -> Self {
        PeerSet::minus(self, other)
    }

    fn extend(&mut self, other: &Self) {
        PeerSet::extend(self, other);
    }

    fn recipients(&self, scope: &Scope<'_>, rules: Rules, route: &Route) -> Self {
        if !scope.carries(route) || scope.is_filtered(route) {
            return PeerSet::default();
        }
        let topology = scope.topology;
        let mut to = self.clone().and(topology.reach_of(route.peer));
        to.remove(route.peer);
        if topology.has_otc(route) {
            to = to.minus(topology.no_otc());
        }
        match scope.audience(rules, route) {
            Some(audience) => audience.restrict(to, || topology.class(route).blackhole),
            None => to,
        }
    }
}

impl ClientSet for OneClient {
    fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn and(self, other: &Self) -> Self {
        OneClient(self.0.filter(|client| other.0 == Some(*client)))
    }

    fn minus(self, other: &Self) -> Self {
        OneClient(self.0.filter(|client| other.0 != Some(*client)))
    }

    fn extend(&mut self, other: &Self) {
        self.0 = self.0.or(other.0);
    }

    fn recipients(&self, scope: &Scope<'_>, rules: Rules, route: &Route) -> Self {
        let receives = |client: &PeerId| scope.withheld(rules, route, *client).is_none();
        OneClient(self.0.filter(receives))
    }
}

impl Scope<'_> {
    /// Counts operations on sets of clients, and comparisons of routes.
    pub fn count_comparisons(&self, comparisons: usize) {
        if let Some(counted) = self.comparisons {
            counted.set(counted.get() + comparisons);
        }
    }

    /// Returns whether the group's sessions can carry a route at all.
    pub fn carries(&self, route: &Route) -> bool {
        self.style.families[self.family] && self.style.can_carry(self.family, &route.attrs)
    }

    /// Returns whether the clients receive several paths of a destination (RFC 7911).
    pub fn has_add_path(&self) -> bool {
        self.style.add_path[self.family]
    }

    /// The most routes of a destination that a client receives.
    pub fn max_paths(&self) -> usize {
        match (self.has_add_path(), self.style.add_path_limit) {
            (false, _) => 1,
            (true, 0) => usize::MAX,
            (true, limit) => usize::from(limit),
        }
    }

    /// Why a client may not receive a route, whatever other routes there are. `None`: it may.
    pub fn withheld(&self, rules: Rules, route: &Route, client: PeerId) -> Option<Withheld> {
        let topology = self.topology;
        if route.peer == client {
            Some(Withheld::OwnRoute)
        } else if !self.carries(route) {
            Some(Withheld::Family)
        } else if !topology.reach_of(route.peer).contains(client) {
            Some(Withheld::Reflection)
        } else if topology.has_otc(route) && topology.no_otc().contains(client) {
            Some(Withheld::Role)
        } else {
            self.withheld_by_audience(rules, route, client)
                .or_else(|| self.is_filtered(route).then_some(Withheld::Filter))
        }
    }

    /// Calls `each` with the reasons why these clients are not sent a route, and with the clients for each. A reason is
    /// that of [`Scope::withheld`], or the limit on paths for a client that might receive the route.
    pub fn withheld_from(
        &self,
        rules: Rules,
        route: &Route,
        clients: PeerSet,
        mut each: impl FnMut(Withheld, PeerSet),
    ) {
        let topology = self.topology;
        let mut rest = clients;
        let mut keep = |why: Withheld, rest: &mut PeerSet, kept: PeerSet| {
            let without = std::mem::replace(rest, kept.clone()).minus(&kept);
            if !without.is_empty() {
                each(why, without);
            }
        };
        let mut others = rest.clone();
        others.remove(route.peer);
        keep(Withheld::OwnRoute, &mut rest, others);
        if rest.is_empty() {
            return;
        }
        if !self.carries(route) {
            keep(Withheld::Family, &mut rest, PeerSet::default());
        }
        let reached = rest.clone().and(topology.reach_of(route.peer));
        keep(Withheld::Reflection, &mut rest, reached);
        if topology.has_otc(route) {
            let allowed = rest.clone().minus(topology.no_otc());
            keep(Withheld::Role, &mut rest, allowed);
        }
        if let Some(audience) = self.audience(rules, route) {
            let allowed = audience.restrict(rest.clone(), || false);
            keep(Withheld::Audience, &mut rest, allowed);
            let allowed = audience.restrict(rest.clone(), || topology.class(route).blackhole);
            keep(Withheld::Blackhole, &mut rest, allowed);
        }
        if !rest.is_empty() && self.is_filtered(route) {
            keep(Withheld::Filter, &mut rest, PeerSet::default());
        }
        keep(Withheld::PathLimit, &mut rest, PeerSet::default());
    }

    fn withheld_by_audience(
        &self,
        rules: Rules,
        route: &Route,
        client: PeerId,
    ) -> Option<Withheld> {
        let audience = self.audience(rules, route)?;
        if !audience.allows(client) {
            return Some(Withheld::Audience);
        }
        let is_blackhole =
            !audience.allows_blackhole(client) && self.topology.class(route).blackhole;
        is_blackhole.then_some(Withheld::Blackhole)
    }

    /// Returns whether the export filters of the group reject a route.
    pub fn is_filtered(&self, route: &Route) -> bool {
        let filter = self.style.filter.as_ref();
        filter.is_some_and(|filter| filter.decide(self, route) == Export::Rejected)
    }

    /// The changes that the export filters of the group make to a route.
    pub fn changes_by_filter(&self, route: &Route) -> ChangesId {
        let filter = self.style.filter.as_ref();
        match filter.map(|filter| filter.decide(self, route)) {
            Some(Export::Accepted(changes)) => changes,
            Some(Export::Rejected) | None => ChangesId::NONE,
        }
    }

    /// Describes why the export filters of the group reject a route; `None` if they do not.
    pub fn filter_evidence(&self, route: &Route) -> Option<String> {
        let filter = self.style.filter.as_ref()?;
        filter.evidence(self, route)
    }

    /// The modification of a route for one client.
    pub fn modification(&self, route: &Route, client: PeerId) -> Modification {
        let audience = self.topology.audiences.of(&route.attrs);
        let of_route = with_route_state(audience.modification(client), route);
        Modification {
            changes: self.changes_by_filter(route),
            ..of_route
        }
    }

    /// The audience of a route; `None` for everybody.
    pub fn audience(&self, rules: Rules, route: &Route) -> Option<&Audience> {
        let transition = self.topology.export_transition.as_ref();
        let former = match rules {
            Rules::Present => None,
            Rules::Former => transition.and_then(|transition| transition.former(route)),
        };
        match route.attrs.audience() {
            EVERYONE if former.is_none() => None,
            _ => former.or_else(|| Some(self.topology.audiences.of(&route.attrs))),
        }
    }
}

/// Decides which of a destination's accepted routes (best first) each of the clients receives.
pub(crate) fn export_view<'r, C: ClientSet>(
    scope: &Scope<'_>,
    rules: Rules,
    routes: &[&'r Route],
    clients: &C,
) -> ExportView<'r, C> {
    let max_paths = scope.max_paths();
    if max_paths == usize::MAX {
        return every_path(scope, rules, routes, clients);
    }
    if scope.topology.decision().med_is_partial(routes) {
        first_paths_by_med(scope, rules, routes, clients, max_paths)
    } else {
        first_paths(scope, rules, routes, clients, max_paths)
    }
}

/// Every path that each client may receive: the view with Add-Path and no limit.
pub(crate) fn every_path<'r, C: ClientSet>(
    scope: &Scope<'_>,
    rules: Rules,
    routes: &[&'r Route],
    clients: &C,
) -> ExportView<'r, C> {
    scope.count_comparisons(routes.len());
    let recipients = |route: &&'r Route| (*route, clients.recipients(scope, rules, route));
    let view = routes.iter().map(recipients);
    view.filter(|(_, to)| !to.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rutter_net::PerFamily;
    use rutter_policy::Role;

    use super::*;
    use crate::PeerKind;
    use crate::advertise::test_support::{Exchange, plain_style, test_prefix};
    use crate::decision::Process;

    const NEIGHBORS: [(PeerKind, Option<Role>); 8] = [
        (PeerKind::RouteServerClient, None),
        (PeerKind::RouteServerClient, None),
        (PeerKind::RouteServerClient, Some(Role::RouteServerClient)),
        (PeerKind::External, Some(Role::Customer)),
        (PeerKind::Internal, None),
        (PeerKind::Internal, None),
        (PeerKind::ReflectorClient, None),
        (PeerKind::Collector, None),
    ];

    /// Peer, attribute set and path identifier of each route.
    fn routes() -> impl Strategy<Value = Vec<(u16, usize, u32)>> {
        let route = (0..NEIGHBORS.len() as u16, 0..10_usize, 0..3_u32);
        proptest::collection::vec(route, 0..13)
    }

    proptest! {
        /// The rules for sets of clients and the rules for one client are two pieces of code.
        #[test]
        fn the_view_of_many_clients_is_that_of_each(
            routes in routes(),
            add_path in any::<bool>(),
            add_path_limit in 0..7_u16,
            extended_next_hop in any::<bool>(),
        ) {
            let exchange = Exchange::new(&NEIGHBORS);
            let style = Style {
                add_path: PerFamily::both(add_path),
                add_path_limit,
                extended_next_hop,
                ..plain_style()
            };
            let scope = Scope {
                topology: &exchange.topology,
                style: &style,
                family: Family::Ipv4Unicast,
                prefix: test_prefix(),
                comparisons: None,
            };
            let paths: BTreeMap<_, _> = routes.into_iter().map(|(p, s, id)| ((p, id), s)).collect();
            let all: Vec<Route> = paths.into_iter().map(|((p, id), s)| exchange.route(p, s, id)).collect();
            let mut candidates: Vec<&Route> = all.iter().collect();
            exchange.topology.decision().sort(&mut candidates);
            let clients: PeerSet = (0..NEIGHBORS.len() as u16).map(PeerId).collect();
            for route in &candidates {
                let mut reasons = vec![];
                scope.withheld_from(Rules::Present, route, clients.clone(), |why, from| {
                    reasons.extend(from.iter().map(|client| (client, why)));
                });
                reasons.sort();
                let alone = |client| scope.withheld(Rules::Present, route, client);
                let alone = clients.iter().map(|client| (client, alone(client).unwrap_or(Withheld::PathLimit)));
                prop_assert_eq!(reasons, alone.collect::<Vec<_>>());
            }
            let view = export_view(&scope, Rules::Present, &candidates, &clients);
            for client in clients.iter() {
                let of_many = view.iter().filter(|(_, to)| to.contains(client));
                let mut of_many: Vec<*const Route> = of_many.map(|(route, _)| &raw const **route).collect();
                let alone = export_view(&scope, Rules::Present, &candidates, &OneClient(Some(client)));
                let mut alone: Vec<*const Route> = alone.iter().map(|(route, _)| &raw const **route).collect();
                of_many.sort();
                alone.sort();
                prop_assert_eq!(&of_many, &alone);
                let may_receive = |route: &&&Route| scope.withheld(Rules::Present, route, client).is_none();
                let mut visible: Vec<&Route> = candidates.iter().filter(may_receive).copied().collect();
                exchange.topology.decision().sort(&mut visible);
                let first = visible.into_iter().take(scope.max_paths());
                let mut first: Vec<*const Route> = first.map(|route| &raw const *route).collect();
                first.sort();
                prop_assert_eq!(first, alone);
            }
        }
    }
}
