//! Stories of two speakers: establishment, faults, refreshes and restarts.

mod speakers;

use rutter_net::{Asn, Family, PerFamily};
use rutter_session::{
    Config, ConnectionId, DownReason, GracefulRestartConfig, Input, Output, RemoteAs, ResetReason,
    Session, State, StopReason,
};
use rutter_wire::capability::{GracefulRestart, Role};
use rutter_wire::frame::{MAX_LEN, next_frame};
use rutter_wire::notification::{Notification, cease};
use rutter_wire::refresh::Subtype;
use speakers::{Pair, left, passive, right};

const IPV4: Family = Family::Ipv4Unicast;
const IPV6: Family = Family::Ipv6Unicast;

fn downs(outputs: &[Output]) -> Vec<(DownReason, PerFamily<bool>)> {
    outputs
        .iter()
        .filter_map(|o| match o {
            Output::Down { reason, keep, .. } => Some((reason.clone(), *keep)),
            _ => None,
        })
        .collect()
}

fn quiet(outputs: Vec<Output>) -> Vec<Output> {
    let traffic = |o: &Output| {
        matches!(
            o,
            Output::Send { .. }
                | Output::Connect { .. }
                | Output::Close { .. }
                | Output::Established { .. }
        )
    };
    outputs.into_iter().filter(|o| !traffic(o)).collect()
}

fn no_restart(config: Config) -> Config {
    Config {
        graceful_restart: None,
        ..config
    }
}

#[test]
fn establish_with_everything_agreed() {
    for seed in 0..50 {
        let pair = Pair::connected(seed, [left(), passive(right())]);
        assert!(pair.is_up(), "{seed}: {:?}", pair.states());
        let agreed = pair.session(0).negotiated().unwrap();
        assert_eq!(
            (agreed.remote_asn, agreed.remote_bgp_id),
            (Asn(64_511), 0xc000_0202)
        );
        assert_eq!((agreed.hold_time_s, agreed.keepalive_s), (90, 30));
        assert_eq!(
            (agreed.max_message_len, agreed.max_receive_len),
            (65_535, 65_535)
        );
        assert!(agreed.as4 && agreed.route_refresh && agreed.enhanced_refresh);
        assert!(agreed.families.iter().all(Option::is_some) && agreed.outgoing);
        assert!(agreed.one_sided.is_empty());
    }
}

/// Both sides connect at the same moment, with bytes cut anywhere. Both keep the same one of the two connections.
#[test]
fn collisions_always_settle() {
    for seed in 0..300 {
        let mut pair = Pair::new(seed, [left(), right()]);
        pair.start();
        pair.run_for(300_000);
        assert!(pair.is_up(), "{seed}: {:?}", pair.states());
        let outgoing = [0, 1].map(|s| pair.session(s).negotiated().unwrap().outgoing);
        assert_ne!(
            outgoing[0], outgoing[1],
            "{seed}: two halves of two connections"
        );
        pair.take_outputs(0);
        pair.run_for(600_000);
        assert!(downs(&pair.take_outputs(0)).is_empty(), "{seed}: it stays");
    }
}

#[test]
fn same_seed_same_story() {
    let story = |seed| {
        let mut pair = Pair::connected(seed, [left(), right()]);
        pair.run_for(100_000);
        let [a, b] = pair.speakers;
        (a.outputs, b.outputs)
    };
    assert_eq!(story(7), story(7));
}

#[test]
fn hold_timer_expires_on_a_dead_wire() {
    let mut pair = Pair::connected(1, [no_restart(left()), passive(no_restart(right()))]);
    pair.take_outputs(0);
    pair.stall();
    pair.run_for(89_000 - 30_000);
    assert!(pair.is_up());
    pair.run_for(31_000);
    let reason = DownReason::Sent(Notification::hold_timer_expired());
    assert_eq!(
        downs(&pair.take_outputs(0)),
        [(reason, PerFamily::both(false))]
    );
}

