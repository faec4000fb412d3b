//! Each daemon's adapter proven without Rutter: against GoBGP, as a plain eBGP neighbor, both ways.

use std::collections::BTreeSet;

use rutter_interop::bird::Bird;
use rutter_interop::exabgp::ExaBgp;
use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::openbgpd::OpenBgpd;
use rutter_interop::{Lab, Origin, Peer, Route, Setup, Speaker, eventually};

const A: u32 = 64_601;
const B: u32 = 64_602;

/// What a daemon announces: every attribute, and a plain one, in both families. FRR sends a MED with
/// every network, OpenBGPD only its own AS.
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

/// Starts GoBGP and the other daemon, and checks announcing, withdrawing and a session lost.
fn both_ways<S: Speaker>(start: impl FnOnce(Setup) -> S, tail: &[u32]) {
    let lab = Lab::new();
    let mut gobgp = GoBgp::start(Setup::new(
        &lab,
        "gobgp",
        1,
        A,
        Peer::new(lab.address(2), B),
    ));
    let mut other = start(Setup::new(
        &lab,
        "other",
        2,
        B,
        Peer::new(lab.address(1), A),
    ));
    eventually("the session is up", || {
        other.process().check_alive()?;
        match gobgp.established() && other.established() {
            true => Ok(()),
            false => Err("it is not".to_owned()),
        }
    });
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
