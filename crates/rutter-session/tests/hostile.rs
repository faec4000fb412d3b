//! Any inputs in any order: the session answers, keeps its invariants and neither panics nor floods its caller.

mod speakers;

use proptest::prelude::*;
use rutter_net::{Asn, Family, PerFamily};
use rutter_session::{
    Config, ConnectionId, Input, Output, RemoteAs, ResetReason, Session, State, StopReason,
};
use rutter_wire::capability::{Capability, GracefulRestart, GracefulRestartFamily, Role};
use rutter_wire::frame::{KEEPALIVE, MAX_LEN, next_frame};
use rutter_wire::notification::{Notification, cease};
use rutter_wire::open::Open;
use rutter_wire::refresh::{RouteRefresh, Subtype};
use speakers::{End, Pair, left, passive, right};

/// An input as data, so that a failing test case shrinks.
#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Plain(u8),
    On(u8, bool),
    Receive(bool, Vec<u8>),
}

fn connection(second: bool) -> ConnectionId {
    if second {
        ConnectionId::Second
    } else {
        ConnectionId::First
    }
}

fn family(v6: bool) -> Family {
    Family::ALL[usize::from(v6)]
}

fn wire() -> impl Strategy<Value = Vec<u8>> {
    let open = (
        0u8..6,
        any::<bool>(),
        prop::sample::select(vec![0u16, 1, 2, 3, 90]),
    )
        .prop_map(|(shape, restarts, hold)| open(shape, restarts, hold));
    let refresh = (any::<bool>(), 0u8..4).prop_map(|(v6, subtype)| {
        let mut wire = Vec::new();
        let subtype = Subtype::from_code(subtype);
        RouteRefresh {
            afi_safi: family(v6).afi_safi(),
            subtype,
        }
        .encode(&mut wire);
        wire
    });
    let notification = (1u8..9, 0u8..12, prop::collection::vec(any::<u8>(), 0..6)).prop_map(
        |(code, subcode, data)| {
            let mut wire = Vec::new();
            Notification::new(code, subcode, data).encode(&mut wire);
            wire
        },
    );
    prop_oneof![
        4 => open,
        4 => Just(KEEPALIVE.to_vec()),
        1 => refresh,
        1 => notification,
        1 => any::<u8>().prop_map(|kind| {
            let mut wire = vec![0xff; 16];
            wire.extend_from_slice(&[0, 23, kind, 0, 0, 0, 0]);
            wire
        }),
    ]
}

fn open(shape: u8, restarts: bool, hold_time_s: u16) -> Vec<u8> {
    let mut capabilities = vec![
        Capability::MultiProtocol(Family::Ipv4Unicast.afi_safi()),
        Capability::MultiProtocol(Family::Ipv6Unicast.afi_safi()),
        Capability::RouteRefresh,
        Capability::EnhancedRouteRefresh,
    ];
    if restarts {
        let families = Family::ALL.map(|f| GracefulRestartFamily {
            afi_safi: f.afi_safi(),
            forwarding: shape.is_multiple_of(2),
        });
        capabilities.push(Capability::GracefulRestart(GracefulRestart {
            restart_state: shape == 1,
            notification: shape < 4,
            restart_time_s: u16::from(shape) * 60,
            families: families.to_vec(),
        }));
    }
    capabilities.extend((shape == 5).then_some(Capability::Role(Role::Peer)));
    let mut wire = Vec::new();
    let asn = if shape == 4 { Asn(1) } else { Asn(64_511) };
    Open::new(asn, hold_time_s, u32::from(shape), capabilities).encode(&mut wire);
    wire
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0u64..200_000).prop_map(Step::Pass),
        2 => (0u8..17).prop_map(Step::Plain),
        4 => (0u8..8, any::<bool>()).prop_map(|(what, second)| Step::On(what, second)),
        6 => (any::<bool>(), wire()).prop_map(|(second, wire)| Step::Receive(second, wire)),
    ]
}

fn plain(what: u8) -> Input<'static> {
    let family = family(what.is_multiple_of(2));
    match what {
        0..=2 => Input::Start,
        3 => Input::Stop {
            reason: StopReason::Shutdown,
            text: "ü",
        },
        4 => Input::Stop {
            reason: StopReason::Restart,
            text: "",
        },
        5 => Input::Reset {
            reason: ResetReason::ConfigChange,
            text: "x",
        },
        6 | 7 => Input::EndOfRib { family },
        8 => Input::MaxPrefixExceeded {
            family,
            limit: 0,
            restart_after_s: None,
        },
        9 => Input::MaxPrefixExceeded {
            family,
            limit: u32::MAX,
            restart_after_s: Some(u32::MAX),
        },
        10 => Input::RequestRefresh { family },
        11 => Input::OutOfMemory {
            restart_after_s: Some(0),
        },
        12 => Input::SendRefreshMarker {
            family,
            subtype: Subtype::Begin,
        },
        13 => Input::UpdateError {
            notification: Notification::new(3, 1, vec![]),
        },
        14 => Input::Restarting(true),
        15 => Input::SendEndOfRib,
        16 => Input::RemoveStale,
        _ => Input::Tick,
    }
}