/// Without KEEPALIVEs, Hold Timer and Send Hold Timer no timer runs.
#[test]
fn hold_time_zero() {
    let silent = Config {
        hold_time_s: 0,
        ..left()
    };
    let mut pair = Pair::connected(1, [silent, passive(right())]);
    assert!(pair.is_up());
    pair.handle(
        0,
        Input::WriteBlocked {
            connection: ConnectionId::First,
        },
    );
    assert_eq!(pair.session(0).next_deadline(), None);
    assert_eq!(pair.session(1).next_deadline(), None);
}

#[test]
fn open_faults_reach_the_neighbor_exactly() {
    type Change = fn(&mut Config);
    let rows: [(Change, u8); 6] = [
        (|c| c.local_asn = Asn(64_666), 2),
        (|c| c.router_id = 0, 3),
        (|c| c.hold_time_s = 2, 6),
        (|c| c.families[IPV4].enabled = false, 7),
        (|c| c.role = Some(Role::Peer), 11),
        (|c| c.role = None, 11),
    ];
    for (change, subcode) in rows {
        let mut ours = left();
        ours.role = Some(Role::RouteServer);
        ours.role_strict = true;
        ours.families[IPV6].enabled = false;
        let mut theirs = passive(right());
        theirs.role = Some(Role::RouteServerClient);
        assert!(Pair::connected(3, [ours.clone(), theirs.clone()]).is_up());
        change(&mut theirs);
        let pair = Pair::connected(3, [ours, theirs]);
        assert_ne!(pair.states(), [State::Established; 2]);
        let ended = pair.session(0).stats().last_end.clone().map(|e| e.1);
        let data = if subcode == 7 {
            vec![1, 4, 0, 1, 0, 1]
        } else {
            vec![]
        };
        let expected = DownReason::Sent(Notification::new(2, subcode, data));
        assert!(
            pair.speakers[0].outputs.iter().any(|o| matches!(o,
            Output::Event(rutter_session::SessionEvent::Ended(_, reason)) if *reason == expected)),
            "{subcode} {ended:?}"
        );
    }
}

/// Internal neighbors need different identifiers; external ones do not (RFC 6286), and the AS decides a collision.
#[test]
fn equal_identifiers() {
    let mut same = right();
    same.router_id = left().router_id;
    for seed in 0..50 {
        assert!(
            Pair::connected(seed, [left(), same.clone()]).is_up(),
            "{seed}"
        );
    }
    same.local_asn = Asn(64_500);
    let mut ours = left();
    ours.remote = RemoteAs::One(Asn(64_500));
    assert!(!Pair::connected(1, [ours, same]).is_up());
}

#[test]
fn dynamic_neighbors_by_set() {
    let mut ours = passive(left());
    ours.remote = RemoteAs::AnyOf(vec![Asn(64_510), Asn(64_511)]);
    let pair = Pair::connected(1, [ours.clone(), right()]);
    assert_eq!(
        pair.session(0).negotiated().unwrap().remote_asn,
        Asn(64_511)
    );
    ours.remote = RemoteAs::AnyOf(vec![Asn(64_510)]);
    assert!(!Pair::connected(1, [ours, right()]).is_up());
}

#[test]
fn shutdown_sends_its_text_and_stays_down() {
    let mut pair = Pair::connected(1, [left(), right()]);
    pair.take_outputs(1);
    pair.handle(
        0,
        Input::Stop {
            reason: StopReason::Shutdown,
            text: "maintenance till 04:00",
        },
    );
    pair.run_for(600_000);
    assert_eq!(pair.session(0).state(), State::Idle);
    let received = downs(&pair.take_outputs(1));
    let [(DownReason::Received(n), keep)] = &received[..] else {
        panic!("{received:?}");
    };
    // Both keep routes after NOTIFICATIONs, so a shutdown needs a Hard Reset (RFC 8538).
    assert!(n.is_hard_reset());
    assert_eq!(n.shutdown_text().as_deref(), Some("maintenance till 04:00"));
    assert_eq!(*keep, PerFamily::both(false));
    pair.handle(
        0,
        Input::Reset {
            reason: ResetReason::ConfigChange,
            text: "",
        },
    );
    assert!(pair.session(0).is_stopped());
    pair.handle(0, Input::Start);
    pair.run_for(200_000);
    assert!(pair.is_up());
}

