//! Tests each daemon's adapter without Rutter: against GoBGP, as a plain eBGP neighbor, in both directions.

use std::collections::BTreeSet;

use rutter_interop::bird::Bird;
use rutter_interop::exabgp::ExaBgp;
use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::openbgpd::OpenBgpd;
use rutter_interop::{
    Lab, Origin, Peer, Route, Setup, Speaker, eventually, routes_without_path_ids,
};

const A: u32 = 64_601;
const B: u32 = 64_602;

/// The routes that a daemon announces: one with every attribute and a plain one, in both families. FRR sends a MED with
/// every network; OpenBGPD sends only its own AS.
fn routes(asn: u32, tail: &[u32], host: u8) -> Vec<Route> {
    let path: Vec<u32> = std::iter::once(asn).chain(tail.iter().copied()).collect();
    let low = u16::from(host);
    vec![
        Route::new(
            &format!("45.10.{host}.0/24"),
            &format!("10.77.0.{host}"),
            &path,
        )
        .origin(Origin::Incomplete)
        .med(7)
        .community(65_010, low)
        .community(65_010, 900)
        .large_community(4_200_000_010, 1, 2)
        .route_target(65_010, 3),
        Route::new(
            &format!("45.10.{host}.128/25"),
            &format!("10.77.0.{host}"),
            &[asn],
        )
        .med(1),
        Route::new(
            &format!("2a0e:10:{host:x}::/48"),
            &format!("2a0e:ffff::{host:x}"),
            &path,
        )
        .med(9)
        .community(65_010, low),
    ]
}

/// GoBGP and another daemon with a session between them.
struct Pair<S> {
    gobgp: GoBgp,
    other: S,
    _lab: Lab,
}

/// Starts both daemons with `change` applied to both ends of the session, and waits until it is up.
#[track_caller]
fn pair<S: Speaker>(start: impl FnOnce(Setup) -> S, change: impl Fn(&mut Peer)) -> Pair<S> {
    let lab = Lab::new();
    let (a, b) = (lab.address(1), lab.address(2));
    let mut gobgp = GoBgp::start(Setup::new(&lab, "gobgp", 1, A, Peer::new(b, B)).with(&change));
    let mut other = start(Setup::new(&lab, "other", 2, B, Peer::new(a, A)).with(&change));
    eventually("the session is up", || {
        gobgp.process().check_alive()?;
        other.process().check_alive()?;
        match gobgp.established() && other.established() {
            true => Ok(()),
            false => Err("it is not".to_owned()),
        }
    });
    Pair {
        gobgp,
        other,
        _lab: lab,
    }
}

/// Checks announcements, withdrawals and a lost session.
#[track_caller]
fn both_ways<S: Speaker>(start: impl FnOnce(Setup) -> S, tail: &[u32]) {
    let pair = pair(start, |_| {});
    let (mut gobgp, mut other) = (pair.gobgp, pair.other);
    let (from_gobgp, mut from_other) = (routes(A, &[65_101, 4_200_000_001], 1), routes(B, tail, 2));
    gobgp.announce(&from_gobgp);
    other.announce(&from_other);
    expect(&other, &from_gobgp);
    expect(&gobgp, &from_other);
    other.withdraw(&[from_other.remove(1).prefix]);
    expect(&gobgp, &from_other);
    gobgp.process().kill();
    eventually("the session is down", || match other.established() {
        false => Ok(()),
        true => Err("it is up".to_owned()),
    });
}

#[track_caller]
fn expect(speaker: &impl Speaker, routes: &[Route]) {
    let expected: BTreeSet<Route> = routes.iter().cloned().collect();
    eventually("it holds exactly these routes", || {
        match speaker.received()? {
            held if held == expected => Ok(()),
            held => Err(format!("expected {expected:#?}\nheld {held:#?}")),
        }
    });
}

#[test]
fn bird() {
    both_ways(Bird::start, &[65_102, 4_200_000_002]);
}

#[test]
fn frr() {
    both_ways(Frr::start, &[65_102, 4_200_000_002]);
}

#[test]
fn openbgpd() {
    both_ways(OpenBgpd::start, &[B, B]);
}

#[test]
fn exabgp() {
    both_ways(ExaBgp::start, &[65_102, 4_200_000_002]);
}

#[test]
fn gobgp() {
    both_ways(GoBgp::start, &[65_102, 4_200_000_002]);
}

