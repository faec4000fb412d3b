//! Two sessions talk to each other in memory, on a virtual clock: `cargo run -p rutter-session --example two_speakers`.

use rutter_net::Asn;
use rutter_session::{Config, ConnectionId, Input, Output, RemoteAs, Session, State};
use rutter_wire::frame::{self, MAX_LEN};

fn main() {
    let ours = Config::new(Asn(64_500), RemoteAs::One(Asn(64_501)), 0x0a00_0001);
    let mut theirs = Config::new(Asn(64_501), RemoteAs::One(Asn(64_500)), 0x0a00_0002);
    theirs.passive = true;
    let mut sessions = [Session::new(ours, 1), Session::new(theirs, 2)];
    let mut now_ms = 0;
    for session in &mut sessions {
        session.handle(now_ms, Input::Start);
    }
    while sessions
        .iter()
        .any(|session| session.state() != State::Established)
    {
        if !deliver(&mut sessions, now_ms) {
            // Nothing is in transit: advance the clock to the next deadline.
            let deadlines = sessions.iter().filter_map(Session::next_deadline);
            now_ms = deadlines
                .min()
                .expect("a session that waits has a deadline");
            for session in &mut sessions {
                session.handle(now_ms, Input::Tick);
            }
        }
    }
    println!("established after {now_ms} ms");
}

/// Performs the outputs of both sessions, as a daemon does with sockets. Returns `false` if there were none.
fn deliver(sessions: &mut [Session; 2], now_ms: u64) -> bool {
    let mut delivered = false;
    for at in 0..2 {
        while let Some(output) = sessions[at].poll_output() {
            delivered = true;
            match output {
                // Both ends use the first of their two connections.
                Output::Connect { connection } => {
                    for (end, outgoing) in [(at, true), (1 - at, false)] {
                        let input = Input::Connected {
                            connection,
                            outgoing,
                        };
                        sessions[end].handle(now_ms, input);
                    }
                }
                Output::Send { message, .. } => {
                    let frame = frame::next_frame(&message, MAX_LEN);
                    let frame = frame.expect("a valid message").expect("a whole message");
                    let connection = ConnectionId::First;
                    sessions[1 - at].handle(now_ms, Input::Message { connection, frame });
                }
                Output::Established { negotiated, .. } => {
                    let hold_time_s = negotiated.hold_time_s;
                    println!("speaker {at}: established, hold time {hold_time_s} s");
                }
                output => println!("speaker {at}: {output:?}"),
            }
        }
    }
    delivered
}
