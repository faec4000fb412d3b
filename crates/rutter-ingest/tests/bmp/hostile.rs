//! Attacks by unknown clients: each attacker loses its connection, and nobody else is affected.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_config::Bmp;
use rutter_net::Asn;
use rutter_policy::ImportPolicy;
use rutter_rib::{Monitored, Neighbor, Source, View};
use rutter_wire::bmp::{PeerHeader, PeerType, RibView, write_initiation, write_route_monitoring};

use crate::router::{Router, update};
use crate::{TIMEOUT, World, peer};

fn settings() -> Bmp {
    Bmp::new(vec!["127.0.0.1:0".parse().unwrap()])
}

/// A well-behaved router. Its route stays in the table during the whole test.
fn honest(world: &World) -> Router {
    let mut router = world.connect();
    router.initiate("honest");
    let header = peer("192.0.2.1", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["192.0.2.0/24"]));
    world.expect(&[HONEST]);
    router
}

const HONEST: &str = "honest/192.0.2.1/adj-in-pre/192.0.2.0/24";

#[test]
fn bytes_that_are_not_bmp_end_the_connection() {
    let world = World::start();
    let honest = honest(&world);
    let too_long = [3, 0x7f, 0xff, 0xff, 0xff, 4];
    let inputs: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 64],
        // An unknown version; lengths below the header's length and above the limit.
        &[9, 0, 0, 0, 6, 4],
        &[3, 0, 0, 0, 5, 4],
        &[3, 0, 0, 0, 0, 0],
        &too_long,
    ];
    for input in inputs {
        let mut unknown = world.connect();
        unknown.send(input);
        assert!(unknown.is_closed_within(TIMEOUT), "{input:?}");
    }
    // Each message is cut off at each byte: whole messages are processed, and the rest is dropped.
    let mut whole = Vec::new();
    write_initiation(&mut whole, "cut", "");
    let header = peer("192.0.2.9", RibView::AdjRibInPre);
    write_route_monitoring(&mut whole, &header, &update(&["203.0.113.0/24"]));
    for end in (0..whole.len()).step_by(7) {
        world.connect().send(&whole[..end]);
    }
    world.expect(&[HONEST]);
    drop(honest);
    world.end();
}

#[test]
fn broken_messages_within_good_frames_are_passed_over() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    let frame = |kind: u8, body: &[u8]| {
        let mut out = vec![3];
        out.extend_from_slice(&(body.len() as u32 + 6).to_be_bytes());
        out.push(kind);
        out.extend_from_slice(body);
        out
    };
    for kind in 0..=8 {
        for len in [0, 1, 41, 42, 43, 60, 200] {
            router.send(&frame(kind, &vec![0xa5; len]));
        }
        if kind == 5 {
            // The message was a Termination, so the connection is closed.
            assert!(router.is_closed_within(TIMEOUT));
            router = world.connect();
        }
    }
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["198.51.100.0/24"]));
    world.expect(&["127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24"]);
    world.end();
}

#[test]
fn a_session_that_is_reported_twice_begins_again() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["198.51.100.0/24", "203.0.113.0/24"]));
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["203.0.113.0/24"]));
    world.expect(&["127.0.0.1/192.0.2.11/adj-in-pre/203.0.113.0/24"]);
    assert_eq!(world.context.rib.peers().len(), 1);
    world.end();
}

#[test]
fn sessions_have_a_limit() {
    let world = World::of(&Bmp {
        max_peers: 3,
        ..settings()
    });
    let mut router = world.connect();
    let header = |n: u8| -> PeerHeader { peer(&format!("192.0.2.{n}"), RibView::AdjRibInPre) };
    (1..=200).for_each(|n| router.peer_up(&header(n), None));
    (1..=5).for_each(|n| router.monitor(&header(n), &update(&["203.0.113.0/24"])));
    world.expect(&[
        "127.0.0.1/192.0.2.1/adj-in-pre/203.0.113.0/24",
        "127.0.0.1/192.0.2.2/adj-in-pre/203.0.113.0/24",
        "127.0.0.1/192.0.2.3/adj-in-pre/203.0.113.0/24",
    ]);
    world.end();
}

