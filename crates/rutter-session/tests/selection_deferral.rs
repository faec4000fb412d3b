//! Selection deferral after a restart: for whom it waits, and when it is over.

mod speakers;

use rutter_net::{Family, PerFamily};
use rutter_session::{
    Config, DeferralEnd, Input, Negotiated, SETTLE_MS, SelectionDeferral, Session,
};
use rutter_wire::capability::Capability;
use speakers::{Pair, left, right};

const IPV4: Family = Family::Ipv4Unicast;
const IPV6: Family = Family::Ipv6Unicast;
const BOTH: PerFamily<bool> = PerFamily::both(true);
/// The time at which a deferral ends at the latest.
const LAST: u64 = 60_000;

/// The result of a session with a neighbor of these settings.
fn agreed_with(theirs: Config) -> Negotiated {
    let pair = Pair::connected(1, [left(), theirs]);
    pair.session(0).negotiated().expect("a session").clone()
}

fn waiting_for(neighbors: &[u8]) -> SelectionDeferral<u8> {
    SelectionDeferral::new(neighbors.iter().map(|n| (*n, BOTH)), LAST)
}

#[test]
fn it_ends_with_the_last_end_of_rib() {
    let agreed = agreed_with(right());
    let mut deferral = waiting_for(&[1, 2]);
    deferral.established(1, &agreed);
    deferral.established(2, &agreed);
    for (neighbor, family) in [(1, IPV4), (2, IPV6), (1, IPV6)] {
        deferral.end_of_rib(neighbor, family, 1);
        assert_eq!(deferral.end(LAST - 1), None);
    }
    let missing: Vec<_> = deferral.awaited().collect();
    assert_eq!(missing, [(2, PerFamily::new(true, false))]);
    deferral.end_of_rib(2, IPV4, 10);
    assert_eq!(deferral.end(10), None);
    assert_eq!(deferral.next_deadline(), 10 + SETTLE_MS);
    assert_eq!(deferral.end(10 + SETTLE_MS), Some(DeferralEnd::Complete));
}

/// Some speakers send End-of-RIB a moment before their routes. Waiting for them never takes longer than the timer.
#[test]
fn the_wait_for_the_last_routes_is_within_the_time() {
    let mut deferral = waiting_for(&[1]);
    deferral.end_of_rib(1, IPV4, 1);
    deferral.end_of_rib(1, IPV6, LAST - 1);
    assert_eq!(deferral.end(LAST - 1), None);
    assert_eq!(deferral.end(LAST), Some(DeferralEnd::Complete));
}

#[test]
fn a_neighbor_that_never_returns_delays_it_to_the_end_of_its_time() {
    let deferral = waiting_for(&[1]);
    assert_eq!(deferral.end(LAST - 1), None);
    assert_eq!(deferral.end(LAST), Some(DeferralEnd::TimeOver));
}

#[test]
fn it_waits_for_a_neighbor_whose_session_ends_before_end_of_rib() {
    let agreed = agreed_with(right());
    let mut deferral = waiting_for(&[1]);
    deferral.established(1, &agreed);
    deferral.end_of_rib(1, IPV4, 1);
    deferral.established(1, &agreed);
    assert_eq!(deferral.end(LAST - 1), None);
    deferral.end_of_rib(1, IPV6, 2);
    assert_eq!(deferral.end(2 + SETTLE_MS), Some(DeferralEnd::Complete));
}

#[test]
fn neighbors_that_were_not_expected_are_not_awaited() {
    let agreed = agreed_with(right());
    let mut deferral = waiting_for(&[1]);
    deferral.established(7, &agreed);
    deferral.removed(1);
    assert_eq!(deferral.end(0), Some(DeferralEnd::Complete));
}

#[test]
fn a_neighbor_without_graceful_restart_is_not_awaited() {
    let mut deferral = waiting_for(&[1]);
    let theirs = Config {
        graceful_restart: None,
        ..right()
    };
    deferral.established(1, &agreed_with(theirs));
    assert_eq!(deferral.end(0), Some(DeferralEnd::Complete));
}

#[test]
fn a_neighbor_that_restarted_itself_is_not_awaited() {
    let mut pair = Pair::connected(1, [left(), right()]);
    pair.crash(1, Session::new(right(), 99));
    pair.handle(1, Input::Restarting(true));
    pair.handle(1, Input::Start);
    pair.run_for(120_000);
    let mut deferral = waiting_for(&[1]);
    deferral.established(1, pair.session(0).negotiated().expect("a session"));
    assert_eq!(deferral.end(0), Some(DeferralEnd::Complete));
}

#[test]
fn a_family_that_is_not_agreed_again_is_not_awaited() {
    let mut theirs = right();
    theirs.families[IPV6].enabled = false;
    let mut deferral = waiting_for(&[1]);
    deferral.established(1, &agreed_with(theirs));
    let missing: Vec<_> = deferral.awaited().collect();
    assert_eq!(missing, [(1, PerFamily::new(true, false))]);
}

/// A capability without families announces End-of-RIB for all families; one with families only for these.
#[test]
fn the_families_of_the_capability_send_end_of_rib() {
    let mut agreed = agreed_with(right());
    let families = |agreed: &Negotiated| agreed.end_of_rib_families();
    assert_eq!(families(&agreed), BOTH);
    let theirs = agreed.graceful_restart.as_mut().expect("the capability");
    theirs.families.retain(|f| f.afi_safi == IPV6.afi_safi());
    assert_eq!(families(&agreed), PerFamily::new(false, true));
    let theirs = agreed.graceful_restart.as_mut().expect("the capability");
    theirs.families.clear();
    assert_eq!(families(&agreed), BOTH);
    let is_restart = |c: &Capability| matches!(c, Capability::GracefulRestart(_));
    assert!(agreed.remote_capabilities.iter().any(is_restart));
}
