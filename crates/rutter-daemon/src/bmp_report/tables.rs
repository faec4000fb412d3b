//! Destinations as the messages of the tables that a station receives.

use rutter_config::BmpTables;
use rutter_net::Prefix;
use rutter_rib::{
    ExportedRoute, PeerId, ReportedDestination, ReportedRoute, SentRoute, advertised_path_id,
};
use rutter_wire::bmp::{PeerHeader, RibView};

use super::sessions::{ReportedSession, Sessions};
use super::updates::Updates;

/// Writes destinations in the tables that a station receives.
pub(super) struct Tables<'a> {
    pub(super) report: BmpTables,
    pub(super) loc_rib: PeerHeader,
    pub(super) sessions: &'a Sessions,
    pub(super) updates: &'a mut Updates,
}

/// The octets of MP_REACH_NLRI's next hop; empty where the NLRI have the message's own field.
type NextHop = Vec<u8>;

impl Tables<'_> {
    /// About how many steps a destination costs.
    pub(super) fn steps(&self) -> usize {
        match self.report.adj_rib_out {
            true => 1 + self.sessions.len(),
            false => 1,
        }
    }

    /// Announces what the station needs to know of a destination because the sessions of these neighbors are new to it.
    pub(super) fn initial(
        &mut self,
        destination: &ReportedDestination<'_>,
        has_begun: impl Fn(PeerId) -> bool,
        loc_rib: bool,
    ) {
        for route in destination.routes() {
            let known = self.sessions.get(route.route.peer);
            if let Some(known) = known.filter(|_| has_begun(route.route.peer)) {
                self.pre_policy(known, destination.prefix, route.route.path_id, Some(&route));
                if route.route.reject.is_none() {
                    self.post_policy(known, destination.prefix, route.route.path_id, Some(&route));
                }
            }
        }
        if loc_rib && destination.best().is_some() {
            self.best(destination);
        }
        if self.report.adj_rib_out {
            for (client, known) in self.sessions.iter().filter(|(id, _)| has_begun(*id)) {
                self.announce_sent(destination, client, known);
            }
        }
    }

    /// Writes the present state of routes that changed, given by sender and path identifier; `None`: another route may be the
    /// best.
    pub(super) fn changed(
        &mut self,
        destination: &ReportedDestination<'_>,
        changes: &[Option<(PeerId, u32)>],
    ) {
        let prefix = destination.prefix;
        let paths: Vec<(PeerId, u32)> = changes.iter().copied().flatten().collect();
        for &(peer, path_id) in &paths {
            let Some(known) = self.sessions.get(peer) else {
                continue;
            };
            let of_path = |route: &ReportedRoute<'_>| {
                (route.route.peer, route.route.path_id) == (peer, path_id)
            };
            let route = destination.routes().find(of_path);
            self.pre_policy(known, prefix, path_id, route.as_ref());
            let accepted = route.filter(|route| route.route.reject.is_none());
            self.post_policy(known, prefix, path_id, accepted.as_ref());
        }
        let best = destination.best();
        let best = best.map(|best| (best.route.peer, best.route.path_id));
        // A route that stays the best may have other attributes after the policy.
        if self.report.loc_rib && (changes.contains(&None) || changes.contains(&best)) {
            self.best(destination);
        }
        if self.report.adj_rib_out {
            for (client, known) in self.sessions.iter() {
                self.sent(destination, client, known, &paths);
            }
        }
    }

    /// Writes everything that depends on policies or on the settings of clients.
    pub(super) fn policy_changed(&mut self, destination: &ReportedDestination<'_>) {
        let prefix = destination.prefix;
        for route in destination.routes() {
            let accepted = Some(&route).filter(|route| route.route.reject.is_none());
            if let (Some(known), Some(_)) = (self.sessions.get(route.route.peer), accepted) {
                self.post_policy(known, prefix, route.route.path_id, accepted);
            }
        }
        if self.report.loc_rib && destination.best().is_some() {
            self.best(destination);
        }
        if self.report.adj_rib_out {
            for (client, known) in self.sessions.iter() {
                self.sent(destination, client, known, &[]);
            }
        }
    }

    fn pre_policy(
        &mut self,
        known: &ReportedSession,
        prefix: Prefix,
        path_id: u32,
        route: Option<&ReportedRoute<'_>>,
    ) {
        if !self.report.adj_rib_in_pre {
            return;
        }
        let Some(nlri) = received_nlri(known, prefix, path_id) else {
            return;
        };
        let header = known.header(RibView::AdjRibInPre);
        match route {
            Some(route) => {
                let attrs = route.route.attrs;
                let updates = &mut self.updates;
                updates.announce(header, nlri, attrs.block(), attrs.mp_next_hop());
            }
            None => self.updates.withdraw(header, nlri),
        }
    }

    fn post_policy(
        &mut self,
        known: &ReportedSession,
        prefix: Prefix,
        path_id: u32,
        accepted: Option<&ReportedRoute<'_>>,
    ) {
        if !self.report.adj_rib_in_post {
            return;
        }
        let Some(nlri) = received_nlri(known, prefix, path_id) else {
            return;
        };
        let header = known.header(RibView::AdjRibInPost);
        match accepted {
            Some(route) => {
                let next_hop = route.route.attrs.mp_next_hop();
                let block = route.post_policy();
                self.updates.announce(header, nlri, &block, next_hop);
            }
            None => self.updates.withdraw(header, nlri),
        }
    }

    fn best(&mut self, destination: &ReportedDestination<'_>) {
        let nlri = (destination.prefix, None);
        match destination.best() {
            Some(best) => {
                let next_hop = best.route.attrs.mp_next_hop();
                let block = best.post_policy();
                self.updates.announce(self.loc_rib, nlri, &block, next_hop);
            }
            None => self.updates.withdraw(self.loc_rib, nlri),
        }
    }

    /// Announces the routes that a client is sent. Returns their path identifiers.
    fn announce_sent(
        &mut self,
        destination: &ReportedDestination<'_>,
        client: PeerId,
        known: &ReportedSession,
    ) -> Vec<Option<u32>> {
        let header = known.header(RibView::AdjRibOutPost);
        let sent = destination.sent_to(client);
        let sent = sent.filter_map(|route: ExportedRoute<'_>| route.sent());
        let mut paths = Vec::new();
        for route in sent {
            let nlri = (destination.prefix, route.path_id);
            let next_hop = next_hop(&route);
            let updates = &mut self.updates;
            updates.announce(header, nlri, route.block(), &next_hop);
            paths.push(route.path_id);
        }
        paths
    }

    /// Announces the routes that a client is sent, and withdraws all others that the station may know. `paths` are routes
    /// that changed and may be gone.
    fn sent(
        &mut self,
        destination: &ReportedDestination<'_>,
        client: PeerId,
        known: &ReportedSession,
        paths: &[(PeerId, u32)],
    ) {
        let family = destination.prefix.family();
        if known.session.families[family].is_none() || !destination.is_client(client) {
            return;
        }
        let announced = self.announce_sent(destination, client, known);
        let header = known.header(RibView::AdjRibOutPost);
        let mut others: Vec<Option<u32>> = match known.session.sends_paths(family) {
            true => {
                let gone = paths
                    .iter()
                    .map(|(peer, id)| advertised_path_id(*peer, *id));
                destination.path_ids().chain(gone).map(Some).collect()
            }
            false => vec![None],
        };
        others.sort_unstable();
        others.dedup();
        for path_id in others.into_iter().filter(|id| !announced.contains(id)) {
            self.updates.withdraw(header, (destination.prefix, path_id));
        }
    }
}

/// The NLRI of a route in messages of a session; `None` for a route that it cannot name: one kept from a session with
/// Add-Path, in a session without it.
fn received_nlri(
    known: &ReportedSession,
    prefix: Prefix,
    path_id: u32,
) -> Option<(Prefix, Option<u32>)> {
    match known.session.receives_paths(prefix.family()) {
        true => Some((prefix, Some(path_id))),
        false => (path_id == 0).then_some((prefix, None)),
    }
}

fn next_hop(route: &SentRoute) -> NextHop {
    let mut octets = match route.next_hop {
        std::net::IpAddr::V4(_) if route.attributes().next_hop().is_some() => return Vec::new(),
        std::net::IpAddr::V4(address) => address.octets().to_vec(),
        std::net::IpAddr::V6(address) => address.octets().to_vec(),
    };
    let link_local = route.link_local_next_hop.iter();
    octets.extend(link_local.flat_map(|address| address.octets()));
    octets
}
