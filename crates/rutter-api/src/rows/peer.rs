//! A session.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rutter_rib::PeerId;
use serde::{Deserialize, Serialize};

/// The six states of RFC 4271 §8.2.2.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub enum SessionState {
    /// No connection attempt is made.
    #[default]
    Idle,
    /// Connecting by TCP.
    Connect,
    /// Waiting for a TCP connection.
    Active,
    /// Our OPEN is sent.
    OpenSent,
    /// The OPEN of the neighbor is accepted.
    OpenConfirm,
    /// Routes are exchanged.
    Established,
}

impl SessionState {
    /// All states, in order.
    pub const ALL: [SessionState; 6] = [
        SessionState::Idle,
        SessionState::Connect,
        SessionState::Active,
        SessionState::OpenSent,
        SessionState::OpenConfirm,
        SessionState::Established,
    ];
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SessionState::Idle => "Idle",
            SessionState::Connect => "Connect",
            SessionState::Active => "Active",
            SessionState::OpenSent => "OpenSent",
            SessionState::OpenConfirm => "OpenConfirm",
            SessionState::Established => "Established",
        })
    }
}

/// The state of a session. The daemon fills it in; [`PeerRow`] adds the route counts.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SessionRow {
    /// The id in the table, to join with a snapshot; not part of the protocol.
    #[serde(skip)]
    pub peer: Option<PeerId>,
    /// The display name.
    pub name: String,
    /// The neighbor's address.
    pub address: IpAddr,
    /// The neighbor's AS as configured or learned; 0 if unknown.
    pub asn: u32,
    /// Our AS on this session.
    pub local_asn: u32,
    /// `member`, `external`, `internal`, `reflector-client` or `collector`.
    pub role: String,
    /// The neighbor belongs to a `[[dynamic-neighbor]]` section.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic: bool,
    /// The state of the session.
    pub state: SessionState,
    /// Seconds in this state.
    pub state_for_s: u64,
    /// When it reached this state, Unix seconds. It stays the same until the state changes or the clock is set.
    #[serde(default)]
    pub state_changed_at: u64,
    /// Administratively down, with the message for the neighbor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown: Option<String>,
    /// How often the session reached Established.
    pub established_count: u64,
    /// Why the session went down last, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Seconds since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error_ago_s: Option<u64>,
    /// Received traffic.
    pub received: Direction,
    /// Sent traffic. UPDATEs are encoded once for many clients and sent as bytes: they count in `bytes`, not in
    /// `messages`.
    pub sent: Direction,
    /// Malformed UPDATEs that did not end the session (RFC 7606).
    pub malformed_updates: u64,
    /// Paths that were not kept, because the neighbor has more than 1,024 of one prefix (RFC 7911).
    #[serde(default)]
    pub paths_not_kept: u64,
    /// Routes that were not kept, because the neighbor was above `max-prefix` with the action `block`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocked_routes: u64,
    /// The limits of received prefixes, of the families that have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix_limits: Vec<PrefixLimitRow>,
    /// How often more prefixes were advertised than `max-prefix-out` allows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub out_limit_exceeded: u64,
    /// Bytes that the neighbor's attribute sets take, and at most its routes; `max-memory` limits them.
    #[serde(default)]
    pub memory_bytes: u64,
    /// How often the neighbor's routes took more than `max-memory` allows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_limit_exceeded: u64,
    /// Bytes of UPDATEs that wait for the client's socket.
    pub unsent_bytes: u64,
    /// The client fell behind and receives its routes from the table.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub catching_up: bool,
    /// The negotiated parameters; absent unless Established.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negotiated: Option<NegotiatedRow>,
    /// The running timers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerRow>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A limit of received prefixes: `max-prefix`.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrefixLimitRow {
    /// `ipv4-unicast` or `ipv6-unicast`.
    pub family: String,
    /// The most prefixes, including rejected ones.
    pub limit: u32,
    /// The action above the limit: `warn`, `block`, `restart` or `shutdown`.
    pub action: String,
    /// The network's number in PeeringDB, of which the limit was made with some headroom. Absent: the limit is that of the
    /// configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peeringdb: Option<u32>,
}

/// The traffic in one direction.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Direction {
    /// Octets.
    pub bytes: u64,
    /// Messages by type.
    pub messages: MessageCounts,
}

/// Messages by type.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MessageCounts {
    /// OPEN.
    pub open: u64,
    /// UPDATE.
    pub update: u64,
    /// NOTIFICATION.
    pub notification: u64,
    /// KEEPALIVE.
    pub keepalive: u64,
    /// ROUTE-REFRESH.
    pub route_refresh: u64,
}

impl MessageCounts {
    /// Returns the sum of all types.
    pub fn total(self) -> u64 {
        self.open + self.update + self.notification + self.keepalive + self.route_refresh
    }

    /// Returns name and count of each type, in the order of the type codes.
    pub fn by_type(self) -> [(&'static str, u64); 5] {
        [
            ("open", self.open),
            ("update", self.update),
            ("notification", self.notification),
            ("keepalive", self.keepalive),
            ("route-refresh", self.route_refresh),
        ]
    }
}

/// The parameters that two OPENs negotiated.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NegotiatedRow {
    /// The neighbor's BGP Identifier.
    pub bgp_id: Ipv4Addr,
    /// Our address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<SocketAddr>,
    /// The neighbor's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<SocketAddr>,
    /// Hold Time, seconds; 0: off.
    pub hold_time_s: u16,
    /// Seconds between KEEPALIVEs; 0: none.
    pub keepalive_s: u16,
    /// Four-octet AS numbers (RFC 6793).
    pub four_octet_as: bool,
    /// Maximum message length, octets (RFC 8654).
    pub max_message_len: u32,
    /// Route Refresh (RFC 2918).
    pub route_refresh: bool,
    /// Enhanced Route Refresh (RFC 7313).
    pub enhanced_refresh: bool,
    /// Graceful Restart as text: families and restart time of the neighbor (RFC 4724).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graceful_restart: Option<String>,
    /// Long-lived Graceful Restart as text (RFC 9494).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_lived_graceful_restart: Option<String>,
    /// The neighbor's role (RFC 9234).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Other capabilities of the neighbor, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<String>,
}

/// A running timer.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TimerRow {
    /// `hold`, `keepalive`, `connect-retry`, `idle-hold`, `send-hold`, `restart`, …
    pub name: String,
    /// Milliseconds until it fires.
    pub fires_in_ms: u64,
}

/// A session with its routes.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PeerRow {
    /// The session.
    #[serde(flatten)]
    pub session: SessionRow,
    /// Families that are negotiated or have routes.
    pub families: Vec<FamilyRow>,
}

/// One family of a session.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FamilyRow {
    /// `ipv4-unicast` or `ipv6-unicast`.
    pub family: String,
    /// Negotiated in the current session.
    pub negotiated: bool,
    /// Received routes, including rejected routes.
    pub received: u64,
    /// Accepted routes.
    pub accepted: u64,
    /// Rejected routes.
    pub rejected: u64,
    /// The neighbor's NLRI carry path identifiers (RFC 7911).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub add_path_receive: bool,
    /// Our NLRI carry path identifiers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub add_path_send: bool,
    /// IPv4 NLRI may have an IPv6 next hop (RFC 8950).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extended_next_hop: bool,
}
