//! Compares two OPENs and computes what they negotiated.

use rutter_net::{AfiSafi, Family, PerFamily};
use rutter_wire::capability::{AddPathMode, Capability, GracefulRestart, Role};
use rutter_wire::frame::{MAX_EXTENDED_LEN, MAX_LEN};
use rutter_wire::open::Open;

use crate::{FamilyNegotiated, Feature, Negotiated, OneSidedOffer};

impl Negotiated {
    /// Compares the offers of two OPENs that are already accepted.
    pub(crate) fn from_opens(ours: &Open, theirs: Open) -> Self {
        let (our, their) = (Offer(ours), Offer(&theirs));
        let both = |has: fn(&Offer<'_>) -> bool| has(&our) && has(&their);
        let families = PerFamily::from_fn(|family| negotiated_family(family, &our, &their));
        let restart = our.restart().and(their.restart()).cloned();
        let notification_restart = both(|o| o.notification_restart());
        let long_lived_s = PerFamily::from_fn(|family| {
            let both_offer = families[family].is_some() && restart.is_some();
            let seconds = our.long_lived_s(family).min(their.long_lived_s(family));
            if both_offer { seconds } else { 0 }
        });
        let hold_time_s = ours.hold_time_s.min(theirs.hold_time_s);
        let len = |extended| if extended { MAX_EXTENDED_LEN } else { MAX_LEN };
        Negotiated {
            remote_asn: theirs.asn,
            remote_bgp_id: theirs.bgp_id,
            outgoing: false,
            hold_time_s,
            agreed_hold_time_s: hold_time_s,
            keepalive_s: hold_time_s / 3,
            as4: both(|o| o.has(is_four_octet_as)),
            max_message_len: len(both(|o| o.has(is_extended_message))),
            max_receive_len: len(our.has(is_extended_message)),
            families,
            route_refresh: their.has(is_route_refresh),
            enhanced_refresh: both(|o| o.has(is_enhanced_refresh)),
            notification_restart,
            graceful_restart: restart,
            long_lived_s,
            remote_role: their.role(),
            one_sided: one_sided(&our, &their),
            remote_capabilities: theirs.capabilities,
            opens: None,
        }
    }
}

fn negotiated_family(
    family: Family,
    our: &Offer<'_>,
    their: &Offer<'_>,
) -> Option<FamilyNegotiated> {
    (our.family(family) && their.family(family)).then(|| FamilyNegotiated {
        add_path_receive: our.add_path(family, AddPathMode::receives)
            && their.add_path(family, AddPathMode::sends),
        add_path_send: our.add_path(family, AddPathMode::sends)
            && their.add_path(family, AddPathMode::receives),
        extended_next_hop: our.extended_next_hop(family) && their.extended_next_hop(family),
    })
}

/// The features that only one side offered.
fn one_sided(our: &Offer<'_>, their: &Offer<'_>) -> Vec<OneSidedOffer> {
    let mut rows = vec![
        row(Feature::RouteRefresh, our, their, |o| {
            o.has(is_route_refresh)
        }),
        row(Feature::ExtendedMessage, our, their, |o| {
            o.has(is_extended_message)
        }),
        row(Feature::Role, our, their, |o| o.role().is_some()),
        row(Feature::GracefulRestart, our, their, |o| {
            o.restart().is_some()
        }),
        row(
            Feature::NotificationRestart,
            our,
            their,
            Offer::notification_restart,
        ),
        row(Feature::FourOctetAs, our, their, |o| {
            o.has(is_four_octet_as)
        }),
        row(Feature::EnhancedRouteRefresh, our, their, |o| {
            o.has(is_enhanced_refresh)
        }),
    ];
    for afi_safi in our.afi_safis().chain(their.afi_safis()) {
        rows.push(row(Feature::Family(afi_safi), our, their, |o| {
            o.afi_safi(afi_safi)
        }));
    }
    for f in Family::ALL {
        rows.push(row(Feature::ExtendedNextHop(f), our, their, |o| {
            o.extended_next_hop(f)
        }));
        rows.push(row(Feature::LongLived(f), our, their, |o| {
            o.long_lived_s(f) > 0
        }));
        let sends = |o: &Offer<'_>| o.add_path(f, AddPathMode::sends);
        let receives = |o: &Offer<'_>| o.add_path(f, AddPathMode::receives);
        rows.push((Feature::AddPathReceive(f), receives(our), sends(their)));
        rows.push((Feature::AddPathSend(f), sends(our), receives(their)));
    }
    rows.into_iter()
        .filter(|(_, ours, theirs)| ours != theirs)
        .map(|(feature, offered_by_us, _)| OneSidedOffer {
            feature,
            offered_by_us,
        })
        .collect()
}

fn row<'a>(
    feature: Feature,
    our: &Offer<'a>,
    their: &Offer<'a>,
    has: impl Fn(&Offer<'a>) -> bool,
) -> (Feature, bool, bool) {
    (feature, has(our), has(their))
}

/// An OPEN as a set of offered features.
struct Offer<'a>(&'a Open);

