//! One BGP session as configured.

use std::net::IpAddr;

use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::{ImportRule, NextHopRule, PrefixMatch, Role};

use crate::Secret;

/// Which rules apply to a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeighborKind {
    /// Client of the route server (`[[member]]`).
    Member,
    /// Plain eBGP.
    External,
    /// Plain iBGP.
    Internal,
    /// iBGP, client of this route reflector (RFC 4456).
    ReflectorClient,
    /// Receive only.
    Collector,
}

/// What is sent to a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExportRule {
    /// Everything that the rules for its kind allow.
    All,
    /// Nothing (RFC 8212 for eBGP without `export`).
    None,
}

/// What happens when a neighbor exceeds its prefix limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LimitAction {
    /// A log line.
    Warn,
    /// Further prefixes are rejected.
    Block,
    /// The session is reset (RFC 4486 subcode 1) and starts again after a while.
    Restart {
        /// Seconds to wait; `0` means the usual idle hold time.
        after_s: u32,
    },
    /// The session is reset and stays down until an operator acts.
    Shutdown,
}

/// A prefix limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MaxPrefix {
    /// Prefixes of a family that may be received, rejected ones included.
    pub limit: u32,
    /// What happens above it.
    pub action: LimitAction,
}

/// Options of one family of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FamilyOptions {
    /// Offer the family.
    pub enabled: bool,
    /// Receive several paths per prefix (RFC 7911).
    pub add_path_receive: bool,
    /// Send several paths per prefix.
    pub add_path_send: bool,
    /// Offer RFC 8950 (IPv4 only).
    pub extended_next_hop: bool,
    /// The prefix limit.
    pub max_prefix: Option<MaxPrefix>,
}

/// TTL checks of a session's packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TtlSecurity {
    /// Usual: TTL 1 on eBGP, the system's default on iBGP.
    #[default]
    Off,
    /// GTSM (RFC 5082): send 255, accept 256 − hops and up.
    Hops(u8),
    /// eBGP over several hops, no check: send with this TTL.
    Multihop(u8),
}

/// Graceful restart (RFC 4724, 8538) and its long-lived kind (RFC 9494).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GracefulRestart {
    /// Keep a restarting neighbor's routes and offer the capability.
    pub enabled: bool,
    /// Seconds that we ask neighbors to wait for us; at most 4,095.
    pub restart_time_s: u16,
    /// Keep routes after a NOTIFICATION too (RFC 8538).
    pub notification: bool,
    /// Seconds that stale routes stay after that (RFC 9494); 0: off. At most 16,777,215.
    pub long_lived_s: u32,
}

impl Default for GracefulRestart {
    fn default() -> Self {
        GracefulRestart {
            enabled: true,
            restart_time_s: 120,
            notification: true,
            long_lived_s: 0,
        }
    }
}

/// One BGP session as configured; every default is filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// The neighbor's address: unique in a configuration.
    pub address: IpAddr,
    /// Description for people; the AS and address where none is given.
    pub name: String,
    /// Which rules apply.
    pub kind: NeighborKind,
    /// The neighbor's AS.
    pub asn: Asn,
    /// Our AS on this session.
    pub local_asn: Asn,
    /// The address to speak from.
    pub local_address: Option<IpAddr>,
    /// The TCP port to connect to.
    pub port: u16,
    /// Wait for the neighbor to connect.
    pub passive: bool,
    /// Administratively down, with the text of RFC 9003.
    pub shutdown: Option<String>,
    /// Per family, in index order.
    pub families: PerFamily<FamilyOptions>,
    /// Most paths per prefix sent where Add-Path is agreed; 0 means all.
    pub add_path_limit: u16,
    /// TCP MD5 (RFC 2385).
    pub password: Option<Secret>,
    /// TTL checks.
    pub ttl_security: TtlSecurity,
    /// Hold Time to offer, seconds; 0 or 3 and more.
    pub hold_time_s: u16,
    /// Seconds between connection attempts.
    pub connect_retry_s: u16,
    /// Send Hold Timer (RFC 9687), seconds; 0: off.
    pub send_hold_time_s: u16,
    /// Longest pause after a fault (IdleHoldTimer, RFC 4271 §8.1.1), seconds.
    pub idle_hold_time_s: u16,
    /// Messages of 65,535 octets (RFC 8654).
    pub extended_message: bool,
    /// Graceful restart.
    pub graceful_restart: GracefulRestart,
    /// *Our* role on the session (RFC 9234).
    pub role: Option<Role>,
    /// Refuse a neighbor that does not say its role.
    pub role_strict: bool,
    /// What is accepted.
    pub import: ImportRule,
    /// What is sent.
    pub export: ExportRule,
    /// Which next hops are accepted.
    pub next_hop: NextHopRule,
    /// For [`NextHopRule::Authorized`].
    pub authorized_addresses: Vec<IpAddr>,
    /// Send our own address as next hop.
    pub next_hop_self: bool,
    /// LOCAL_PREF of routes that come without.
    pub local_pref: u32,
    /// Paths through transit-free networks are accepted from this neighbor.
    pub allow_transit_free: bool,
    /// Black list for this neighbor.
    pub black_list: Vec<PrefixMatch>,
    /// If not empty, only these prefixes are accepted.
    pub allow_prefixes: Vec<PrefixMatch>,
    /// If not empty, only these origins are accepted.
    pub allow_origins: Vec<Asn>,
    /// AS-SETs of the member, for IRR data.
    pub as_sets: Vec<String>,
}

impl Neighbor {
    /// The options of a family.
    pub fn family(&self, family: Family) -> &FamilyOptions {
        &self.families[family]
    }
}

/// Neighbors that are not listed but come from a known network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicNeighbor {
    /// Where they come from.
    pub prefix: Prefix,
    /// Their AS numbers; empty: any.
    pub asns: Vec<Asn>,
    /// Most sessions at a time.
    pub limit: u32,
    /// Everything else, with `address` and `asn` to be filled in; always passive.
    pub template: Neighbor,
}

impl DynamicNeighbor {
    /// Whether a connection from here belongs to this section.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.prefix.contains(address)
    }

    /// Whether the AS of the OPEN is admitted.
    pub fn admits_asn(&self, asn: Asn) -> bool {
        self.asns.is_empty() || self.asns.contains(&asn)
    }

    /// The neighbor behind an accepted connection.
    pub fn neighbor(&self, address: IpAddr, asn: Asn) -> Neighbor {
        let kind = match self.template.kind {
            NeighborKind::External if asn == self.template.local_asn => NeighborKind::Internal,
            kind => kind,
        };
        Neighbor {
            address,
            asn,
            kind,
            name: format!("{} AS{asn} {address}", self.template.name),
            ..self.template.clone()
        }
    }
}
