//! The station over TCP: the routes of monitored routers enter the table.

mod handover;
mod hostile;
mod odd;
#[path = "../../../rutter-mrt/tests/records/mod.rs"]
mod records;
mod router;
mod scale;
mod slow;
mod target;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_config::Bmp;
use rutter_ingest::bmp::{Station, StationError};
use rutter_net::{Asn, Family};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig, Source};
use rutter_service::{Context, Service, ShutdownSignal, StatusRegistry};
use rutter_wire::bmp::{PeerDown, PeerHeader, PeerType, RibView};
use rutter_wire::capability::AddPathMode;

use crate::router::{Router, prefix, update, update_with_path_id};

/// Exceeds the time that any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

struct World {
    context: Context,
    station: Station,
}

impl World {
    fn start() -> Self {
        World::with(20_000, &[])
    }

    fn with(max_peers: usize, allow: &[&str]) -> Self {
        let mut settings = Bmp::new(vec!["127.0.0.1:0".parse().unwrap()]);
        settings.max_peers = max_peers;
        settings.allow = allow.iter().map(|text| text.parse().unwrap()).collect();
        World::of(&settings)
    }

    fn of(settings: &Bmp) -> Self {
        World::start_with(|context| Station::start(context, settings))
    }

    /// A station whose routers wait this long for a name in use.
    fn waiting(name_wait: Duration) -> Self {
        let settings = Bmp::new(vec!["127.0.0.1:0".parse().unwrap()]);
        World::start_with(|context| Station::with_name_wait(context, &settings, name_wait))
    }

    fn start_with(start: impl FnOnce(&Context) -> Result<Station, StationError>) -> Self {
        let context = context(2);
        let station = start(&context).unwrap();
        World { context, station }
    }

    fn connect(&self) -> Router {
        Router::connect(self.station.listen_addresses()[0])
    }

    /// Each route as `router/peer/view/prefix#path`.
    fn routes(&self) -> Vec<String> {
        let snapshot = self.context.rib.snapshot();
        let mut routes = Vec::new();
        for family in Family::ALL {
            for destination in snapshot.destinations(family) {
                for route in &destination.routes {
                    assert_eq!(route.reject, None);
                    // A peer that was added while the snapshot was taken.
                    let Some(peer) = snapshot.peer(route.peer) else {
                        continue;
                    };
                    let monitored = peer.neighbor.monitored.as_ref().unwrap();
                    assert_eq!(monitored.source, Source::Bmp);
                    let path = match route.path_id {
                        0 => String::new(),
                        id => format!("#{id}"),
                    };
                    routes.push(format!(
                        "{}/{}/{}/{}{path}",
                        monitored.router,
                        peer.neighbor.name,
                        monitored.view.name(),
                        destination.prefix
                    ));
                }
            }
        }
        routes.sort();
        routes
    }

