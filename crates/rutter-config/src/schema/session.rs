//! Neighbors and their sessions.

use super::{Key, key};

/// `[[member]]`
pub const MEMBER: &[Key] = &[
    key("asn", "AS number", "required", "The member's AS."),
    key(
        "address",
        "addresses",
        "required",
        "The member's addresses on the LAN; a session with each.",
    ),
    key(
        "as-sets",
        "names",
        "none",
        "The member's AS-SETs, such as `RIPE::AS-FOO`. Kept for IRR filters; not used in this version.",
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
        "The neighbor's addresses; a session with each.",
    ),
    key(
        "mode",
        "`\"router\"`, `\"client\"`, `\"collector\"`",
        "`\"router\"`",
        "`client`: a client of this route reflector (RFC 4456). `collector`: receive only, everything is kept, nothing is sent.",
    ),
    key(
        "import",
        "`\"all\"`, `\"none\"`, `\"checks\"`",
        "eBGP: `\"none\"` (RFC 8212), iBGP: `\"all\"`",
        "What is accepted: everything but loops, leaks and martians; nothing; what passes `[checks]`.",
    ),
    key(
        "export",
        "`\"all\"`, `\"none\"`",
        "eBGP: `\"none\"` (RFC 8212), iBGP: `\"all\"`",
        "What is sent: best routes, or nothing.",
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
        "Send our own address as next hop.",
    ),
    key(
        "local-pref",
        "number",
        "100",
        "LOCAL_PREF of routes that come without.",
    ),
];

/// `[[dynamic-neighbor]]`, beside those of `[[neighbor]]`
pub const DYNAMIC: &[Key] = &[
    key(
        "prefix",
        "prefix",
        "required",
        "Where connections may come from. `address` is not allowed here.",
    ),
    key("asn", "AS numbers", "any", "Which AS numbers may connect."),
    key("limit", "number", "100", "Most sessions at a time."),
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
        "Send our own address as next hop.",
    ),
    key(
        "local-pref",
        "number",
        "100",
        "LOCAL_PREF of routes that come without.",
    ),
];

/// Keys of every session: in `[defaults]`, `[[member]]`, `[[neighbor]]` and `[[dynamic-neighbor]]`.
pub const SESSION: &[Key] = &[
    key(
        "description",
        "text",
        "AS number and address",
        "A name for people: logs, tables, metrics.",
    ),
    key(
        "local-address",
        "address",
        "the system's choice",
        "The address to speak from.",
    ),
    key("port", "number", "179", "The TCP port to connect to."),
    key("passive", "true, false", "false", "Do not connect, wait."),
    key(
        "shutdown",
        "true, false, or text",
        "false",
        "Keep the session down; the text is sent to the neighbor (RFC 9003).",
    ),
    key(
        "families",
        "`[\"ipv4\", \"ipv6\"]`",
        "the family of the address; both for collectors",
        "Which families are offered.",
    ),
    key(
        "add-path",
        "`{ receive = true, send = 4 }`",
        "off",
        "Several paths per prefix (RFC 7911). `send`: true for all, or a number for the best few.",
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
        "A file that holds the password; a line end after it does not count.",
    ),
    key(
        "ttl-security",
        "hops",
        "off",
        "GTSM (RFC 5082): the neighbor is at most this many hops away; 1 for a direct one.",
    ),
    key(
        "multihop",
        "hops",
        "off",
        "eBGP with a neighbor that is not on a common network.",
    ),
    key(
        "hold-time",
        "duration",
        "`\"90s\"`",
        "Hold Time to offer: 0, or 3 seconds and more.",
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
        "A neighbor that takes nothing for so long is disconnected (RFC 9687); `0`: never.",
    ),
    key(
        "idle-hold-time",
        "duration",
        "`\"2m\"`",
        "Longest pause after a fault: the first is a second, and it doubles with each fault until a session lasts a minute.",
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
        "Refuse a neighbor that does not tell its role.",
    ),
    key(
        "max-prefix",
        "`{ v4 = 1000, v6 = 100, action = \"restart\", restart-after = \"15m\" }`",
        "no limit",
        "Prefixes that may be received per family, rejected ones included. Actions: see below.",
    ),
    key(
        "next-hop",
        "as in `[checks]`",
        "`checks.next-hop`",
        "Which next hops are accepted.",
    ),
    key(
        "authorized-addresses",
        "addresses",
        "none",
        "For `next-hop = \"authorized\"`.",
    ),
    key(
        "allow-transit-free",
        "true, false",
        "false",
        "This neighbor may announce paths through transit-free networks.",
    ),
    key(
        "black-list",
        "prefixes",
        "none",
        "Prefixes rejected from this neighbor (reason 11).",
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
        "Log; reject what is above; reset the session and come back; reset it and wait for an operator.",
    ),
    key(
        "restart-after",
        "duration",
        "`\"15m\"`",
        "When a `restart` comes back.",
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
        "Offer to send several paths: all, or the best few.",
    ),
];

/// Keys of a session that were negotiated, belong to its socket or decide what its whole stream is like: a change
/// resets the session.
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
