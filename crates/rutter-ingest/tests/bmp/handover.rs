//! Another station takes over the connections of one that runs, in the middle of messages.

use std::convert::Infallible;
use std::net::{TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rutter_config::Bmp;
use rutter_ingest::bmp::{HeldStation, RouterStatus, Station, TakenStation};
use rutter_rib::{Monitored, Rib, TableExport};
use rutter_service::Context;
use rutter_wire::attr::{OPTIONAL, code, write_attr};
use rutter_wire::bmp::{
    PeerDown, PeerHeader, RibView, write_initiation, write_peer_down, write_peer_up,
    write_route_monitoring,
};
use rutter_wire::capability::AddPathMode;
use rutter_wire::handover::Writer;
use rutter_wire::update::Sections;

use crate::router::{Router, open, update, update_with_path_id};
use crate::{TIMEOUT, World, context, peer};

fn settings() -> Bmp {
    Bmp::new(vec!["127.0.0.1:0".parse().unwrap()])
}

/// Passes the table as records.
fn pass_table(from: &Rib, to: &Rib) {
    let mut peers = Writer::default();
    let mut records: Vec<Vec<u8>> = Vec::new();
    let mut export = TableExport::default();
    let mut keep = |record: &[u8]| {
        records.push(record.to_vec());
        Ok::<(), Infallible>(())
    };
    export.send_changes(from, &mut keep).unwrap();
    Monitored::write_peers(&from.peers(), &mut peers);
    let held = from.hold(&mut []).expect("a quiet table");
    let totals = held.write(&mut export, &[], &mut keep).unwrap();
    drop(held);
    let peers = Monitored::read_peers(&peers.bytes).unwrap();
    let last = records.len() - 1;
    let mut import = to.import(peers.clone());
    for (at, record) in records.iter().enumerate() {
        if at == last {
            import.begin_last_stage(peers.clone());
        }
        import.record(record).unwrap();
    }
    let imported = import.finish().unwrap();
    assert_eq!(imported.totals, totals);
    to.release_imported(imported.sets);
}

fn copy(socket: BorrowedFd<'_>) -> std::os::fd::OwnedFd {
    socket.try_clone_to_owned().unwrap()
}

fn listeners(held: &HeldStation) -> Vec<TcpListener> {
    let sockets = held.listeners().into_iter();
    sockets.map(|socket| copy(socket).into()).collect()
}

fn connections(held: &HeldStation) -> Vec<(TcpStream, Vec<u8>)> {
    let held = held.connections();
    held.map(|(socket, record)| (copy(socket).into(), record))
        .collect()
}

fn take(held: &HeldStation, context: &Context) -> TakenStation {
    let taken = Station::take(context, &settings(), listeners(held), connections(held));
    taken.unwrap_or_else(|why| panic!("{why}"))
}

/// Another station takes over.
fn hand_over(world: World, shards: usize) -> World {
    let held = world.station.handle().hold(TIMEOUT).expect("a moment");
    let context = context(shards);
    pass_table(&world.context.rib, &context.rib);
    let taken = take(&held, &context);
    held.give_up();
    let station = taken.start().unwrap();
    world.end();
    World { context, station }
}

fn counts(routers: &[RouterStatus]) -> Vec<String> {
    let all = routers.iter().map(|router| {
        let RouterStatus {
            name,
            messages,
            faults,
            unknown,
            other_families,
            peers,
            ..
        } = router;
        format!("{name} {messages} {faults} {unknown} {other_families:?} {peers:?}")
    });
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

/// Waits until the station has received these bytes, but not handled them, and holds it.
fn hold_with(world: &World, bytes: &[u8]) -> HeldStation {
    loop {
        let held = world.station.handle().hold(TIMEOUT).expect("a moment");
        let has = |record: &[u8]| record.windows(bytes.len()).any(|part| part == bytes);
        if held.connections().any(|(_, record)| has(&record)) {
            return held;
        }
        drop(held);
        std::thread::yield_now();
    }
}

#[test]
fn half_a_message_is_completed_in_another_process() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["198.51.100.0/24"]));
    let mut rest = Vec::new();
    write_route_monitoring(&mut rest, &header, &update(&["203.0.113.0/24"]));
    write_route_monitoring(&mut rest, &header, &update(&["2001:db8:1::/48"]));
    let (one, two) = rest.split_at(70);
    router.send(one);
    drop(hold_with(&world, one));
    let mut world = hand_over(world, 4);
    world.expect(&["edge1/192.0.2.11/adj-in-pre/198.51.100.0/24"]);
    router.send(&two[..5]);
    world = hand_over(world, 1);
    router.send(&two[5..]);
    world.expect(&[
        "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24",
        "edge1/192.0.2.11/adj-in-pre/2001:db8:1::/48",
        "edge1/192.0.2.11/adj-in-pre/203.0.113.0/24",
    ]);
    // The listening socket has come along, and the name is in use.
    let mut second = world.connect();
    world.expect_routers(2);
    second.initiate("edge1");
    drop(router);
    world.expect(&[]);
    second.peer_up(&header, None);
    second.monitor(&header, &update(&["198.51.100.0/24"]));
    world.expect(&["edge1/192.0.2.11/adj-in-pre/198.51.100.0/24"]);
    world.end();
}

#[test]
fn a_station_goes_on_if_no_other_takes_over() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    let held = world.station.handle().hold(TIMEOUT).expect("a moment");
    let other = context(1);
    pass_table(&world.context.rib, &other.rib);
    drop((take(&held, &other), held));
    router.monitor(&header, &update(&["198.51.100.0/24"]));
    world.expect(&["edge1/192.0.2.11/adj-in-pre/198.51.100.0/24"]);
    let _second = world.connect();
    world.expect_routers(2);
    world.end();
}

