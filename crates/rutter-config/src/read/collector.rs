//! `[collector]`, `[bmp]`, `[[bmp-target]]`, `[stream]`.

use super::Root;
use crate::config::{Bmp, BmpTarget, Collector, Stream};
use crate::forms;
use crate::item::Item;
use crate::schema;

pub(super) fn collector(root: &Root<'_>) -> Collector {
    root.section("collector", &[schema::COLLECTOR], |section| {
        let mut collector = Collector::default();
        section.set("name", &mut collector.name, |i: &Item<'_>| {
            i.text().map(Some)
        });
        collector
    })
}

pub(super) fn bmp(root: &Root<'_>) -> Option<Bmp> {
    root.section("bmp", &[schema::BMP], |section| {
        let listen = section.require("listen", "[\"0.0.0.0\", \"::\"]")?;
        let mut bmp = Bmp {
            listen: listen.each(|i| forms::socket(i, BMP_PORT)),
            allow: Vec::new(),
            max_routers: 1_000,
            max_peers: 20_000,
        };
        section.set("allow", &mut bmp.allow, |i| {
            Some(i.each(|i| i.parse("192.0.2.0/24")))
        });
        section.set("max-routers", &mut bmp.max_routers, |i| {
            i.int(1..=10_000).map(|n| n as usize)
        });
        section.set("max-peers", &mut bmp.max_peers, |i| {
            i.int(1..=65_535).map(|n| n as usize)
        });
        Some(bmp)
    })
}

pub(super) fn bmp_targets(root: &Root<'_>) -> Vec<BmpTarget> {
    let mut targets = Vec::new();
    root.each_of("bmp-target", &[schema::BMP_TARGET], |section| {
        let address = section.require("address", "\"192.0.2.1\"");
        let address = address.and_then(|i| forms::socket(&i, BMP_PORT));
        targets.extend(address.map(|address| BmpTarget { address }));
    });
    targets
}

pub(super) fn stream(root: &Root<'_>) -> Option<Stream> {
    root.section("stream", &[schema::STREAM], |section| {
        let listen = section.require("listen", "\"127.0.0.1:8180\"")?;
        let mut stream = Stream {
            listen: forms::socket(&listen, 8180)?,
            max_clients: 100,
            queue: 10_000,
        };
        section.set("max-clients", &mut stream.max_clients, |i| {
            i.int(1..=10_000).map(|n| n as usize)
        });
        section.set("queue", &mut stream.queue, |i| {
            i.int(1..=10_000_000).map(|n| n as usize)
        });
        Some(stream)
    })
}

/// The port that IANA keeps for BMP.
const BMP_PORT: u16 = 11_019;
