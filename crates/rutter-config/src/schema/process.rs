//! Keys of the identity and the process.

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
        "The peering LANs. Members should have addresses inside. Routes to these prefixes and their subnets are rejected.",
    ),
    key(
        "members",
        "file pattern, or several",
        "none",
        "Files with more `[[member]]` sections, relative to this file: `\"members.d/*.toml\"`. They are read in the order of their names.",
    ),
    key(
        "roles",
        "true, false",
        "false",
        "Announce the role *route server* (RFC 9234) to members without `role`, reject leaks by ONLY_TO_CUSTOMER, and add the attribute when advertising.",
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
        "The CLUSTER_ID of a route reflector (RFC 4456).",
    ),
];

/// `[daemon]`
pub const DAEMON: &[Key] = &[
    key("threads", "number", "one per core", "I/O threads."),
    key(
        "listen",
        "addresses, each with or without port",
        "`[\"0.0.0.0\", \"::\"]`",
        "Addresses to listen on for BGP. `[]`: do not listen, and open every session from here.",
    ),
    key(
        "port",
        "number",
        "179",
        "The default port of `listen` addresses.",
    ),
    key(
        "control-socket",
        "path",
        "`/run/rutter/rutter.sock`",
        "The Unix socket for the command line tool. Write permission gives full control of the daemon.",
    ),
    key(
        "log",
        "level",
        "`\"info\"`",
        "`error`, `warn`, `info`, `debug` or `trace`; or a filter such as `info,rutter_session=debug`. Messages of libraries have a level two steps lower: their warnings appear at `debug`.",
    ),
    key(
        "log-format",
        "`\"text\"`, `\"json\"`",
        "`\"text\"`",
        "The format of log lines.",
    ),
    key(
        "user",
        "name or number",
        "none",
        "Change to this user after the BGP ports are bound, and to its group unless `group` is set.",
    ),
    key(
        "group",
        "name or number",
        "none",
        "Change to this group after the BGP ports are bound.",
    ),
];

/// `[graceful-restart]`
pub const GRACEFUL_RESTART: &[Key] = &[
    key(
        "enabled",
        "true, false",
        "true",
        "Keep the routes of a restarting neighbor, and announce the capability (RFC 4724).",
    ),
    key(
        "restart-time",
        "duration",
        "`\"120s\"`",
        "The restart time that we announce; at most 4095 seconds.",
    ),
    key(
        "notification",
        "true, false",
        "true",
        "Also keep routes when a session ends with a NOTIFICATION (RFC 8538).",
    ),
    key(
        "long-lived-stale-time",
        "duration",
        "`0`, off",
        "How long stale routes stay after the restart time, least preferred (RFC 9494).",
    ),
];

/// `[mrt]`
pub const MRT: &[Key] = &[
    key("directory", "path", "required", "The folder of the files."),
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
        "The compression of files.",
    ),
];

/// `[lookup]`
pub const LOOKUP: &[Key] = &[key(
    "profile",
    "`\"compact\"`, `\"balanced\"`, `\"fast\"`, `\"fastest\"`",
    "`\"fast\"`",
    "Memory against speed of the longest-prefix table: from 7 to 87 bytes for an IPv4 prefix. The routes take about 80 more bytes for each destination.",
)];

/// `[rpki]`
pub const RPKI: &[Key] = &[key(
    "vrps",
    "path",
    "required",
    "A JSON file of validated ROA payloads, as `rpki-client -j`, `routinator vrps --format json` and others write it. It is read at the start and at each reload, so reload after the file changes. A reload fails if the file is unreadable. At the start an unreadable file is only reported.",
)];

/// `[metrics]`
pub const METRICS: &[Key] = &[key(
    "listen",
    "address and port",
    "required",
    "The address that serves `GET /metrics`.",
)];
