//! The state machine as a table: six states by 28 events (RFC 4271 §8.2.2), on one page.
//!
//! `UPDATE_GOLDEN=1 cargo test -p rutter-session --test table` rewrites the page.

use std::fmt::Write as _;

use rutter_net::{Asn, Family};
use rutter_session::{
    Config, ConnectionId, Input, Output, RemoteAs, Session, State, StopReason, Timer,
};
use rutter_wire::capability::Capability;
use rutter_wire::frame::{KEEPALIVE, MAX_LEN, MessageType, next_frame};
use rutter_wire::notification::{Notification, cease, header};
use rutter_wire::open::Open;
use rutter_wire::refresh::{RouteRefresh, Subtype};

const FIRST: ConnectionId = ConnectionId::First;
const SECOND: ConnectionId = ConnectionId::Second;

/// The session under test has the lower BGP Identifier and no Graceful Restart.
fn config() -> Config {
    Config {
        graceful_restart: None,
        ..Config::new(Asn(64_500), RemoteAs::One(Asn(64_511)), 1)
    }
}

fn open(version: u8) -> Vec<u8> {
    let capabilities = vec![
        Capability::FourOctetAs(Asn(64_511)),
        Capability::RouteRefresh,
    ];
    let mut wire = Vec::new();
    Open::new(Asn(64_511), 90, 2, capabilities).encode(&mut wire);
    wire[19] = version;
    wire
}

fn notification(notification: &Notification) -> Vec<u8> {
    let mut wire = Vec::new();
    notification.encode(&mut wire);
    wire
}

fn update() -> Vec<u8> {
    let mut wire = vec![0xff; 16];
    wire.extend_from_slice(&[0, 23, 2, 0, 0, 0, 0]);
    wire
}

fn refresh() -> Vec<u8> {
    let mut wire = Vec::new();
    let afi_safi = Family::Ipv4Unicast.afi_safi();
    RouteRefresh {
        afi_safi,
        subtype: Subtype::Request,
    }
    .encode(&mut wire);
    wire
}

fn message(session: &mut Session, connection: ConnectionId, wire: &[u8]) {
    let frame = next_frame(wire, MAX_LEN).unwrap().unwrap();
    session.handle(2_000, Input::Message { connection, frame });
}

fn in_state(state: State) -> Session {
    let mut session = Session::new(config(), 1);
    let steps: [fn(&mut Session); 4] = [
        |s| s.handle(1_000, Input::Start),
        |s| {
            s.handle(
                1_000,
                Input::Connected {
                    connection: FIRST,
                    outgoing: true,
                },
            )
        },
        |s| message(s, FIRST, &open(4)),
        |s| message(s, FIRST, &KEEPALIVE),
    ];
    let count = match state {
        State::Idle => 0,
        State::Connect | State::Active => 1,
        State::OpenSent => 2,
        State::OpenConfirm => 3,
        State::Established => 4,
    };
    steps
        .into_iter()
        .take(count)
        .for_each(|step| step(&mut session));
    if state == State::Active {
        session.handle(1_000, Input::ConnectFailed { connection: FIRST });
    }
    assert_eq!(session.state(), state);
    while session.poll_output().is_some() {}
    session
}

/// Raises an event; returns false where it cannot occur in this state.
type Event = fn(&mut Session) -> bool;

fn tick(session: &mut Session, timer: Timer) -> bool {
    let at = session
        .timers()
        .find(|(t, _)| *t == timer)
        .map(|(_, at)| at);
    at.inspect(|at| session.handle(*at, Input::Tick)).is_some()
}

fn handle(session: &mut Session, input: Input<'_>) -> bool {
    session.handle(2_000, input);
    true
}

fn receive(session: &mut Session, wire: &[u8]) -> bool {
    message(session, FIRST, wire);
    true
}

fn passively(session: &mut Session) -> bool {
    session.set_config(Config {
        passive: true,
        ..config()
    });
    handle(session, Input::Start)
}

fn max_prefix(session: &mut Session) -> bool {
    let family = Family::Ipv4Unicast;
    handle(
        session,
        Input::MaxPrefixExceeded {
            family,
            limit: 9,
            restart_after_s: None,
        },
    )
}

fn idle_hold(session: &mut Session) -> bool {
    if session.state() != State::Idle {
        return tick(session, Timer::IdleHold);
    }
    *session = in_state(State::Established);
    handle(
        session,
        Input::UpdateError {
            notification: Notification::new(3, 1, vec![]),
        },
    );
    while session.poll_output().is_some() {}
    tick(session, Timer::IdleHold)
}

/// The neighbor's own connection reaches OpenConfirm; its identifier is the higher one.
fn collide(session: &mut Session) -> bool {
    let Some(connection) = session.accepts() else {
        return false;
    };
    session.handle(
        2_000,
        Input::Connected {
            connection,
            outgoing: false,
        },
    );
    while session.poll_output().is_some() {}
    message(session, connection, &open(4));
    true
}

fn send_hold(session: &mut Session) -> bool {
    handle(session, Input::WriteBlocked { connection: FIRST });
    // No timer but this one fires.
    while session.next_deadline().is_some_and(|at| at < 400_000)
        && session.state() == State::Established
    {
        let at = session.next_deadline().unwrap_or_default();
        session.handle(at, Input::Tick);
        session.update_received(at);
    }
    while session.poll_output().is_some() {}
    tick(session, Timer::SendHold(FIRST))
}

