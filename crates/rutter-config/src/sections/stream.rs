//! `[stream]`: the JSON stream over WebSocket.

use std::net::SocketAddr;

use crate::key_rows::section;
use crate::toml_values::{Item, Section};
use crate::value_forms::socket;

section! {
    /// Events as JSON over WebSocket, in the form of RIS Live. `rutter collect` only.
    pub struct Stream = "[stream]" {
        /// The WebSocket address. The stream has no authentication: keep it local, or behind a proxy.
        "listen": "address and port", default "required", reload NextCollect
            => listen: SocketAddr, require "\"127.0.0.1:8180\"" |i| socket(i, 8180);
        /// The maximum number of clients; others are refused.
        "max-clients": "number", default "100", reload NextCollect
            => max_clients: usize = 100, read |i| i.int(1..=10_000).map(|n| n as usize);
        /// The maximum number of queued messages for one client. Lost messages are reported as a gap.
        "queue": "number", default "10000", reload NextCollect
            => queue: usize = 10_000, read |i| i.int(1..=10_000_000).map(|n| n as usize);
        /// Origins of web pages that may connect, such as `"https://lg.example"`; `"*"` for all. Programs send no origin and may always connect.
        "origins": "text, or several", default "none", reload NextCollect
            => origins: Vec<String> = Vec::new(), read |i| Some(i.some(origin));
    }
}

impl Stream {
    /// Warns of an address that other machines can reach.
    pub(crate) fn check(&self, section: &Section<'_>) {
        let listen = section.get("listen");
        if let (Some(item), false) = (listen, self.listen.ip().is_loopback()) {
            item.warning(
                format!("all collected routes are open to everybody who can connect to {}", self.listen),
                "the stream has no authentication: listen on 127.0.0.1, or restrict access by a firewall",
            );
        }
    }
}

/// Reads the origin of a web page as browsers send it: `https://lg.example`, with a port if it is not the default.
fn origin(item: &Item<'_>) -> Option<String> {
    let text = item.name()?;
    let site = text.split_once("://").map(|(_, site)| site);
    let whole = site.is_some_and(|site| !site.is_empty() && !site.contains(['/', ' ']));
    if text != "*" && !whole {
        item.error(
            format!("`{text}` is not an origin"),
            "write \"https://lg.example\" without a path, or \"*\" for all",
        );
        return None;
    }
    Some(text)
}
