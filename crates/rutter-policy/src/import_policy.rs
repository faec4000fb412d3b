//! The import policy of one neighbor.

use std::net::{IpAddr, Ipv4Addr};

use rutter_irr::OriginState;
use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_rpki::{PathState, Rov};
use rutter_wire::attr::Attributes;

use crate::action_table::ActionTable;
use crate::data_checks::DataChecks;
use crate::family_checks::{FamilyChecks, ipv4_checks, ipv6_checks};
use crate::origin_state_community;
use crate::path_checks::PathChecks;
use crate::path_verification;
use crate::{
    Class, Combinations, Evaluation, FilterDecision, Finding, ImportRule, ImportSettings, NextHop,
    NextHopRule, OtcIngress, OutsideData, RejectReason, RouteVerdict, RuleSet, findings,
    otc_on_receive,
};

/// The verdict on an attribute set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AttrVerdict {
    /// The first reason against routes with these attributes.
    pub reject: Option<RejectReason>,
    /// GRACEFUL_SHUTDOWN is present: LOCAL_PREF becomes 0 (RFC 8326).
    pub graceful_shutdown: bool,
    /// BLACKHOLE is present and accepted from this neighbor (RFC 7999): an argument of `check_prefix`.
    pub blackhole: bool,
    /// ONLY_TO_CUSTOMER with the neighbor's AS number belongs to the route (RFC 9234 §5).
    pub add_otc: bool,
    /// The origin of the path, where a check of outside data needs it.
    pub origin: Option<Asn>,
    /// The validation state of the origin that the neighbor sends, where the policy uses it (RFC 8097).
    pub origin_state: Option<Rov>,
    /// The state of the origin in the IRR data of the neighbor, if [`Evaluation::find_origins`] found it.
    pub irr_origin: Option<OriginState>,
    /// The state of the path under the ASPAs, where the policy verifies paths.
    pub path: Option<PathState>,
    /// The rules of the operator's filters whose conditions on attributes hold.
    pub rules: RuleSet,
}

impl AttrVerdict {
    /// Returns whether the attributes alone may give a route another class than the plain one.
    #[inline]
    pub(crate) fn changes_class(&self) -> bool {
        self.blackhole || self.add_otc
    }
}

/// The import policy of one neighbor: immutable, shared between threads.
///
/// The checks of attributes run in this order: no policy, family, AS loop, path length, ORIGINATOR_ID and
/// CLUSTER_LIST loops, next hop, first AS, AS_SET, invalid AS, transit-free AS, never via route servers, origin list, role leak.
/// Then the checks of the prefix: bogons, own LAN and black lists (the shortest entry that covers the prefix), global
/// unicast, length, prefix list. The checks of outside data follow, and the operator's filters come last.
#[derive(Debug)]
pub struct ImportPolicy {
    settings: ImportSettings,
    path: PathChecks,
    next_hops: Option<Vec<IpAddr>>,
    /// No check of outside data is on, no route is marked, every reason rejects, and there is no filter.
    is_plain: bool,
    /// The communities that mean the same as BLACKHOLE, if blackholing is accepted.
    blackhole: Option<ActionTable>,
    v4: FamilyChecks<u32>,
    v6: FamilyChecks<u128>,
    combinations: Combinations,
}

impl ImportPolicy {
    /// Compiles the settings.
    pub fn new(settings: ImportSettings) -> Self {
        ImportPolicy {
            path: PathChecks::new(&settings),
            next_hops: allowed_next_hops(&settings),
            blackhole: blackhole_table(&settings),
            v4: ipv4_checks(&settings),
            v6: ipv6_checks(&settings),
            combinations: Combinations::default(),
            is_plain: !needs_data(&settings)
                && !settings.tag_rejected
                && !settings.marks_routes()
                && settings.filters.is_empty(),
            settings,
        }
    }

    /// Accepts every route of another router unchanged, including AS_SETs.
    pub fn collecting() -> Self {
        ImportPolicy::new(ImportSettings {
            rule: ImportRule::Collect,
            enforce_first_as: false,
            reject_as_loop: false,
            reject_as_set: false,
            graceful_shutdown: false,
            ..ImportSettings::default()
        })
    }

    /// The settings of the policy.
    pub fn settings(&self) -> &ImportSettings {
        &self.settings
    }

