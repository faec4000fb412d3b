//! BMP (RFC 7854): `[bmp]` is the station of a collector, `[[bmp-target]]` a station that receives all collected routes,
//! and `[[bmp-station]]` one to which a route server or router reports its tables.

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
        /// The maximum number of monitored peers of one router; each view counts. The routes of further peers are ignored. The routers of one address, or of one IPv6 /64, share half of the 61,439 peers that those of others leave.
        "max-peers": "number", default "20000", reload NextCollect
            => max_peers: usize = 20_000, read |i| i.int(1..=65_535).map(|n| n as usize);
        /// A connection is closed if it sends no first message, or stops inside a message, for this time.
        "silence": "duration", default "`\"30s\"`", reload NextCollect
            => silence_s: u64 = 30, read |i| seconds(i, 1, 3_600);
    }
}

section! {
    /// A BMP station to which a collector forwards everything that it collected. `rutter collect` only. See `[[bmp-station]]` for a route server.
    #[derive(Copy)]
    pub struct BmpTarget = "[[bmp-target]]" {
        /// The address of the station. The default port is 11019.
        "address": "address, with or without port", default "required", reload NextCollect
            => address: SocketAddr, require "\"192.0.2.1\"" |i| socket(i, BMP_PORT);
    }
}

section! {
    /// A BMP station (RFC 7854, 8671, 9069) to which a route server or router reports its own sessions and tables, for example a Rutter with `[bmp]`. Rutter connects to it.
    pub struct BmpStation = "[[bmp-station]]" {
        /// The address of the station. The default port is 11019.
        "address": "address, with or without port", default "required", reload AtOnce
            => address: SocketAddr, require "\"192.0.2.1\"" |i| socket(i, BMP_PORT);
        /// The name of the station in logs, metrics and `rutter show stations`.
        "name": "text", default "the address", reload AtOnce
            => name: Option<String> = None, read |i| i.name().map(Some);
        /// The name under which this router reports (sysName).
        "system-name": "text", default "`router-id`", reload AtOnce
            => system_name: Option<String> = None, read |i| i.name().map(Some);
        /// The tables that are reported. `adj-rib-in-pre` are the routes as received, `adj-rib-in-post` the accepted ones as the import policy changed them, `loc-rib` the best ones, and `adj-rib-out` those that each neighbor is sent. The last is as large as the table times the number of neighbors.
        "report": "list of `\"adj-rib-in-pre\"`, `\"adj-rib-in-post\"`, `\"loc-rib\"`, `\"adj-rib-out\"`", default "`[\"adj-rib-in-pre\", \"adj-rib-in-post\"]`", reload AtOnce
            => report: BmpTables = BmpTables::RECEIVED, read |i| BmpTables::read(i);
        /// A Statistics Report for each session this often; `0`: none.
        "statistics-interval": "duration", default "`\"5m\"`", reload AtOnce
            => statistics_interval_s: u64 = 300, read |i| seconds(i, 0, 86_400);
        /// The time to the second attempt to connect. It doubles with each further attempt, up to 12 minutes (RFC 7854 §3.2).
        "retry": "duration", default "`\"30s\"`", reload AtOnce
            => retry_s: u64 = 30, read |i| seconds(i, 1, 720);
        /// The connection is closed if the station takes less than 16 KiB of what waits for it in this time.
        "send-timeout": "duration", default "`\"30s\"`", reload AtOnce
            => send_timeout_s: u64 = 30, read |i| seconds(i, 1, 3_600);
    }
}

/// The tables that a station receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BmpTables {
    /// The Adj-RIBs-In before the import policy.
    pub adj_rib_in_pre: bool,
    /// The Adj-RIBs-In after it.
    pub adj_rib_in_post: bool,
    /// The Loc-RIB (RFC 9069).
    pub loc_rib: bool,
    /// The Adj-RIBs-Out after the export policy (RFC 8671).
    pub adj_rib_out: bool,
}

impl BmpTables {
    /// The Adj-RIBs-In before and after policy.
    pub const RECEIVED: Self = BmpTables {
        adj_rib_in_pre: true,
        adj_rib_in_post: true,
        loc_rib: false,
        adj_rib_out: false,
    };

    fn read(item: &Item<'_>) -> Option<Self> {
        type Set = fn(&mut BmpTables);
        let mut tables = BmpTables::default();
        let set: [(&'static str, Set); 4] = [
            ("adj-rib-in-pre", |tables| tables.adj_rib_in_pre = true),
            ("adj-rib-in-post", |tables| tables.adj_rib_in_post = true),
            ("loc-rib", |tables| tables.loc_rib = true),
            ("adj-rib-out", |tables| tables.adj_rib_out = true),
        ];
        for set in item.some(|item| item.word(&set)) {
            set(&mut tables);
        }
        Some(tables)
    }
}

impl BmpStation {
    /// The name, or the address without one.
    pub fn label(&self) -> String {
        let address = || self.address.to_string();
        self.name.clone().unwrap_or_else(address)
    }

    /// Reports an address that is none, or an address or a name that another station has.
    pub(crate) fn check(&self, item: &Item<'_>, others: &[BmpStation]) {
        let address = self.address;
        if address.port() == 0 || address.ip().is_unspecified() {
            item.error(
                format!("{address} is not the address of a station"),
                "write its address and port",
            );
        }
        if others.iter().any(|other| other.address == address) {
            item.error(
                format!("there are two stations {address}"),
                "remove one of them",
            );
        }
        let is_named_so =
            |other: &BmpStation| other.address != address && other.label() == self.label();
        if others.iter().any(is_named_so) {
            item.error(
                format!("two stations have the name `{}`", self.label()),
                "give each its own name",
            );
        }
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
