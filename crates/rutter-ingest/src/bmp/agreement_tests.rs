//! The rows of the feed, which sinks, archives and streams receive, lead to the station's table, for every stream.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rutter_events::{AttrColumns, Decoder, Kind, Now, Row};
use rutter_net::{Family, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{PeerId, Rib, RibConfig};
use rutter_service::ShutdownSignal;
use rutter_wire::bmp::next_packet;

use super::peer_shares::PeerShares;
use super::router::Router;
use crate::writer::Writer;

type Routes = BTreeMap<(PeerId, Prefix, u32), AttrColumns>;

/// Handles a stream as a connection does. Returns the table, and the routes that the feed leads to.
fn station(bytes: &[u8]) -> (Routes, Routes) {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 1,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }));
    let (feed, known) = rib.subscribe(1 << 16);
    let writer = Writer::new(Arc::clone(&rib), ShutdownSignal::new());
    let address = "192.0.2.9:50000".parse().expect("an address");
    let mut router = Router::new(writer, address, 100, &PeerShares::default(), 0);
    let mut rest = bytes;
    while let Ok(Some(packet)) = next_packet(rest, 1 << 20) {
        match packet.decode() {
            Ok(message) => drop(router.handle(&message, 0)),
            Err(fault) => router.count_fault(fault),
        }
        rest = &rest[packet.len..];
    }
    router.commit();
    let now = Now {
        unix_us: 0,
        monotonic_us: 0,
    };
    let mut decoder = Decoder::new("here", &known, now);
    let mut routes = Routes::new();
    while let Some(event) = feed.next(Duration::ZERO) {
        decoder.decode(&event, now, &mut |row| apply(row, &mut routes));
    }
    (table(&rib), routes)
}

fn table(rib: &Rib) -> Routes {
    let snapshot = rib.snapshot();
    let mut routes = Routes::new();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            for route in &destination.routes {
                let key = (route.peer, destination.prefix, route.path_id);
                routes.insert(key, AttrColumns::of(route.attrs));
            }
        }
    }
    routes
}

fn apply(row: &Row<'_>, routes: &mut Routes) {
    let peer = row.peer.expect("a peer").id;
    match (row.kind, row.prefix) {
        (Kind::PeerDown { .. }, _) => routes.retain(|(of, ..), _| *of != peer),
        (Kind::Announce, Some(prefix)) => {
            let columns = (**row.attrs.expect("attributes")).clone();
            routes.insert((peer, prefix, row.path_id), columns);
        }
        (Kind::Withdraw, Some(prefix)) => {
            routes.remove(&(peer, prefix, row.path_id));
        }
        _ => {}
    }
}

/// Each seed, and each seed with one octet changed.
#[test]
fn table_and_feed_agree_on_every_mutant() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/bmp");
    let mut most = 0;
    for seed in std::fs::read_dir(folder).expect("the seeds") {
        let seed = std::fs::read(seed.expect("a seed").path()).expect("a readable seed");
        for at in 0..seed.len() {
            for octet in [
                seed[at],
                0,
                1,
                0xff,
                seed[at] ^ 0x10,
                seed[at].wrapping_add(1),
            ] {
                let mut mutant = seed.clone();
                mutant[at] = octet;
                let (table, routes) = station(&mutant);
                assert_eq!(table, routes, "{mutant:02x?}");
                most = most.max(table.len());
            }
        }
    }
    assert!(most >= 3, "{most} routes");
}
