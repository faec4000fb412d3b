//! Keys of neighbors and sessions.

use super::{Key, key};

/// `[[member]]`
pub const MEMBER: &[Key] = &[
    key("asn", "AS number", "required", "The member's AS."),
    key(
        "address",
        "addresses",
        "required",
        "The member's addresses on the LAN; each has its own session.",
    ),
    key(
        "as-sets",
        "names",
        "none",
        "The member's AS-SETs, such as `RIPE::AS-FOO`. For IRR filters, which this version does not support.",
    ),
];

/// `[[neighbor]]`
pub const NEIGHBOR: &[Key] = &[
    key(
        "asn",
        "AS number",
        "required",
        "The neighbor's AS. Our own AS makes the session iBGP.",
    ),
    key(
        "address",
        "addresses",
        "required",
        "The neighbor's addresses; each has its own session.",
    ),
    key(
        "mode",
        "`\"router\"`, `\"client\"`, `\"collector\"`",
        "`\"router\"`",
        "`client`: a client of this route reflector (RFC 4456). `collector`: accept all routes and advertise none.",
    ),
    key(
        "import",
        "`\"all\"`, `\"none\"`, `\"checks\"`",
        "eBGP: `\"none\"` (RFC 8212), iBGP: `\"all\"`",
        "The accepted routes: all except loops, leaks, martians and our own next hops; none; those that pass `[checks]`.",
    ),
    key(
        "export",
        "`\"all\"`, `\"none\"`",
        "eBGP: `\"none\"` (RFC 8212), iBGP: `\"all\"`",
        "The advertised routes: the best routes, or none.",
    ),
    key(
        "local-asn",
        "AS number",
        "`router.asn`",
        "Our AS on this session.",
    ),
    key(
        "next-hop-self",
        "true, false",
        "eBGP: true, iBGP: false",
        "Advertise our own address as next hop.",
    ),
    key(
        "local-pref",
        "number",
        "100",
        "LOCAL_PREF of routes without one.",
    ),
];

/// `[[dynamic-neighbor]]`
pub const DYNAMIC: &[Key] = &[
    key(
        "prefix",
        "prefix",
        "required",
        "The network from which neighbors connect. `address` is not allowed here.",
    ),
    key("asn", "AS numbers", "any", "The accepted AS numbers."),
    key("limit", "number", "100", "The maximum number of sessions."),
    key(
        "mode",
        "as in `[[neighbor]]`",
        "`\"router\"`",
        "As in `[[neighbor]]`.",
    ),
    key(
        "import",
        "as in `[[neighbor]]`",
        "`\"none\"`",
        "As in `[[neighbor]]`.",
    ),
    key(
        "export",
        "as in `[[neighbor]]`",
        "`\"none\"`",
        "As in `[[neighbor]]`.",
    ),
    key(
        "local-asn",
        "AS number",
        "`router.asn`",
        "Our AS on these sessions.",
    ),
    key(
        "next-hop-self",
        "true, false",
        "eBGP: true, iBGP: false",
        "Advertise our own address as next hop.",
    ),
    key(
        "local-pref",
        "number",
        "100",
        "LOCAL_PREF of routes without one.",
    ),
];

