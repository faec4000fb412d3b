//! `[bmp]` and `[[bmp-target]]`: the BMP station (RFC 7854), and stations that receive all collected routes.

use std::net::SocketAddr;

use rutter_net::Prefix;

use crate::key_rows::section;
use crate::toml_values::Item;
use crate::value_forms::{seconds, socket};

section! {
    /// A BMP station (RFC 7854, 8671, 9069): routers connect and report their routes. `rutter collect` only.
    pub struct Bmp = "[bmp]" {
        /// Addresses to listen on. The default port is 11019.
        "listen": "addresses, each with or without port", default "required", reload NextCollect
            => listen: Vec<SocketAddr>,
            require "[\"0.0.0.0\", \"::\"]" |i: &Item<'_>| Some(i.some(|i| socket(i, BMP_PORT)));
        /// The networks from which routers may connect. BMP has no authentication.
        "allow": "prefixes", default "anywhere", reload NextCollect
            => allow: Vec<Prefix> = Vec::new(), read |i| Some(i.each(|i| i.parse("192.0.2.0/24")));
        /// The maximum number of connected routers; others are refused.
        "max-routers": "number", default "1000", reload NextCollect
            => max_routers: usize = 1_000, read |i| i.int(1..=10_000).map(|n| n as usize);
        /// The maximum number of connections from one address; others are refused.
        "max-per-address": "number", default "100", reload NextCollect
            => max_per_address: usize = 100, read |i| i.int(1..=10_000).map(|n| n as usize);
        /// The maximum number of monitored peers of one router; each view counts. The routes of further peers are ignored.
        "max-peers": "number", default "20000", reload NextCollect
            => max_peers: usize = 20_000, read |i| i.int(1..=65_535).map(|n| n as usize);
        /// A connection is closed if it sends no first message, or stops inside a message, for this time.
        "silence": "duration", default "`\"30s\"`", reload NextCollect
            => silence_s: u64 = 30, read |i| seconds(i, 1, 3_600);
    }
}

section! {
    /// A BMP station that receives all collected routes. `rutter collect` only.
    #[derive(Copy)]
    pub struct BmpTarget = "[[bmp-target]]" {
        /// The address of the station. The default port is 11019.
        "address": "address, with or without port", default "required", reload NextCollect
            => address: SocketAddr, require "\"192.0.2.1\"" |i| socket(i, BMP_PORT);
    }
}

impl BmpTarget {
    /// Reports an address that is none, that another target has, or that is our own.
    pub(crate) fn check(&self, item: &Item<'_>, others: &[BmpTarget], station: Option<&Bmp>) {
        let address = self.address;
        if address.port() == 0 || address.ip().is_unspecified() {
            item.error(
                format!("{address} is not the address of a station"),
                "write its address and port",
            );
        }
        if others.contains(self) {
            item.error(
                format!("there are two targets {address}"),
                "remove one of them",
            );
        }
        if station.is_some_and(|station| is_own(station, address)) {
            item.error(
                format!("{address} is our own station, so collected routes would loop"),
                "write the address of another station",
            );
        }
    }
}

fn is_own(station: &Bmp, address: SocketAddr) -> bool {
    let own = |listen: &SocketAddr| {
        let here = listen.ip().is_unspecified() && address.ip().is_loopback();
        listen.port() == address.port() && (listen.ip() == address.ip() || here)
    };
    station.listen.iter().any(own)
}

/// The port that IANA assigned to BMP.
const BMP_PORT: u16 = 11_019;