#[test]
fn reset_comes_back_and_keeps_routes() {
    let mut pair = Pair::connected(1, [left(), right()]);
    pair.take_outputs(0);
    pair.take_outputs(1);
    pair.handle(
        0,
        Input::Reset {
            reason: ResetReason::Administrative,
            text: "",
        },
    );
    pair.run_for(100_000);
    assert!(pair.is_up());
    let reset = cease::plain(cease::ADMIN_RESET);
    let first = downs(&pair.take_outputs(0)).into_iter().next();
    assert_eq!(
        first,
        Some((DownReason::Sent(reset.clone()), PerFamily::both(true)))
    );
    let first = downs(&pair.take_outputs(1)).into_iter().next();
    assert_eq!(
        first,
        Some((DownReason::Received(reset), PerFamily::both(true)))
    );
}

#[test]
fn faults_back_off_exponentially_and_are_forgotten() {
    let mut wrong = right();
    wrong.local_asn = Asn(64_666);
    let mut pair = Pair::new(5, [left(), passive(wrong)]);
    pair.start();
    pair.run_for(3_600_000);
    let pauses: Vec<u64> = pair.speakers[0]
        .outputs
        .iter()
        .filter_map(|o| match o {
            Output::Event(rutter_session::SessionEvent::IdleHold(ms)) => Some(*ms),
            _ => None,
        })
        .collect();
    for (i, pause_ms) in pauses.iter().enumerate() {
        let full = 120_000.min(1_000 << i.min(20));
        assert!(
            (full * 3 / 4..=full).contains(pause_ms),
            "{i}: {pause_ms} of {full}"
        );
    }
    assert!(pauses.len() > 10 && pauses.len() < 70, "{}", pauses.len());
    assert!(pair.session(0).stats().faults_in_a_row > 10);
    pair.handle(
        0,
        Input::Reset {
            reason: ResetReason::ConfigChange,
            text: "",
        },
    );
    assert_eq!(pair.session(0).stats().faults_in_a_row, 0);
}

#[test]
fn max_prefix_restarts_later_or_never() {
    for restart_after_s in [Some(600), None] {
        let mut pair = Pair::connected(1, [left(), right()]);
        pair.take_outputs(1);
        pair.handle(
            0,
            Input::MaxPrefixExceeded {
                family: IPV6,
                limit: 100,
                restart_after_s,
            },
        );
        pair.run_for(590_000);
        assert_eq!(pair.session(0).state(), State::Idle);
        let cause = cease::max_prefixes(IPV6.afi_safi(), 100);
        let reason = DownReason::Received(cease::hard_reset(&cause));
        assert_eq!(
            downs(&pair.take_outputs(1)),
            [(reason, PerFamily::both(false))]
        );
        pair.run_for(400_000);
        assert_eq!(pair.is_up(), restart_after_s.is_some());
        assert_eq!(pair.session(0).is_stopped(), restart_after_s.is_none());
    }
}

#[test]
fn a_neighbor_that_takes_too_much_memory_waits_or_stops() {
    for restart_after_s in [Some(600), None] {
        let mut pair = Pair::connected(1, [left(), right()]);
        pair.take_outputs(1);
        pair.handle(0, Input::OutOfMemory { restart_after_s });
        pair.run_for(590_000);
        assert_eq!(pair.session(0).state(), State::Idle);
        let cause = cease::plain(cease::OUT_OF_RESOURCES);
        let reason = DownReason::Received(cease::hard_reset(&cause));
        assert_eq!(
            downs(&pair.take_outputs(1)),
            [(reason, PerFamily::both(false))]
        );
        pair.run_for(400_000);
        assert_eq!(pair.is_up(), restart_after_s.is_some());
        assert_eq!(pair.session(0).is_stopped(), restart_after_s.is_none());
    }
}

