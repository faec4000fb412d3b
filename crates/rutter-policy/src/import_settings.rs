//! The settings of an import policy.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_irr::IrrMember;
use rutter_net::{Asn, PerFamily, Prefix};
use rutter_rpki::{PathState, Relation, Rov};

use crate::{
    ActionCommunity, CheckAction, CustomMarks, FilterChain, MarkedPrefixes, NextHopRule,
    PrefixMatch, Role,
};

/// The extent to which the policy applies to a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ImportRule {
    /// All checks that the settings enable.
    #[default]
    Checks,
    /// Only the checks of the protocol: loops, role leaks, martians, our own next hop.
    All,
    /// Nothing is accepted (RFC 8212).
    None,
    /// Every route is accepted: a collector keeps all routes that it receives.
    Collect,
}

/// Prefix lengths from `min` to `max`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LengthRange {
    /// The shortest length.
    pub min: u8,
    /// The longest length.
    pub max: u8,
}

impl LengthRange {
    /// Returns whether the length is in the range.
    pub const fn contains(self, len: u8) -> bool {
        self.min <= len && len <= self.max
    }
}

impl fmt::Display for LengthRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.min, self.max)
    }
}

/// The settings of an [`crate::ImportPolicy`]. The default is a safe policy for an exchange. Set at least the AS
/// numbers and the neighbor's address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportSettings {
    /// The extent to which the other settings apply.
    pub rule: ImportRule,
    /// Our AS, which no received path may contain.
    pub local_asn: Asn,
    /// The neighbor's AS.
    pub peer_asn: Asn,
    /// The neighbor's address, for [`NextHopRule::Strict`]. `None` disables that check.
    pub peer_address: Option<IpAddr>,
    /// All addresses of the same member, both families.
    pub member_addresses: Vec<IpAddr>,
    /// All addresses on the LAN whose neighbors have the same AS, for [`NextHopRule::SameAs`].
    pub same_as_addresses: Vec<IpAddr>,
    /// Addresses listed for [`NextHopRule::Authorized`].
    pub authorized_addresses: Vec<IpAddr>,
    /// Our own addresses, which are never accepted as next hops (RFC 4271 §6.3).
    pub own_addresses: Vec<IpAddr>,
    /// The rule for next hops.
    pub next_hop: NextHopRule,
    /// The families enabled on the session.
    pub families: PerFamily<bool>,
    /// Reject paths whose left-most AS is not the neighbor's. Off on iBGP.
    pub enforce_first_as: bool,
    /// Reject paths that contain [`Self::local_asn`].
    pub reject_as_loop: bool,
    /// Reject routes with this BGP Identifier, our own, as ORIGINATOR_ID (RFC 4456 §8).
    pub router_id: Option<Ipv4Addr>,
    /// Reject routes with this CLUSTER_ID, our own, in their CLUSTER_LIST (RFC 4456 §8).
    pub cluster_id: Option<Ipv4Addr>,
    /// The maximum number of AS numbers in a path. Each prepend counts; a set counts as one.
    pub max_as_path_len: u16,
    /// Reject paths with bogon AS numbers ([`Asn::is_bogon`]).
    pub reject_invalid_asns: bool,
    /// Bogon AS numbers that are accepted, such as private numbers of a laboratory.
    pub allowed_bogon_asns: Vec<Asn>,
    /// Networks that no member provides transit to, see [`TRANSIT_FREE`]. The neighbor's own AS is exempt.
    pub transit_free_asns: Vec<Asn>,
    /// Networks that never announce through route servers. The neighbor's own AS is *not* exempt.
    pub never_via_route_servers: Vec<Asn>,
    /// Reject paths with AS_SETs (RFC 9774).
    pub reject_as_set: bool,
    /// Our role on this session (RFC 9234).
    pub role: Option<Role>,
    /// The accepted prefix lengths.
    pub prefix_length: PerFamily<LengthRange>,
    /// Reject special-purpose prefixes and the default route.
    pub reject_bogons: bool,
    /// Reject IPv6 prefixes outside 2000::/3.
    pub require_global_unicast: bool,
    /// The peering LANs of the exchange.
    pub lan: Vec<Prefix>,
    /// The black list for all neighbors.
    pub black_list: Vec<PrefixMatch>,
    /// The black list for this neighbor.
    pub client_black_list: Vec<PrefixMatch>,
    /// If not empty, only these prefixes are accepted.
    pub allow_prefixes: Vec<PrefixMatch>,
    /// If not empty, only these origins are accepted.
    pub allow_origins: Vec<Asn>,
    /// Accept host routes with BLACKHOLE (RFC 7999).
    pub blackhole: PerFamily<bool>,
    /// Communities that mean the same as BLACKHOLE.
    pub blackhole_communities: Vec<ActionCommunity>,
    /// Honour GRACEFUL_SHUTDOWN (RFC 8326).
    pub graceful_shutdown: bool,
    /// The action for routes whose origin is invalid (RFC 6811).
    pub rpki_invalid: CheckAction,
    /// The validation states of origins that clients can distinguish. A change between two other states must not send
    /// anything.
    pub marked_origins: Vec<Rov>,
    /// Use the state that the neighbor sends (RFC 8097) instead of our own. For iBGP: there the neighbor is in our AS.
    pub obey_origin_state: bool,
    /// The relation of the neighbor, which selects the procedure of path verification. `None`: its paths are not
    /// verified.
    pub relation: Option<Relation>,
    /// The action for routes whose path the ASPAs contradict (draft-ietf-sidrops-aspa-verification).
    pub aspa_invalid: CheckAction,
    /// The states of paths that clients can distinguish, as [`Self::marked_origins`].
    pub marked_paths: Vec<PathState>,
    /// The neighbor's number in the IRR data, which have its rules; `None` if its routes are not compared with them.
    pub irr_member: Option<IrrMember>,
    /// Reject the routes also while there are no IRR data of anybody: the neighbor may be a stranger. Else no route is
    /// checked before the first data.
    pub irr_required: bool,
    /// The action for routes that break the neighbor's rules in the IRR data.
    pub irr_invalid: CheckAction,
    /// Mark all routes with the registration of their origin and prefix.
    pub mark_irr_state: bool,
    /// The custom informational communities of all routes of this neighbor.
    pub custom_marks: CustomMarks,
    /// Those of some prefixes, whoever announces them.
    pub marked_prefixes: Arc<MarkedPrefixes>,
    /// Accept and mark routes that fail a check of the exchange's policy, instead of rejecting them. Loops, leaks and
    /// other faults of the protocol are always rejected ([`crate::RejectReason::is_policy`]).
    pub tag_rejected: bool,
    /// The operator's filters, in order. They see the routes that all other checks accept.
    pub filters: FilterChain,
}