impl<'a> Offer<'a> {
    fn has(&self, is: fn(&Capability) -> bool) -> bool {
        self.0.capabilities.iter().any(is)
    }

    fn find<T>(&self, pick: impl Fn(&'a Capability) -> Option<T>) -> Option<T> {
        self.0.capabilities.iter().find_map(pick)
    }

    fn afi_safis(&self) -> impl Iterator<Item = AfiSafi> + use<'a> {
        self.0.capabilities.iter().filter_map(|c| match c {
            Capability::MultiProtocol(afi_safi) => Some(*afi_safi),
            _ => None,
        })
    }

    /// Returns whether the family is offered. An OPEN without any family offers IPv4 unicast.
    fn afi_safi(&self, wanted: AfiSafi) -> bool {
        let names_none = self.afi_safis().next().is_none();
        self.afi_safis().any(|a| a == wanted) || (names_none && wanted == AfiSafi::IPV4_UNICAST)
    }

    fn family(&self, family: Family) -> bool {
        self.afi_safi(family.afi_safi())
    }

    /// Returns whether Add-Path is offered in this direction. The first entry of a family counts.
    fn add_path(&self, family: Family, can: fn(AddPathMode) -> bool) -> bool {
        self.find(|c| match c {
            Capability::AddPath(families) => families
                .iter()
                .find(|f| f.afi_safi == family.afi_safi())
                .map(|f| can(f.mode)),
            _ => None,
        })
        .unwrap_or(false)
    }

    fn extended_next_hop(&self, family: Family) -> bool {
        let ipv6 = AfiSafi::IPV6_UNICAST.afi;
        let fits = |c: &Capability| match c {
            Capability::ExtendedNextHop(entries) => entries
                .iter()
                .any(|e| e.nlri == family.afi_safi() && e.next_hop_afi == ipv6),
            _ => false,
        };
        family == Family::Ipv4Unicast && self.0.capabilities.iter().any(fits)
    }

    /// The Graceful Restart capability. The last one counts (RFC 4724 §3).
    fn restart(&self) -> Option<&'a GracefulRestart> {
        self.0.capabilities.iter().rev().find_map(|c| match c {
            Capability::GracefulRestart(restart) => Some(restart),
            _ => None,
        })
    }

    fn notification_restart(&self) -> bool {
        self.restart().is_some_and(|r| r.notification)
    }

    fn long_lived_s(&self, family: Family) -> u32 {
        self.find(|c| match c {
            Capability::LongLivedGracefulRestart(families) => families
                .iter()
                .find(|f| f.afi_safi == family.afi_safi())
                .map(|f| f.stale_time_s),
            _ => None,
        })
        .unwrap_or(0)
    }

    fn role(&self) -> Option<Role> {
        self.find(|c| match c {
            Capability::Role(role) => Some(*role),
            _ => None,
        })
    }
}

fn is_four_octet_as(capability: &Capability) -> bool {
    matches!(capability, Capability::FourOctetAs(_))
}

fn is_extended_message(capability: &Capability) -> bool {
    matches!(capability, Capability::ExtendedMessage)
}

fn is_route_refresh(capability: &Capability) -> bool {
    matches!(capability, Capability::RouteRefresh)
}

fn is_enhanced_refresh(capability: &Capability) -> bool {
    matches!(capability, Capability::EnhancedRouteRefresh)
}
