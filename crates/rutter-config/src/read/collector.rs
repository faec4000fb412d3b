//! `[collector]`, `[bmp]`, `[[bmp-target]]`, `[stream]`.

use std::net::SocketAddr;

use super::Root;
use crate::config::{Bmp, BmpTarget, Collector, Stream};
use crate::file_name::{self, file_name};
use crate::forms;
use crate::item::Item;
use crate::schema;
use crate::{ConfigError, Severity};

/// Returns a warning about sections that only a collector serves, at the first of them.
pub(super) fn only_collected(root: &Root<'_>) -> Option<ConfigError> {
    let table = root.table.get_ref();
    let found = schema::only_collected().filter_map(|part| {
        let section = schema::SECTIONS
            .iter()
            .find(|section| section.name == part.name)?;
        let (key, _) = table.get_key_value(part.name)?;
        Some((section.header, key.span()))
    });
    let (headers, spans): (Vec<&str>, Vec<_>) = found.unzip();
    let first = spans.into_iter().min_by_key(|span| span.start)?;
    let headers = headers.join(", ");
    Some(root.source.finding(
        Severity::Warning,
        first,
        "",
        format!("only `rutter collect` serves {headers}; `rutter run` ignores them"),
        "start `rutter collect FILE`, or remove them",
    ))
}

pub(super) fn collector(root: &Root<'_>) -> Collector {
    root.section("collector", &[schema::COLLECTOR], |section| {
        let mut collector = Collector::default();
        section.set("name", &mut collector.name, collector_name);
        collector
    })
}

/// Databases identify collectors by this name. Some do not store control characters, and ignore trailing spaces.
fn collector_name(item: &Item<'_>) -> Option<Option<String>> {
    let name = item.name()?.trim().to_owned();
    if name.contains(char::is_control) {
        item.error(
            "this name has a control character",
            "write letters, digits and other visible characters",
        );
        return None;
    }
    let octets = file_name(&name).len();
    if octets > file_name::LONGEST {
        item.error(
            format!("this name is too long: it takes {octets} bytes in file names"),
            format!(
                "write at most {} letters and digits; other characters except `.` count for more",
                file_name::LONGEST
            ),
        );
        return None;
    }
    Some(Some(name))
}

pub(super) fn bmp(root: &Root<'_>) -> Option<Bmp> {
    root.section("bmp", &[schema::BMP], |section| {
        let listen = section.require("listen", "[\"0.0.0.0\", \"::\"]")?;
        let mut bmp = Bmp::new(listen.some(|i| forms::socket(i, BMP_PORT)));
        section.set("allow", &mut bmp.allow, |i| {
            Some(i.each(|i| i.parse("192.0.2.0/24")))
        });
        section.set("max-routers", &mut bmp.max_routers, |i| {
            i.int(1..=10_000).map(|n| n as usize)
        });
        section.set("max-per-address", &mut bmp.max_per_address, |i| {
            i.int(1..=10_000).map(|n| n as usize)
        });
        section.set("max-peers", &mut bmp.max_peers, |i| {
            i.int(1..=65_535).map(|n| n as usize)
        });
        section.set("silence", &mut bmp.silence_s, |i| {
            forms::seconds(i, 1, 3_600)
        });
        Some(bmp)
    })
}

pub(super) fn bmp_targets(root: &Root<'_>, station: Option<&Bmp>) -> Vec<BmpTarget> {
    let mut targets: Vec<BmpTarget> = Vec::new();
    root.each_of("bmp-target", &[schema::BMP_TARGET], |section| {
        let Some(item) = section.require("address", "\"192.0.2.1\"") else {
            return;
        };
        let Some(address) = forms::socket(&item, BMP_PORT) else {
            return;
        };
        if address.port() == 0 || address.ip().is_unspecified() {
            item.error(
                format!("{address} is not the address of a station"),
                "write its address and port",
            );
        }
        if targets.iter().any(|other| other.address == address) {
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
        targets.push(BmpTarget { address });
    });
    targets
}

fn is_own(station: &Bmp, address: SocketAddr) -> bool {
    let own = |listen: &SocketAddr| {
        let here = listen.ip().is_unspecified() && address.ip().is_loopback();
        listen.port() == address.port() && (listen.ip() == address.ip() || here)
    };
    station.listen.iter().any(own)
}

pub(super) fn stream(root: &Root<'_>) -> Option<Stream> {
    root.section("stream", &[schema::STREAM], |section| {
        let listen = section.require("listen", "\"127.0.0.1:8180\"")?;
        let mut stream = Stream {
            listen: forms::socket(&listen, 8180)?,
            max_clients: 100,
            queue: 10_000,
            origins: Vec::new(),
        };
        if !stream.listen.ip().is_loopback() {
            listen.warning(
                format!("all collected routes are open to everybody who can connect to {}", stream.listen),
                "the stream has no authentication: listen on 127.0.0.1, or restrict access by a firewall",
            );
        }
        section.set("max-clients", &mut stream.max_clients, |i| {
            i.int(1..=10_000).map(|n| n as usize)
        });
        section.set("queue", &mut stream.queue, |i| {
            i.int(1..=10_000_000).map(|n| n as usize)
        });
        section.set("origins", &mut stream.origins, |i| {
            Some(i.some(origin))
        });
        Some(stream)
    })
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

/// The port that IANA assigned to BMP.
const BMP_PORT: u16 = 11_019;