/// Routes still arrive with every option that GoBGP and the daemon share.
fn with_options<S: Speaker>(
    start: impl FnOnce(Setup) -> S,
    tail: &[u32],
    change: impl Fn(&mut Peer),
) {
    let mut pair = pair(start, change);
    let (from_gobgp, from_other) = (routes(A, &[65_101], 1), routes(B, tail, 2));
    pair.gobgp.announce(&from_gobgp);
    pair.other.announce(&from_other);
    expect(&pair.other, &from_gobgp);
    expect(&pair.gobgp, &from_other);
    pair.other.refresh();
    pair.gobgp.refresh();
    expect(&pair.other, &from_gobgp);
    expect(&pair.gobgp, &from_other);
}

fn password_and_graceful_restart(peer: &mut Peer) {
    peer.password = Some("a-shared-key".to_owned());
    peer.graceful_restart_s = Some(90);
}

#[test]
fn bird_with_options() {
    with_options(Bird::start, &[65_102], password_and_graceful_restart);
}

#[test]
fn bird_with_two_octet_as_numbers() {
    with_options(Bird::start, &[65_102], |peer| peer.as4 = false);
}

#[test]
fn frr_with_options() {
    with_options(Frr::start, &[65_102], password_and_graceful_restart);
}

#[test]
fn exabgp_with_options() {
    with_options(ExaBgp::start, &[65_102], password_and_graceful_restart);
}

#[test]
fn openbgpd_with_options() {
    with_options(OpenBgpd::start, &[], |peer| {
        peer.graceful_restart_s = Some(90);
        peer.as4 = false;
    });
}

/// Two paths to one prefix are announced in both directions.
fn with_add_path<S: Speaker>(start: impl FnOnce(Setup) -> S) -> Pair<S> {
    pair(start, |peer| {
        peer.add_path_receive = true;
        peer.add_path_send = true;
    })
}

fn two_paths(asn: u32, host: u8) -> [Route; 2] {
    let next_hop = format!("10.77.0.{host}");
    let route = |id: u32| {
        let path = [asn, 65_100 + id];
        let prefix = format!("45.11.{host}.0/24");
        Route::new(&prefix, &next_hop, &path).med(id).path_id(id)
    };
    [route(1), route(2)]
}

#[track_caller]
fn expect_paths(speaker: &impl Speaker, routes: &[Route]) {
    let expected = routes_without_path_ids(routes);
    eventually("it holds all paths", || {
        match routes_without_path_ids(&speaker.received()?) {
            held if held == expected => Ok(()),
            held => Err(format!("expected {expected:#?}\nheld {held:#?}")),
        }
    });
}

#[test]
fn bird_with_add_path() {
    let mut pair = with_add_path(Bird::start);
    pair.other.announce(&two_paths(B, 2));
    expect_paths(&pair.gobgp, &two_paths(B, 2));
    pair.gobgp.announce(&two_paths(A, 1));
    expect_paths(&pair.other, &two_paths(A, 1));
}

#[test]
fn exabgp_with_add_path() {
    let mut pair = with_add_path(ExaBgp::start);
    pair.other.announce(&two_paths(B, 2));
    expect_paths(&pair.gobgp, &two_paths(B, 2));
    pair.gobgp.announce(&two_paths(A, 1));
    expect_paths(&pair.other, &two_paths(A, 1));
}

#[test]
fn frr_receives_add_path() {
    let mut pair = with_add_path(Frr::start);
    pair.gobgp.announce(&two_paths(A, 1));
    expect_paths(&pair.other, &two_paths(A, 1));
}

#[test]
fn openbgpd_receives_add_path() {
    let mut pair = with_add_path(OpenBgpd::start);
    pair.gobgp.announce(&two_paths(A, 1));
    expect_paths(&pair.other, &two_paths(A, 1));
}

#[test]
fn exabgp_with_ttl_security() {
    pair(ExaBgp::start, |peer| peer.ttl_security = true);
}

#[test]
fn frr_with_ttl_security() {
    pair(Frr::start, |peer| peer.ttl_security = true);
}

#[test]
fn exabgp_announces_ipv4_over_ipv6() {
    let mut pair = pair(ExaBgp::start, |peer| peer.extended_next_hop = true);
    let routes = [Route::new("45.12.1.0/24", "2a0e:ffff::2", &[B, 65_102])];
    pair.other.announce(&routes);
    expect(&pair.gobgp, &routes);
}
