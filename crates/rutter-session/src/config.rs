//! The settings of one session.

use rutter_net::{Asn, Family, PerFamily};
use rutter_wire::capability::{Fqdn, Role};

/// The settings of one session. A change takes effect with the next connection, see [`crate::Session::set_config`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The name of the neighbor in logs, usually its address.
    pub label: String,
    /// Our AS on this session.
    pub local_asn: Asn,
    /// The AS numbers that the neighbor's OPEN may contain.
    pub remote: RemoteAs,
    /// Our BGP Identifier.
    pub router_id: u32,
    /// Wait for the neighbor to connect; never connect to it.
    pub passive: bool,
    /// The Hold Time to offer, seconds: 0, or 3 and more.
    pub hold_time_s: u16,
    /// The shortest Hold Time to accept from the neighbor, seconds. For 0 see [`Config::accept_hold_time_zero`].
    pub min_hold_time_s: u16,
    /// Accept a Hold Time of 0: no KEEPALIVEs.
    pub accept_hold_time_zero: bool,
    /// The time to wait for the neighbor's OPEN, seconds (RFC 4271 §8.2.2 suggests 240).
    pub open_hold_time_s: u16,
    /// Send Hold Timer (RFC 9687), seconds; 0: off.
    pub send_hold_time_s: u32,
    /// The time between connection attempts, seconds.
    pub connect_retry_s: u16,
    /// The time to stay in Idle after a fault.
    pub idle_hold: IdleHold,
    /// The options of each family, in index order.
    pub families: PerFamily<FamilyConfig>,
    /// Offer Route Refresh (RFC 2918).
    pub route_refresh: bool,
    /// Offer Enhanced Route Refresh (RFC 7313).
    pub enhanced_refresh: bool,
    /// The longest time between BoRR and EoRR for which routes stay stale, seconds; 0: no limit.
    pub refresh_stale_s: u32,
    /// Offer messages of up to 65,535 octets (RFC 8654).
    pub extended_message: bool,
    /// Graceful Restart (RFC 4724); `None`: not offered.
    pub graceful_restart: Option<GracefulRestartConfig>,
    /// Our own role (RFC 9234).
    pub role: Option<Role>,
    /// Reject a neighbor whose OPEN has no role.
    pub role_strict: bool,
    /// Our host name, for the neighbor's logs.
    pub host_name: Option<Fqdn>,
    /// Our software version, for the neighbor's logs.
    pub software_version: Option<String>,
}

/// The AS numbers that a neighbor's OPEN may contain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RemoteAs {
    /// One AS number.
    One(Asn),
    /// One AS number of a list (dynamic neighbors).
    AnyOf(Vec<Asn>),
    /// Any AS number.
    Any,
}

impl RemoteAs {
    /// Returns whether the neighbor may have this AS number.
    pub fn admits(&self, asn: Asn) -> bool {
        match self {
            RemoteAs::One(one) => *one == asn,
            RemoteAs::AnyOf(set) => set.contains(&asn),
            RemoteAs::Any => true,
        }
    }
}

/// The exponential back-off after faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleHold {
    /// The pause after the first fault, milliseconds.
    pub initial_ms: u64,
    /// The longest pause, milliseconds.
    pub max_ms: u64,
    /// A session that was Established for this long has no faults any more, milliseconds.
    pub forget_after_ms: u64,
}

/// The options of one family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FamilyConfig {
    /// Offer the family.
    pub enabled: bool,
    /// Receive several paths per prefix (RFC 7911).
    pub add_path_receive: bool,
    /// Send several paths per prefix.
    pub add_path_send: bool,
    /// Offer IPv6 next hops (RFC 8950); used for IPv4 only.
    pub extended_next_hop: bool,
    /// The time that stale routes stay beyond the restart time, seconds (RFC 9494); 0: not offered.
    pub long_lived_s: u32,
}

/// The settings of Graceful Restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GracefulRestartConfig {
    /// The restart time that we offer, seconds; at most 4,095.
    pub restart_time_s: u16,
    /// Offer to keep routes also after a NOTIFICATION (RFC 8538).
    pub notification: bool,
    /// The longest restart time that we accept from a neighbor, seconds.
    pub max_restart_time_s: u16,
    /// The longest time from a re-established session to End-of-RIB, seconds.
    pub stale_path_time_s: u32,
}

impl Default for GracefulRestartConfig {
    fn default() -> Self {
        GracefulRestartConfig {
            restart_time_s: 120,
            notification: true,
            max_restart_time_s: 600,
            stale_path_time_s: 360,
        }
    }
}

impl Default for IdleHold {
    fn default() -> Self {
        IdleHold {
            initial_ms: 1_000,
            max_ms: 120_000,
            forget_after_ms: 60_000,
        }
    }
}

impl Config {
    /// Settings with both families and all features that cost nothing; no Add-Path, no role.
    pub fn new(local_asn: Asn, remote: RemoteAs, router_id: u32) -> Self {
        let family = FamilyConfig {
            enabled: true,
            ..FamilyConfig::default()
        };
        Config {
            label: String::new(),
            local_asn,
            remote,
            router_id,
            passive: false,
            hold_time_s: 90,
            min_hold_time_s: 3,
            accept_hold_time_zero: true,
            open_hold_time_s: 240,
            send_hold_time_s: 480,
            connect_retry_s: 30,
            idle_hold: IdleHold::default(),
            families: PerFamily::both(family),
            route_refresh: true,
            enhanced_refresh: true,
            refresh_stale_s: 600,
            extended_message: true,
            graceful_restart: Some(GracefulRestartConfig::default()),
            role: None,
            role_strict: false,
            host_name: None,
            software_version: None,
        }
    }

    /// The options of a family.
    pub fn family(&self, family: Family) -> &FamilyConfig {
        &self.families[family]
    }
}