    /// Evaluates the checks that depend on attributes alone, and compares the path with the ASPAs of `data`.
    pub fn check_attributes(
        &self,
        data: &OutsideData,
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
        let verdict = AttrVerdict {
            reject: self.first_reason(attributes, next_hop, family, otc),
            graceful_shutdown,
            blackhole,
            add_otc: matches!(otc, OtcIngress::Add(_)),
            ..AttrVerdict::default()
        };
        let is_concluded = verdict.reject.is_some() && !self.settings.tag_rejected;
        if self.is_plain || is_concluded {
            return verdict;
        }
        let path = attributes.as_path();
        AttrVerdict {
            origin: path.and_then(|path| path.origin()),
            origin_state: match self.settings.obey_origin_state {
                true => origin_state_community::received(attributes),
                false => None,
            },
            path: path_verification::verify(&self.settings, data, path).map(|v| v.state()),
            rules: self.settings.filters.matching(
                attributes,
                next_hop,
                family,
                self.settings.peer_asn,
            ),
            ..verdict
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
            .or_else(|| self.reflection_loop(attributes))
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

    /// Returns whether GRACEFUL_SHUTDOWN and BLACKHOLE are present and honoured.
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
        if let (Some(table), true, false) = (&self.blackhole, takes_blackhole, blackhole) {
            blackhole = table.matches_any(attributes);
        }
        (
            shutdown && self.settings.graceful_shutdown,
            blackhole && takes_blackhole,
        )
    }

    /// Returns the reason against a route that was reflected back to us (RFC 4456 §8).
    fn reflection_loop(&self, attributes: &Attributes<'_>) -> Option<RejectReason> {
        let originator_id = attributes.originator_id().map(Ipv4Addr::from_bits);
        if originator_id.is_some() && originator_id == self.settings.router_id {
            return Some(RejectReason::OriginatorLoop);
        }
        let own = self.settings.cluster_id?.to_bits();
        let is_loop = attributes.cluster_list().any(|id| id == own);
        is_loop.then_some(RejectReason::ClusterLoop)
    }

    /// Returns whether the neighbor may announce this next hop.
    pub(crate) fn allows_next_hop(&self, next_hop: NextHop) -> bool {
        let allows = |allowed: &Vec<IpAddr>| allowed.binary_search(&next_hop.addr()).is_ok();
        !self.is_own_address(next_hop) && self.next_hops.as_ref().is_none_or(allows)
    }

    /// Returns whether the next hop is one of our own addresses.
    pub(crate) fn is_own_address(&self, next_hop: NextHop) -> bool {
        self.settings.own_addresses.contains(&next_hop.addr())
    }

    /// The next hops that the neighbor may announce, or `None` for any.
    pub(crate) fn next_hops(&self) -> Option<&[IpAddr]> {
        self.next_hops.as_deref()
    }

    /// Evaluates the checks of a prefix. `blackhole` is [`AttrVerdict::blackhole`].
    pub fn check_prefix(&self, prefix: Prefix, blackhole: bool) -> Option<RejectReason> {
        match prefix {
            Prefix::V4(prefix) => self.check_ipv4(prefix, blackhole),
            Prefix::V6(prefix) => self.check_ipv6(prefix, blackhole),
        }
    }

    /// [`Self::check_prefix`] for one family.
    pub fn check_ipv4(&self, prefix: Ipv4Prefix, blackhole: bool) -> Option<RejectReason> {
        self.v4.check(prefix.bits(), prefix.len(), blackhole)
    }

    /// [`Self::check_prefix`] for one family.
    pub fn check_ipv6(&self, prefix: Ipv6Prefix, blackhole: bool) -> Option<RejectReason> {
        self.v6.check(prefix.bits(), prefix.len(), blackhole)
    }

    /// Returns whether checks of outside data, marks or filters may decide on routes.
    #[inline]
    pub fn has_later_checks(&self) -> bool {
        !self.is_plain
    }

    /// The policy under one set of outside data, prepared for many routes.
    pub fn under<'a>(&'a self, data: &'a OutsideData) -> Evaluation<'a> {
        Evaluation::new(self, data)
    }

    /// Returns the verdict on a route. `attributes` is the result of [`Self::check_attributes`] under the same data.
    #[inline]
    pub fn judge(
        &self,
        data: &OutsideData,
        prefix: Prefix,
        attributes: &AttrVerdict,
    ) -> RouteVerdict {
        let reject = attributes
            .reject
            .or_else(|| self.check_prefix(prefix, attributes.blackhole));
        self.conclude(data, prefix, attributes, reject)
    }

    /// Returns whether the checks of attributes and prefix alone decide: a route without a reason against it is then
    /// accepted with [`RouteVerdict::PLAIN`], and any reason rejects it.
    #[inline]
    pub fn is_decided_without_data(&self, attributes: &AttrVerdict) -> bool {
        self.is_plain && !attributes.changes_class()
    }

    /// As [`Self::judge`] for a route of which all checks but those of outside data are done, with the result `reject`.
    #[inline]
    pub fn conclude(
        &self,
        data: &OutsideData,
        prefix: Prefix,
        attributes: &AttrVerdict,
        reject: Option<RejectReason>,
    ) -> RouteVerdict {
        self.conclude_by(data, prefix, attributes, reject, || {
            let checks = DataChecks::new(&self.settings, data);
            checks.conclude(prefix, checks.locate(prefix), attributes, reject)
        })
    }

    /// As [`Self::conclude`]. `check` evaluates the checks of outside data.
    #[inline]
    pub(crate) fn conclude_by(
        &self,
        data: &OutsideData,
        prefix: Prefix,
        attributes: &AttrVerdict,
        reject: Option<RejectReason>,
        check: impl FnOnce() -> RouteVerdict,
    ) -> RouteVerdict {
        match reject {
            Some(reason) if !self.settings.tag_rejected => RouteVerdict::Rejected(reason),
            None if self.is_decided_without_data(attributes) => RouteVerdict::PLAIN,
            _ => self.filter(data, prefix, attributes, check()),
        }
    }

    /// Lets the operator's filters decide on a route that the checks accept.
    fn filter(
        &self,
        data: &OutsideData,
        prefix: Prefix,
        attributes: &AttrVerdict,
        verdict: RouteVerdict,
    ) -> RouteVerdict {
        if self.settings.filters.is_empty() || verdict.reject().is_some() {
            return verdict;
        }
        match self.filter_decision(data, prefix, attributes) {
            FilterDecision::Accepted(applied) => self.change(verdict, attributes, applied),
            FilterDecision::Rejected { .. } => RouteVerdict::Rejected(RejectReason::Filter),
        }
    }

    fn filter_decision(
        &self,
        data: &OutsideData,
        prefix: Prefix,
        attributes: &AttrVerdict,
    ) -> FilterDecision {
        let origin_state = || {
            let own = || data.validate_origin(prefix, attributes.origin, attributes.blackhole);
            attributes.origin_state.or_else(own)
        };
        let filters = &self.settings.filters;
        filters.decide(attributes.rules, prefix, origin_state)
    }

    /// Adds the changes of the rules that applied to a route. A route that meets too many combinations of rules is rejected:
    /// without the changes it might go where it must not.
    fn change(
        &self,
        verdict: RouteVerdict,
        attributes: &AttrVerdict,
        applied: RuleSet,
    ) -> RouteVerdict {
        let filters = &self.settings.filters;
        let applied = applied.and(filters.changing());
        let RouteVerdict::Accepted {
            class,
            least_preferred,
        } = verdict
        else {
            return verdict;
        };
        if applied.is_empty() {
            return verdict;
        }
        let is_least = least_preferred || attributes.graceful_shutdown;
        match self.combinations.changes(filters, applied, is_least) {
            Some(changes) => RouteVerdict::Accepted {
                class: Class { changes, ..class },
                least_preferred,
            },
            None => RouteVerdict::Rejected(RejectReason::Filter),
        }
    }

    /// Describes what the operator's filters change in a route that the policy accepts: one line for each rule.
    pub fn filter_changes(
        &self,
        data: &OutsideData,
        prefix: Prefix,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        family: Family,
    ) -> Vec<String> {
        let of_set = self.check_attributes(data, attributes, next_hop, family);
        let is_accepted = self.judge(data, prefix, &of_set).reject().is_none();
        match self.filter_decision(data, prefix, &of_set) {
            FilterDecision::Accepted(applied) if is_accepted => {
                self.settings.filters.describe_changes(applied)
            }
            _ => Vec::new(),
        }
    }

    /// Returns all reasons against the route, with evidence; none for an accepted route. The reason that the other
    /// methods return comes first.
    pub fn all_reasons(
        &self,
        data: &OutsideData,
        prefix: Prefix,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        family: Family,
    ) -> Vec<Finding> {
        findings::collect(self, data, prefix, attributes, next_hop, family)
    }
}

/// Returns whether a check of outside data is on.
fn needs_data(settings: &ImportSettings) -> bool {
    settings.depends_on_vrps()
        || settings.path_relation().is_some()
        || settings.irr_member().is_some()
}

fn blackhole_table(settings: &ImportSettings) -> Option<ActionTable> {
    let communities = settings.blackhole_communities.clone();
    (!communities.is_empty()).then(|| ActionTable::of(communities, settings.local_asn))
}

/// Returns the allowed next hops, sorted; `None` for any.
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
