//! The routes that a client has received, and the changes of them.

use std::collections::{BTreeMap, BTreeSet};

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::{self, AttrContext};
use rutter_wire::{nlri, update};

use crate::HeldRoute;
use crate::endpoint::UpdateOutcome;

/// A prefix that an UPDATE announced or withdrew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedChange {
    pub prefix: Prefix,
    /// The client held another route before, or none.
    pub is_difference: bool,
}

/// The routes that a client has received in its present session.
#[derive(Debug, Default)]
pub struct HeldRoutes {
    routes: BTreeMap<Prefix, HeldRoute>,
    /// The prefixes of routes that stayed when their session ended (RFC 4724).
    stale: BTreeSet<Prefix>,
    /// The changes since the last call of [`Self::take_received`], in the order of receipt.
    received: Vec<ReceivedChange>,
}

impl HeldRoutes {
    /// The route of a prefix.
    pub fn get(&self, prefix: &Prefix) -> Option<&HeldRoute> {
        self.routes.get(prefix)
    }

    /// The prefixes with a route.
    pub fn prefixes(&self) -> impl Iterator<Item = &Prefix> {
        self.routes.keys()
    }

    /// All routes.
    pub fn routes(&self) -> &BTreeMap<Prefix, HeldRoute> {
        &self.routes
    }

    /// The number of routes.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Returns whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Returns whether some routes are from a session that ended.
    pub(crate) fn has_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Removes all routes: the session is new, or it has ended.
    pub(crate) fn clear(&mut self) {
        self.routes.clear();
        self.stale.clear();
    }

    /// Makes all routes of a family stale.
    pub(crate) fn mark_stale(&mut self, family: Family) {
        let is_of = |prefix: &&Prefix| prefix.family() == family;
        self.stale.extend(self.routes.keys().filter(is_of));
    }

    /// Removes the stale routes of a family.
    pub(crate) fn sweep(&mut self, family: Family) {
        let is_of = |prefix: &Prefix| prefix.family() == family;
        for prefix in self.stale.extract_if(.., is_of) {
            self.routes.remove(&prefix);
        }
    }

    /// Returns the changes that the client has received since the last call.
    pub(crate) fn take_received(&mut self) -> Vec<ReceivedChange> {
        std::mem::take(&mut self.received)
    }

    /// Applies an UPDATE body from the server, which must be well formed.
    pub(crate) fn apply(&mut self, body: &[u8]) -> UpdateOutcome {
        if let Some(family) = update::is_end_of_rib(body) {
            return UpdateOutcome {
                end_of_rib: family.family(),
                reset: None,
            };
        }
        let sections = update::split(body).expect("the server's UPDATE");
        let context = AttrContext {
            as4: true,
            external: true,
            accept_as_set: true,
            has_ipv4_nlri: !sections.nlri.is_empty(),
        };
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &context, &mut faults);
        assert!(faults.is_empty(), "the server sent {faults:?}");
        let (unreach, reach) = (attributes.mp_unreach(), attributes.mp_reach());
        let withdrawn = unreach.into_iter().flat_map(|u| ipv6(u.withdrawn));
        for prefix in ipv4(sections.withdrawn).into_iter().chain(withdrawn) {
            self.set(prefix, None);
        }
        let mut marks: Vec<_> = attributes.large_communities().collect();
        marks.sort_unstable();
        let asns = attributes
            .as_path()
            .into_iter()
            .flat_map(|path| path.asns());
        let route = HeldRoute {
            path: asns.map(|asn| asn.0).collect(),
            marks,
        };
        let announced = reach.into_iter().flat_map(|r| ipv6(r.nlri));
        for prefix in ipv4(sections.nlri).into_iter().chain(announced) {
            self.set(prefix, Some(route.clone()));
        }
        UpdateOutcome::default()
    }

    fn set(&mut self, prefix: Prefix, route: Option<HeldRoute>) {
        let is_difference = self.routes.get(&prefix) != route.as_ref();
        self.stale.remove(&prefix);
        match route {
            Some(route) => self.routes.insert(prefix, route),
            None => self.routes.remove(&prefix),
        };
        self.received.push(ReceivedChange {
            prefix,
            is_difference,
        });
    }
}

fn ipv4(bytes: &[u8]) -> Vec<Prefix> {
    let mut out: Vec<(u32, Ipv4Prefix)> = Vec::new();
    nlri::parse_ipv4(bytes, false, &mut out).expect("the server's NLRI");
    out.into_iter().map(|(_, prefix)| prefix.into()).collect()
}

fn ipv6(bytes: &[u8]) -> Vec<Prefix> {
    let mut out: Vec<(u32, Ipv6Prefix)> = Vec::new();
    nlri::parse_ipv6(bytes, false, &mut out).expect("the server's NLRI");
    out.into_iter().map(|(_, prefix)| prefix.into()).collect()
}
