//! `[web]`: the looking glass and the REST interface.

use std::net::SocketAddr;

use crate::key_rows::section;
use crate::value_forms::socket;

section! {
    /// The looking glass and the REST interface: read only, without passwords. Without this section they are off. An address that other machines can reach shows the table to everybody; for TLS put a proxy before it.
    pub struct Web = "[web]" {
        /// The address of the looking glass; the REST interface is at `/api/v1/`.
        "listen": "address and port", default "required", reload AtOnce
            => listen: SocketAddr, require "\"127.0.0.1:8179\"" |i| socket(i, 8179);
        /// The requests a second of one address (IPv6: of a /64). After a pause it may make five times as many at once.
        "requests-per-second": "number", default "50", reload AtOnce
            => requests_per_second: u32 = 50, read |i| i.int(1..=1_000_000).map(|n| n as u32);
    }
}
