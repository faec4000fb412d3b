//! Keys of import checks and action communities.

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
        "The next hops that a member may announce (reason 5): its own address; the address of any member with its AS; its own address or one of `authorized-addresses`; any address except our own. A link-local address beside a global one is not checked.",
    ),
    key(
        "first-as",
        "true, false",
        "true",
        "Reject paths whose left-most AS is not the neighbor's (reason 6). Not for iBGP.",
    ),
    key(
        "max-as-path-length",
        "number",
        "32",
        "The maximum number of AS numbers in a path (reason 1).",
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
        "Reserved AS numbers that are accepted in paths.",
    ),
    key(
        "transit-free",
        "true, false, or AS numbers",
        "false",
        "Reject paths through transit-free networks (reason 8): `true` for the built-in list. The neighbor's own AS is always accepted.",
    ),
    key(
        "never-via-route-servers",
        "AS numbers",
        "none",
        "Networks that never announce through route servers (reason 15).",
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
        "Prefixes that are rejected from all neighbors (reason 3).",
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
        "Origin validation. This version does not support it: other values are an error.",
    ),
    key(
        "irr",
        "`\"off\"`",
        "`\"off\"`",
        "IRR filters. This version does not support them: other values are an error.",
    ),
];

/// `[communities]`
pub const COMMUNITIES: &[Key] = &[
    key(
        "not-to-any",
        "notations",
        "none",
        "Advertise to no peer except those named by `to-peer`.",
    ),
    key(
        "not-to-peer",
        "notations",
        "none",
        "Do not advertise to the peer.",
    ),
    key(
        "to-any",
        "notations",
        "none",
        "Advertise to all peers, which is the default. It does not cancel other actions, and is scrubbed like them.",
    ),
    key(
        "to-peer",
        "notations",
        "none",
        "Advertise to the peer even with `not-to-any`.",
    ),
    key(
        "only-to-peer",
        "notations",
        "none",
        "Advertise to the named peers only.",
    ),
    key(
        "prepend-any",
        "notations, with range",
        "none",
        "Prepend the sender's AS for all peers.",
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
        "Add NO_EXPORT for all peers.",
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
        "Add NO_ADVERTISE for all peers.",
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
        "NO_EXPORT and NO_ADVERTISE of a received route: pass them on, or honour them here.",
    ),
    key(
        "scrub",
        "true, false",
        "true",
        "Remove action communities before advertising.",
    ),
    key(
        "aliases",
        "`{ \"64600\" = 4200000001 }`",
        "none",
        "16-bit aliases of members with 32-bit AS numbers, for standard communities.",
    ),
];

/// `prefix-length` and `blackhole`
pub const PER_FAMILY: &[Key] = &[
    key("v4", "as above", "as above", "For IPv4."),
    key("v6", "as above", "as above", "For IPv6."),
];