    /// Waits until the table holds exactly these routes.
    fn expect(&self, expected: &[&str]) {
        let begun = Instant::now();
        while self.routes() != expected {
            assert!(
                begun.elapsed() < TIMEOUT,
                "{:#?} instead of {expected:#?}",
                self.routes()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this many routers are connected.
    fn expect_routers(&self, expected: usize) {
        let begun = Instant::now();
        while self.station.routers().len() != expected {
            assert!(begun.elapsed() < TIMEOUT, "{:?}", self.station.routers());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the table holds this many routes.
    fn expect_routes(&self, expected: u32) {
        let held = || -> u32 {
            let peers = self.context.rib.peers();
            let counts = peers.iter().flat_map(|peer| &peer.counts);
            counts.map(|counts| counts.received).sum()
        };
        let begun = Instant::now();
        while held() != expected {
            assert!(begun.elapsed() < TIMEOUT, "{} routes", held());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(self) {
        self.context.shutdown.trigger();
        Box::new(self.station).stop();
    }
}

/// A collector with an empty table of so many shards.
fn context(shards: usize) -> Context {
    let rib = Rib::new(RibConfig {
        shards,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings {
            local_asn: Asn(64500),
            ..ExportSettings::default()
        })),
        seed: 7 + shards as u64,
        always_compare_med: false,
    });
    Context {
        rib: Arc::new(rib),
        collector: "here".into(),
        shutdown: ShutdownSignal::new(),
        status: StatusRegistry::default(),
    }
}

fn peer(address: &str, view: RibView) -> PeerHeader {
    PeerHeader::global(address.parse().unwrap(), Asn(64501), 9, view)
}

#[test]
fn every_view_of_a_session_is_a_peer_of_its_own() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["198.51.100.0/24", "2001:db8:1::/48"]));
    let post = peer("192.0.2.11", RibView::AdjRibInPost);
    router.monitor(&post, &update(&["198.51.100.0/24"]));
    let out = peer("192.0.2.11", RibView::AdjRibOutPost);
    router.monitor(&out, &update(&["203.0.113.0/24"]));
    let loc = peer("0.0.0.0", RibView::LocRib);
    router.peer_up(&loc, None);
    router.monitor(&loc, &update(&["198.51.100.0/24"]));
    world.expect(&[
        "edge1/192.0.2.11/adj-in-post/198.51.100.0/24",
        "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24",
        "edge1/192.0.2.11/adj-in-pre/2001:db8:1::/48",
        "edge1/192.0.2.11/adj-out-post/203.0.113.0/24",
        "edge1/loc-rib/loc-rib/198.51.100.0/24",
    ]);
    router.peer_down(&header, PeerDown::REMOTE_NO_DATA);
    world.expect(&["edge1/loc-rib/loc-rib/198.51.100.0/24"]);
    drop(router);
    world.expect(&[]);
    world.end();
}

#[test]
fn instances_and_routers_are_kept_apart() {
    let world = World::start();
    let mut one = world.connect();
    one.initiate("edge1");
    let red = PeerHeader {
        kind: PeerType::RouteDistinguisher,
        distinguisher: 1,
        ..peer("192.0.2.11", RibView::AdjRibInPre)
    };
    let blue = PeerHeader {
        distinguisher: 2,
        ..red
    };
    for header in [&red, &blue] {
        one.peer_up(header, None);
        one.monitor(header, &update(&["198.51.100.0/24"]));
    }
    let mut two = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    two.peer_up(&header, None);
    two.monitor(&header, &update(&["198.51.100.0/24"]));
    let of_red = "edge1/192.0.2.11 0:1/adj-in-pre/198.51.100.0/24";
    let of_blue = "edge1/192.0.2.11 0:2/adj-in-pre/198.51.100.0/24";
    let of_two = "127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24";
    world.expect(&[of_two, of_red, of_blue]);
    one.peer_down(&blue, PeerDown::DECONFIGURED);
    world.expect(&[of_two, of_red]);
    world.expect_routers(2);
    one.terminate("maintenance");
    world.expect(&[of_two]);
    world.end();
}

/// A VPN and a local instance with the same number, and two tables with the same name.
#[test]
fn instances_with_equal_names_are_distinct() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    let vpn = PeerHeader {
        kind: PeerType::RouteDistinguisher,
        distinguisher: 1,
        ..peer("192.0.2.11", RibView::AdjRibInPre)
    };
    let local = PeerHeader {
        kind: PeerType::Local,
        ..vpn
    };
    // A VPN with the number of the default instance.
    let zero = PeerHeader {
        distinguisher: 0,
        ..vpn
    };
    let global = peer("192.0.2.11", RibView::AdjRibInPre);
    for header in [&vpn, &local, &zero, &global] {
        router.peer_up(header, None);
        router.monitor(header, &update(&["198.51.100.0/24"]));
    }
    let red = PeerHeader {
        distinguisher: 1,
        ..peer("0.0.0.0", RibView::LocRib)
    };
    let blue = PeerHeader {
        distinguisher: 2,
        ..red
    };
    for header in [&red, &blue] {
        router.table_up(header, "vrf");
        router.monitor(header, &update(&["198.51.100.0/24"]));
    }
    let [of_global, of_zero, of_local, of_vpn, of_red, of_blue] = [
        "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24",
        "edge1/192.0.2.11 0:0/adj-in-pre/198.51.100.0/24",
        "edge1/192.0.2.11 0:1 local/adj-in-pre/198.51.100.0/24",
        "edge1/192.0.2.11 0:1/adj-in-pre/198.51.100.0/24",
        "edge1/vrf 0:1/loc-rib/198.51.100.0/24",
        "edge1/vrf 0:2/loc-rib/198.51.100.0/24",
    ];
    world.expect(&[of_zero, of_local, of_vpn, of_global, of_red, of_blue]);
    router.peer_down(&vpn, PeerDown::DECONFIGURED);
    router.peer_down(&blue, PeerDown::DECONFIGURED);
    world.expect(&[of_zero, of_local, of_global, of_red]);
    world.end();
}

#[test]
fn capabilities_of_both_opens_decide_on_path_identifiers() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    // The router receives several paths for a prefix, and sends one.
    router.peer_up(&header, Some((AddPathMode::Receive, AddPathMode::Both)));
    router.monitor(&header, &update_with_path_id("198.51.100.0/24", 1));
    router.monitor(&header, &update_with_path_id("198.51.100.0/24", 2));
    let out = peer("192.0.2.11", RibView::AdjRibOutPost);
    router.monitor(&out, &update(&["198.51.100.0/24"]));
    let route = "127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24";
    world.expect(&[
        &format!("{route}#1"),
        &format!("{route}#2"),
        "127.0.0.1/192.0.2.11/adj-out-post/198.51.100.0/24",
    ]);
    world.end();
}