#[test]
fn a_neighbor_without_routes_is_sent_end_of_rib_for_each_agreed_family() {
    let mut pair = Pair::connected(1, [left(), right()]);
    let sent = |pair: &Pair| pair.session(0).stats().sent.iter().sum::<u64>();
    let before = sent(&pair);
    pair.handle(0, Input::SendEndOfRib);
    let agreed = pair.session(0).negotiated().map(|n| n.families);
    let agreed = agreed.expect("a session").iter().flatten().count() as u64;
    assert!(agreed > 0);
    assert_eq!(sent(&pair) - before, agreed);
    assert!(pair.is_up());
}

#[test]
fn refreshes_both_ways() {
    let mut pair = Pair::connected(1, [left(), right()]);
    pair.take_outputs(0);
    pair.take_outputs(1);
    pair.handle(0, Input::RequestRefresh { family: IPV4 });
    pair.run_for(100);
    assert_eq!(
        quiet(pair.take_outputs(1)),
        [Output::RefreshRequested(IPV4)]
    );
    // EoRR without BoRR is ignored.
    pair.handle(
        1,
        Input::SendRefreshMarker {
            family: IPV6,
            subtype: Subtype::End,
        },
    );
    pair.run_for(100);
    assert_eq!(quiet(pair.take_outputs(0)), []);
    pair.handle(
        1,
        Input::SendRefreshMarker {
            family: IPV4,
            subtype: Subtype::Begin,
        },
    );
    pair.run_for(100);
    pair.handle(
        1,
        Input::SendRefreshMarker {
            family: IPV4,
            subtype: Subtype::End,
        },
    );
    pair.run_for(100);
    assert_eq!(
        quiet(pair.take_outputs(0)),
        [Output::MarkStale(IPV4), Output::SweepStale(IPV4)]
    );
    // A second BoRR, and EoRR never arrives.
    for _ in 0..2 {
        pair.handle(
            1,
            Input::SendRefreshMarker {
                family: IPV4,
                subtype: Subtype::Begin,
            },
        );
        pair.run_for(100);
    }
    pair.run_for(601_000);
    assert_eq!(
        quiet(pair.take_outputs(0)),
        [Output::MarkStale(IPV4), Output::SweepStale(IPV4)]
    );
}

#[test]
fn send_hold_timer() {
    let mut pair = Pair::connected(1, [left(), right()]);
    pair.take_outputs(0);
    let connection = pair.session(0).established().unwrap();
    pair.handle(0, Input::WriteBlocked { connection });
    pair.run_for(470_000);
    pair.handle(0, Input::WriteBlocked { connection });
    pair.handle(0, Input::WriteProgress { connection });
    pair.run_for(470_000);
    pair.handle(0, Input::WriteDrained { connection });
    pair.run_for(600_000);
    pair.handle(0, Input::WriteBlocked { connection });
    pair.run_for(470_000);
    assert!(downs(&pair.take_outputs(0)).is_empty());
    pair.run_for(11_000);
    let reason = DownReason::Sent(Notification::send_hold_timer_expired());
    assert_eq!(
        downs(&pair.take_outputs(0)),
        [(reason, PerFamily::both(true))]
    );
}

fn restarting(config: Config, long_lived_s: u32) -> Config {
    let mut config = config;
    config.families[IPV4].long_lived_s = long_lived_s;
    config
}

/// The neighbor disappears and re-establishes the session in time: routes stay until its End-of-RIB.
#[test]
fn graceful_restart_helper() {
    let mut pair = Pair::connected(1, [left(), right()]);
    pair.take_outputs(0);
    pair.reset_connections();
    assert_eq!(
        downs(&pair.take_outputs(0)),
        [(DownReason::ConnectionLost, PerFamily::both(true))]
    );
    assert!(
        pair.session(0).accepts().is_some(),
        "it may reconnect at once"
    );
    pair.run_for(3_000);
    assert!(pair.is_up());
    assert_eq!(pair.session(0).stale(), PerFamily::both(true));
    assert_eq!(quiet(pair.take_outputs(0)), []);
    pair.handle(0, Input::EndOfRib { family: IPV4 });
    assert_eq!(quiet(pair.take_outputs(0)), [Output::SweepStale(IPV4)]);
    // No End-of-RIB for IPv6: the stale path timer removes its routes.
    pair.run_for(361_000);
    assert_eq!(quiet(pair.take_outputs(0)), [Output::SweepStale(IPV6)]);
    assert_eq!(pair.session(0).stale(), PerFamily::both(false));
}