impl Default for ImportSettings {
    fn default() -> Self {
        ImportSettings {
            rule: ImportRule::Checks,
            local_asn: Asn(0),
            peer_asn: Asn(0),
            peer_address: None,
            member_addresses: Vec::new(),
            same_as_addresses: Vec::new(),
            authorized_addresses: Vec::new(),
            own_addresses: Vec::new(),
            next_hop: NextHopRule::Strict,
            families: PerFamily::both(true),
            enforce_first_as: true,
            reject_as_loop: true,
            router_id: None,
            cluster_id: None,
            max_as_path_len: 32,
            reject_invalid_asns: true,
            allowed_bogon_asns: Vec::new(),
            transit_free_asns: Vec::new(),
            never_via_route_servers: Vec::new(),
            reject_as_set: true,
            role: None,
            prefix_length: PerFamily::new(
                LengthRange { min: 8, max: 24 },
                LengthRange { min: 12, max: 48 },
            ),
            reject_bogons: true,
            require_global_unicast: true,
            lan: Vec::new(),
            black_list: Vec::new(),
            client_black_list: Vec::new(),
            allow_prefixes: Vec::new(),
            allow_origins: Vec::new(),
            blackhole: PerFamily::both(false),
            blackhole_communities: Vec::new(),
            graceful_shutdown: true,
            rpki_invalid: CheckAction::Off,
            marked_origins: Vec::new(),
            obey_origin_state: false,
            relation: None,
            aspa_invalid: CheckAction::Off,
            marked_paths: Vec::new(),
            irr_member: None,
            irr_required: false,
            irr_invalid: CheckAction::Off,
            mark_irr_state: false,
            custom_marks: CustomMarks::NONE,
            marked_prefixes: Arc::default(),
            tag_rejected: false,
            filters: FilterChain::default(),
        }
    }
}

/// The checks of outside data.
impl ImportSettings {
    /// Returns whether routes are compared with VRPs.
    pub fn validates_origin(&self) -> bool {
        self.rule == ImportRule::Checks
            && (self.rpki_invalid != CheckAction::Off || !self.marked_origins.is_empty())
    }

    /// Returns whether a change of VRPs may change the verdict on a route.
    pub fn depends_on_vrps(&self) -> bool {
        self.validates_origin() || self.filters.uses_origin_states()
    }

    /// The procedure by which paths are compared with ASPAs, if they are.
    pub fn path_relation(&self) -> Option<Relation> {
        let wanted = self.aspa_invalid != CheckAction::Off || !self.marked_paths.is_empty();
        self.relation
            .filter(|_| wanted && self.rule == ImportRule::Checks)
    }

    /// Returns whether routes may get custom informational communities.
    pub fn marks_routes(&self) -> bool {
        !self.custom_marks.is_empty() || !self.marked_prefixes.is_empty()
    }

    /// Returns whether a route that passes the checks of outside data may get a mark.
    pub(crate) fn marks_accepted(&self) -> bool {
        self.marks_routes()
            || self.mark_irr_state
            || self.irr_invalid == CheckAction::Tag
            || !self.marked_origins.is_empty()
            || !self.marked_paths.is_empty()
    }

    /// The number under which the neighbor's routes are compared with IRR data, if they are.
    pub fn irr_member(&self) -> Option<IrrMember> {
        let wanted = self.irr_invalid != CheckAction::Off || self.mark_irr_state;
        self.irr_member
            .filter(|_| wanted && self.rule == ImportRule::Checks)
    }
}

/// Networks without an upstream provider. A path through a member to one of them is a leak.
pub const TRANSIT_FREE: &[Asn] = &[
    Asn(174),
    Asn(701),
    Asn(1299),
    Asn(2914),
    Asn(3257),
    Asn(3320),
    Asn(3356),
    Asn(5511),
    Asn(6453),
    Asn(6461),
    Asn(6762),
    Asn(6830),
    Asn(7018),
    Asn(12956),
];
