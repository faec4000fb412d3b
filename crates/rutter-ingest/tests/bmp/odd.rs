//! Reports that RFCs do not allow: their routes are shown, and the status says what is odd.

use std::net::IpAddr;
use std::time::Instant;

use rutter_ingest::bmp::RouterStatus;
use rutter_wire::bmp::{PeerDown, RibView};

use crate::records::hex;
use crate::router::{Router, prefix, update, update_with_path_id};
use crate::{TIMEOUT, World, peer};

/// FRR 10.8: 10.0.1.0/24, which it originates itself.
const OF_FRR_10: &str = "0000 0016 40010100 50020000 400304 00000000 800404 00000000 180a0001";
/// FRR 8.0: 100.105.30.0/24 without NEXT_HOP.
const OF_FRR_8: &str = "0000 0012 40010102 5002000a0202fbf0003a0000fbf0 1864691e";

/// 2001:db8:1:2::/64 with the next hop `::`.
const UNSPECIFIED_REACH: &str = "0000 0029 40010100 50020000
    800e1e 000201 10 00000000000000000000000000000000 00 40 20010db800010002";

/// An UPDATE with its header.
fn message(update: &str) -> Vec<u8> {
    crate::records::message(&hex(update))
}

impl World {
    fn status_with(&self, is_expected: impl Fn(&RouterStatus) -> bool) -> RouterStatus {
        let begun = Instant::now();
        loop {
            let status = self.station.routers().remove(0);
            if is_expected(&status) {
                return status;
            }
            assert!(begun.elapsed() < TIMEOUT, "{status:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// The next hop of a prefix's only route, and whether the router originates the route.
    fn next_hop(&self, text: &str) -> (Option<IpAddr>, bool) {
        let snapshot = self.context.rib.snapshot();
        let of_route = self.context.rib.destination(prefix(text), |destination| {
            let route = &destination.routes[0];
            let neighbor = &snapshot.peer(route.peer).unwrap().neighbor;
            let view = neighbor.monitored.as_ref().unwrap().view;
            let next_hop = route.attrs.next_hop();
            (next_hop, view.is_locally_originated(next_hop))
        });
        of_route.unwrap()
    }
}

fn loc_rib() -> rutter_wire::bmp::PeerHeader {
    peer("0.0.0.0", RibView::LocRib)
}

#[test]
fn a_route_of_the_router_itself_is_kept_and_marked() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    router.peer_up(&loc_rib(), None);
    router.monitor(&loc_rib(), &message(OF_FRR_10));
    world.expect(&["edge1/loc-rib/loc-rib/10.0.1.0/24"]);
    let unspecified = "0.0.0.0".parse().ok();
    assert_eq!(world.next_hop("10.0.1.0/24"), (unspecified, true));
    // The same in MP_REACH_NLRI and in an Adj-RIB-Out.
    let out = peer("192.0.2.11", RibView::AdjRibOutPost);
    router.peer_up(&out, None);
    router.monitor(&out, &message(UNSPECIFIED_REACH));
    world.expect(&[
        "edge1/192.0.2.11/adj-out-post/2001:db8:1:2::/64",
        "edge1/loc-rib/loc-rib/10.0.1.0/24",
    ]);
    let unspecified = "::".parse().ok();
    assert_eq!(world.next_hop("2001:db8:1:2::/64"), (unspecified, true));
    let status = world.status_with(|status| status.messages == 5);
    assert_eq!((status.malformed, status.without_next_hop), (0, 0));
    world.end();
}

/// In an Adj-RIB-In such a route is not the router's own. It is shown all the same, in both families.
#[test]
fn a_received_route_with_such_a_next_hop_is_shown_without_a_mark() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &message(OF_FRR_10));
    router.monitor(&header, &message(UNSPECIFIED_REACH));
    world.expect(&[
        "127.0.0.1/192.0.2.11/adj-in-pre/10.0.1.0/24",
        "127.0.0.1/192.0.2.11/adj-in-pre/2001:db8:1:2::/64",
    ]);
    for (prefix, next_hop) in [("10.0.1.0/24", "0.0.0.0"), ("2001:db8:1:2::/64", "::")] {
        assert_eq!(world.next_hop(prefix), (next_hop.parse().ok(), false));
    }
    let status = world.status_with(|status| status.messages == 3);
    assert_eq!((status.malformed, status.without_next_hop), (0, 0));
    world.end();
}

#[test]
fn routes_without_a_next_hop_are_shown_and_counted() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &message(OF_FRR_8));
    world.expect(&["127.0.0.1/192.0.2.11/adj-in-pre/100.105.30.0/24"]);
    assert_eq!(world.next_hop("100.105.30.0/24"), (None, false));
    let status = world.status_with(|status| status.messages == 2);
    assert_eq!((status.without_next_hop, status.malformed), (1, 0));
    world.end();
}

