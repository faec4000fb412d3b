//! A neighbor and its session as the table sees them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rutter_net::{Asn, Family};
use rutter_policy::{ImportPolicy, Role};

use crate::monitored::Monitored;

/// Dense index of a neighbor; at most 65,535. Reused only after every route of the former owner is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub u16);

impl PeerId {
    /// Index into per-peer arrays.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Which rules apply between this neighbor and the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PeerKind {
    /// Client of the route server: attributes pass unchanged (RFC 7947).
    RouteServerClient,
    /// Plain eBGP: own AS prepended, own next hop, MED and LOCAL_PREF stripped (RFC 4271 §5).
    External,
    /// Plain iBGP: hears only what came from outside (RFC 4271 §9.2).
    Internal,
    /// Client of this route reflector (RFC 4456).
    ReflectorClient,
    /// Receive only: routes are stored and published, nothing is decided or sent.
    Collector,
}

impl PeerKind {
    /// Whether the session crosses an AS border.
    pub fn is_external(self) -> bool {
        matches!(self, PeerKind::RouteServerClient | PeerKind::External)
    }
}

/// What is configured for one neighbor.
#[derive(Clone, Debug)]
pub struct Neighbor {
    /// Name or description for people; the address in text where none is given.
    pub name: Arc<str>,
    /// Address of the neighbor; the last tie-break of the decision process.
    pub address: IpAddr,
    /// Which rules apply.
    pub kind: PeerKind,
    /// Our AS on this session.
    pub local_asn: Asn,
    /// The neighbor's AS (for dynamic neighbors: as learned from its OPEN).
    pub remote_asn: Asn,
    /// Our IPv4 address for next-hop-self towards this neighbor.
    pub local_ipv4: Option<Ipv4Addr>,
    /// Our IPv6 address for next-hop-self towards this neighbor.
    pub local_ipv6: Option<Ipv6Addr>,
    /// Send our own address as next hop (default for [`PeerKind::External`]).
    pub next_hop_self: bool,
    /// Import checks, immutable; replace with [`crate::Rib::replace_neighbor`].
    pub import: Arc<ImportPolicy>,
    /// Whether anything is sent to this neighbor at all (RFC 8212: `false` for eBGP without policy).
    pub export_allowed: bool,
    /// LOCAL_PREF of routes that carry none; 100 unless configured.
    pub default_local_pref: u32,
    /// Prefixes per family above which further ones are rejected (`max-prefix` with action `block`).
    pub block_above: [Option<u32>; 2],
    /// Most paths per prefix sent where Add-Path is negotiated; 0 means all.
    pub add_path_limit: u16,
    /// Our role on the session (RFC 9234), `None` where none is configured.
    pub role: Option<Role>,
    /// Set where the routes are not of a session of our own but those that somebody else reports.
    pub monitored: Option<Arc<Monitored>>,
}

impl Neighbor {
    /// Routes with ONLY_TO_CUSTOMER must not be sent here (RFC 9234 §5).
    pub(crate) fn withholds_otc(&self) -> bool {
        matches!(
            self.role,
            Some(Role::Customer | Role::Peer | Role::RouteServerClient)
        )
    }

    /// Routes without ONLY_TO_CUSTOMER are sent here with our AS in it (RFC 9234 §5).
    pub(crate) fn adds_otc(&self) -> bool {
        matches!(
            self.role,
            Some(Role::Provider | Role::Peer | Role::RouteServer)
        )
    }
}

/// What one established session negotiated.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// The neighbor's BGP Identifier.
    pub remote_bgp_id: u32,
    /// The neighbor's AS as its OPEN said.
    pub remote_asn: Asn,
    /// Four-octet AS numbers on the wire (RFC 6793).
    pub as4: bool,
    /// Largest message the neighbor takes, octets: 4,096 or 65,535 (RFC 8654).
    pub max_message_len: usize,
    /// Per family: what was agreed, `None` where the family is off.
    pub families: [Option<FamilyInfo>; 2],
    /// Enhanced Route Refresh (RFC 7313): refreshes are framed by BoRR and EoRR.
    pub enhanced_refresh: bool,
}

impl SessionInfo {
    /// What was agreed for one family.
    pub fn family(&self, family: Family) -> Option<FamilyInfo> {
        self.families[family.index()]
    }
}

/// One family of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FamilyInfo {
    /// The neighbor's NLRI carry path identifiers (RFC 7911).
    pub add_path_receive: bool,
    /// Our NLRI carry path identifiers.
    pub add_path_send: bool,
    /// IPv4 NLRI may have an IPv6 next hop (RFC 8950).
    pub extended_next_hop: bool,
}

/// How many routes a neighbor has in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RouteCounts {
    /// Routes held, rejected ones included.
    pub received: u32,
    /// Routes that take part in the decision.
    pub accepted: u32,
}

impl RouteCounts {
    /// Routes held with a reason of rejection.
    pub fn rejected(self) -> u32 {
        self.received - self.accepted
    }
}

/// All 65,535 neighbor ids are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyNeighbors;

impl std::fmt::Display for TooManyNeighbors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("65,535 neighbors are known already; remove some first")
    }
}

impl std::error::Error for TooManyNeighbors {}
