//! The properties of clients that shape their messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::ExportPolicy;

use super::rewriter::RewriteRules;
use crate::adj_rib_in::verdict::ClassId;
use crate::advertise::audience::Modification;
use crate::advertise::audiences::EVERYONE;
use crate::advertise::export_filter::ExportFilter;
use crate::{AttrSet, PeerKind};

/// Everything that shapes the bytes of a client's messages. Clients with equal styles share one stream.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Style {
    pub kind: PeerKind,
    pub local_asn: Asn,
    /// Our own addresses as next hop; `None` keeps the next hop.
    pub next_hop_self: Option<(Option<Ipv4Addr>, Option<Ipv6Addr>)>,
    pub as4: bool,
    pub max_message_len: usize,
    pub families: PerFamily<bool>,
    pub add_path: PerFamily<bool>,
    pub add_path_limit: u16,
    pub extended_next_hop: bool,
    /// RFC 9234: ONLY_TO_CUSTOMER with our AS is added where it is absent.
    pub add_otc: bool,
    /// Our AS is prepended: always for eBGP, for route server clients by their options.
    pub prepend_own_as: bool,
    /// Our BGP Identifier where routes are reflected (RFC 4456), else 0.
    pub cluster_id: u32,
    /// Whether anything is advertised. A session whose `export` became `none` sends withdrawals, then nothing.
    pub advertises: bool,
    /// The export filters, if there are any.
    pub filter: Option<Arc<ExportFilter>>,
}

impl Style {
    /// Returns whether this style's clients can receive the route at all: an IPv4 route with an IPv6 next hop needs
    /// RFC 8950.
    pub fn can_carry(&self, family: Family, set: &AttrSet) -> bool {
        if !self.advertises {
            return false;
        }
        family != Family::Ipv4Unicast || set.mp_next_hop().len() < 16 || self.extended_next_hop
    }

    /// Returns whether clients of both styles receive a route in the same form, if they receive it.
    pub fn sends_in_form_of(&self, other: &Style) -> bool {
        let with_the_same_routes = Style {
            add_path_limit: other.add_path_limit,
            advertises: other.advertises,
            filter: other.filter.clone(),
            ..self.clone()
        };
        with_the_same_routes == *other
    }

    /// Returns whether the attributes pass unchanged.
    #[inline]
    pub(super) fn sends_block_as_is(
        &self,
        set: &AttrSet,
        modification: Modification,
        policy: &ExportPolicy,
    ) -> bool {
        self.kind == PeerKind::RouteServerClient
            && self.as4
            && !self.add_otc
            && !self.prepend_own_as
            && self.next_hop_self.is_none()
            && modification == Modification::default()
            && (set.audience() == EVERYONE || !policy.scrub())
    }

    /// The next hop that replaces the received one for routes with BLACKHOLE.
    #[inline]
    pub(super) fn blackhole_next_hop(
        &self,
        family: Family,
        rules: RewriteRules<'_>,
    ) -> Option<IpAddr> {
        // Almost all routes end here.
        if rules.class == ClassId::PLAIN || self.next_hop_self.is_some() {
            return None;
        }
        let is_blackhole = rules.classes.class(rules.class).blackhole;
        rules.policy.settings().blackhole_next_hop[family].filter(|_| is_blackhole)
    }

    /// The next hop octets for MP_REACH_NLRI; `None` where NLRI go into the message's own field.
    pub fn mp_next_hop<'a>(
        &self,
        set: &'a AttrSet,
        family: Family,
        rules: RewriteRules<'_>,
        own: &'a mut [u8; 16],
    ) -> Option<&'a [u8]> {
        match self.blackhole_next_hop(family, rules) {
            Some(IpAddr::V4(_)) => return None,
            Some(IpAddr::V6(address)) => {
                *own = address.octets();
                return Some(own);
            }
            None => {}
        }
        match (family, self.next_hop_self) {
            (Family::Ipv4Unicast, Some((Some(_), _))) => None,
            (_, Some((_, Some(address)))) => {
                *own = address.octets();
                Some(own)
            }
            (Family::Ipv4Unicast, _) if set.mp_next_hop().is_empty() => None,
            _ => Some(set.mp_next_hop()),
        }
    }
}
