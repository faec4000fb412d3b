//! Two sessions on a virtual clock, over connections that cut the bytes anywhere.
#![allow(dead_code)]

use std::collections::VecDeque;

use rutter_net::Asn;
use rutter_session::{Config, ConnectionId, Input, Output, RemoteAs, Session, State};
use rutter_wire::frame::next_frame;
use rutter_wire::handover::{Reader, Writer};

/// One end of a virtual TCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub speaker: usize,
    pub connection: ConnectionId,
}

/// A virtual TCP connection: `ends[0]` initiated it.
struct Connection {
    ends: [Option<End>; 2],
    /// The bytes on their way to each end, and whether the end of the stream follows.
    flight: [VecDeque<u8>; 2],
    closed: [bool; 2],
    /// The bytes that each end has received without a whole message.
    inbox: [Vec<u8>; 2],
    open: bool,
}

/// A session and all its outputs.
pub struct Speaker {
    pub session: Session,
    pub outputs: Vec<Output>,
}

/// Two speakers, the connections between them and the clock.
pub struct Pair {
    pub now_ms: u64,
    pub speakers: [Speaker; 2],
    connections: Vec<Connection>,
    dice: u64,
    /// No connection succeeds and no byte arrives while this is set.
    pub cut: bool,
}

/// AS 64500, 192.0.2.1.
pub fn left() -> Config {
    Config::new(Asn(64_500), RemoteAs::One(Asn(64_511)), 0xc000_0201)
}

/// AS 64511, 192.0.2.2.
pub fn right() -> Config {
    Config::new(Asn(64_511), RemoteAs::One(Asn(64_500)), 0xc000_0202)
}

pub fn passive(config: Config) -> Config {
    Config {
        passive: true,
        ..config
    }
}

impl Pair {
    pub fn new(seed: u64, configs: [Config; 2]) -> Self {
        let [a, b] = configs;
        let speaker = |config, seed| Speaker {
            session: Session::new(config, seed),
            outputs: Vec::new(),
        };
        Pair {
            now_ms: 1_000,
            speakers: [speaker(a, seed), speaker(b, seed ^ 0xabcd)],
            connections: Vec::new(),
            dice: seed,
            cut: false,
        }
    }

    /// A pair that was started and had two minutes to establish its session.
    pub fn connected(seed: u64, configs: [Config; 2]) -> Self {
        let mut pair = Pair::new(seed, configs);
        pair.start();
        pair.run_for(120_000);
        pair
    }

    pub fn start(&mut self) {
        self.handle(0, Input::Start);
        self.handle(1, Input::Start);
    }

    pub fn session(&self, speaker: usize) -> &Session {
        &self.speakers[speaker].session
    }

    /// Gives a speaker other settings while its session goes on.
    pub fn set_config(&mut self, speaker: usize, config: Config) {
        self.speakers[speaker].session.set_config(config);
    }

    pub fn states(&self) -> [State; 2] {
        [0, 1].map(|s| self.speakers[s].session.state())
    }

    pub fn is_up(&self) -> bool {
        self.states() == [State::Established; 2]
    }

    /// Returns the outputs since the last call, without events.
    pub fn take_outputs(&mut self, speaker: usize) -> Vec<Output> {
        let outputs = std::mem::take(&mut self.speakers[speaker].outputs);
        let is_action = |o: &Output| !matches!(o, Output::Event(_));
        outputs.into_iter().filter(is_action).collect()
    }

    pub fn handle(&mut self, speaker: usize, input: Input<'_>) {
        self.speakers[speaker].session.handle(self.now_ms, input);
        self.perform(speaker);
    }

    fn perform(&mut self, speaker: usize) {
        self.speakers[speaker].session.check_invariants();
        while let Some(output) = self.speakers[speaker].session.poll_output() {
            match &output {
                Output::Connect { connection } => self.connect(End {
                    speaker,
                    connection: *connection,
                }),
                Output::Send {
                    connection,
                    message,
                } => self.send(speaker, *connection, message),
                Output::Close { connection } => self.close(speaker, *connection),
                _ => {}
            }
            self.speakers[speaker].outputs.push(output);
        }
    }

    fn connect(&mut self, end: End) {
        self.connections.push(Connection {
            ends: [Some(end), None],
            flight: Default::default(),
            closed: [false; 2],
            inbox: Default::default(),
            open: false,
        });
    }

    fn find(&self, speaker: usize, connection: ConnectionId) -> Option<(usize, usize)> {
        let end = Some(End {
            speaker,
            connection,
        });
        let side = |c: &Connection| c.ends.iter().position(|e| *e == end);
        (0..self.connections.len()).find_map(|c| Some((c, side(&self.connections[c])?)))
    }

    fn send(&mut self, speaker: usize, connection: ConnectionId, message: &[u8]) {
        if let Some((at, side)) = self.find(speaker, connection) {
            self.connections[at].flight[1 - side].extend(message);
        }
    }

    fn close(&mut self, speaker: usize, connection: ConnectionId) {
        if let Some((at, side)) = self.find(speaker, connection) {
            let connection = &mut self.connections[at];
            connection.ends[side] = None;
            connection.closed[1 - side] = true;
        }
    }

    /// Breaks every connection as a pulled cable does: neither session notices.
    pub fn stall(&mut self) {
        self.cut = true;
        for connection in &mut self.connections {
            connection.flight = Default::default();
            connection.closed = [false; 2];
        }
    }