#[test]
fn a_loc_rib_without_a_peer_up_is_shown() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    router.monitor(&loc_rib(), &message(OF_FRR_8));
    router.monitor(&loc_rib(), &update(&["198.51.100.0/24"]));
    // Another session without a Peer Up is not known.
    let unknown = peer("192.0.2.99", RibView::AdjRibInPre);
    router.monitor(&unknown, &update(&["192.0.2.0/24"]));
    world.expect(&[
        "edge1/loc-rib/loc-rib/100.105.30.0/24",
        "edge1/loc-rib/loc-rib/198.51.100.0/24",
    ]);
    let status = world.status_with(|status| status.messages == 4);
    let counts = (
        status.without_peer_up,
        status.without_next_hop,
        status.unknown,
    );
    assert_eq!((counts, status.peers.len()), ((2, 1, 1), 1));
    // A Peer Up that comes late keeps the routes: the router does not report them again.
    router.peer_up(&loc_rib(), None);
    router.monitor(&loc_rib(), &update(&["203.0.113.0/24"]));
    world.expect(&[
        "edge1/loc-rib/loc-rib/100.105.30.0/24",
        "edge1/loc-rib/loc-rib/198.51.100.0/24",
        "edge1/loc-rib/loc-rib/203.0.113.0/24",
    ]);
    let status = world.status_with(|status| status.messages == 6);
    assert_eq!(status.without_peer_up, 2);
    router.peer_down(&loc_rib(), PeerDown::REMOTE_NO_DATA);
    world.expect(&[]);
    world.end();
}

/// No Peer Up says whether path identifiers are present, but the UPDATE is only valid with them.
#[test]
fn path_identifiers_without_a_peer_up_are_recognized() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    for path_id in [0xffff_ff01, 0xffff_ff02] {
        router.monitor(&loc_rib(), &update_with_path_id("198.51.100.0/24", path_id));
    }
    let route = "edge1/loc-rib/loc-rib/198.51.100.0/24";
    world.expect(&[
        &format!("{route}#{}", 0xffff_ff01u32),
        &format!("{route}#{}", 0xffff_ff02u32),
    ]);
    world.end();
}

/// Without its path identifier, this UPDATE would be valid, too: as 0.0.0.0/0 three times and two short prefixes.
#[test]
fn a_prefix_that_occurs_again_is_a_path_identifier() {
    let world = World::start();
    let mut router = world.connect();
    router.initiate("edge1");
    let text = "0000 0014 40010100 400206 0201 0000fbf5 400304 c000020b 00000001 180a0001";
    router.monitor(&loc_rib(), &message(text));
    world.expect(&["edge1/loc-rib/loc-rib/10.0.1.0/24#1"]);
    world.end();
}

/// The length of the attributes exceeds the UPDATE. It still names 10.20.0.0/24 as withdrawn.
#[test]
fn an_update_whose_lengths_exceed_it_is_read_up_to_its_end() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    router.monitor(&header, &update(&["10.20.0.0/24", "198.51.100.0/24"]));
    let exceeding = "0004 180a1400 01f4 40010100 40020a 0202 0000fbf5 0000fde8 400304 c0000201";
    router.monitor(&header, &message(exceeding));
    world.expect(&["127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24"]);
    let status = world.status_with(|status| status.messages == 3);
    assert_eq!(status.malformed, 1);
    world.end();
}

/// Without a Peer Up, too, two connections never have one name.
#[test]
fn a_loc_rib_without_a_peer_up_waits_for_the_router_s_name() {
    let world = World::waiting(std::time::Duration::from_secs(3_600));
    let announcing = |prefix: &str| -> Router {
        let mut router = world.connect();
        router.initiate("edge1");
        router.monitor(&loc_rib(), &update(&[prefix]));
        router
    };
    let old = announcing("198.51.100.0/24");
    world.expect(&["edge1/loc-rib/loc-rib/198.51.100.0/24"]);
    let _again = announcing("203.0.113.0/24");
    drop(old);
    world.expect(&["edge1/loc-rib/loc-rib/203.0.113.0/24"]);
    world.end();
}

/// AS 0 in the path, and an attribute that is cut off.
#[test]
fn malformed_updates_are_shown_as_far_as_they_can_be_read() {
    let world = World::start();
    let mut router = world.connect();
    let header = peer("192.0.2.11", RibView::AdjRibInPre);
    router.peer_up(&header, None);
    let zero = "0000 0018 40010100 40020a 0202 0000fbf5 00000000 400304 c000020b 18c63364";
    router.monitor(&header, &message(zero));
    let cut = "0000 0019 40010100 400206 0201 0000fbf5 400304 c000020b c008c8 0102 18cb0071";
    router.monitor(&header, &message(cut));
    world.expect(&[
        "127.0.0.1/192.0.2.11/adj-in-pre/198.51.100.0/24",
        "127.0.0.1/192.0.2.11/adj-in-pre/203.0.113.0/24",
    ]);
    let path = world
        .context
        .rib
        .destination(prefix("198.51.100.0/24"), |destination| {
            let attributes = destination.routes[0].attrs.attributes();
            attributes.as_path().map(|path| path.to_string())
        });
    assert_eq!(path.flatten().as_deref(), Some("64501 0"));
    assert_eq!(
        world.status_with(|status| status.messages == 3).malformed,
        2
    );
    world.end();
}
