//! Roles and the ONLY_TO_CUSTOMER attribute (RFC 9234 §5).

use rutter_net::Asn;
pub use rutter_wire::capability::Role;

/// The ingress verdict on a received route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtcIngress {
    /// Accept the route unchanged.
    Keep,
    /// Add ONLY_TO_CUSTOMER with the neighbor's AS number.
    Add(Asn),
    /// The route is a leak and ineligible.
    Leak,
}

/// The egress verdict on a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtcEgress {
    /// Advertise the route unchanged.
    Send,
    /// Add ONLY_TO_CUSTOMER with our own AS number.
    Add(Asn),
    /// Do not advertise the route.
    Withhold,
}

/// The ingress procedure. `local` is *our* role on the session that received the route.
pub fn otc_on_receive(local: Option<Role>, remote_asn: Asn, otc: Option<Asn>) -> OtcIngress {
    match (local, otc) {
        (Some(Role::Provider | Role::RouteServer), Some(_)) => OtcIngress::Leak,
        (Some(Role::Peer), Some(asn)) if asn != remote_asn => OtcIngress::Leak,
        (Some(Role::Customer | Role::Peer | Role::RouteServerClient), None) => {
            OtcIngress::Add(remote_asn)
        }
        _ => OtcIngress::Keep,
    }
}

/// The egress procedure. `local` is *our* role on the session that advertises the route. `otc` is the attribute
/// after [`otc_on_receive`].
pub fn otc_on_send(local: Option<Role>, local_asn: Asn, otc: Option<Asn>) -> OtcEgress {
    match (local, otc) {
        (Some(Role::Customer | Role::Peer | Role::RouteServerClient), Some(_)) => {
            OtcEgress::Withhold
        }
        (Some(Role::Provider | Role::Peer | Role::RouteServer), None) => OtcEgress::Add(local_asn),
        _ => OtcEgress::Send,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Asn = Asn(64500);
    const THEM: Asn = Asn(64511);
    const OTHER: Asn = Asn(64499);

    /// RFC 9234 §5 as a table: our role, the attribute, the ingress and the egress verdict.
    #[test]
    fn each_role_with_and_without_the_attribute() {
        use OtcEgress as E;
        use OtcIngress as I;
        let rows = [
            (None, None, I::Keep, E::Send),
            (None, Some(OTHER), I::Keep, E::Send),
            (Some(Role::Provider), None, I::Keep, E::Add(US)),
            (Some(Role::Provider), Some(OTHER), I::Leak, E::Send),
            (Some(Role::RouteServer), None, I::Keep, E::Add(US)),
            (Some(Role::RouteServer), Some(OTHER), I::Leak, E::Send),
            (Some(Role::RouteServerClient), None, I::Add(THEM), E::Send),
            (
                Some(Role::RouteServerClient),
                Some(OTHER),
                I::Keep,
                E::Withhold,
            ),
            (Some(Role::Customer), None, I::Add(THEM), E::Send),
            (Some(Role::Customer), Some(OTHER), I::Keep, E::Withhold),
            (Some(Role::Peer), None, I::Add(THEM), E::Add(US)),
            (Some(Role::Peer), Some(THEM), I::Keep, E::Withhold),
            (Some(Role::Peer), Some(OTHER), I::Leak, E::Withhold),
        ];
        for (role, otc, ingress, egress) in rows {
            assert_eq!(otc_on_receive(role, THEM, otc), ingress, "{role:?} {otc:?}");
            assert_eq!(otc_on_send(role, US, otc), egress, "{role:?} {otc:?}");
        }
    }
}
