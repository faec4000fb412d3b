//! Every key of the file: the reader accepts no other, and the manual is checked against this list.

/// One key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// The form of its value.
    pub form: &'static str,
    /// What holds where the key is absent.
    pub default: &'static str,
    /// What it does.
    pub text: &'static str,
}

/// One section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionKeys {
    /// As written: `[exchange]`, `[[member]]`.
    pub header: &'static str,
    /// The name without brackets.
    pub name: &'static str,
    /// What it is for.
    pub text: &'static str,
    /// Its own keys.
    pub keys: &'static [Key],
    /// Whether the keys of every session ([`SESSION`]) may stand here too.
    pub session: bool,
}

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key {
        name,
        form,
        default,
        text,
    }
}

/// `[exchange]`
pub const EXCHANGE: &[Key] = &[
    key(
        "asn",
        "AS number",
        "required",
        "The AS of the route server.",
    ),
    key(
        "router-id",
        "IPv4 address",
        "required",
        "The BGP Identifier (RFC 6286): unique and not 0.0.0.0.",
    ),
    key(
        "lan",
        "prefixes",
        "required",
        "The peering LANs. Members are expected inside; routes to these prefixes or parts of them are rejected.",
    ),
    key(
        "members",
        "file pattern, or several",
        "none",
        "Files with more `[[member]]` sections, from the folder of this file: `\"members.d/*.toml\"`. Read in the order of their names.",
    ),
    key(
        "roles",
        "true, false",
        "false",
        "Announce the role *route server* (RFC 9234) to members that have no `role`, reject leaks by ONLY_TO_CUSTOMER and add the attribute when sending.",
    ),
];

/// `[router]`
pub const ROUTER: &[Key] = &[
    key("asn", "AS number", "required", "Our AS."),
    key(
        "router-id",
        "IPv4 address",
        "required",
        "The BGP Identifier (RFC 6286).",
    ),
    key(
        "cluster-id",
        "IPv4 address",
        "`router-id`",
        "CLUSTER_ID of a route reflector (RFC 4456).",
    ),
];

/// `[daemon]`
pub const DAEMON: &[Key] = &[
    key("threads", "number", "one per core", "I/O threads."),
    key(
        "listen",
        "addresses, each with or without port",
        "`[\"0.0.0.0\", \"::\"]`",
        "Where to listen for BGP. `[]`: nowhere, every session is opened from here.",
    ),
    key(
        "port",
        "number",
        "179",
        "The port of `listen` addresses that name none.",
    ),
    key(
        "control-socket",
        "path",
        "`/run/rutter/rutter.sock`",
        "The Unix socket of the command line tool. Who may write to it may do everything.",
    ),
    key(
        "log",
        "level",
        "`\"info\"`",
        "`error`, `warn`, `info`, `debug` or `trace`; or a filter such as `info,rutter_session=debug`.",
    ),
    key(
        "log-format",
        "`\"text\"`, `\"json\"`",
        "`\"text\"`",
        "How log lines look.",
    ),
];

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

/// `[graceful-restart]`
pub const GRACEFUL_RESTART: &[Key] = &[
    key(
        "enabled",
        "true, false",
        "true",
        "Keep the routes of a neighbor that restarts (RFC 4724) and tell it so.",
    ),
    key(
        "restart-time",
        "duration",
        "`\"120s\"`",
        "How long neighbors shall wait for us; at most 4095 seconds.",
    ),
    key(
        "notification",
        "true, false",
        "true",
        "Also when a session ends with a NOTIFICATION (RFC 8538).",
    ),
    key(
        "long-lived-stale-time",
        "duration",
        "`0`, off",
        "How long routes stay, least preferred, after that (RFC 9494).",
    ),
];

/// `[mrt]`
pub const MRT: &[Key] = &[
    key("directory", "path", "required", "Where the files go."),
    key(
        "table-interval",
        "duration",
        "`\"2h\"`",
        "A dump of the whole table (TABLE_DUMP_V2) this often; `0`: none.",
    ),
    key(
        "updates-interval",
        "duration",
        "`\"5m\"`",
        "A new file of updates (BGP4MP_ET) this often; `0`: none.",
    ),
    key(
        "compress",
        "`\"gzip\"`, `\"none\"`",
        "`\"gzip\"`",
        "How files are packed.",
    ),
];

/// `[metrics]`
pub const METRICS: &[Key] = &[key(
    "listen",
    "address and port",
    "required",
    "Where `GET /metrics` is answered.",
)];

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

/// `prefix-length` and `blackhole`
pub const PER_FAMILY: &[Key] = &[
    key("v4", "as above", "as above", "For IPv4."),
    key("v6", "as above", "as above", "For IPv6."),
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

/// Keys of a session that were negotiated or belong to its socket: a change resets the session.
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
    "extended-next-hop",
];

/// All sections, in the order of the manual.
pub const SECTIONS: &[SectionKeys] = &[
    section(
        "[exchange]",
        "exchange",
        "A route server and its exchange (RFC 7947). Either this section or `[router]` must be there.",
        EXCHANGE,
        false,
    ),
    section(
        "[router]",
        "router",
        "A router, route reflector or collector, without members.",
        ROUTER,
        false,
    ),
    section("[daemon]", "daemon", "The process.", DAEMON, false),
    section(
        "[checks]",
        "checks",
        "What members, and neighbors with `import = \"checks\"`, may announce. Only what differs from the defaults needs to be written.",
        CHECKS,
        false,
    ),
    section(
        "[communities]",
        "communities",
        "How members steer who hears their routes.",
        COMMUNITIES,
        false,
    ),
    section(
        "[graceful-restart]",
        "graceful-restart",
        "Restarts without loss of routes.",
        GRACEFUL_RESTART,
        false,
    ),
    section(
        "[mrt]",
        "mrt",
        "Archives in MRT format (RFC 6396). Without the section nothing is written.",
        MRT,
        false,
    ),
    section(
        "[metrics]",
        "metrics",
        "Prometheus. Without the section nothing listens.",
        METRICS,
        false,
    ),
    section(
        "[defaults]",
        "defaults",
        "Keys of every session, for all sessions that do not say otherwise.",
        &[],
        true,
    ),
    section(
        "[[member]]",
        "member",
        "A member of the exchange: a client of the route server.",
        MEMBER,
        true,
    ),
    section(
        "[[neighbor]]",
        "neighbor",
        "Any other neighbor: eBGP, iBGP, reflector client, collector.",
        NEIGHBOR,
        true,
    ),
    section(
        "[[dynamic-neighbor]]",
        "dynamic-neighbor",
        "Neighbors that are not listed but connect from a known network. They are always passive.",
        DYNAMIC,
        true,
    ),
];

const fn section(
    header: &'static str,
    name: &'static str,
    text: &'static str,
    keys: &'static [Key],
    session: bool,
) -> SectionKeys {
    SectionKeys {
        header,
        name,
        text,
        keys,
        session,
    }
}
