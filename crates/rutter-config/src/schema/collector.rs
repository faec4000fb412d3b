//! Keys of collectors.

use super::{Key, key};

/// `[collector]`
pub const COLLECTOR: &[Key] = &[key(
    "name",
    "text",
    "`router-id`",
    "The name of this collector in rows, messages and files.",
)];

/// `[bmp]`
pub const BMP: &[Key] = &[
    key(
        "listen",
        "addresses, each with or without port",
        "required",
        "Addresses to listen on. The default port is 11019.",
    ),
    key(
        "allow",
        "prefixes",
        "anywhere",
        "The networks from which routers may connect. BMP has no authentication.",
    ),
    key(
        "max-routers",
        "number",
        "1000",
        "The maximum number of connected routers; others are refused.",
    ),
    key(
        "max-per-address",
        "number",
        "100",
        "The maximum number of connections from one address; others are refused.",
    ),
    key(
        "max-peers",
        "number",
        "20000",
        "The maximum number of monitored peers of one router; each view counts. The routes of further peers are ignored.",
    ),
    key(
        "silence",
        "duration",
        "`\"30s\"`",
        "A connection is closed if it sends no first message, or stops inside a message, for this time.",
    ),
];

/// `[[bmp-target]]`
pub const BMP_TARGET: &[Key] = &[key(
    "address",
    "address, with or without port",
    "required",
    "The address of the station. The default port is 11019.",
)];

/// `[sql]`
pub const SQL: &[Key] = &[
    key(
        "listen",
        "addresses, each with or without port",
        "`[\"127.0.0.1:5439\"]`",
        "Addresses to listen on. An address that other machines can reach needs a `user` with a password.",
    ),
    key(
        "memory",
        "size",
        "`\"512M\"`",
        "The memory limit of all queries together. A query that needs more fails.",
    ),
    key(
        "threads",
        "number",
        "1",
        "The number of query threads. They have a lower priority than the I/O threads.",
    ),
    key(
        "events",
        "number",
        "100000",
        "The number of latest events in the table `events`, in memory; 0: no such table.",
    ),
    key(
        "query-timeout",
        "duration",
        "`\"5m\"`",
        "The time limit of a query. A longer query fails.",
    ),
    key(
        "login-timeout",
        "duration",
        "`\"10s\"`",
        "The time limit of a login.",
    ),
    key(
        "idle-timeout",
        "duration",
        "`\"1h\"`",
        "An idle connection is closed after this time.",
    ),
    key(
        "max-connections",
        "number",
        "100",
        "The maximum number of connections; others are refused.",
    ),
    key("user", "text", "no login", "The user name."),
    key("password", "text", "none", "The user's password."),
    key(
        "password-file",
        "path",
        "none",
        "A file with the password, relative to this file.",
    ),
    key(
        "tls-certificate",
        "path",
        "none",
        "A file with the certificate chain of the server (PEM), relative to this file. Clients on other machines must then use TLS. The file is read again when it changes.",
    ),
    key(
        "tls-key",
        "path",
        "none",
        "A file with the certificate's private key (PEM).",
    ),
];

/// `[stream]`
pub const STREAM: &[Key] = &[
    key(
        "listen",
        "address and port",
        "required",
        "The WebSocket address. The stream has no authentication: keep it local, or behind a proxy.",
    ),
    key(
        "max-clients",
        "number",
        "100",
        "The maximum number of clients; others are refused.",
    ),
    key(
        "queue",
        "number",
        "10000",
        "The maximum number of queued messages for one client. Lost messages are reported as a gap.",
    ),
    key(
        "origins",
        "text, or several",
        "none",
        "Origins of web pages that may connect, such as `\"https://lg.example\"`; `\"*\"` for all. Programs send no origin and may always connect.",
    ),
];

/// `[history]`
pub const HISTORY: &[Key] = &[
    key("path", "path", "required", "The folder of the archive."),
    key(
        "rotate",
        "duration",
        "`\"5m\"`",
        "A file of events ends after this time, or at the end of its hour. A collector that is killed loses the events of the current file, and reports it on the next start.",
    ),
    key(
        "rotate-rows",
        "number",
        "10000000",
        "A file of events also ends after this number of rows.",
    ),
    key(
        "snapshot-every",
        "duration",
        "`\"1h\"`",
        "Time between snapshots of the table. A past table is computed from a snapshot and the events after it.",
    ),
    key(
        "retention",
        "duration",
        "`0`: unlimited",
        "Files are removed this long after the end of their hour. At least an hour, and at least `snapshot-every`.",
    ),
    key(
        "compression",
        "number",
        "3",
        "The ZSTD level, 1 to 22; 0: no compression.",
    ),
];
