//! Roles and the ONLY_TO_CUSTOMER attribute (RFC 9234 §5).

use rutter_net::Asn;
pub use rutter_wire::capability::Role;

/// What to do with a received route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtcIngress {
    /// Take it as it is.
    Keep,
    /// Add ONLY_TO_CUSTOMER with this AS number: the neighbor's.
    Add(Asn),
    /// It is a route leak and ineligible.
    Leak,
}

/// What to do with a route on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtcEgress {
    /// Send it as it is.
    Send,
    /// Add ONLY_TO_CUSTOMER with this AS number: our own.
    Add(Asn),
    /// Do not send it.
    Withhold,
}

/// The ingress procedure. `local` is *our* role on the session the route came from.
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

/// The egress procedure. `local` is *our* role on the session the route goes to; `otc` is the attribute as it
/// stands after [`otc_on_receive`].
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

    /// RFC 9234 §5 as a table: our role, the attribute, what happens in and out.
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
