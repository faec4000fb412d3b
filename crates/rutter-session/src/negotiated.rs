//! What two OPENs agreed on, and what only one side wanted.

use rutter_net::{AfiSafi, Asn, Family};
use rutter_wire::capability::{Capability, GracefulRestart, Role};

/// What an established session may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Negotiated {
    /// The neighbor's AS.
    pub remote_asn: Asn,
    /// The neighbor's BGP Identifier.
    pub remote_bgp_id: u32,
    /// Whether we made the connection.
    pub outgoing: bool,
    /// Hold Time, seconds; 0: off.
    pub hold_time_s: u16,
    /// Seconds between KEEPALIVEs; 0: none.
    pub keepalive_s: u16,
    /// Four-octet AS numbers (RFC 6793).
    pub as4: bool,
    /// Largest message that we may send, octets.
    pub max_message_len: usize,
    /// Largest message that we take, octets.
    pub max_receive_len: usize,
    /// Per family in index order, `None` where it is off.
    pub families: [Option<FamilyNegotiated>; 2],
    /// We may ask for a refresh (RFC 2918).
    pub route_refresh: bool,
    /// Refreshes are framed by BoRR and EoRR (RFC 7313).
    pub enhanced_refresh: bool,
    /// The neighbor's Graceful Restart, where both sides offered it.
    pub graceful_restart: Option<GracefulRestart>,
    /// Routes stay after a NOTIFICATION too (RFC 8538).
    pub notification_restart: bool,
    /// Seconds that the neighbor's stale routes may stay beyond the restart time (RFC 9494), 0: none. In index order.
    pub long_lived_s: [u32; 2],
    /// The neighbor's role.
    pub remote_role: Option<Role>,
    /// What only one side offered.
    pub unagreed: Vec<Unagreed>,
    /// Every capability of the neighbor as it stands in its OPEN.
    pub remote_capabilities: Vec<Capability>,
}

/// One family of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FamilyNegotiated {
    /// The neighbor's NLRI carry path identifiers (RFC 7911).
    pub add_path_receive: bool,
    /// Our NLRI carry path identifiers.
    pub add_path_send: bool,
    /// IPv4 NLRI may have an IPv6 next hop (RFC 8950).
    pub extended_next_hop: bool,
}

/// Something that one side offered and the other did not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unagreed {
    /// What.
    pub feature: Feature,
    /// Whether we were the one who offered it.
    pub offered_by_us: bool,
}

/// What can be agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Feature {
    /// A family.
    Family(AfiSafi),
    /// Several paths per prefix, from the neighbor to us.
    AddPathReceive(Family),
    /// Several paths per prefix, from us to the neighbor.
    AddPathSend(Family),
    /// IPv6 next hops of a family.
    ExtendedNextHop(Family),
    /// Messages of 65,535 octets.
    ExtendedMessage,
    /// Four-octet AS numbers.
    FourOctetAs,
    /// Route Refresh.
    RouteRefresh,
    /// Enhanced Route Refresh.
    EnhancedRouteRefresh,
    /// Graceful Restart.
    GracefulRestart,
    /// Graceful Restart after NOTIFICATIONs.
    NotificationRestart,
    /// Long-lived Graceful Restart of a family.
    LongLived(Family),
    /// Roles.
    Role,
}

impl Negotiated {
    /// What was agreed for one family.
    pub fn family(&self, family: Family) -> Option<FamilyNegotiated> {
        self.families[family.index()]
    }

    /// Whether the neighbor will mark the end of its initial routes (RFC 4724 §2).
    pub fn sends_end_of_rib(&self) -> bool {
        self.graceful_restart.is_some()
    }
}