/// The neighbor does not come back: after its restart time and the long-lived stale time its routes are removed.
/// Where memory is short, stale routes leave before their time, but not those of a session that is established.
#[test]
fn stale_routes_are_removed_early_for_memory() {
    let mut pair = Pair::connected(4, [restarting(left(), 60), restarting(right(), 60)]);
    pair.handle(0, Input::RemoveStale);
    pair.take_outputs(0);
    pair.cut = true;
    pair.reset_connections();
    pair.take_outputs(0);
    assert_eq!(pair.session(0).stale(), PerFamily::both(true));
    pair.handle(0, Input::RemoveStale);
    let removed = [Output::SweepStale(IPV4), Output::SweepStale(IPV6)];
    assert_eq!(quiet(pair.take_outputs(0)), removed);
    assert_eq!(pair.session(0).stale(), PerFamily::both(false));
    pair.session(0).check_invariants();
}

#[test]
fn graceful_restart_runs_out_into_long_lived() {
    let configs = [restarting(left(), 86_400), restarting(right(), 3_600)];
    let mut pair = Pair::connected(1, configs);
    pair.take_outputs(0);
    pair.cut = true;
    pair.reset_connections();
    pair.run_for(119_000);
    assert_eq!(quiet(pair.take_outputs(0)), [down_lost()]);
    pair.run_for(2_000);
    let expected = [Output::StartLongLivedStale(IPV4), Output::SweepStale(IPV6)];
    assert_eq!(quiet(pair.take_outputs(0)), expected);
    pair.run_for(3_590_000);
    assert_eq!(quiet(pair.take_outputs(0)), []);
    pair.run_for(20_000);
    assert_eq!(quiet(pair.take_outputs(0)), [Output::SweepStale(IPV4)]);
}

fn down_lost() -> Output {
    Output::Down {
        connection: ConnectionId::First,
        reason: DownReason::ConnectionLost,
        keep: PerFamily::both(true),
    }
}

/// The neighbor comes back without having preserved a family, or without Graceful Restart: those routes are removed
/// at once.
#[test]
fn routes_that_were_not_preserved_are_removed_at_once() {
    let mut pair = Pair::connected(1, [left(), right()]);
    pair.take_outputs(0);
    let mut changed = right();
    changed.families[IPV6].enabled = false;
    pair.speakers[1].session.set_config(changed);
    pair.reset_connections();
    pair.run_for(100_000);
    assert!(pair.is_up());
    let after: Vec<Output> = quiet(pair.take_outputs(0)).split_off(1);
    assert_eq!(after, [Output::SweepStale(IPV6)]);
    pair.speakers[1].session.set_config(no_restart(right()));
    pair.reset_connections();
    pair.run_for(100_000);
    // Routes that were stale for a second time are removed first, the others with the new OPEN.
    let after = quiet(pair.take_outputs(0));
    assert_eq!(after[0], Output::SweepStale(IPV4));
    assert!(
        matches!(after[1], Output::Down { keep, .. } if keep == PerFamily::new(true, false)),
        "{after:?}"
    );
    assert_eq!(after[2..], [Output::SweepStale(IPV4)]);
}

/// The neighbor restarts so fast that its new connection arrives before we miss the old one (RFC 4724 §4.2).
#[test]
fn a_new_connection_replaces_the_established_one() {
    let mut pair = Pair::connected(1, [passive(left()), right()]);
    pair.take_outputs(0);
    let old = pair.session(0).established().unwrap();
    pair.crash(1, Session::new(right(), 99));
    pair.handle(1, Input::Restarting(true));
    pair.handle(1, Input::Start);
    pair.run_for(10_000);
    assert!(pair.is_up());
    assert_ne!(pair.session(0).established(), Some(old));
    assert_eq!(
        downs(&pair.take_outputs(0)),
        [(DownReason::Replaced, PerFamily::both(true))]
    );
    let agreed = pair.session(0).negotiated().unwrap();
    let restart = agreed.graceful_restart.as_ref();
    assert!(restart.is_some_and(|g: &GracefulRestart| g.restart_state));
}

