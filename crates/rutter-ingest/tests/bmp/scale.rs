//! The number of routers and peers that the station can serve:
//! `ROUTERS=1 PEERS=5000 ROUTES=100 cargo test --release -p rutter-ingest --test bmp scale -- --ignored --nocapture`.
//! With `SHARED=1` all peers report the same prefixes instead of prefixes of their own.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use rutter_config::Bmp;
use rutter_net::Asn;
use rutter_wire::bmp::{PeerDown, PeerHeader, RibView};

use crate::World;
use crate::router::{Router, update};

fn number(name: &str, usual: u32) -> u32 {
    let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
    given.unwrap_or(usual)
}

/// The resident memory of the process in MiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.map_or(0, |pages: u64| (pages * 4_096) >> 20)
}

fn held(world: &World) -> u64 {
    let peers = world.context.rib.peers();
    let counts = peers.iter().flat_map(|peer| &peer.counts);
    counts.map(|counts| u64::from(counts.received)).sum()
}

fn wait_for(world: &World, routes: u64) {
    let begun = Instant::now();
    while held(world) != routes {
        assert!(
            begun.elapsed() < Duration::from_secs(600),
            "{} routes instead of {routes}",
            held(world)
        );
        thread::sleep(Duration::from_millis(10));
    }
}

fn header(peer: u32) -> PeerHeader {
    let address = Ipv4Addr::from_bits(0x0a00_0000 + peer);
    PeerHeader::global(address.into(), Asn(64_501), 9, RibView::AdjRibInPre)
}

/// UPDATEs with ten prefixes each.
fn updates(peer: u32, routes: u32) -> Vec<Vec<u8>> {
    let first = match number("SHARED", 0) {
        0 => peer * routes,
        _ => 0,
    };
    let prefixes: Vec<String> = (first..first + routes)
        .map(|n| format!("{}.{}.{}.0/24", 20 + (n >> 16), (n >> 8) & 0xff, n & 0xff))
        .collect();
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    prefixes.chunks(10).map(update).collect()
}

fn report(router: &mut Router, number: u32, peers: u32, routes: u32) {
    router.initiate(&format!("edge{number}"));
    for peer in 0..peers {
        router.peer_up(&header(peer), None);
        let updates = updates(number * peers + peer, routes);
        updates
            .iter()
            .for_each(|update| router.monitor(&header(peer), update));
    }
}

#[test]
#[ignore = "measures; it proves nothing that other tests do not"]
fn scale() {
    let (routers, peers) = (number("ROUTERS", 200), number("PEERS", 25));
    let routes = number("ROUTES", 100);
    let mut settings = Bmp::new(vec!["127.0.0.1:0".parse().unwrap()]);
    settings.max_per_address = settings.max_routers;
    let world = World::of(&settings);
    let before = resident();
    let begun = Instant::now();
    let mut connected: Vec<Router> = thread::scope(|scope| {
        let start = |number| {
            let world = &world;
            scope.spawn(move || {
                let mut router = world.connect();
                report(&mut router, number, peers, routes);
                router
            })
        };
        let started: Vec<_> = (0..routers).map(start).collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let all = u64::from(routers) * u64::from(peers) * u64::from(routes);
    wait_for(&world, all);
    println!(
        "{routers} routers, {peers} peers each, {all} routes: {:.2} s, {} MiB more",
        begun.elapsed().as_secs_f64(),
        resident() - before
    );
    let begun = Instant::now();
    for router in &mut connected {
        (0..peers).for_each(|peer| router.peer_down(&header(peer), PeerDown::REMOTE_NO_DATA));
    }
    wait_for(&world, 0);
    println!("gone one by one: {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let again = connected.iter_mut().zip(0..);
    again.for_each(|(router, number)| report(router, number, peers, routes));
    wait_for(&world, all);
    println!("again: {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    drop(connected);
    wait_for(&world, 0);
    println!(
        "gone with the routers: {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    world.end();
}
