//! `[web]`: the looking glass and the REST interface.

use std::net::SocketAddr;

use crate::key_rows::section;
use crate::toml_values::Item;
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
        /// Also serve the interface of birdwatcher below this path, for Alice-LG and IXP Manager: `"/birdwatcher"`.
        "birdwatcher": "path", default "off", reload AtOnce
            => birdwatcher: Option<String> = None, read |i| url_path(i).map(Some);
        /// The reject reasons that the interface of birdwatcher shows, as large communities: `AS:65520:n` with ARouteServer's numbers, or `AS:1101:n` with those of IXP Manager.
        "birdwatcher-reasons": "`\"arouteserver\"`, `\"ixp-manager\"`", default "`\"arouteserver\"`", reload AtOnce
            => birdwatcher_reasons: ReasonNumbers = ReasonNumbers::ARouteServer,
            read |i| i.word(&[("arouteserver", ReasonNumbers::ARouteServer), ("ixp-manager", ReasonNumbers::IxpManager)]);
    }
}

/// The numbers of reject reasons that a looking glass knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReasonNumbers {
    /// Those of ARouteServer.
    ARouteServer,
    /// Those of IXP Manager.
    IxpManager,
}

/// Reads a path below which an interface is served: `"/birdwatcher"`.
fn url_path(item: &Item<'_>) -> Option<String> {
    let text = item.str("/birdwatcher")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let part = text.strip_prefix('/').filter(|part| !part.is_empty());
    if part.is_some_and(|part| part.chars().all(is_plain) && !part.ends_with('/'))
        && !text.starts_with("/api/v1")
    {
        return Some(text.to_owned());
    }
    item.error(
        format!("`{text}` is not a path for an interface"),
        "write \"/birdwatcher\": a slash, then letters, digits and slashes; `/api/v1` is taken",
    );
    None
}