#[test]
fn without_graceful_restart_a_second_connection_is_refused() {
    let mut pair = Pair::connected(1, [no_restart(passive(left())), right()]);
    assert_eq!(pair.session(0).accepts(), None);
    pair.take_outputs(0);
    let connection = pair.session(0).established().unwrap().other();
    pair.handle(
        0,
        Input::Connected {
            connection,
            outgoing: false,
        },
    );
    let outputs = pair.take_outputs(0);
    assert!(
        matches!(&outputs[..], [Output::Send { message, .. }, Output::Close { .. }] if message[19..] == [6, 7])
    );
    assert!(pair.is_up());
}

fn stop_for_restart(pair: &mut Pair) {
    pair.take_outputs(0);
    pair.take_outputs(1);
    let reason = StopReason::Restart;
    pair.handle(0, Input::Stop { reason, text: "" });
}

/// Both sides connect at once, and the neighbor's connection arrives when ours is established. That is no restart: a
/// neighbor that keeps our routes would lose them in a second interruption.
#[test]
fn a_connection_that_crosses_the_established_one_is_refused() {
    let mut pair = Pair::new(1, [left(), passive(right())]);
    pair.start();
    while !pair.is_up() {
        pair.run_for(1);
    }
    pair.take_outputs(0);
    let connection = pair.session(0).established().unwrap().other();
    let outgoing = false;
    pair.handle(
        0,
        Input::Connected {
            connection,
            outgoing,
        },
    );
    let outputs = pair.take_outputs(0);
    assert!(
        matches!(&outputs[..], [Output::Send { message, .. }, Output::Close { .. }] if message[19..] == [6, 7]),
        "{outputs:?}"
    );
    assert!(pair.is_up());
}

/// A NOTIFICATION would remove our routes, so a planned restart sends none.
#[test]
fn a_planned_restart_is_silent() {
    let mut theirs = right();
    theirs.graceful_restart = Some(GracefulRestartConfig {
        notification: false,
        ..GracefulRestartConfig::default()
    });
    let mut pair = Pair::connected(1, [left(), theirs]);
    stop_for_restart(&mut pair);
    let is_sent = |o: &Output| matches!(o, Output::Send { .. });
    assert!(!pair.take_outputs(0).iter().any(is_sent));
    pair.run_for(1_000);
    assert_eq!(
        downs(&pair.take_outputs(1)),
        [(DownReason::ConnectionLost, PerFamily::both(true))]
    );
}

/// With the N bit on both sides the neighbor learns of the restart and keeps our routes (RFC 8538).
#[test]
fn a_planned_restart_is_announced_where_the_routes_stay() {
    let mut pair = Pair::connected(1, [left(), right()]);
    stop_for_restart(&mut pair);
    pair.run_for(1_000);
    let reset = DownReason::Received(cease::with_text(cease::ADMIN_RESET, ""));
    assert_eq!(
        downs(&pair.take_outputs(1)),
        [(reset, PerFamily::both(true))]
    );
}

/// A neighbor without Graceful Restart receives Cease.
#[test]
fn a_planned_restart_says_cease_where_no_routes_stay() {
    let mut pair = Pair::connected(1, [left(), no_restart(right())]);
    stop_for_restart(&mut pair);
    pair.run_for(1_000);
    let reset = DownReason::Received(cease::with_text(cease::ADMIN_RESET, ""));
    assert_eq!(
        downs(&pair.take_outputs(1)),
        [(reset, PerFamily::both(false))]
    );
}

/// Without the N bit on both sides a NOTIFICATION removes the routes.
#[test]
fn notification_restart_needs_both() {
    let mut theirs = right();
    theirs.graceful_restart = Some(GracefulRestartConfig {
        notification: false,
        ..GracefulRestartConfig::default()
    });
    let mut pair = Pair::connected(1, [left(), theirs]);
    pair.take_outputs(0);
    let notification = Notification::new(3, 1, vec![]);
    pair.handle(
        0,
        Input::UpdateError {
            notification: notification.clone(),
        },
    );
    assert_eq!(
        downs(&pair.take_outputs(0)),
        [(DownReason::Sent(notification), PerFamily::both(false))]
    );
}

