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

/// Returns whether routes with ONLY_TO_CUSTOMER must not be sent to a neighbor. `local` is *our* role on the session.
pub fn withholds_otc(local: Option<Role>) -> bool {
    matches!(
        local,
        Some(Role::Customer | Role::Peer | Role::RouteServerClient)
    )
}

/// Returns whether routes without ONLY_TO_CUSTOMER are sent to a neighbor with our own AS number in it. `local` is *our* role
/// on the session.
pub fn adds_otc(local: Option<Role>) -> bool {
    matches!(local, Some(Role::Provider | Role::Peer | Role::RouteServer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEM: Asn = Asn(64511);
    const OTHER: Asn = Asn(64499);

    /// The ingress procedure of RFC 9234 §5 as a table: our role, the attribute, the verdict.
    #[test]
    fn each_role_receives_with_and_without_the_attribute() {
        use OtcIngress as I;
        let rows = [
            (None, None, I::Keep),
            (None, Some(OTHER), I::Keep),
            (Some(Role::Provider), None, I::Keep),
            (Some(Role::Provider), Some(OTHER), I::Leak),
            (Some(Role::RouteServer), None, I::Keep),
            (Some(Role::RouteServer), Some(OTHER), I::Leak),
            (Some(Role::RouteServerClient), None, I::Add(THEM)),
            (Some(Role::RouteServerClient), Some(OTHER), I::Keep),
            (Some(Role::Customer), None, I::Add(THEM)),
            (Some(Role::Customer), Some(OTHER), I::Keep),
            (Some(Role::Peer), None, I::Add(THEM)),
            (Some(Role::Peer), Some(THEM), I::Keep),
            (Some(Role::Peer), Some(OTHER), I::Leak),
        ];
        for (role, otc, ingress) in rows {
            assert_eq!(otc_on_receive(role, THEM, otc), ingress, "{role:?} {otc:?}");
        }
    }

    /// The egress procedure of RFC 9234 §5 as a table: our role, whether routes with the attribute stay here, and whether the
    /// others get it.
    #[test]
    fn each_role_sends_with_and_without_the_attribute() {
        let rows = [
            (None, false, false),
            (Some(Role::Provider), false, true),
            (Some(Role::RouteServer), false, true),
            (Some(Role::RouteServerClient), true, false),
            (Some(Role::Customer), true, false),
            (Some(Role::Peer), true, true),
        ];
        for (role, withholds, adds) in rows {
            assert_eq!(
                (withholds_otc(role), adds_otc(role)),
                (withholds, adds),
                "{role:?}"
            );
        }
    }
}
