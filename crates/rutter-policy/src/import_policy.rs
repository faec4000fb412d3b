//! The import policy of one neighbor.

use std::net::IpAddr;

use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::Attributes;

use crate::family_checks::{FamilyChecks, ipv4_checks, ipv6_checks};
use crate::path_checks::PathChecks;
use crate::{
    Finding, ImportRule, ImportSettings, NextHop, NextHopRule, OtcIngress, RejectReason, findings,
    otc_on_receive,
};

/// What the attributes alone decide; once per attribute set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AttrVerdict {
    /// The first reason against every route with these attributes.
    pub reject: Option<RejectReason>,
    /// GRACEFUL_SHUTDOWN is present: LOCAL_PREF becomes 0 (RFC 8326).
    pub graceful_shutdown: bool,
    /// BLACKHOLE is present and taken from this neighbor (RFC 7999): pass it on to `check_prefix`.
    pub blackhole: bool,
    /// ONLY_TO_CUSTOMER must be added with this AS number (RFC 9234 §5).
    pub add_otc: Option<Asn>,
}

/// The import policy of one neighbor: immutable, shared between threads.
///
/// The first reason is found in this order: no policy, family, AS loop, path length, next hop, first AS, AS_SET,
/// invalid AS, transit-free AS, never via route servers, origin list, role leak; then by prefix: bogon, own LAN and
/// black lists (the shortest entry that covers the prefix), global unicast, length, prefix list, outside data.
#[derive(Debug)]
pub struct ImportPolicy {
    settings: ImportSettings,
    path: PathChecks,
    next_hops: Option<Vec<IpAddr>>,
    v4: FamilyChecks<u32>,
    v6: FamilyChecks<u128>,
}

impl ImportPolicy {
    /// Compiles the settings.
    pub fn new(settings: ImportSettings) -> Self {
        ImportPolicy {
            path: PathChecks::new(&settings),
            next_hops: allowed_next_hops(&settings),
            v4: ipv4_checks(&settings),
            v6: ipv6_checks(&settings),
            settings,
        }
    }

    /// What the policy was built from.
    pub fn settings(&self) -> &ImportSettings {
        &self.settings
    }

    /// Checks what depends on attributes alone.
    pub fn check_attributes(
        &self,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        family: Family,
    ) -> AttrVerdict {
        if self.settings.rule == ImportRule::Collect {
            return AttrVerdict::default();
        }
        let otc = otc_on_receive(
            self.settings.role,
            self.settings.peer_asn,
            attributes.only_to_customer(),
        );
        let (graceful_shutdown, blackhole) = self.well_known(attributes, family);
        AttrVerdict {
            reject: self.first_reason(attributes, next_hop, family, otc),
            graceful_shutdown,
            blackhole,
            add_otc: match otc {
                OtcIngress::Add(asn) => Some(asn),
                OtcIngress::Keep | OtcIngress::Leak => None,
            },
        }
    }

    fn first_reason(
        &self,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        family: Family,
        otc: OtcIngress,
    ) -> Option<RejectReason> {
        let found = self.path.examine(attributes.as_path());
        self.closed(family)
            .or_else(|| found.before_next_hop())
            .or_else(|| (!self.allows_next_hop(next_hop)).then_some(RejectReason::NextHop))
            .or_else(|| found.after_next_hop())
            .or_else(|| (otc == OtcIngress::Leak).then_some(RejectReason::RoleLeak))
    }

    fn closed(&self, family: Family) -> Option<RejectReason> {
        match family {
            Family::Ipv4Unicast => self.v4.closed,
            Family::Ipv6Unicast => self.v6.closed,
        }
    }

    /// Whether GRACEFUL_SHUTDOWN and BLACKHOLE are present and taken.
    pub(crate) fn well_known(&self, attributes: &Attributes<'_>, family: Family) -> (bool, bool) {
        use rutter_net::Community;
        let takes_blackhole = self.settings.blackhole[family];
        let (mut shutdown, mut blackhole) = (false, false);
        if self.settings.graceful_shutdown || takes_blackhole {
            for community in attributes.communities() {
                shutdown |= community == Community::GRACEFUL_SHUTDOWN;
                blackhole |= community == Community::BLACKHOLE;
            }
        }
        (
            shutdown && self.settings.graceful_shutdown,
            blackhole && takes_blackhole,
        )
    }

    /// Whether the neighbor may announce this next hop.
    pub(crate) fn allows_next_hop(&self, next_hop: NextHop) -> bool {
        self.next_hops
            .as_ref()
            .is_none_or(|allowed| allowed.binary_search(&next_hop.addr()).is_ok())
    }

    /// The next hops that the neighbor may announce, `None` where all are.
    pub(crate) fn next_hops(&self) -> Option<&[IpAddr]> {
        self.next_hops.as_deref()
    }

    /// Checks the prefix; `blackhole` as [`AttrVerdict::blackhole`] said.
    pub fn check_prefix(&self, prefix: Prefix, blackhole: bool) -> Option<RejectReason> {
        match prefix {
            Prefix::V4(prefix) => self.check_ipv4(prefix, blackhole),
            Prefix::V6(prefix) => self.check_ipv6(prefix, blackhole),
        }
    }

    /// As [`Self::check_prefix`].
    pub fn check_ipv4(&self, prefix: Ipv4Prefix, blackhole: bool) -> Option<RejectReason> {
        self.v4.check(prefix.bits(), prefix.len(), blackhole)
    }

    /// As [`Self::check_prefix`].
    pub fn check_ipv6(&self, prefix: Ipv6Prefix, blackhole: bool) -> Option<RejectReason> {
        self.v6.check(prefix.bits(), prefix.len(), blackhole)
    }

    /// Whether [`Self::check_origin`] can reject anything.
    pub fn has_route_checks(&self) -> bool {
        self.settings.rule == ImportRule::Checks && self.settings.route_checks.is_some()
    }

    /// Asks the checks that need outside data (none unless the settings bring one).
    pub fn check_origin(&self, prefix: Prefix, origin: Option<Asn>) -> Option<RejectReason> {
        if self.settings.rule != ImportRule::Checks {
            return None;
        }
        self.settings.route_checks.as_ref()?.0.check(prefix, origin)
    }

    /// Every reason against the route, with evidence; empty for a route that is accepted. The one that the other
    /// methods give comes first.
    pub fn all_reasons(
        &self,
        prefix: Prefix,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        family: Family,
    ) -> Vec<Finding> {
        findings::collect(self, prefix, attributes, next_hop, family)
    }
}

/// Sorted; `None` where next hops are not checked.
fn allowed_next_hops(settings: &ImportSettings) -> Option<Vec<IpAddr>> {
    let peer = settings.peer_address?;
    if settings.rule != ImportRule::Checks || settings.next_hop == NextHopRule::Any {
        return None;
    }
    let other_family = settings
        .member_addresses
        .iter()
        .filter(|addr| addr.is_ipv4() != peer.is_ipv4());
    let more: &[IpAddr] = match settings.next_hop {
        NextHopRule::SameAs => &settings.same_as_addresses,
        NextHopRule::Authorized => &settings.authorized_addresses,
        NextHopRule::Strict | NextHopRule::Any => &[],
    };
    let mut allowed: Vec<IpAddr> = other_family.chain(more).copied().collect();
    allowed.push(peer);
    allowed.sort_unstable();
    allowed.dedup();
    Some(allowed)
}