#[test]
fn path_identifiers_that_a_router_leaves_out_are_not_looked_for() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, Some((AddPathMode::Receive, AddPathMode::Both)));
    router.monitor(&header, &update(&["198.51.100.0/24"]));
    // These bytes could also be one route with a path identifier.
    router.monitor(&header, &update(&["192.0.2.0/24", "203.0.113.0/24"]));
    let route = "127.0.0.1/192.0.2.11/adj-in-pre";
    world.expect(&[
        &format!("{route}/192.0.2.0/24"),
        &format!("{route}/198.51.100.0/24"),
        &format!("{route}/203.0.113.0/24"),
    ]);
    world.end();
}

#[test]
fn two_octet_as_numbers_are_read_as_such() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre).with_as4(false);
    router.peer_up(&header, None);
    router.monitor(
        &header,
        &router::two_octet_update("198.51.100.0/24", &[64501, 64502]),
    );
    world.expect(&["127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24"]);
    let path = |prefix| {
        let path = world.context.rib.destination(prefix, |destination| {
            let attributes = destination.routes[0].attrs.attributes();
            attributes.as_path().unwrap().to_string()
        });
        path.unwrap()
    };
    assert_eq!(path(prefix("198.51.100.0/24")), "64501 64502");
    // The form may change within a session.
    router.monitor(&header.with_as4(true), &update(&["203.0.113.0/24"]));
    world.expect(&[
        "127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24",
        "127.0.0.1/192.0.2.11/adj-in-pre/203.0.113.0/24",
    ]);
    assert_eq!(path(prefix("203.0.113.0/24")), "64501 200000");
    world.end();
}

