//! What only a collector has.

use super::{Key, key};

/// `[collector]`
pub const COLLECTOR: &[Key] = &[key(
    "name",
    "text",
    "`router-id`",
    "What this collector calls itself in every row, message and file.",
)];

/// `[bmp]`
pub const BMP: &[Key] = &[
    key(
        "listen",
        "addresses, each with or without port",
        "required",
        "Where routers connect. The port is 11019 where none is named.",
    ),
    key(
        "allow",
        "prefixes",
        "anywhere",
        "From where routers may connect. BMP has no authentication of its own.",
    ),
    key(
        "max-routers",
        "number",
        "1000",
        "Most routers at a time; others are refused.",
    ),
    key(
        "max-per-address",
        "number",
        "100",
        "Most connections from one address at a time; others are refused.",
    ),
    key(
        "max-peers",
        "number",
        "20000",
        "Most monitored peers of one router, each view counted; the routes of others are passed over.",
    ),
    key(
        "silence",
        "duration",
        "`\"30s\"`",
        "A connection that says nothing for so long at its beginning, or stops inside a message, is closed.",
    ),
];

/// `[[bmp-target]]`
pub const BMP_TARGET: &[Key] = &[key(
    "address",
    "address, with or without port",
    "required",
    "The station. The port is 11019 where none is named.",
)];

/// `[sql]`
pub const SQL: &[Key] = &[
    key(
        "listen",
        "addresses, each with or without port",
        "`[\"127.0.0.1:5439\"]`",
        "Where clients connect. Addresses of other machines need a `user` with a password.",
    ),
    key(
        "memory",
        "size",
        "`\"512M\"`",
        "Memory of all queries together; a query that needs more ends with an error.",
    ),
    key(
        "threads",
        "number",
        "1",
        "Threads that answer, with a lower priority than those that route.",
    ),
    key(
        "events",
        "number",
        "100000",
        "The latest events that the table `events` holds, in memory; 0: there is none.",
    ),
    key(
        "query-timeout",
        "duration",
        "`\"5m\"`",
        "A query that takes longer ends with an error.",
    ),
    key(
        "login-timeout",
        "duration",
        "`\"10s\"`",
        "A connection that has not logged in by then is closed.",
    ),
    key(
        "idle-timeout",
        "duration",
        "`\"1h\"`",
        "A connection that has not asked anything for so long is closed.",
    ),
    key(
        "max-connections",
        "number",
        "100",
        "Most connections at a time; others are refused.",
    ),
    key("user", "text", "everybody", "Who may ask."),
    key("password", "text", "none", "The user's password."),
    key(
        "password-file",
        "path",
        "none",
        "A file with the password, relative to the file that names it.",
    ),
    key(
        "tls-certificate",
        "path",
        "none",
        "A file with the server's certificate and those that it hangs on (PEM). Other machines must use TLS then. Read again when it changes. Relative to the file that names it.",
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
        "Where clients connect by WebSocket. There is no authentication: keep it local, or behind a proxy.",
    ),
    key(
        "max-clients",
        "number",
        "100",
        "Most clients at a time; others are refused.",
    ),
    key(
        "queue",
        "number",
        "10000",
        "Messages that may wait for one client; what does not fit is told as a gap.",
    ),
    key(
        "origins",
        "text, or several",
        "none",
        "Web sites whose pages may connect, such as `\"https://lg.example\"`; `\"*\"` for all. Programs say no origin and are let in.",
    ),
];

/// `[history]`
pub const HISTORY: &[Key] = &[
    key("path", "path", "required", "The folder of the archive."),
    key(
        "rotate",
        "duration",
        "`\"5m\"`",
        "A file of events ends after this time, at the latest with its hour. A collector that is killed loses the events of the file that it was writing, and says so.",
    ),
    key(
        "rotate-rows",
        "number",
        "10000000",
        "And after so many rows.",
    ),
    key(
        "snapshot-every",
        "duration",
        "`\"1h\"`",
        "Time between snapshots of the whole table: the table as of a time is a snapshot and the events that follow.",
    ),
    key(
        "retention",
        "duration",
        "`0`: for ever",
        "Files of hours that ended this long ago are removed: an hour at least, and `snapshot-every` at least.",
    ),
    key(
        "compression",
        "number",
        "3",
        "Level of ZSTD, 1 to 22; 0: files are not packed.",
    ),
];
