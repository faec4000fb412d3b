//! The compiled checks of the AS_PATH, in one pass over the path.

use rutter_net::Asn;
use rutter_wire::attr::AsPath;

use crate::{ImportRule, ImportSettings, RejectReason};

/// The AS_PATH checks of one neighbor.
#[derive(Debug)]
pub(crate) struct PathChecks {
    local: Option<Asn>,
    first: Option<Asn>,
    peer: Asn,
    max_len: usize,
    reject_set: bool,
    reject_bogons: bool,
    allowed_bogons: Vec<Asn>,
    transit_free: Vec<Asn>,
    never: Vec<Asn>,
    origins: Vec<Asn>,
}

/// The checks that a path failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathFaults {
    as_loop: bool,
    too_long: bool,
    first_as: bool,
    as_set: bool,
    invalid: bool,
    transit_free: bool,
    never: bool,
    origin: bool,
}

impl PathFaults {
    /// Returns the first reason that comes before the next hop check.
    pub(crate) fn before_next_hop(self) -> Option<RejectReason> {
        first_of([
            (self.as_loop, RejectReason::AsLoop),
            (self.too_long, RejectReason::AsPathTooLong),
        ])
    }

    /// Returns the first reason that comes after the next hop check.
    pub(crate) fn after_next_hop(self) -> Option<RejectReason> {
        first_of([
            (self.first_as, RejectReason::FirstAs),
            (self.as_set, RejectReason::AsSet),
            (self.invalid, RejectReason::InvalidAsn),
            (self.transit_free, RejectReason::TransitFreeAsn),
            (self.never, RejectReason::NeverViaRouteServers),
            (self.origin, RejectReason::OriginNotAllowed),
        ])
    }
}

fn first_of<const N: usize>(faults: [(bool, RejectReason); N]) -> Option<RejectReason> {
    faults
        .into_iter()
        .find(|(found, _)| *found)
        .map(|(_, reason)| reason)
}

impl PathChecks {
    /// Compiles the settings.
    pub(crate) fn new(settings: &ImportSettings) -> Self {
        let checks = settings.rule == ImportRule::Checks;
        let list = |asns: &[Asn]| sorted(if checks { asns } else { &[] });
        let loops = settings.reject_as_loop && settings.rule != ImportRule::Collect;
        PathChecks {
            local: loops.then_some(settings.local_asn),
            first: (checks && settings.enforce_first_as).then_some(settings.peer_asn),
            peer: settings.peer_asn,
            max_len: if checks {
                usize::from(settings.max_as_path_len)
            } else {
                usize::MAX
            },
            reject_set: checks && settings.reject_as_set,
            reject_bogons: checks && settings.reject_invalid_asns,
            allowed_bogons: list(&settings.allowed_bogon_asns),
            transit_free: list(&settings.transit_free_asns),
            never: list(&settings.never_via_route_servers),
            origins: list(&settings.allow_origins),
        }
    }

    /// Evaluates a path in one pass. An absent path counts as empty.
    pub(crate) fn examine(&self, path: Option<AsPath<'_>>) -> PathFaults {
        let mut faults = PathFaults::default();
        let Some(path) = path else {
            faults.first_as = self.first.is_some();
            faults.origin = !self.origins.is_empty();
            return faults;
        };
        for asn in path.asns() {
            faults.as_loop |= self.is_loop(asn);
            faults.invalid |= self.is_invalid(asn);
            faults.transit_free |= self.is_transit_free(asn);
            faults.never |= self.is_never(asn);
        }
        faults.too_long = path.path_len() > self.max_len;
        faults.first_as = self.first.is_some() && path.first() != self.first;
        faults.as_set = self.reject_set && path.has_set();
        faults.origin = !self.is_origin_allowed(path.origin());
        faults
    }

    /// Returns whether this is our own AS.
    pub(crate) fn is_loop(&self, asn: Asn) -> bool {
        self.local == Some(asn)
    }

    /// Returns whether this is a bogon AS number that is not exempt.
    pub(crate) fn is_invalid(&self, asn: Asn) -> bool {
        self.reject_bogons && asn.is_bogon() && self.allowed_bogons.binary_search(&asn).is_err()
    }

    /// Returns whether this is a transit-free network other than the neighbor.
    pub(crate) fn is_transit_free(&self, asn: Asn) -> bool {
        asn != self.peer && self.transit_free.binary_search(&asn).is_ok()
    }

    /// Returns whether this network never announces through route servers.
    pub(crate) fn is_never(&self, asn: Asn) -> bool {
        self.never.binary_search(&asn).is_ok()
    }

    fn is_origin_allowed(&self, origin: Option<Asn>) -> bool {
        self.origins.is_empty()
            || origin.is_some_and(|asn| self.origins.binary_search(&asn).is_ok())
    }
}

fn sorted(asns: &[Asn]) -> Vec<Asn> {
    let mut sorted = asns.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}
