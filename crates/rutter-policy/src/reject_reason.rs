//! Reasons to reject a route, with the numbers that looking glasses use.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $text:literal;)*) => {
        /// The reason why a route is rejected. It takes one byte, because the table stores it with every route.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum RejectReason {
            $($(#[$doc])* $variant,)*
        }

        impl RejectReason {
            /// All reasons, in the order of the enum.
            pub const ALL: &'static [RejectReason] = &[$(RejectReason::$variant,)*];

            /// The number: ARouteServer's (0 to 15), Rutter's own (20 and up) or 65535. It is not unique: a static
            /// allow list and an IRR set share a number.
            pub const fn code(self) -> u16 {
                match self { $(RejectReason::$variant => $code,)* }
            }

            /// The stable name for metric labels, JSON and command line filters.
            pub const fn name(self) -> &'static str {
                match self { $(RejectReason::$variant => $name,)* }
            }

            /// An explanation for the member, in one sentence.
            pub const fn explanation(self) -> &'static str {
                match self { $(RejectReason::$variant => $text,)* }
            }
        }
    };
}

reasons! {
    /// The AS_PATH has too many AS numbers.
    AsPathTooLong = 1, "as-path-too-long", "The AS_PATH is longer than this server accepts.";
    /// The prefix is special-purpose (RFC 6890) or the default route.
    Bogon = 2, "bogon", "The prefix is reserved or special-purpose (RFC 6890), or the default route.";
    /// The prefix is on the black list for all neighbors.
    GlobalBlackList = 3, "global-black-list", "The prefix is on the black list of this server.";
    /// The prefix is one of the exchange's own peering LANs.
    OwnLan = 3, "own-lan", "The prefix is a peering LAN of this exchange or a part of one.";
    /// The address family is not enabled on this session.
    WrongFamily = 4, "wrong-family", "The address family of the prefix is not allowed on this session.";
    /// The next hop is not an address that the member may announce.
    NextHop = 5, "next-hop", "The next hop is not an address this neighbor may announce.";
    /// The left-most AS is not the neighbor's.
    FirstAs = 6, "first-as", "The left-most AS of the AS_PATH is not the neighbor's.";
    /// The AS_PATH contains a bogon AS number.
    InvalidAsn = 7, "invalid-asn", "The AS_PATH contains a reserved, private or documentation AS number.";
    /// The AS_PATH contains a transit-free network.
    TransitFreeAsn = 8, "transit-free-asn", "The AS_PATH contains a transit-free network; members must not provide transit to one.";
    /// The origin AS is not in the AS-SET (IRR).
    OriginNotInAsSet = 9, "origin-not-in-as-set", "The origin AS is not in the neighbor's AS-SET.";
    /// The origin AS is not on the static allow list.
    OriginNotAllowed = 9, "origin-not-allowed", "The origin AS is not on the neighbor's allow list.";
    /// The prefix is outside 2000::/3.
    NotGlobalUnicast = 10, "not-global-unicast", "The IPv6 prefix is outside global unicast space (2000::/3).";
    /// The prefix is on the black list for this neighbor.
    ClientBlackList = 11, "client-black-list", "The prefix is on the black list for this neighbor.";
    /// The prefix is not registered for the AS-SET (IRR).
    PrefixNotInAsSet = 12, "prefix-not-in-as-set", "The prefix is not registered for the neighbor's AS-SET.";
    /// The prefix is not on the static allow list.
    PrefixNotAllowed = 12, "prefix-not-allowed", "The prefix is not on the neighbor's allow list.";
    /// The prefix is too short or too long.
    PrefixLength = 13, "prefix-length", "The prefix is shorter or longer than this server accepts.";
    /// The route is RPKI invalid (RFC 6811).
    RpkiInvalid = 14, "rpki-invalid", "The origin AS or the length contradicts the prefix's ROAs (RPKI invalid).";
    /// The AS_PATH contains a network that never peers through route servers.
    NeverViaRouteServers = 15, "never-via-route-servers", "The AS_PATH contains a network that is never reached through route servers.";
    /// The AS_PATH contains our own AS (RFC 4271 §9.1.2).
    AsLoop = 20, "as-loop", "The AS_PATH contains this server's own AS.";
    /// The route is a leak by RFC 9234 §5.
    RoleLeak = 21, "role-leak", "ONLY_TO_CUSTOMER and the role of the session show that the route is a leak (RFC 9234).";
    /// The neighbor is above its `max-prefix` limit, with the action `block`.
    MaxPrefix = 22, "max-prefix", "The neighbor announces more prefixes than its limit allows.";
    /// The neighbor has no import policy (RFC 8212).
    NoImportPolicy = 23, "no-import-policy", "No import policy is configured for this neighbor (RFC 8212).";
    /// The AS_PATH contains an AS_SET (RFC 9774).
    AsSet = 24, "as-set", "The AS_PATH contains an AS_SET (RFC 9774).";
    /// The prefix cannot be routed under any policy.
    Martian = 25, "martian", "The prefix cannot be routed: loopback, link-local, multicast or class E.";
    /// Add-Path: the neighbor sends more paths than the table can distinguish.
    Paths = 26, "paths", "The neighbor sends more paths of the prefix than this server considers, or path identifiers that collide.";
    /// ORIGINATOR_ID is our own BGP Identifier (RFC 4456 §8).
    OriginatorLoop = 27, "originator-loop", "ORIGINATOR_ID is this router's own BGP Identifier (RFC 4456).";
    /// CLUSTER_LIST contains our own CLUSTER_ID (RFC 4456 §8).
    ClusterLoop = 28, "cluster-loop", "CLUSTER_LIST contains this router's own CLUSTER_ID (RFC 4456).";
    /// ASPAs contradict the path (draft-ietf-sidrops-aspa-verification).
    AspaInvalid = 29, "aspa-invalid", "The AS_PATH contradicts the ASPAs of its networks: a route leak, or a forged path.";
    /// A filter of the operator rejects the route.
    Filter = 30, "filter", "A filter of the operator of this server rejects the route.";
    /// The reason is not known.
    Unknown = 65535, "unknown", "The reason is not known.";
}

