//! A neighbor and its session as the table sees them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ImportPolicy, Role};

use crate::ClientOptions;
use crate::monitored::Monitored;

/// The dense index of a neighbor; at most 65,535. An id is reused only after every route of its former owner is
/// removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub u16);

impl PeerId {
    /// The index into per-peer arrays.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The kind of a neighbor: it decides which rules apply between this neighbor and the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PeerKind {
    /// A client of the route server: attributes pass unchanged (RFC 7947).
    RouteServerClient,
    /// Plain eBGP: own AS prepended, own next hop, MED and LOCAL_PREF removed (RFC 4271 §5).
    External,
    /// Plain iBGP: receives only routes of external peers (RFC 4271 §9.2).
    Internal,
    /// A client of this route reflector (RFC 4456).
    ReflectorClient,
    /// Receive only: its routes are stored and published; nothing is decided or sent.
    Collector,
}

impl PeerKind {
    /// Returns whether the session crosses an AS border.
    pub fn is_external(self) -> bool {
        matches!(self, PeerKind::RouteServerClient | PeerKind::External)
    }
}

/// The configuration of one neighbor.
#[derive(Clone, Debug)]
pub struct Neighbor {
    /// A name or description for people; without one the address as a string.
    pub name: Arc<str>,
    /// The address of the neighbor; the last tie-break of the decision process.
    pub address: IpAddr,
    /// The rules that apply.
    pub kind: PeerKind,
    /// Our AS on this session.
    pub local_asn: Asn,
    /// The neighbor's AS; for dynamic neighbors the one in its OPEN.
    pub remote_asn: Asn,
    /// Our IPv4 address for next-hop-self towards this neighbor.
    pub local_ipv4: Option<Ipv4Addr>,
    /// Our IPv6 address for next-hop-self towards this neighbor.
    pub local_ipv6: Option<Ipv6Addr>,
    /// Sends our own address as next hop (default for [`PeerKind::External`]).
    pub next_hop_self: bool,
    /// The import policy, immutable; replace it with [`crate::Rib::replace_neighbor`].
    pub import: Arc<ImportPolicy>,
    /// True if anything is advertised to this neighbor (RFC 8212: `false` for eBGP without policy).
    pub export_allowed: bool,
    /// The LOCAL_PREF of routes without one; 100 unless configured.
    pub default_local_pref: u32,
    /// The limits on the routes that are accepted and kept.
    pub limits: IntakeLimits,
    /// The most paths per prefix that are sent where Add-Path is negotiated; 0 means all.
    pub add_path_limit: u16,
    /// The options of the neighbor as a client.
    pub client: ClientOptions,
    /// Our role on the session (RFC 9234), `None` where none is configured.
    pub role: Option<Role>,
    /// The origin of the routes where another router reports them or a file holds them.
    pub monitored: Option<Arc<Monitored>>,
}

/// The limits on the routes that are accepted and kept from a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IntakeLimits {
    /// The limit on prefixes per family (`max-prefix` with action `block`).
    pub prefixes: PerFamily<Option<BlockAbove>>,
}

/// A limit on the number of prefixes, above which further ones are blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockAbove {
    /// The number of prefixes, rejected ones included.
    pub limit: u32,
    /// Blocked routes stay in the table, rejected. Otherwise they are not kept, and the neighbor must send them again
    /// once there is room: see [`Intake::to_request`].
    pub keeps: bool,
}

impl Neighbor {
    /// A peer of a monitored router or of a file: its routes are stored, and nothing is sent to it.
    pub fn monitored(
        name: &str,
        address: IpAddr,
        asn: Asn,
        monitored: Monitored,
        import: Arc<ImportPolicy>,
    ) -> Self {
        Neighbor {
            name: name.into(),
            address,
            kind: PeerKind::Collector,
            local_asn: asn,
            remote_asn: asn,
            local_ipv4: None,
            local_ipv6: None,
            next_hop_self: false,
            import,
            monitored: Some(Arc::new(monitored)),
            export_allowed: false,
            default_local_pref: 100,
            limits: IntakeLimits::default(),
            add_path_limit: 0,
            client: ClientOptions::default(),
            role: None,
        }
    }

