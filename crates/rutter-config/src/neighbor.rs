//! The configuration of one BGP session.

use std::net::IpAddr;

use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::{ImportRule, NextHopRule, PrefixMatch, Role};

use crate::Secret;

/// The kind of a neighbor, which selects the rules for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeighborKind {
    /// A client of the route server (`[[member]]`).
    Member,
    /// eBGP.
    External,
    /// iBGP.
    Internal,
    /// iBGP, client of this route reflector (RFC 4456).
    ReflectorClient,
    /// Receive only.
    Collector,
}

/// The routes that are advertised to a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExportRule {
    /// All routes that the rules for its kind allow.
    All,
    /// No routes (RFC 8212 for eBGP without `export`).
    None,
}

/// The action for a neighbor above its prefix limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LimitAction {
    /// Write a log line.
    Warn,
    /// Reject further prefixes.
    Block,
    /// Reset the session (RFC 4486 subcode 1), and restart it later.
    Restart {
        /// The time until the restart, seconds; `0` means the idle hold time.
        after_s: u32,
    },
    /// Reset the session and keep it down until an operator acts.
    Shutdown,
}

/// A prefix limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MaxPrefix {
    /// The maximum number of received prefixes, including rejected ones.
    pub limit: u32,
    /// The action above the limit.
    pub action: LimitAction,
}

/// Options of one family of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FamilyOptions {
    /// Offer the family.
    pub enabled: bool,
    /// Receive several paths per prefix (RFC 7911).
    pub add_path_receive: bool,
    /// Advertise several paths per prefix.
    pub add_path_send: bool,
    /// Offer RFC 8950 (IPv4 only).
    pub extended_next_hop: bool,
    /// The prefix limit.
    pub max_prefix: Option<MaxPrefix>,
}

/// TTL settings of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TtlSecurity {
    /// The usual TTL: 1 on eBGP, the system's default on iBGP.
    #[default]
    Off,
    /// GTSM (RFC 5082): send with TTL 255, accept at least 256 − hops.
    Hops(u8),
    /// Multihop eBGP without GTSM: send with this TTL.
    Multihop(u8),
}

/// Graceful Restart (RFC 4724, 8538) and Long-lived Graceful Restart (RFC 9494).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GracefulRestart {
    /// Offer the capability and keep the routes of a restarting neighbor.
    pub enabled: bool,
    /// The restart time that we announce, seconds; at most 4,095.
    pub restart_time_s: u16,
    /// Also keep routes after a NOTIFICATION (RFC 8538).
    pub notification: bool,
    /// The long-lived stale time (RFC 9494), seconds; 0: off. At most 16,777,215.
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

/// The configuration of one BGP session, with all defaults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// The neighbor's address, unique in a configuration.
    pub address: IpAddr,
    /// The display name; by default AS number and address.
    pub name: String,
    /// The kind of neighbor.
    pub kind: NeighborKind,
    /// The neighbor's AS.
    pub asn: Asn,
    /// Our AS on this session.
    pub local_asn: Asn,
    /// The local address of the session.
    pub local_address: Option<IpAddr>,
    /// The TCP port to connect to.
    pub port: u16,
    /// Wait for the neighbor to connect.
    pub passive: bool,
    /// Administratively down, with the message of RFC 9003.
    pub shutdown: Option<String>,
    /// The options of each family.
    pub families: PerFamily<FamilyOptions>,
    /// The maximum number of paths per prefix to advertise with Add-Path; 0: all.
    pub add_path_limit: u16,
    /// The TCP MD5 password (RFC 2385).
    pub password: Option<Secret>,
    /// TTL settings.
    pub ttl_security: TtlSecurity,
    /// The Hold Time to offer, seconds; 0, or at least 3.
    pub hold_time_s: u16,
    /// Seconds between connection attempts.
    pub connect_retry_s: u16,
    /// Send Hold Timer (RFC 9687), seconds; 0: off.
    pub send_hold_time_s: u16,
    /// The longest idle hold time after a fault (RFC 4271 §8.1.1), seconds.
    pub idle_hold_time_s: u16,
    /// Offer messages of up to 65,535 octets (RFC 8654).
    pub extended_message: bool,
    /// Graceful restart.
    pub graceful_restart: GracefulRestart,
    /// *Our* role on the session (RFC 9234).
    pub role: Option<Role>,
    /// Refuse a neighbor that does not announce a role.
    pub role_strict: bool,
    /// The import rule.
    pub import: ImportRule,
    /// The export rule.
    pub export: ExportRule,
    /// The rule for next hops.
    pub next_hop: NextHopRule,
    /// Additional next hops for [`NextHopRule::Authorized`].
    pub authorized_addresses: Vec<IpAddr>,
    /// Advertise our own address as next hop.
    pub next_hop_self: bool,
    /// LOCAL_PREF of routes without one.
    pub local_pref: u32,
    /// Accept paths through transit-free networks.
    pub allow_transit_free: bool,
    /// The black list for this neighbor.
    pub black_list: Vec<PrefixMatch>,
    /// If not empty, only these prefixes are accepted.
    pub allow_prefixes: Vec<PrefixMatch>,
    /// If not empty, only these origins are accepted.
    pub allow_origins: Vec<Asn>,
    /// AS-SETs of the member, for IRR filters.
    pub as_sets: Vec<String>,
}

impl Neighbor {
    /// Returns the options of a family.
    pub fn family(&self, family: Family) -> &FamilyOptions {
        &self.families[family]
    }
}

/// Neighbors without a section of their own that connect from a known network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicNeighbor {
    /// The network that they connect from.
    pub prefix: Prefix,
    /// The accepted AS numbers; empty: any.
    pub asns: Vec<Asn>,
    /// The maximum number of sessions.
    pub limit: u32,
    /// The other settings. `address` and `asn` are set per session; always passive.
    pub template: Neighbor,
}

impl DynamicNeighbor {
    /// Returns whether a connection from this address belongs to this section.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.prefix.contains(address)
    }

    /// Returns whether the AS in an OPEN is accepted.
    pub fn admits_asn(&self, asn: Asn) -> bool {
        self.asns.is_empty() || self.asns.contains(&asn)
    }

    /// Returns the neighbor of an accepted connection.
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
