//! What is collected goes on to another station, which then holds the same.

use rutter_collector::Service;
use rutter_collector::bmp::Target;
use rutter_config::BmpTarget;
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
    // The same address, but another router.
    let mut core = from.connect();
    core.initiate("core1");
    core.peer_up(&pre, None);
    core.monitor(&pre, &update(&["203.0.113.0/24", "2001:db8:1::/48"]));
    let loc = peer("0.0.0.0", RibView::LocRib);
    core.peer_up(&loc, None);
    core.monitor(&loc, &update(&["203.0.113.0/24"]));
    let both = |expected: &[&str]| {
        from.expect(expected);
        to.expect(expected);
    };
    from.expect(&ALL);
    let address = to.station.listen_addresses()[0];
    let target = Target::start(&from.context, &BmpTarget { address }).unwrap();
    to.expect(&ALL);
    // From here on the feed tells.
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
    "core1/loc-rib/loc-rib/203.0.113.0/24",
    "edge1/192.0.2.11/adj-in-post/198.51.100.0/24#2",
    "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24#1",
    "edge1/192.0.2.11/adj-in-pre/198.51.100.0/24#2",
    "edge1/2001:db8::11/adj-in-pre/192.0.2.0/24",
];