#[test]
fn what_does_not_fit_the_table_is_refused() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["198.51.100.0/24"]));
    world.expect_routes(1);
    let held = world.station.handle().hold(TIMEOUT).expect("a moment");
    let with = |context: &Context, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let all = connections(&held).into_iter();
        let all = all.map(|(socket, record)| (socket, change(record)));
        Station::take(context, &settings(), Vec::new(), all.collect())
            .err()
            .unwrap_or_default()
    };
    let (same, empty) = (context(1), context(1));
    pass_table(&world.context.rib, &same.rib);
    assert_eq!(with(&same, &|record| record), "");
    let lost = with(&empty, &|record| record);
    assert_eq!(lost, "a BMP router: a record has no valid peer of a router");
    let [(_, whole)] = &connections(&held)[..] else {
        panic!("one router");
    };
    for end in 0..whole.len() {
        let short = with(&same, &|record| record[..end].to_vec());
        assert!(short.starts_with("a BMP router: "), "{end}: {short}");
    }
    let long = with(&same, &|record| [&record[..], &[0]].concat());
    assert_eq!(long, "a BMP router: a record has no valid end");
    drop(held);
    world.end();
}

/// Numbers that follow from a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A message that a router sends at some time.
fn message(draws: &mut Draws) -> Vec<u8> {
    let views = [
        RibView::AdjRibInPre,
        RibView::AdjRibInPost,
        RibView::LocRib,
        RibView::AdjRibOutPost,
    ];
    let view = views[draws.below(4) as usize];
    let address = match view {
        RibView::LocRib => "0.0.0.0".to_owned(),
        _ => format!("192.0.2.{}", draws.below(3)),
    };
    let header = PeerHeader {
        distinguisher: draws.below(2),
        ..peer(&address, view).with_as4(draws.below(8) > 0)
    };
    let prefix = format!("198.51.{}.0/24", draws.below(20));
    let mut out = Vec::new();
    match draws.below(12) {
        0 | 1 => {
            let mode = (draws.below(2) > 0).then_some(AddPathMode::Both);
            let (open, local) = (open(mode), "192.0.2.1".parse().unwrap());
            write_peer_up(&mut out, &header, local, (179, 179), &open, &open, &[]);
        }
        2 => write_peer_down(&mut out, &header, PeerDown::REMOTE_NO_DATA, &[]),
        3 => write_initiation(&mut out, "renamed", "a test"),
        4 | 5 => {
            let path = draws.below(3) as u32;
            let body = update_with_path_id(&prefix, path);
            write_route_monitoring(&mut out, &header, &body);
        }
        6 => {
            let reach = [0, 1, 2, 4, 192, 0, 2, 1, 0, 24, 203, 0, 113];
            let mut attributes = Vec::new();
            write_attr(&mut attributes, OPTIONAL, code::MP_REACH_NLRI, &reach);
            let sections = Sections {
                attributes: &attributes,
                ..Sections::default()
            };
            let mut multicast = Vec::new();
            rutter_wire::update::write(&mut multicast, &sections);
            write_route_monitoring(&mut out, &header, &multicast);
        }
        _ => write_route_monitoring(&mut out, &header, &update(&[&prefix])),
    }
    out
}

/// The routers of two stations send the same. One station is taken over again and again.
#[test]
fn a_station_with_hand_overs_has_the_table_of_one_without() {
    for seed in 0..8 {
        let mut draws = Draws(seed);
        let (twin, mut world) = (World::start(), World::start());
        let mut routers: Vec<(Router, Router)> = Vec::new();
        for n in 0..3 {
            let mut both = (twin.connect(), world.connect());
            // One after another, so that both stations give the same names.
            for router in [&mut both.0, &mut both.1] {
                router.initiate(&format!("edge{n}"));
                router.peer_up(&peer("192.0.2.9", RibView::AdjRibInPre), None);
            }
            routers.push(both);
        }
        for _ in 0..12 {
            for (of_twin, router) in &mut routers {
                let bytes: Vec<u8> = (0..draws.below(12))
                    .flat_map(|_| message(&mut draws))
                    .collect();
                of_twin.send(&bytes);
                let (one, two) = bytes.split_at(draws.below(bytes.len() as u64 + 1) as usize);
                router.send(one);
                if draws.below(3) == 0 {
                    world = hand_over(world, 1 << draws.below(3));
                }
                router.send(two);
            }
        }
        let is_same = || {
            world.routes() == twin.routes()
                && counts(&world.station.routers()) == counts(&twin.station.routers())
        };
        let begun = std::time::Instant::now();
        while !is_same() {
            assert!(
                begun.elapsed() < TIMEOUT,
                "seed {seed}: {:#?} and {:#?}\n{:#?} and {:#?}",
                world.routes(),
                twin.routes(),
                world.station.routers(),
                twin.station.routers()
            );
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(routers);
        world.expect(&[]);
        twin.end();
        world.end();
    }
}

/// A process that ends still has it.
#[test]
fn the_address_may_be_freed_after_the_start() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = Bmp::new(vec![other.local_addr().unwrap()]);
    let world = std::thread::scope(|scope| {
        let starting = scope.spawn(|| World::of(&settings));
        std::thread::sleep(Duration::from_millis(200));
        drop(other);
        starting.join().unwrap()
    });
    world.connect();
    world.end();
}