impl RejectReason {
    /// Returns the reason with this discriminant (`reason as u8`).
    pub fn from_u8(octet: u8) -> Option<Self> {
        Self::ALL.get(usize::from(octet)).copied()
    }

    /// Returns whether the reason is a matter of the exchange's policy: an operator may accept such routes and mark them.
    /// Faults of the protocol, limits and missing policies are no such reasons.
    pub fn is_policy(self) -> bool {
        match self {
            RejectReason::WrongFamily | RejectReason::NextHop => false,
            RejectReason::AspaInvalid => true,
            _ => self.code() < 20,
        }
    }

    /// Returns the reason with this [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|r| r.name() == name)
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_names_round_trip() {
        for (i, reason) in RejectReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, i);
            assert_eq!(RejectReason::from_u8(i as u8), Some(*reason));
            assert_eq!(RejectReason::from_name(reason.name()), Some(*reason));
            assert!(reason.explanation().ends_with('.'));
        }
        assert_eq!(RejectReason::from_u8(200), None);
    }

    #[test]
    fn numbers_are_those_of_arouteserver() {
        let code = |name| RejectReason::from_name(name).map(RejectReason::code);
        assert_eq!(code("next-hop"), Some(5));
        assert_eq!(code("first-as"), Some(6));
        assert_eq!(code("prefix-length"), Some(13));
        assert_eq!(code("never-via-route-servers"), Some(15));
        assert_eq!(code("unknown"), Some(65535));
        // ARouteServer has no number for ASPA.
        assert_eq!(code("aspa-invalid"), Some(29));
    }
}
