//! A session that continues in another process.

use proptest::prelude::*;
use rutter_net::{Family, PerFamily};
use rutter_session::{Config, FamilyConfig, Input, Output, Session, State, StopReason, Timer};
use rutter_wire::handover::{Reader, Writer};

mod speakers;

use speakers::{Pair, left, passive, right};

fn record(session: &Session) -> Vec<u8> {
    let mut state = Writer::default();
    session.write_state(&mut state);
    state.bytes
}

/// Both families, path identifiers and long-lived routes.
fn with_everything(config: Config) -> Config {
    let family = FamilyConfig {
        enabled: true,
        add_path_receive: true,
        add_path_send: true,
        extended_next_hop: true,
        long_lived_s: 3_600,
    };
    Config {
        families: PerFamily::both(family),
        software_version: Some("rutter/test".into()),
        ..config
    }
}

#[test]
fn an_established_session_goes_on_without_a_message() {
    let ours = with_everything(left());
    let mut pair = Pair::connected(7, [ours.clone(), with_everything(right())]);
    assert!(pair.is_up());
    let before = pair.session(0).clone();
    pair.take_outputs(0);
    pair.take_outputs(1);
    for _ in 0..100 {
        pair.hand_over(0, ours.clone());
        pair.run_for(11_000);
    }
    let keepalive = |o: &Output| matches!(o, Output::Send { message, .. } if message.len() == 19);
    assert!(pair.take_outputs(0).iter().all(keepalive));
    assert!(pair.take_outputs(1).iter().all(keepalive));
    let after = pair.session(0);
    let (Some(then), Some(now)) = (before.negotiated(), after.negotiated()) else {
        panic!("a session is down");
    };
    let mut then = then.clone();
    // Only the log of an establishment names these, and only BMP stations receive the OPENs.
    then.one_sided = now.one_sided.clone();
    then.opens = now.opens.clone();
    assert_eq!(&then, now);
    assert_eq!(after.stats().state_since_ms, before.stats().state_since_ms);
    assert_eq!(after.stats().established, 1);
}

#[test]
fn a_refresh_in_progress_and_its_timer_continue() {
    let mut pair = Pair::connected(3, [left(), right()]);
    let family = Family::Ipv4Unicast;
    let subtype = rutter_wire::refresh::Subtype::Begin;
    pair.handle(1, Input::SendRefreshMarker { family, subtype });
    pair.run_for(100);
    let refresh = Timer::RefreshStale(family);
    let at = pair.session(0).deadline(refresh).expect("a refresh");
    pair.hand_over(0, left());
    assert_eq!(pair.session(0).deadline(refresh), Some(at));
    pair.take_outputs(0);
    let subtype = rutter_wire::refresh::Subtype::End;
    pair.handle(1, Input::SendRefreshMarker { family, subtype });
    pair.run_for(100);
    assert!(pair.take_outputs(0).contains(&Output::SweepStale(family)));
}

#[test]
fn a_session_that_an_operator_stopped_stays_stopped() {
    let mut pair = Pair::connected(5, [left(), right()]);
    let reason = StopReason::Shutdown;
    pair.handle(0, Input::Stop { reason, text: "" });
    pair.hand_over(0, left());
    pair.run_for(600_000);
    assert_eq!(pair.session(0).state(), State::Idle);
}

#[test]
fn stale_routes_of_a_neighbor_that_is_away_still_end() {
    let mut pair = Pair::connected(9, [left(), right()]);
    pair.reset_connections();
    pair.stall();
    let stale = pair.session(0).stale();
    assert_eq!(stale, PerFamily::both(true));
    pair.hand_over(0, left());
    assert_eq!(pair.session(0).stale(), stale);
    pair.take_outputs(0);
    pair.run_for(130_000);
    let outputs = pair.take_outputs(0);
    for family in Family::ALL {
        assert!(outputs.contains(&Output::SweepStale(family)), "{family}");
    }
}

proptest! {
    /// Whatever a session was doing, its successor keeps the invariants and comes up.
    #[test]
    fn a_session_continues_from_any_moment(
        seed in any::<u64>(),
        is_passive in any::<bool>(),
        pauses in proptest::collection::vec((1..20_000_u64, 0..4_u8), 1..40),
    ) {
        let ours = if is_passive { passive(left()) } else { left() };
        let mut pair = Pair::new(seed, [ours.clone(), right()]);
        pair.start();
        for (pause_ms, fault) in pauses {
            pair.run_for(pause_ms);
            match fault {
                0 => pair.reset_connections(),
                1 => pair.hand_over(1, right()),
                _ => {}
            }
            pair.hand_over(0, ours.clone());
        }
        pair.run_for(600_000);
        prop_assert!(pair.is_up());
    }

    /// A record that is cut off or damaged is refused, or gives a session; it never panics.
    #[test]
    fn a_damaged_record_is_refused(seed in 0..8_u64, place in any::<usize>(), value in any::<u8>()) {
        let pair = Pair::connected(seed, [left(), right()]);
        let whole = record(pair.session(0));
        let at = place % whole.len();
        let cut = Session::from_state(left(), 1, 0, &mut Reader::new(&whole[..at]));
        prop_assert!(cut.is_err());
        let mut damaged = whole;
        damaged[at] = value;
        let _ = Session::from_state(left(), 1, 0, &mut Reader::new(&damaged));
    }
}
