//! Capabilities and options of a session, each with the daemons that support them.

use rutter_interop::bird::Bird;
use rutter_interop::exabgp::ExaBgp;
use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::openbgpd::OpenBgpd;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{
    Lab, Origin, Peer, Route, Setup, Speaker, client, holds, keeps_holding, rutter_holds, up,
};
use std::time::Duration;

const A: u32 = 2_101;
const B: u32 = 2_102;
const C: u32 = 202_103;

/// Rutter with three clients at hosts 2, 3 and 4: the keys of their members and their ends of the sessions.
struct Trio<X, Y, Z> {
    a: X,
    b: Y,
    c: Z,
    rutter: Rutter,
    lab: Lab,
}

type Start<'a, S> = (&'a str, fn(Setup) -> S, fn(&mut Peer));

fn trio<X: Speaker, Y: Speaker, Z: Speaker>(
    a: Start<'_, X>,
    b: Start<'_, Y>,
    c: Start<'_, Z>,
) -> Trio<X, Y, Z> {
    let lab = Lab::new();
    let keys = [(2, A, a.0), (3, B, b.0), (4, C, c.0)];
    let members = keys.map(|(host, asn, keys)| member(lab.address(host), asn, keys));
    let mut rutter = Rutter::start(&lab, &members.concat());
    let mut x = (a.1)(client(&lab, &rutter, 2, A, a.2));
    let mut y = (b.1)(client(&lab, &rutter, 3, B, b.2));
    let mut z = (c.1)(client(&lab, &rutter, 4, C, c.2));
    up(&lab, &mut rutter, 2, &mut x);
    up(&lab, &mut rutter, 3, &mut y);
    up(&lab, &mut rutter, 4, &mut z);
    Trio {
        lab,
        rutter,
        a: x,
        b: y,
        c: z,
    }
}

fn plain(_: &mut Peer) {}

/// A path to one of two prefixes (one per family), from host `host`.
fn path(family: u8, asn: u32, host: u8, second: u32) -> Route {
    match family {
        4 => Route::new("45.30.0.0/16", &format!("10.77.0.{host}"), &[asn, second]),
        _ => Route::new(
            "2a0e:30::/32",
            &format!("2a0e:ffff::{host}"),
            &[asn, second],
        ),
    }
    .med(second)
}

#[test]
fn add_path_brings_all_paths_to_those_who_want_them() {
    const KEYS: &str = "add-path = { receive = true, send = true }";
    fn both(peer: &mut Peer) {
        peer.add_path_receive = true;
        peer.add_path_send = true;
    }
    let mut trio = trio(
        (KEYS, Bird::start, both),
        (KEYS, ExaBgp::start, both),
        ("", GoBgp::start, plain),
    );
    for family in [4, 6] {
        let of_a = [path(family, A, 2, 100), path(family, A, 2, 101)];
        let of_b = [
            path(family, B, 3, 100).path_id(7),
            path(family, B, 3, 102).path_id(8),
        ];
        let of_c = [path(family, C, 4, 103)];
        trio.a.announce(&of_a);
        trio.b.announce(&of_b);
        trio.c.announce(&of_c);
        // Each client receives the paths of all others.
        holds(&trio.a, of_b.iter().chain(&of_c));
        holds(&trio.b, of_a.iter().chain(&of_c));
        // Without Add-Path: the best path of the others. The paths differ in MED and neighbor only, so the lower router
        // id decides.
        holds(&trio.c, [&of_a[0]]);
        rutter_holds(&trio.rutter, trio.lab.address(3), &of_b);

        // One of two paths is withdrawn, then the rest.
        trio.b.withdraw(&[of_b[0].prefix]);
        holds(&trio.a, &of_c);
        trio.a.withdraw(&[of_a[0].prefix]);
        holds(&trio.b, &of_c);
        holds(&trio.c, []);
        trio.c.withdraw(&[of_c[0].prefix]);
        holds(&trio.a, []);
        holds(&trio.b, []);
    }
}

#[test]
fn add_path_reaches_frr_gobgp_and_openbgpd() {
    const KEYS: &str = "add-path = { receive = true, send = true }";
    fn receive(peer: &mut Peer) {
        peer.add_path_receive = true;
        peer.add_path_send = false;
    }
    let mut trio = trio(
        (KEYS, Frr::start, receive),
        (KEYS, OpenBgpd::start, receive),
        (KEYS, GoBgp::start, |peer| {
            peer.add_path_receive = true;
            peer.add_path_send = true;
        }),
    );
    for family in [4, 6] {
        let of_a = [path(family, A, 2, 100)];
        let of_b = [Route {
            as_path: vec![B, B],
            ..path(family, B, 3, 100)
        }];
        let of_c = [
            path(family, C, 4, 103).path_id(1),
            path(family, C, 4, 104).path_id(2),
        ];
        trio.a.announce(&of_a);
        trio.b.announce(&of_b);
        trio.c.announce(&of_c);
        holds(&trio.a, of_b.iter().chain(&of_c));
        holds(&trio.b, of_a.iter().chain(&of_c));
        holds(&trio.c, of_a.iter().chain(&of_b));
        trio.a.withdraw(&[of_a[0].prefix]);
        holds(&trio.b, &of_c);
        holds(&trio.c, &of_b);
        trio.b.withdraw(&[of_a[0].prefix]);
        holds(&trio.a, &of_c);
        holds(&trio.c, []);
        // The next family is compared separately.
        trio.c.withdraw(&[of_c[0].prefix]);
        holds(&trio.a, []);
        holds(&trio.b, []);
    }
}