    /// Returns whether routes with ONLY_TO_CUSTOMER must not be sent here (RFC 9234 §5).
    pub(crate) fn withholds_otc(&self) -> bool {
        rutter_policy::withholds_otc(self.role)
    }

    /// Returns whether routes without ONLY_TO_CUSTOMER are sent here with our AS in it (RFC 9234 §5).
    pub(crate) fn adds_otc(&self) -> bool {
        rutter_policy::adds_otc(self.role)
    }
}

/// The parameters that one established session negotiated.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// The neighbor's BGP Identifier.
    pub remote_bgp_id: u32,
    /// The AS in the neighbor's OPEN.
    pub remote_asn: Asn,
    /// Four-octet AS numbers on the wire (RFC 6793).
    pub as4: bool,
    /// The longest message that the neighbor accepts, in bytes: 4,096 or 65,535 (RFC 8654).
    pub max_message_len: usize,
    /// The parameters of each family, `None` where the family is off.
    pub families: PerFamily<Option<FamilyInfo>>,
    /// Enhanced Route Refresh (RFC 7313): a refresh is framed by BoRR and EoRR.
    pub enhanced_refresh: bool,
}

impl SessionInfo {
    /// The parameters of one family.
    pub fn family(&self, family: Family) -> Option<FamilyInfo> {
        self.families[family]
    }
}

/// The parameters of one family of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FamilyInfo {
    /// The neighbor's NLRI carry path identifiers (RFC 7911).
    pub add_path_receive: bool,
    /// Our NLRI carry path identifiers.
    pub add_path_send: bool,
    /// IPv4 NLRI may have an IPv6 next hop (RFC 8950).
    pub extended_next_hop: bool,
}

/// The number of routes of a neighbor in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RouteCounts {
    /// All routes, rejected ones included.
    pub received: u32,
    /// The routes that take part in the decision.
    pub accepted: u32,
}

impl RouteCounts {
    /// The routes with a reason of rejection.
    pub fn rejected(self) -> u32 {
        self.received - self.accepted
    }
}

/// The routes of a neighbor that are kept, and the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Intake {
    /// The number of routes that are kept.
    pub counts: PerFamily<RouteCounts>,
    /// The number of routes that were not kept so far.
    pub not_kept: NotKept,
    /// The families in which a limit kept routes out since the neighbor last sent all of them.
    pub lacks_routes: PerFamily<bool>,
    /// The families in which another route would be kept.
    pub has_room: PerFamily<bool>,
}

impl Intake {
    /// The families in which missing routes would be kept now: request them, and call [`crate::Rib::begin_resend`].
    pub fn to_request(&self) -> impl Iterator<Item = Family> + use<> {
        let (lacks, room) = (self.lacks_routes, self.has_room);
        Family::ALL
            .into_iter()
            .filter(move |family| lacks[*family] && room[*family])
    }
}

/// The routes of a neighbor that were not kept so far, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NotKept {
    /// It has too many paths of one prefix (RFC 7911).
    pub paths: u64,
    /// It is above a limit on prefixes: see [`BlockAbove`].
    pub blocked: u64,
}

/// The ids that only BGP neighbors of our own get, never peers of monitored routers or of files. BGP neighbors may take all others,
/// too.
pub const RESERVED_IDS: usize = 4_096;

/// All 65,535 neighbor ids are taken, or all but the reserved ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyNeighbors;

impl std::fmt::Display for TooManyNeighbors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "no id of a neighbor is free: there are 65,535, of which 4,096 are for BGP neighbors alone; remove some first",
        )
    }
}

impl std::error::Error for TooManyNeighbors {}