#[test]
fn messages_that_do_not_fit_are_counted_and_disturb_no_session() {
    let world = World::with(1, &["127.0.0.0/8"]);
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    let unknown = peer("192.0.2.99", RibView::AdjRibInPre);
    router.monitor(&unknown, &update(&["192.0.2.0/24"]));
    router.send(&[3, 0, 0, 0, 8, 0, 1, 2]);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["198.51.100.0/24"]));
    // A second view would exceed the limit of peers.
    router.monitor(
        &peer("192.0.2.11", RibView::AdjRibInPost),
        &update(&["198.51.100.0/24"]),
    );
    let route = "127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24";
    world.expect(&[route]);
    router.statistics(&header, 7, 4_711);
    let begun = Instant::now();
    let status = loop {
        let status = world.station.routers().remove(0);
        if status.peers.iter().any(|peer| !peer.counters.is_empty()) {
            break status;
        }
        assert!(begun.elapsed() < TIMEOUT, "{status:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!((status.faults, status.unknown), (1, 2));
    let counter = &status.peers[0].counters[0];
    assert_eq!(
        (counter.name, counter.value),
        (Some("routes in Adj-RIB-In"), 4_711)
    );
    router.send(b"this is not BMP");
    world.expect(&[]);
    world.end();
}

#[test]
fn a_thousand_sessions_come_and_go() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    let header = |n: u32| {
        let address = std::net::Ipv4Addr::from_bits(0x0a00_0000 + n);
        peer(&address.to_string(), RibView::AdjRibInPre)
    };
    for n in 0..1_000 {
        router.peer_up(&header(n), None);
        router.monitor(&header(n), &update(&["198.51.100.0/24", "203.0.113.0/24"]));
    }
    let begun = Instant::now();
    while world.routes().len() < 2_000 {
        assert!(begun.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(world.context.rib.peers().len(), 1_000);
    drop(router);
    world.expect(&[]);
    let begun = Instant::now();
    while !world.context.rib.peers().is_empty() {
        assert!(begun.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(5));
    }
    world.end();
}

#[test]
fn every_update_of_a_message_is_taken() {
    let world = World::waiting(Duration::ZERO);
    let mut router = world.connect();
    router.initiate("edge1");
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    let both = [update(&["198.51.100.0/24"]), update(&["203.0.113.0/24"])].concat();
    router.monitor(&header, &both);
    world.expect(&[EDGE, "edge1/192.0.2.11/adj-in-pre/203.0.113.0/24"]);
    world.end();
}

#[test]
fn a_router_waits_for_its_name_until_its_old_connection_is_gone() {
    let world = World::waiting(Duration::from_secs(3_600));
    let old = announcing(&world, "edge1", "198.51.100.0/24");
    world.expect(&[EDGE]);
    let _again = announcing(&world, "edge1", "203.0.113.0/24");
    // The sysName that BIRD sends if none is configured.
    let _without_name = announcing(&world, "Not defined", "198.51.100.0/24");
    let others = "127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24";
    world.expect(&[others, EDGE]);
    drop(old);
    let second = "edge1/192.0.2.11/adj-in-pre/203.0.113.0/24";
    world.expect(&[others, second]);
    world.end();
}

/// A router with a name and one route.
fn announcing(world: &World, name: &str, prefix: &str) -> Router {
    let mut router = world.connect();
    router.initiate(name);
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&[prefix]));
    router
}

/// The route of the first router `edge1`.
const EDGE: &str = "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24";

#[test]
fn a_router_whose_name_is_in_use_gets_a_number() {
    let world = World::waiting(Duration::ZERO);
    let old = announcing(&world, "edge1", "198.51.100.0/24");
    world.expect(&[EDGE]);
    let new = announcing(&world, "edge1", "203.0.113.0/24");
    let other = "edge1 #2/192.0.2.11/adj-in-pre/203.0.113.0/24";
    world.expect(&[other, EDGE]);
    // A name is free again once its connection is closed.
    drop(old);
    world.expect(&[other]);
    let old = announcing(&world, "edge1", "198.51.100.0/24");
    world.expect(&[other, EDGE]);
    drop((old, new));
    world.expect(&[]);
    world.end();
}

#[test]
fn only_those_that_are_allowed_may_connect() {
    let world = World::with(10, &["192.0.2.0/24"]);
    let mut router = world.connect();
    assert!(router.is_closed());
    world.end();
}