    /// Replaces the speaker's session by a new one. Its neighbor does not notice.
    pub fn crash(&mut self, speaker: usize, successor: Session) {
        for end in self.connections.iter_mut().flat_map(|c| &mut c.ends) {
            end.take_if(|e| e.speaker == speaker);
        }
        self.speakers[speaker].session = successor;
    }

    /// Replaces the speaker's session by one that continues it in another process. Its unfinished connections close.
    pub fn hand_over(&mut self, speaker: usize, config: Config) {
        let before = &self.speakers[speaker].session;
        let mut state = Writer::default();
        before.write_state(&mut state);
        let kept = before.established();
        for connection in ConnectionId::ALL.into_iter().filter(|c| Some(*c) != kept) {
            self.close(speaker, connection);
        }
        let mut reader = Reader::new(&state.bytes);
        let session = Session::from_state(config, self.dice, self.now_ms, &mut reader);
        self.speakers[speaker].session = session.expect("a whole record");
        assert!(reader.is_empty(), "every value was read");
        self.speakers[speaker].session.check_invariants();
    }

    /// Resets every connection: both sessions notice.
    pub fn reset_connections(&mut self) {
        for connection in std::mem::take(&mut self.connections) {
            for end in connection.ends.into_iter().flatten() {
                let connection = end.connection;
                self.handle(end.speaker, Input::Disconnected { connection });
            }
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % sides
    }

    /// Lets time pass: each delivery takes a millisecond, timers fire when they are due.
    pub fn run_for(&mut self, ms: u64) {
        let until = self.now_ms + ms;
        while self.now_ms < until {
            let moved = self.deliver();
            let next = [0, 1]
                .iter()
                .filter_map(|s| self.session(*s).next_deadline())
                .min();
            let jump = if moved {
                self.now_ms + 1
            } else {
                next.unwrap_or(until)
            };
            self.now_ms = jump.clamp(self.now_ms + 1, until);
            for speaker in [0, 1] {
                if self
                    .session(speaker)
                    .next_deadline()
                    .is_some_and(|at| at <= self.now_ms)
                {
                    self.handle(speaker, Input::Tick);
                }
            }
        }
    }

    /// Performs one step on a random connection; returns false if no byte moved.
    fn deliver(&mut self) -> bool {
        let count = self.connections.len() as u64;
        if count == 0 {
            return false;
        }
        let first = self.roll(count) as usize;
        for i in 0..self.connections.len() {
            let at = (first + i) % self.connections.len();
            if self.step(at) {
                return true;
            }
        }
        false
    }

    fn step(&mut self, at: usize) -> bool {
        if !self.connections[at].open {
            return self.accept_or_refuse(at);
        }
        if self.cut {
            return false;
        }
        let first = self.roll(2) as usize;
        for side in [first, 1 - first] {
            if !self.connections[at].flight[side].is_empty() {
                self.segment(at, side);
                return true;
            }
            if std::mem::take(&mut self.connections[at].closed[side]) {
                if let Some(end) = self.connections[at].ends[side].take() {
                    let connection = end.connection;
                    self.handle(end.speaker, Input::Disconnected { connection });
                }
                return true;
            }
        }
        false
    }

    /// SYN: the other session accepts or refuses the connection.
    fn accept_or_refuse(&mut self, at: usize) -> bool {
        let Some(from) = self.connections[at].ends[0] else {
            self.connections.remove(at);
            return true;
        };
        let other = 1 - from.speaker;
        let welcome = self.session(other).accepts().filter(|_| !self.cut);
        let Some(connection) = welcome else {
            self.connections.remove(at);
            let connection = from.connection;
            self.handle(from.speaker, Input::ConnectFailed { connection });
            return true;
        };
        let speaker = other;
        self.connections[at].ends[1] = Some(End {
            speaker,
            connection,
        });
        self.connections[at].open = true;
        self.handle(
            other,
            Input::Connected {
                connection,
                outgoing: false,
            },
        );
        let connection = from.connection;
        self.handle(
            from.speaker,
            Input::Connected {
                connection,
                outgoing: true,
            },
        );
        true
    }

    /// A random number of bytes arrives.
    fn segment(&mut self, at: usize, side: usize) {
        let waiting = self.connections[at].flight[side].len() as u64;
        let len = 1 + self.roll(waiting) as usize;
        let bytes: Vec<u8> = self.connections[at].flight[side].drain(..len).collect();
        let Some(end) = self.connections[at].ends[side] else {
            return;
        };
        let mut inbox = std::mem::take(&mut self.connections[at].inbox[side]);
        inbox.extend(bytes);
        let rest = self.receive_bytes(end, &inbox);
        self.connections[at].inbox[side] = rest;
    }

    /// Passes whole messages to the session and returns the remaining bytes.
    pub fn receive_bytes(&mut self, end: End, bytes: &[u8]) -> Vec<u8> {
        let (mut rest, connection) = (bytes, end.connection);
        loop {
            let max_len = self.session(end.speaker).max_receive_len(connection);
            match next_frame(rest, max_len) {
                Ok(Some(frame)) => {
                    rest = &rest[frame.wire.len()..];
                    self.handle(end.speaker, Input::Message { connection, frame });
                }
                Ok(None) => return rest.to_vec(),
                Err(notification) => {
                    self.handle(
                        end.speaker,
                        Input::FramingError {
                            connection,
                            notification,
                        },
                    );
                    return Vec::new();
                }
            }
        }
    }
}
