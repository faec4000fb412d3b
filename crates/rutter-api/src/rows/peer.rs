//! A session.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rutter_rib::PeerId;
use serde::{Deserialize, Serialize};

/// The six states of RFC 4271 §8.2.2.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub enum SessionState {
    /// No connection is sought.
    #[default]
    Idle,
    /// A TCP connection is being made.
    Connect,
    /// Waiting for a TCP connection.
    Active,
    /// Our OPEN is sent.
    OpenSent,
    /// Their OPEN is taken.
    OpenConfirm,
    /// Routes flow.
    Established,
}

impl SessionState {
    /// Every state, in order.
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

/// A session as the daemon knows it; the daemon fills this in, [`PeerRow`] adds the route counts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SessionRow {
    /// The table's id, to join with the snapshot; not part of the protocol.
    #[serde(skip)]
    pub peer: Option<PeerId>,
    /// Name for people.
    pub name: String,
    /// The neighbor's address.
    pub address: IpAddr,
    /// The neighbor's AS as configured or learned; 0 when neither.
    pub asn: u32,
    /// Our AS on this session.
    pub local_asn: u32,
    /// `member`, `external`, `internal`, `reflector-client` or `collector`.
    pub role: String,
    /// Came from a `[[dynamic-neighbor]]` section.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic: bool,
    /// State of the session.
    pub state: SessionState,
    /// Seconds in this state.
    pub state_for_s: u64,
    /// Administratively down, with the text for the neighbor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown: Option<String>,
    /// Times that the session reached Established.
    pub established_count: u64,
    /// Why the session went down last, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Seconds since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error_ago_s: Option<u64>,
    /// Received.
    pub received: Direction,
    /// Sent. UPDATEs are encoded once for many clients and written as octets: they are in `bytes`, not in `messages`.
    pub sent: Direction,
    /// Malformed UPDATEs survived (RFC 7606).
    pub malformed_updates: u64,
    /// Octets of UPDATEs gathered for this client and not yet taken by its socket.
    pub unsent_bytes: u64,
    /// The client fell behind and is served from the table.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub catching_up: bool,
    /// What the OPENs agreed on; absent unless Established.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negotiated: Option<NegotiatedRow>,
    /// Timers that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerRow>,
}

/// What went one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Direction {
    /// Octets.
    pub bytes: u64,
    /// Messages by type.
    pub messages: MessageCounts,
}

/// Messages by type.
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
    /// All of them.
    pub fn total(self) -> u64 {
        self.open + self.update + self.notification + self.keepalive + self.route_refresh
    }

    /// Name and count, in the order of the types' numbers.
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

/// What two OPENs agreed on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NegotiatedRow {
    /// The neighbor's BGP Identifier.
    pub bgp_id: Ipv4Addr,
    /// Our end of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<SocketAddr>,
    /// Their end of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<SocketAddr>,
    /// Hold Time, seconds; 0: off.
    pub hold_time_s: u16,
    /// Seconds between KEEPALIVEs; 0: none.
    pub keepalive_s: u16,
    /// Four-octet AS numbers (RFC 6793).
    pub four_octet_as: bool,
    /// Largest message, octets (RFC 8654).
    pub max_message_len: u32,
    /// Route Refresh (RFC 2918).
    pub route_refresh: bool,
    /// Enhanced Route Refresh (RFC 7313).
    pub enhanced_refresh: bool,
    /// Graceful Restart, in words: families and restart time of the neighbor (RFC 4724).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graceful_restart: Option<String>,
    /// Long-lived Graceful Restart, in words (RFC 9494).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_lived_graceful_restart: Option<String>,
    /// The neighbor's role (RFC 9234).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Other capabilities the neighbor announced, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<String>,
}

/// A running timer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TimerRow {
    /// `hold`, `keepalive`, `connect-retry`, `idle-hold`, `send-hold`, `restart`, …
    pub name: String,
    /// Milliseconds until it fires.
    pub fires_in_ms: u64,
}

/// A session with its routes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PeerRow {
    /// The session.
    #[serde(flatten)]
    pub session: SessionRow,
    /// Families that are agreed on or have routes.
    pub families: Vec<FamilyRow>,
}

/// One family of a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FamilyRow {
    /// `ipv4-unicast` or `ipv6-unicast`.
    pub family: String,
    /// Agreed on in the session that is up.
    pub negotiated: bool,
    /// Routes held, rejected ones included.
    pub received: u64,
    /// Routes that take part in the decision.
    pub accepted: u64,
    /// Routes held with a reason of rejection.
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