/// A speaker without capabilities: the second attempt has none.
#[test]
fn falls_back_without_capabilities() {
    let mut pair = Pair::new(1, [left(), passive(right())]);
    pair.handle(0, Input::Start);
    let connection = ConnectionId::First;
    pair.handle(
        0,
        Input::Connected {
            connection,
            outgoing: true,
        },
    );
    let mut refusal = Vec::new();
    Notification::new(2, 4, vec![]).encode(&mut refusal);
    let end = speakers::End {
        speaker: 0,
        connection,
    };
    pair.receive_bytes(end, &refusal);
    pair.take_outputs(0);
    pair.handle(1, Input::Start);
    pair.run_for(60_000);
    assert!(pair.is_up());
    let agreed = pair.session(0).negotiated().unwrap();
    assert!(!agreed.as4 && agreed.families[IPV6].is_none() && agreed.families[IPV4].is_some());
    assert_eq!(
        pair.session(1).negotiated().unwrap().remote_capabilities,
        []
    );
}

/// UPDATEs of the fast path restart the Hold Timer.
#[test]
fn updates_hold_the_session() {
    let mut pair = Pair::connected(1, [no_restart(left()), passive(no_restart(right()))]);
    pair.stall();
    for _ in 0..10 {
        let now_ms = pair.now_ms;
        pair.speakers[0].session.updates_received(now_ms, 3);
        pair.run_for(60_000);
    }
    assert_eq!(pair.session(0).state(), State::Established);
    assert_eq!(pair.session(0).stats().received[1], 30);
}

/// A neighbor that opens new connections in a fast cycle is held back: the established session stays for a while.
#[test]
fn replacements_in_a_fast_cycle_are_held_back() {
    let mut pair = Pair::connected(1, [passive(left()), right()]);
    pair.take_outputs(0);
    let mut replaced = 0;
    for seed in 0..20 {
        pair.crash(1, Session::new(right(), 99 + seed));
        pair.handle(1, Input::Start);
        pair.run_for(500);
        replaced += downs(&pair.take_outputs(0)).len();
    }
    assert!((1..=4).contains(&replaced), "{replaced} in 10 s");
    pair.run_for(300_000);
    assert!(pair.is_up());
}

/// A neighbor whose connections end with Cease/Connection Collision, without another one, is held back.
#[test]
fn collisions_without_another_connection_back_off() {
    let mut session = Session::new(passive(left()), 1);
    session.handle(0, Input::Start);
    let mut notification = Vec::new();
    cease::plain(cease::COLLISION).encode(&mut notification);
    let frame = next_frame(&notification, MAX_LEN).unwrap().unwrap();
    let mut accepted = 0;
    for now_ms in 0..10_000 {
        session.handle(now_ms, Input::Tick);
        if let Some(connection) = session.accepts() {
            accepted += 1;
            let outgoing = false;
            let input = Input::Connected {
                connection,
                outgoing,
            };
            session.handle(now_ms, input);
            session.handle(now_ms, Input::Message { connection, frame });
        }
        while session.poll_output().is_some() {}
    }
    assert!((2..=5).contains(&accepted), "{accepted} in 10 s");
}

/// The neighbor sends KEEPALIVEs at a third of the agreed time, so we wait for half of that at least.
#[test]
fn a_shorter_hold_time_is_in_force_without_another_open() {
    let mut pair = Pair::connected(1, [left(), passive(right())]);
    let with = |hold_time_s| Config {
        hold_time_s,
        ..left()
    };
    for (ours, expected) in [(60, (60, 20)), (9, (45, 3)), (0, (90, 30)), (300, (90, 30))] {
        pair.set_config(0, with(ours));
        let now = pair.session(0).negotiated().unwrap();
        assert_eq!((now.hold_time_s, now.keepalive_s), expected, "{ours}");
    }
    pair.set_config(0, with(9));
    pair.run_for(600_000);
    assert!(pair.is_up(), "{:?}", pair.states());
}
