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
        "max-peers",
        "number",
        "20000",
        "Most monitored peers of one router, each view counted; the routes of others are passed over.",
    ),
];

/// `[[bmp-target]]`
pub const BMP_TARGET: &[Key] = &[key(
    "address",
    "address, with or without port",
    "required",
    "The station. The port is 11019 where none is named.",
)];

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
];
