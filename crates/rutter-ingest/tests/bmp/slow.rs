//! Work that keeps the station busy for seconds: many sessions of one router report the same prefixes.

use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use rutter_config::Bmp;
use rutter_net::Asn;
use rutter_wire::bmp::{
    PeerHeader, RibView, write_initiation, write_peer_up, write_route_monitoring,
};

use crate::World;
use crate::router::{Router, open, update};

const PREFIXES: u32 = 100;

fn world() -> World {
    let mut settings = Bmp::new(vec!["127.0.0.1:0".parse().unwrap()]);
    settings.silence_s = 1;
    World::of(&settings)
}

/// Sends this many sessions with the same routes from another thread, because the station may be slow to read.
fn burst(world: &World, sessions: u32) -> thread::JoinHandle<Router> {
    let prefixes: Vec<String> = (0..PREFIXES).map(|n| format!("10.0.{n}.0/24")).collect();
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    let update = update(&prefixes);
    let mut all = Vec::new();
    write_initiation(&mut all, "edge1", "a test");
    for n in 0..sessions {
        let address = Ipv4Addr::from_bits(0x0a00_0000 + n).into();
        let header = PeerHeader::global(address, Asn(64_501), 9, RibView::AdjRibInPre);
        let local = Ipv4Addr::new(192, 0, 2, 1).into();
        let open = open(None);
        write_peer_up(&mut all, &header, local, (179, 179), &open, &open, &[]);
        write_route_monitoring(&mut all, &header, &update);
    }
    let mut router = world.connect();
    thread::spawn(move || {
        // One write: much data is ready at the station's first read.
        router.send(&all);
        router
    })
}

fn held(world: &World) -> u32 {
    let peers = world.context.rib.peers();
    let counts = peers.iter().flat_map(|peer| &peer.counts);
    counts.map(|counts| counts.received).sum()
}

#[test]
fn a_router_is_not_silent_because_we_are_slow() {
    let world = world();
    let mut router = burst(&world, 900).join().unwrap();
    world.expect_routes(900 * PREFIXES);
    assert!(!router.is_closed_within(Duration::from_millis(1_500)));
    assert_eq!(held(&world), 900 * PREFIXES);
    world.end();
}

#[test]
fn the_shutdown_does_not_wait_for_messages_that_were_read_at_once() {
    let world = world();
    let router = burst(&world, 900);
    while held(&world) < 20_000 {
        thread::sleep(Duration::from_millis(1));
    }
    let rib = world.context.rib.clone();
    world.context.shutdown.trigger();
    let before = held(&world);
    world.end();
    let peers = rib.peers();
    let counts = peers.iter().flat_map(|peer| &peer.counts);
    let after: u32 = counts.map(|counts| counts.received).sum();
    // The station reads about 400 sessions at once.
    assert!(after <= before + 3_000, "{after} routes after {before}");
    drop(router);
}
