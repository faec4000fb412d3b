//! The result of a negotiation: features that both sides offered, and features that only one side offered.

use rutter_net::{AfiSafi, Asn, Family, PerFamily};
use rutter_wire::capability::{Capability, GracefulRestart, Role};

/// The negotiated properties of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Negotiated {
    /// The neighbor's AS.
    pub remote_asn: Asn,
    /// The neighbor's BGP Identifier.
    pub remote_bgp_id: u32,
    /// We initiated the connection.
    pub outgoing: bool,
    /// The Hold Time, seconds; 0: off. Shorter than agreed if our own became shorter, see `shorten_hold_time`.
    pub hold_time_s: u16,
    /// The Hold Time that the OPENs agreed, seconds.
    pub agreed_hold_time_s: u16,
    /// The time between KEEPALIVEs, seconds; 0: none are sent.
    pub keepalive_s: u16,
    /// Four-octet AS numbers (RFC 6793).
    pub as4: bool,
    /// The largest message that we may send, octets.
    pub max_message_len: usize,
    /// The largest message that we accept, octets.
    pub max_receive_len: usize,
    /// The options of each family in index order, `None` where the family is not negotiated.
    pub families: PerFamily<Option<FamilyNegotiated>>,
    /// We may request a refresh (RFC 2918).
    pub route_refresh: bool,
    /// BoRR and EoRR mark the begin and end of refreshes (RFC 7313).
    pub enhanced_refresh: bool,
    /// The neighbor's Graceful Restart capability, where both sides offered it.
    pub graceful_restart: Option<GracefulRestart>,
    /// Routes stay also after a NOTIFICATION (RFC 8538).
    pub notification_restart: bool,
    /// The time that the neighbor's stale routes may stay beyond the restart time, seconds (RFC 9494); 0: none.
    /// In index order of the families.
    pub long_lived_s: PerFamily<u32>,
    /// The neighbor's role.
    pub remote_role: Option<Role>,
    /// The features that only one side offered.
    pub one_sided: Vec<OneSidedOffer>,
    /// Every capability of the neighbor as in its OPEN.
    pub remote_capabilities: Vec<Capability>,
    /// The OPENs of the session, for BMP (RFC 7854 §4.10). `None` if another process exchanged them.
    pub opens: Option<Box<OpenMessages>>,
}

/// The two OPENs of a session, whole messages with their headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenMessages {
    /// The one that we sent.
    pub sent: Vec<u8>,
    /// The neighbor's, as received.
    pub received: Vec<u8>,
}

/// The negotiated options of one family.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FamilyNegotiated {
    /// The neighbor's NLRI carry path identifiers (RFC 7911).
    pub add_path_receive: bool,
    /// Our NLRI carry path identifiers.
    pub add_path_send: bool,
    /// IPv4 NLRI may have an IPv6 next hop (RFC 8950).
    pub extended_next_hop: bool,
}

/// A feature that one side offered and the other did not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OneSidedOffer {
    /// The feature that only one side offers.
    pub feature: Feature,
    /// We offered it, the neighbor did not; `false`: the other way round.
    pub offered_by_us: bool,
}

/// A feature that an OPEN can offer.
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
    /// Applies a shorter Hold Time of ours without another OPEN. We send KEEPALIVEs as often as it needs. The neighbor sends
    /// them at a third of the agreed time, so we wait for at least half of that.
    pub(crate) fn shorten_hold_time(&mut self, ours_s: u16) {
        let agreed_s = self.agreed_hold_time_s;
        self.hold_time_s = match ours_s {
            0 => agreed_s,
            ours_s => ours_s.max(agreed_s.div_ceil(2)).min(agreed_s),
        };
        self.keepalive_s = match ours_s {
            0 => agreed_s / 3,
            ours_s => ours_s.min(agreed_s) / 3,
        };
    }

    /// The negotiated options of one family.
    pub fn family(&self, family: Family) -> Option<FamilyNegotiated> {
        self.families[family]
    }

    /// Returns the families for which the neighbor will send End-of-RIB after its initial routes (RFC 4724 §2).
    ///
    /// A capability without families announces End-of-RIB for all (RFC 4724 §3). Where it lists families, some speakers
    /// send the marker only for these.
    pub fn end_of_rib_families(&self) -> PerFamily<bool> {
        let Some(restart) = &self.graceful_restart else {
            return PerFamily::both(false);
        };
        PerFamily::from_fn(|family| {
            let mut listed = restart.families.iter().map(|f| f.afi_safi);
            let is_listed = listed.len() == 0 || listed.any(|f| f == family.afi_safi());
            is_listed && self.family(family).is_some()
        })
    }
}