const EVENTS: [(&str, Event); 30] = [
    ("1 ManualStart", |s| handle(s, Input::Start)),
    ("2 ManualStop", |s| {
        handle(
            s,
            Input::Stop {
                reason: StopReason::Shutdown,
                text: "",
            },
        )
    }),
    ("3 AutomaticStart", |s| handle(s, Input::Start)),
    ("4 ManualStart_with_PassiveTcpEstablishment", passively),
    ("5 AutomaticStart_with_PassiveTcpEstablishment", passively),
    (
        "6 AutomaticStart_with_DampPeerOscillations (event 13 is that)",
        |_| false,
    ),
    (
        "7 AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment (event 13 is that)",
        |_| false,
    ),
    ("8 AutomaticStop (prefix limit, no restart)", max_prefix),
    ("9 ConnectRetryTimer_Expires", |s| {
        tick(s, Timer::ConnectRetry)
    }),
    ("10 HoldTimer_Expires", |s| tick(s, Timer::Hold(FIRST))),
    ("11 KeepaliveTimer_Expires", |s| {
        tick(s, Timer::Keepalive(FIRST))
    }),
    ("12 DelayOpenTimer_Expires (no such timer)", |_| false),
    ("13 IdleHoldTimer_Expires", idle_hold),
    (
        "14 TcpConnection_Valid (the kernel tells of whole connections only)",
        |_| false,
    ),
    ("15 Tcp_CR_Invalid (refused before it gets here)", |_| false),
    ("16 Tcp_CR_Acked", |s| {
        handle(
            s,
            Input::Connected {
                connection: FIRST,
                outgoing: true,
            },
        )
    }),
    ("17 TcpConnectionConfirmed", |s| {
        handle(
            s,
            Input::Connected {
                connection: s.accepts().unwrap_or(SECOND),
                outgoing: false,
            },
        )
    }),
    ("18 TcpConnectionFails", |s| {
        handle(s, Input::Disconnected { connection: FIRST })
    }),
    ("19 BGPOpen", |s| receive(s, &open(4))),
    (
        "20 BGPOpen with DelayOpenTimer running (no such timer)",
        |_| false,
    ),
    ("21 BGPHeaderErr", |s| {
        handle(
            s,
            Input::FramingError {
                connection: FIRST,
                notification: header::bad_type(9),
            },
        )
    }),
    ("22 BGPOpenMsgErr", |s| receive(s, &open(3))),
    ("23 OpenCollisionDump", collide),
    ("24 NotifMsgVerErr", |s| {
        receive(s, &notification(&Notification::new(2, 1, vec![0, 4])))
    }),
    ("25 NotifMsg", |s| {
        receive(s, &notification(&cease::plain(cease::ADMIN_RESET)))
    }),
    ("26 KeepAliveMsg", |s| receive(s, &KEEPALIVE)),
    ("27 UpdateMsg", |s| receive(s, &update())),
    ("28 UpdateMsgErr", |s| {
        handle(
            s,
            Input::UpdateError {
                notification: Notification::new(3, 1, vec![]),
            },
        )
    }),
    ("29 SendHoldTimer_Expires (RFC 9687)", send_hold),
    ("- ROUTE-REFRESH (RFC 2918)", |s| receive(s, &refresh())),
];

fn words(output: &Output) -> Option<String> {
    let name = |c: &ConnectionId| if *c == FIRST { "first" } else { "second" };
    Some(match output {
        Output::Connect { connection } => format!("connect {}", name(connection)),
        Output::Close { connection } => format!("close {}", name(connection)),
        Output::Send {
            connection,
            message,
        } => format!("send {} on {}", kind(message), name(connection)),
        Output::Established { connection, .. } => format!("established on {}", name(connection)),
        Output::Down { .. } => "down".into(),
        Output::Event(_) => return None,
        other => format!("{other:?}"),
    })
}

fn kind(wire: &[u8]) -> String {
    match MessageType::from_code(wire[18]) {
        Some(MessageType::Notification) => format!("NOTIFICATION {}/{}", wire[19], wire[20]),
        Some(kind) => format!("{kind:?}").to_uppercase(),
        None => "nonsense".into(),
    }
}

fn row(state: State, event: Event) -> String {
    let mut session = in_state(state);
    if !event(&mut session) {
        return "-".into();
    }
    session.check_invariants();
    let mut row = format!("{:<12}", session.state());
    let outputs: Vec<String> = std::iter::from_fn(|| session.poll_output())
        .filter_map(|o| words(&o))
        .collect();
    let mut timers: Vec<String> = session.timers().map(|(t, _)| t.to_string()).collect();
    timers.dedup();
    let _ = write!(row, " {:<44} [{}]", outputs.join(", "), timers.join(" "));
    row
}

#[test]
fn six_states_by_all_events() {
    let mut page = String::from(
        "Event, then for each state: the state after it, what is asked for, [timers that run].\n",
    );
    for (name, event) in EVENTS {
        let _ = writeln!(page, "\n{name}");
        for state in State::ALL {
            let _ = writeln!(page, "  {state:<12} -> {}", row(state, event));
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/table.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == golden, "the table changed; look at it:\n{page}");
}