/// Keys of every session: in `[defaults]`, `[[member]]`, `[[neighbor]]` and `[[dynamic-neighbor]]`.
pub const SESSION: &[Key] = &[
    key(
        "description",
        "text",
        "AS number and address",
        "The display name in logs, tables and metrics.",
    ),
    key(
        "local-address",
        "address",
        "the system's choice",
        "The local address of the session.",
    ),
    key("port", "number", "179", "The TCP port to connect to."),
    key(
        "passive",
        "true, false",
        "false",
        "Wait for the neighbor to connect.",
    ),
    key(
        "shutdown",
        "true, false, or text",
        "false",
        "Keep the session down. The text is sent to the neighbor (RFC 9003).",
    ),
    key(
        "families",
        "`[\"ipv4\", \"ipv6\"]`",
        "the family of the address; both for collectors",
        "The families to offer.",
    ),
    key(
        "add-path",
        "`{ receive = true, send = 4 }`",
        "off",
        "Several paths per prefix (RFC 7911). `send`: true for all paths, or the number of best paths.",
    ),
    key(
        "extended-next-hop",
        "true, false",
        "false",
        "IPv4 routes with IPv6 next hops (RFC 8950).",
    ),
    key(
        "extended-message",
        "true, false",
        "true",
        "Messages of up to 65,535 octets (RFC 8654).",
    ),
    key(
        "password",
        "text",
        "none",
        "TCP MD5 (RFC 2385). `password-file` keeps it out of this file.",
    ),
    key(
        "password-file",
        "path",
        "none",
        "A file with the password; a final line end is ignored.",
    ),
    key(
        "ttl-security",
        "hops",
        "off",
        "GTSM (RFC 5082): the maximum number of hops to the neighbor; 1 for a direct neighbor.",
    ),
    key(
        "multihop",
        "hops",
        "off",
        "The maximum number of hops of eBGP with a neighbor on another network.",
    ),
    key(
        "hold-time",
        "duration",
        "`\"90s\"`",
        "The Hold Time to offer: 0, or at least 3 seconds.",
    ),
    key(
        "connect-retry",
        "duration",
        "`\"30s\"`",
        "Time between attempts to connect.",
    ),
    key(
        "send-hold-time",
        "duration",
        "`\"8m\"`",
        "A neighbor that reads nothing for this time is disconnected (RFC 9687); `0`: never.",
    ),
    key(
        "idle-hold-time",
        "duration",
        "`\"2m\"`",
        "The longest idle hold time after a fault. The first is a second, and it doubles with each fault until a session lasts a minute.",
    ),
    key(
        "graceful-restart",
        "true, false",
        "`graceful-restart.enabled`",
        "Graceful restart on this session.",
    ),
    key(
        "role",
        "`\"provider\"`, `\"route-server\"`, `\"route-server-client\"`, `\"customer\"`, `\"peer\"`",
        "none",
        "*Our* role on the session (RFC 9234).",
    ),
    key(
        "role-strict",
        "true, false",
        "false",
        "Refuse a neighbor that does not announce a role.",
    ),
    key(
        "max-prefix",
        "`{ v4 = 1000, v6 = 100, action = \"restart\", restart-after = \"15m\" }`",
        "no limit",
        "The maximum number of received prefixes per family, including rejected ones. For the actions, see below.",
    ),
    key(
        "next-hop",
        "as in `[checks]`",
        "`checks.next-hop`",
        "The accepted next hops.",
    ),
    key(
        "authorized-addresses",
        "addresses",
        "none",
        "Additional next hops for `next-hop = \"authorized\"`.",
    ),
    key(
        "allow-transit-free",
        "true, false",
        "false",
        "Accept paths through transit-free networks from this neighbor.",
    ),
    key(
        "black-list",
        "prefixes",
        "none",
        "Prefixes that are rejected from this neighbor (reason 11).",
    ),
    key(
        "allow-prefixes",
        "prefixes",
        "all",
        "Only these prefixes are accepted (reason 12).",
    ),
    key(
        "allow-origins",
        "AS numbers",
        "all",
        "Only these origins are accepted (reason 9).",
    ),
];

/// `max-prefix`
pub const MAX_PREFIX: &[Key] = &[
    key("v4", "number", "no limit", "IPv4 prefixes."),
    key("v6", "number", "no limit", "IPv6 prefixes."),
    key(
        "action",
        "`\"warn\"`, `\"block\"`, `\"restart\"`, `\"shutdown\"`",
        "`\"shutdown\"`",
        "Log; reject prefixes above the limit; reset the session and restart it later; reset it and wait for an operator.",
    ),
    key(
        "restart-after",
        "duration",
        "`\"15m\"`",
        "The time until a `restart`.",
    ),
];

/// `add-path`
pub const ADD_PATH: &[Key] = &[
    key(
        "receive",
        "true, false",
        "false",
        "Offer to receive several paths.",
    ),
    key(
        "send",
        "true, false, or number",
        "false",
        "Offer to send several paths: all, or the number of best paths.",
    ),
];

/// Session keys whose change resets the session: they were negotiated, belong to the socket, or shape all UPDATEs.
pub const RESETS_SESSION: &[&str] = &[
    "mode",
    "asn",
    "local-asn",
    "local-address",
    "password",
    "ttl-security",
    "hold-time",
    "extended-message",
    "graceful-restart",
    "role",
    "role-strict",
    "families",
    "add-path",
    "add-path.send",
    "extended-next-hop",
    "export",
    "next-hop-self",
];
