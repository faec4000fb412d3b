//! Who we are and how the process runs.

use super::{Key, key};

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
        "`error`, `warn`, `info`, `debug` or `trace`; or a filter such as `info,rutter_session=debug`. Libraries are heard two levels later: their warnings at `debug`.",
    ),
    key(
        "log-format",
        "`\"text\"`, `\"json\"`",
        "`\"text\"`",
        "How log lines look.",
    ),
    key(
        "user",
        "name or number",
        "none",
        "Become this user once the BGP ports are bound; its group too, unless `group` says otherwise.",
    ),
    key(
        "group",
        "name or number",
        "none",
        "Become this group once the BGP ports are bound.",
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

/// `[lookup]`
pub const LOOKUP: &[Key] = &[key(
    "profile",
    "`\"compact\"`, `\"balanced\"`, `\"fast\"`, `\"fastest\"`",
    "`\"fast\"`",
    "Memory against speed of the longest-prefix table: from 7 to 87 octets a prefix of IPv4. The routes that it leads to take about 80 octets a destination more.",
)];

/// `[rpki]`
pub const RPKI: &[Key] = &[key(
    "vrps",
    "path",
    "required",
    "A JSON file of validated ROA payloads, as `rpki-client -j`, `routinator vrps --format json` and others write it. It is read at the start and at each reload: reload after it is written. One that cannot be read refuses the reload, and nothing changes; at the start it is reported and the daemon goes on without.",
)];

/// `[metrics]`
pub const METRICS: &[Key] = &[key(
    "listen",
    "address and port",
    "required",
    "Where `GET /metrics` is answered.",
)];