fn on(what: u8, connection: ConnectionId) -> Input<'static> {
    match what {
        0 | 1 => Input::Connected {
            connection,
            outgoing: true,
        },
        2 => Input::Connected {
            connection,
            outgoing: false,
        },
        3 => Input::ConnectFailed { connection },
        4 => Input::Disconnected { connection },
        5 => Input::WriteBlocked { connection },
        6 => Input::WriteDrained { connection },
        _ => Input::FramingError {
            connection,
            notification: cease::plain(5),
        },
    }
}

fn apply(session: &mut Session, now_ms: &mut u64, step: &Step) {
    match step {
        Step::Pass(ms) => {
            *now_ms += ms;
            session.handle(*now_ms, Input::Tick);
        }
        Step::Plain(what) => session.handle(*now_ms, plain(*what)),
        Step::On(what, second) => session.handle(*now_ms, on(*what, connection(*second))),
        Step::Receive(second, wire) => {
            let connection = connection(*second);
            match next_frame(wire, MAX_LEN) {
                Ok(Some(frame)) => session.handle(*now_ms, Input::Message { connection, frame }),
                Ok(None) => {}
                Err(notification) => {
                    session.handle(
                        *now_ms,
                        Input::FramingError {
                            connection,
                            notification,
                        },
                    );
                }
            }
        }
    }
}

/// The order of outputs that a caller relies on: `Established` and `Down` alternate, and stale routes exist before they
/// are swept.
#[derive(Default)]
struct OutputOrder {
    up: bool,
    stale: PerFamily<bool>,
}

impl OutputOrder {
    fn check(&mut self, output: &Output) {
        match output {
            Output::Established { .. } => assert!(!std::mem::replace(&mut self.up, true)),
            Output::Down { keep, .. } => {
                assert!(std::mem::replace(&mut self.up, false));
                self.stale = *keep;
            }
            Output::MarkStale(family) => self.stale[*family] = true,
            Output::SweepStale(family) => {
                assert!(std::mem::take(&mut self.stale[*family]), "nothing to sweep");
            }
            Output::StartLongLivedStale(family) => assert!(self.stale[*family]),
            _ => {}
        }
    }
}

fn hostile_config(role: bool, long_lived: bool, passive: bool) -> Config {
    let mut config = Config::new(Asn(64_500), RemoteAs::Any, 3);
    config.passive = passive;
    config.role = role.then_some(Role::RouteServer);
    config.families[Family::Ipv4Unicast].long_lived_s = if long_lived { 1_000 } else { 0 };
    config
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_input_in_any_order(
        steps in prop::collection::vec(step(), 0..80),
        role: bool,
        long_lived: bool,
        passive: bool,
        seed: u64,
    ) {
        let mut session = Session::new(hostile_config(role, long_lived, passive), seed);
        let (mut now_ms, mut order) = (0, OutputOrder::default());
        for step in &steps {
            apply(&mut session, &mut now_ms, step);
            session.check_invariants();
            let mut outputs = 0;
            while let Some(output) = session.poll_output() {
                order.check(&output);
                outputs += 1;
            }
            prop_assert!(outputs < 60, "a flood of outputs");
            prop_assert_eq!(order.up, session.state() == State::Established);
        }
    }

    /// A neighbor sends garbage at any point: it gets a NOTIFICATION or is ignored, and the session recovers.
    #[test]
    fn sessions_recover_from_garbage(
        seed: u64,
        after_ms in 0u64..3_000,
        garbage in prop::collection::vec(any::<u8>(), 1..200),
        marked: bool,
    ) {
        let mut pair = Pair::new(seed, [left(), passive(right())]);
        pair.start();
        pair.run_for(after_ms);
        let mut bytes = if marked { vec![0xff; 16] } else { Vec::new() };
        bytes.extend_from_slice(&garbage);
        for speaker in [0, 1] {
            for connection in ConnectionId::ALL {
                pair.receive_bytes(End { speaker, connection }, &bytes);
            }
        }
        pair.run_for(400_000);
        prop_assert!(pair.is_up());
    }
}

/// The clock is at its end, the settings are at their limits.
#[test]
fn extremes() {
    let mut config = Config::new(Asn(u32::MAX), RemoteAs::Any, u32::MAX);
    config.hold_time_s = u16::MAX;
    config.connect_retry_s = 0;
    config.open_hold_time_s = 0;
    config.send_hold_time_s = u32::MAX;
    config.idle_hold.initial_ms = u64::MAX;
    config.idle_hold.max_ms = u64::MAX;
    config.software_version = Some("ö".repeat(300));
    let mut session = Session::new(config, u64::MAX);
    for now_ms in [0, 1, u64::MAX - 1, u64::MAX, 0] {
        for input in [Input::Start, Input::Tick, Input::Tick] {
            session.handle(now_ms, input);
            session.check_invariants();
        }
        let connection = ConnectionId::First;
        session.handle(
            now_ms,
            Input::Connected {
                connection,
                outgoing: true,
            },
        );
        session.handle(now_ms, Input::WriteBlocked { connection });
        session.handle(now_ms, Input::Disconnected { connection });
        session.check_invariants();
        while session.poll_output().is_some() {}
    }
}
