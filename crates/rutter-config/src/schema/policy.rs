//! What is accepted, and how members steer their routes.

use super::{Key, key};

/// `[checks]`
pub const CHECKS: &[Key] = &[
    key(
        "prefix-length",
        "`{ v4 = \"8-24\", v6 = \"12-48\" }`",
        "as shown",
        "Accepted prefix lengths (reason 13).",
    ),
    key(
        "next-hop",
        "`\"strict\"`, `\"same-as\"`, `\"authorized\"`, `\"any\"`",
        "`\"strict\"`",
        "Which next hops a member may announce (reason 5): its own address; that of any member with its AS; its own or one of `authorized-addresses`; any. The link-local address beside a global one is not looked at.",
    ),
    key(
        "first-as",
        "true, false",
        "true",
        "The left-most AS must be the neighbor's (reason 6). Never demanded on iBGP.",
    ),
    key(
        "max-as-path-length",
        "number",
        "32",
        "Most AS numbers in a path (reason 1).",
    ),
    key(
        "bogons",
        "true, false",
        "true",
        "Reject special-purpose prefixes (RFC 6890) and the default route (reason 2).",
    ),
    key(
        "ipv6-global-unicast",
        "true, false",
        "true",
        "Reject IPv6 outside 2000::/3 (reason 10).",
    ),
    key(
        "invalid-asns",
        "true, false",
        "true",
        "Reject paths with reserved, private or documentation AS numbers (reason 7).",
    ),
    key(
        "allow-asns",
        "AS numbers",
        "none",
        "Reserved AS numbers that may stand in a path all the same.",
    ),
    key(
        "transit-free",
        "true, false, or AS numbers",
        "false",
        "Reject paths through transit-free networks (reason 8): `true` for the built-in list. The neighbor's own AS may always stand there.",
    ),
    key(
        "never-via-route-servers",
        "AS numbers",
        "none",
        "Networks that never announce by route servers (reason 15).",
    ),
    key(
        "as-set",
        "`\"reject\"`, `\"accept\"`",
        "`\"reject\"`",
        "Paths with AS_SET (RFC 9774).",
    ),
    key(
        "black-list",
        "prefixes",
        "none",
        "Prefixes that are rejected from everybody (reason 3).",
    ),
    key(
        "blackhole",
        "true, false, or `{ v4 = true, v6 = false }`",
        "false",
        "Accept /32 and /128 routes that carry BLACKHOLE (RFC 7999); NO_EXPORT is added to them.",
    ),
    key(
        "graceful-shutdown",
        "true, false",
        "true",
        "Routes with GRACEFUL_SHUTDOWN (RFC 8326) get LOCAL_PREF 0.",
    ),
    key(
        "rpki-invalid",
        "`\"off\"`",
        "`\"off\"`",
        "Origin validation. Not in this version: other values are an error, so that nobody relies on them.",
    ),
    key(
        "irr",
        "`\"off\"`",
        "`\"off\"`",
        "IRR filters. Not in this version: other values are an error, so that nobody relies on them.",
    ),
];

/// `[communities]`
pub const COMMUNITIES: &[Key] = &[
    key(
        "not-to-any",
        "notations",
        "none",
        "Announce to nobody but those that `to-peer` names.",
    ),
    key(
        "not-to-peer",
        "notations",
        "none",
        "Do not announce to the peer.",
    ),
    key(
        "to-any",
        "notations",
        "none",
        "Announce to all: the default said aloud. It takes nothing back, and is removed like the others.",
    ),
    key(
        "to-peer",
        "notations",
        "none",
        "Announce to the peer although `not-to-any` is there.",
    ),
    key(
        "only-to-peer",
        "notations",
        "none",
        "Announce to this peer and to no other that is not named too.",
    ),
    key(
        "prepend-any",
        "notations, with range",
        "none",
        "Prepend the sender's AS for all.",
    ),
    key(
        "prepend-peer",
        "notations, with range",
        "none",
        "Prepend the sender's AS for the peer.",
    ),
    key(
        "no-export-any",
        "notations",
        "none",
        "Add NO_EXPORT for all.",
    ),
    key(
        "no-export-peer",
        "notations",
        "none",
        "Add NO_EXPORT for the peer.",
    ),
    key(
        "no-advertise-any",
        "notations",
        "none",
        "Add NO_ADVERTISE for all.",
    ),
    key(
        "no-advertise-peer",
        "notations",
        "none",
        "Add NO_ADVERTISE for the peer.",
    ),
    key(
        "rfc1997",
        "`\"pass\"`, `\"honour\"`",
        "`\"pass\"` with `[exchange]`, else `\"honour\"`",
        "NO_EXPORT and NO_ADVERTISE of a received route: pass them on, or obey them here.",
    ),
    key(
        "scrub",
        "true, false",
        "true",
        "Remove action communities before sending.",
    ),
    key(
        "aliases",
        "`{ \"64600\" = 4200000001 }`",
        "none",
        "16-bit stand-ins for members with 32-bit AS numbers, in standard communities.",
    ),
];

/// `prefix-length` and `blackhole`
pub const PER_FAMILY: &[Key] = &[
    key("v4", "as above", "as above", "For IPv4."),
    key("v6", "as above", "as above", "For IPv6."),
];