#[test]
fn md5_with_bird_frr_and_gobgp() {
    const KEYS: &str = "password = \"a-shared-key\"";
    fn key(peer: &mut Peer) {
        peer.password = Some("a-shared-key".to_owned());
    }
    let mut trio = trio(
        (KEYS, Bird::start, key),
        (KEYS, Frr::start, key),
        (KEYS, GoBgp::start, key),
    );
    let route = path(4, A, 2, 100);
    trio.a.announce(std::slice::from_ref(&route));
    holds(&trio.b, [&route]);
    holds(&trio.c, [&route]);
}

#[test]
fn md5_with_exabgp_and_not_with_another_key_or_none() {
    let lab = Lab::new();
    let members = [(2, A), (3, B), (4, C)]
        .map(|(host, asn)| member(lab.address(host), asn, "password = \"a-shared-key\""));
    let mut rutter = Rutter::start(&lab, &members.concat());
    let wrong = |peer: &mut Peer| peer.password = Some("another-key".to_owned());
    let right = |peer: &mut Peer| peer.password = Some("a-shared-key".to_owned());
    let bird = Bird::start(client(&lab, &rutter, 2, A, wrong));
    let gobgp = GoBgp::start(client(&lab, &rutter, 4, C, plain));
    let mut exabgp = ExaBgp::start(client(&lab, &rutter, 3, B, right));
    up(&lab, &mut rutter, 3, &mut exabgp);
    // The two daemons had the time of the working session and two more seconds. They retry each second.
    keeps_holding(Duration::from_secs(2), &exabgp, []);
    assert!(!bird.established() && !rutter.established(lab.address(2)));
    assert!(!gobgp.established() && !rutter.established(lab.address(4)));
}

#[test]
fn two_octet_speakers_see_four_octet_paths() {
    fn old(peer: &mut Peer) {
        peer.as4 = false;
    }
    let mut trio = trio(
        ("", Bird::start, old),
        ("", OpenBgpd::start, old),
        ("", ExaBgp::start, plain),
    );
    // BIRD sends AS_TRANS and AS4_PATH; the others must receive the real numbers.
    let of_a = path(4, A, 2, 200_101);
    trio.a.announce(std::slice::from_ref(&of_a));
    holds(&trio.c, [&of_a]);
    holds(&trio.b, [&of_a]);
    // The reverse: a path from an AS that does not fit into two octets.
    let of_c = Route::new("45.31.0.0/16", "10.77.0.4", &[C, 3_333, 200_102])
        .origin(Origin::Egp)
        .community(3_333, 1);
    trio.c.announce(std::slice::from_ref(&of_c));
    holds(&trio.a, [&of_c]);
    holds(&trio.b, [&of_a, &of_c]);
    rutter_holds(&trio.rutter, trio.lab.address(2), [&of_a]);
}

#[test]
fn ipv4_routes_with_ipv6_next_hops() {
    const KEYS: &str = "extended-next-hop = true";
    fn extended(peer: &mut Peer) {
        peer.extended_next_hop = true;
    }
    let mut trio = trio(
        (KEYS, ExaBgp::start, extended),
        (KEYS, GoBgp::start, extended),
        ("", Bird::start, plain),
    );
    let over_ipv6 = Route::new("45.32.0.0/16", "2a0e:ffff::2", &[A, 3_333]);
    let over_ipv4 = Route::new("45.33.0.0/16", "10.77.0.2", &[A]);
    trio.a.announce(&[over_ipv6.clone(), over_ipv4.clone()]);
    holds(&trio.b, [&over_ipv6, &over_ipv4]);
    // A client that did not negotiate the option cannot receive the route.
    holds(&trio.c, [&over_ipv4]);
}

#[test]
fn gtsm_with_exabgp_and_frr_and_not_from_afar() {
    let lab = Lab::new();
    let members = [(2, A), (3, B), (4, C)]
        .map(|(host, asn)| member(lab.address(host), asn, "ttl-security = 1"));
    let mut rutter = Rutter::start(&lab, &members.concat());
    let near = |peer: &mut Peer| peer.ttl_security = true;
    let mut exabgp = ExaBgp::start(client(&lab, &rutter, 2, A, near));
    let mut frr = Frr::start(client(&lab, &rutter, 3, B, near));
    // Its packets have TTL 64, as if from 191 hops away.
    let gobgp = GoBgp::start(client(&lab, &rutter, 4, C, plain));
    up(&lab, &mut rutter, 2, &mut exabgp);
    up(&lab, &mut rutter, 3, &mut frr);
    let route = path(4, A, 2, 100);
    exabgp.announce(std::slice::from_ref(&route));
    holds(&frr, [&route]);
    keeps_holding(Duration::from_secs(2), &frr, [&route]);
    assert!(!gobgp.established() && !rutter.established(lab.address(4)));
}
