//! A station forwards its routes to another station, which then holds the same routes.

use std::io::Read as _;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use rutter_config::BmpTarget;
use rutter_ingest::bmp::Target;
use rutter_service::Service;
use rutter_wire::bmp::{PeerDown, RibView};
use rutter_wire::capability::AddPathMode;

use crate::router::{two_octet_update, update, update_with_path_id, withdraw};
use crate::{World, peer};

#[test]
fn another_station_holds_the_same() {
    let (from, to) = (World::start(), World::start());
    let mut edge = from.connect();
    edge.initiate("edge1");
    let pre = peer("192.0.2.11", RibView::AdjRibInPre);
    let post = peer("192.0.2.11", RibView::AdjRibInPost);
    edge.peer_up(&pre, Some((AddPathMode::Receive, AddPathMode::Send)));
    edge.monitor(&pre, &update_with_path_id("198.51.100.0/24", 1));
    edge.monitor(&pre, &update_with_path_id("198.51.100.0/24", 2));
    edge.monitor(&post, &update_with_path_id("198.51.100.0/24", 2));
    let narrow = peer("2001:db8::11", RibView::AdjRibInPre).with_as4(false);
    edge.peer_up(&narrow, None);
    edge.monitor(&narrow, &two_octet_update("192.0.2.0/24", &[64501]));
    // The same peer address, but another router.
    let mut core = from.connect();
    core.initiate("core1");
    core.peer_up(&pre, None);
    core.monitor(&pre, &update(&["203.0.113.0/24", "2001:db8:1::/48"]));
    let loc = peer("0.0.0.0", RibView::LocRib);
    core.table_up(&loc, "tab0");
    core.monitor(&loc, &update(&["203.0.113.0/24"]));
    let both = |expected: &[&str]| {
        from.expect(expected);
        to.expect(expected);
    };
    from.expect(&ALL);
    let address = to.station.listen_addresses()[0];
    let target = Target::start(&from.context, &BmpTarget { address }).unwrap();
    to.expect(&ALL);
    // From now on the changes come from the feed.
    edge.monitor(&narrow, &withdraw("192.0.2.0/24"));
    core.monitor(&pre, &update(&["192.0.2.0/24"]));
    let mut expected = ALL.to_vec();
    expected.retain(|route| !route.contains("2001:db8::11"));
    expected.insert(0, "core1/192.0.2.11/adj-in-pre/192.0.2.0/24");
    both(&expected);
    edge.peer_down(&pre, PeerDown::REMOTE_NO_DATA);
    expected.retain(|route| !route.starts_with("edge1"));
    both(&expected);
    drop(core);
    both(&[]);
    from.end();
    Box::new(target).stop();
    to.end();
}

const ALL: [&str; 7] = [
    "core1/192.0.2.11/adj-in-pre/2001:db8:1::/48",
    "core1/192.0.2.11/adj-in-pre/203.0.113.0/24",
    "core1/tab0/loc-rib/203.0.113.0/24",
    "edge1/192.0.2.11/adj-in-post/198.51.100.0/24#2",
    "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24#1",
    "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24#2",
    "edge1/2001:db8::11/adj-in-pre/192.0.2.0/24",
];

/// The station reads a byte now and then. The shutdown does not wait for it.
#[test]
fn a_station_that_hardly_reads_does_not_hold_up_the_end() {
    let world = World::start();
    let mut edge = world.connect();
    edge.initiate("edge1");
    let pre = peer("192.0.2.11", RibView::AdjRibInPre);
    edge.peer_up(&pre, None);
    // These routes exceed the socket buffers.
    for high in 0..120 {
        let some: Vec<String> = (0..800)
            .map(|n| format!("10.{high}.{}.{}/32", n / 250, n % 250))
            .collect();
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        edge.monitor(&pre, &update(&some));
    }
    world.expect_routes(96_000);
    let station = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = station.local_addr().unwrap();
    let target = Target::start(&world.context, &BmpTarget { address }).unwrap();
    // One connection is named after the collector, the other after the router.
    let mut connections = [station.accept().unwrap().0, station.accept().unwrap().0];
    let reading = thread::spawn(move || {
        let mut octet = [0];
        while connections
            .iter_mut()
            .all(|one| one.read(&mut octet).is_ok_and(|count| count > 0))
        {
            thread::sleep(Duration::from_millis(20));
        }
    });
    thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    world.context.shutdown.trigger();
    Box::new(target).stop();
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    world.end();
    drop(reading);
}
