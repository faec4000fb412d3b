//! What is odd about a router's UPDATEs: it is counted, and logged once.

use std::sync::Arc;

use rutter_net::PerFamily;
use rutter_rib::Pushed;
use rutter_wire::bmp::RouteMonitoring;

use super::Router;
use crate::bmp::monitored::{Key, index};
use crate::bmp::oddities::Found;
use crate::bmp::other_families;

impl Router {
    /// Counts what is odd about an UPDATE, and logs it once for each session.
    pub(super) fn count_oddities(&mut self, monitored: &RouteMonitoring<'_>, pushed: &Pushed) {
        let Some((session, _)) = self.sessions.get_mut(&Key::of(&monitored.peer)) else {
            return;
        };
        let found = Found::in_update(monitored, pushed);
        self.status.without_peer_up += u64::from(session.is_implied);
        self.status.without_next_hop += u64::from(found.lacks_next_hop);
        self.status.malformed += u64::from(found.fault.is_some());
        let first_without = found.lacks_next_hop && !session.logged.without_next_hop;
        session.logged.without_next_hop |= found.lacks_next_hop;
        let first_fault = found.fault.filter(|_| !session.logged.malformed);
        session.logged.malformed |= first_fault.is_some();
        if !first_without && first_fault.is_none() {
            return;
        }
        let view = session.views[index(monitored.peer.view())];
        let add_path = view.map_or(PerFamily::both(false), |view| view.add_path);
        let (router, peer) = (Arc::clone(&self.name), session.name.clone());
        if first_without && self.admit_warning() {
            tracing::warn!(
                %router, %peer,
                "the router reports routes without a next hop: they are shown with an empty one"
            );
        }
        if let Some(fault) = first_fault
            && self.admit_warning()
        {
            let fault = fault.in_words(monitored.update(), add_path);
            tracing::warn!(
                %router, %peer, fault,
                "the router reports a malformed UPDATE: what can be read of it is shown"
            );
        }
    }

    /// Counts the families of an UPDATE that the table does not keep, and logs each once.
    pub(super) fn count_other_families(&mut self, monitored: &RouteMonitoring<'_>) {
        for family in other_families::in_update(monitored.update()) {
            let is_first = other_families::count(&mut self.status.other_families, family);
            if is_first && self.admit_warning() {
                tracing::warn!(
                    router = %self.name, %family,
                    "the router reports routes of a family that Rutter does not keep: they are left out. \
                     Let it report IPv4 and IPv6 unicast alone, or ignore this line"
                );
            }
        }
    }
}