/// However many peers the routers of an address report, those of another address and BGP neighbors find ids.
#[test]
fn the_routers_of_an_address_leave_room_for_others() {
    let world = World::start();
    let rib = &world.context.rib;
    // Only 60 ids are left for monitored peers.
    let import = Arc::new(ImportPolicy::collecting());
    while rib.free_monitored_ids() > 60 {
        rib.add_neighbor(file_peer(&import)).unwrap();
    }
    let station = world.station.listen_addresses()[0];
    let connect = |own: &str| Router::connect_from(own.parse().unwrap(), station);
    // Each view of each session announces a route.
    let report = |router: &mut Router, name: &str, count: u8| {
        router.initiate(name);
        for n in 1..=count {
            let header = peer(&format!("192.0.2.{n}"), RibView::AdjRibInPre);
            router.peer_up(&header, None);
            router.monitor(&header, &update(&["203.0.113.0/24"]));
        }
    };
    let mut greedy = connect("127.0.0.2");
    report(&mut greedy, "one", 20);
    world.expect_routes(20);
    let mut second = connect("127.0.0.2");
    report(&mut second, "two", 50);
    world.expect_routes(30);
    let mut late = connect("127.0.0.3");
    report(&mut late, "late", 15);
    world.expect_routes(45);
    assert_eq!(rib.free_monitored_ids(), 15);
    let unknown = |name: &str| {
        let routers = world.station.routers();
        let router = routers.iter().find(|router| router.name == name);
        router.map(|router| router.unknown)
    };
    wait_until(
        || unknown("two") == Some(40),
        "the refused peers are counted",
    );
    // A BGP neighbor gets an id although no other peer does.
    while rib.free_monitored_ids() > 0 {
        rib.add_neighbor(file_peer(&import)).unwrap();
    }
    assert!(rib.add_neighbor(file_peer(&import)).is_err());
    let neighbor = Neighbor {
        monitored: None,
        ..file_peer(&import)
    };
    assert!(rib.add_neighbor(neighbor).is_ok());
    drop((greedy, second));
    world.expect_routes(15);
    world.end();
}

fn file_peer(import: &Arc<ImportPolicy>) -> Neighbor {
    let monitored = Monitored {
        router: "file".into(),
        source: Source::Mrt,
        view: View::AdjRibInPre,
        peer_type: PeerType::Global,
        distinguisher: 0,
    };
    let address = "198.51.100.1".parse().unwrap();
    Neighbor::monitored("peer", address, Asn(64_501), monitored, Arc::clone(import))
}

fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn silence_ends_a_connection_and_an_address_has_a_limit() {
    let world = World::of(&Bmp {
        max_per_address: 20,
        silence_s: 1,
        ..settings()
    });
    let mut honest = honest(&world);
    let mut silent: Vec<Router> = (0..300).map(|_| world.connect()).collect();
    // One client stops in the middle of a message.
    let mut halfway = silent.remove(0);
    halfway.send(&[3, 0, 0, 1, 0, 0, 7]);
    for one in &mut silent {
        assert!(one.is_closed_within(TIMEOUT));
    }
    assert!(halfway.is_closed_within(TIMEOUT));
    assert!(!honest.is_closed_within(Duration::from_millis(1_500)));
    world.expect_routers(1);
    // A connection slot is free again.
    let mut next = world.connect();
    next.initiate("next");
    let header = peer("192.0.2.2", RibView::AdjRibInPre);
    next.peer_up(&header, None);
    next.monitor(&header, &update(&["192.0.2.0/24"]));
    world.expect(&[HONEST, "next/192.0.2.2/adj-in-pre/192.0.2.0/24"]);
    world.end();
}
