//! Why a route is rejected, under the numbers that looking glasses know.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $text:literal;)*) => {
        /// Why a route is rejected. One octet, so that the table can keep it beside every route.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum RejectReason {
            $($(#[$doc])* $variant,)*
        }

        impl RejectReason {
            /// Every reason, in the order of the enum.
            pub const ALL: &'static [RejectReason] = &[$(RejectReason::$variant,)*];

            /// ARouteServer's number (0 to 15), Rutter's own (20 and up) or 65535. Not unique: a static allow
            /// list and an IRR set share theirs.
            pub const fn code(self) -> u16 {
                match self { $(RejectReason::$variant => $code,)* }
            }

            /// A stable name for machines: metrics labels, JSON, command line filters.
            pub const fn name(self) -> &'static str {
                match self { $(RejectReason::$variant => $name,)* }
            }

            /// One sentence for the member who asks.
            pub const fn explanation(self) -> &'static str {
                match self { $(RejectReason::$variant => $text,)* }
            }
        }
    };
}

reasons! {
    /// Too many AS numbers.
    AsPathTooLong = 1, "as-path-too-long", "The AS_PATH is longer than this server accepts.";
    /// RFC 6890 and the like.
    Bogon = 2, "bogon", "The prefix is reserved or special-purpose (RFC 6890), or the default route.";
    /// Listed for everybody.
    GlobalBlackList = 3, "global-black-list", "The prefix is on the black list of this server.";
    /// One of the exchange's own peering LANs.
    OwnLan = 3, "own-lan", "The prefix is a peering LAN of this exchange or a part of one.";
    /// The family is not for this session.
    WrongFamily = 4, "wrong-family", "The address family of the prefix is not allowed on this session.";
    /// Next hop not the member's.
    NextHop = 5, "next-hop", "The next hop is not an address this neighbor may announce.";
    /// Left-most AS is not the neighbor.
    FirstAs = 6, "first-as", "The left-most AS of the AS_PATH is not the neighbor's.";
    /// Bogon AS number in the path.
    InvalidAsn = 7, "invalid-asn", "The AS_PATH contains a reserved, private or documentation AS number.";
    /// Transit-free network in the path.
    TransitFreeAsn = 8, "transit-free-asn", "The AS_PATH contains a transit-free network, which no member can be a path to.";
    /// IRR: origin.
    OriginNotInAsSet = 9, "origin-not-in-as-set", "The origin AS is not in the neighbor's AS-SET.";
    /// Static list: origin.
    OriginNotAllowed = 9, "origin-not-allowed", "The origin AS is not on the neighbor's allow list.";
    /// Outside 2000::/3.
    NotGlobalUnicast = 10, "not-global-unicast", "The IPv6 prefix is outside global unicast space (2000::/3).";
    /// Listed for this neighbor.
    ClientBlackList = 11, "client-black-list", "The prefix is on the black list kept for this neighbor.";
    /// IRR: prefix.
    PrefixNotInAsSet = 12, "prefix-not-in-as-set", "The prefix is not registered for the neighbor's AS-SET.";
    /// Static list: prefix.
    PrefixNotAllowed = 12, "prefix-not-allowed", "The prefix is not on the neighbor's allow list.";
    /// Too short or too long.
    PrefixLength = 13, "prefix-length", "The prefix is shorter or longer than this server accepts.";
    /// Origin validation (RFC 6811).
    RpkiInvalid = 14, "rpki-invalid", "The origin AS or the length contradicts the prefix's ROAs (RPKI invalid).";
    /// Networks that never peer by route server.
    NeverViaRouteServers = 15, "never-via-route-servers", "The AS_PATH contains a network that is never reached by route servers.";
    /// Our own AS in the path (RFC 4271 §9.1.2).
    AsLoop = 20, "as-loop", "The AS_PATH contains this server's own AS.";
    /// RFC 9234 §5.
    RoleLeak = 21, "role-leak", "The route is a leak by its ONLY_TO_CUSTOMER attribute and the session's role (RFC 9234).";
    /// max-prefix with action block.
    MaxPrefix = 22, "max-prefix", "The neighbor announces more prefixes than its limit allows.";
    /// RFC 8212.
    NoImportPolicy = 23, "no-import-policy", "No import policy is configured for this neighbor (RFC 8212).";
    /// RFC 9774.
    AsSet = 24, "as-set", "The AS_PATH contains an AS_SET (RFC 9774).";
    /// Can never be routed, whatever the policy.
    Martian = 25, "martian", "The prefix cannot be routed: loopback, link-local, multicast or class E.";
    /// Add-Path: more paths than are kept apart.
    Paths = 26, "paths", "The neighbor sends more paths of the prefix than this server considers, or path identifiers that it cannot tell apart.";
    /// Nothing better is known.
    Unknown = 65535, "unknown", "The reason is not known.";
}

impl RejectReason {
    /// The reason stored as this octet (`reason as u8`).
    pub fn from_u8(octet: u8) -> Option<Self> {
        Self::ALL.get(usize::from(octet)).copied()
    }

    /// The reason of a [`Self::name`].
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
    fn octets_and_names_lead_back() {
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
    }
}
