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
