//! Two sessions back to back on a virtual clock, over links that cut the bytes anywhere: the seed of the simulator.
#![allow(dead_code)]

use std::collections::VecDeque;

use rutter_net::Asn;
use rutter_session::{Config, Connection, Input, Output, RemoteAs, Session, State};
use rutter_wire::frame::next_frame;

/// One end of a virtual TCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub speaker: usize,
    pub connection: Connection,
}

/// A virtual TCP connection: `ends[0]` made it.
struct Wire {
    ends: [Option<End>; 2],
    /// Bytes on their way *to* each end, and whether the end of the stream follows.
    flight: [VecDeque<u8>; 2],
    closed: [bool; 2],
    /// What each end has read and not yet understood.
    inbox: [Vec<u8>; 2],
    open: bool,
}

/// A machine with everything it said.
pub struct Speaker {
    pub session: Session,
    pub said: Vec<Output>,
}

/// Two speakers, the wires between them and the clock.
pub struct Pair {
    pub now_ms: u64,
    pub speakers: [Speaker; 2],
    wires: Vec<Wire>,
    dice: u64,
    /// Nobody can connect while this is set.
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
            said: Vec::new(),
        };
        Pair {
            now_ms: 1_000,
            speakers: [speaker(a, seed), speaker(b, seed ^ 0xabcd)],
            wires: Vec::new(),
            dice: seed,
            cut: false,
        }
    }

    /// Both started and given time to meet.
    pub fn met(seed: u64, configs: [Config; 2]) -> Self {
        let mut pair = Pair::new(seed, configs);
        pair.start();
        pair.run_for(120_000);
        pair
    }

    pub fn start(&mut self) {
        self.tell(0, Input::Start);
        self.tell(1, Input::Start);
    }

    pub fn session(&self, speaker: usize) -> &Session {
        &self.speakers[speaker].session
    }

    pub fn states(&self) -> [State; 2] {
        [0, 1].map(|s| self.speakers[s].session.state())
    }

    pub fn is_up(&self) -> bool {
        self.states() == [State::Established; 2]
    }

    /// What was said since the last call, notes left out.
    pub fn heard(&mut self, speaker: usize) -> Vec<Output> {
        let said = std::mem::take(&mut self.speakers[speaker].said);
        let loud = |o: &Output| !matches!(o, Output::Note(_));
        said.into_iter().filter(loud).collect()
    }

    pub fn tell(&mut self, speaker: usize, input: Input<'_>) {
        self.speakers[speaker].session.handle(self.now_ms, input);
        self.obey(speaker);
    }

    fn obey(&mut self, speaker: usize) {
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
            self.speakers[speaker].said.push(output);
        }
    }

    fn connect(&mut self, end: End) {
        self.wires.push(Wire {
            ends: [Some(end), None],
            flight: Default::default(),
            closed: [false; 2],
            inbox: Default::default(),
            open: false,
        });
    }

    fn find(&self, speaker: usize, connection: Connection) -> Option<(usize, usize)> {
        let end = Some(End {
            speaker,
            connection,
        });
        let side = |w: &Wire| w.ends.iter().position(|e| *e == end);
        (0..self.wires.len()).find_map(|w| Some((w, side(&self.wires[w])?)))
    }

    fn send(&mut self, speaker: usize, connection: Connection, message: &[u8]) {
        if let Some((wire, side)) = self.find(speaker, connection) {
            self.wires[wire].flight[1 - side].extend(message);
        }
    }

    fn close(&mut self, speaker: usize, connection: Connection) {
        if let Some((wire, side)) = self.find(speaker, connection) {
            let wire = &mut self.wires[wire];
            wire.ends[side] = None;
            wire.closed[1 - side] = true;
        }
    }

    /// Breaks every connection without a word to either side's machine, as a pulled cable does.
    pub fn stall(&mut self) {
        self.cut = true;
        for wire in &mut self.wires {
            wire.flight = Default::default();
            wire.closed = [false; 2];
        }
    }

    /// The speaker's machine is replaced by another that knows nothing; its neighbor hears nothing of it.
    pub fn crash(&mut self, speaker: usize, successor: Session) {
        for end in self.wires.iter_mut().flat_map(|w| &mut w.ends) {
            end.take_if(|e| e.speaker == speaker);
        }
        self.speakers[speaker].session = successor;
    }

    /// Resets every connection: both sides hear of it.
    pub fn break_wires(&mut self) {
        for wire in std::mem::take(&mut self.wires) {
            for end in wire.ends.into_iter().flatten() {
                let connection = end.connection;
                self.tell(end.speaker, Input::Disconnected { connection });
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

    /// Lets time pass: deliveries take a millisecond each, timers fire when they are due.
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
                    self.tell(speaker, Input::Tick);
                }
            }
        }
    }

    /// One step on a wire drawn by lot; false if nothing moved.
    fn deliver(&mut self) -> bool {
        let count = self.wires.len() as u64;
        if count == 0 {
            return false;
        }
        let first = self.roll(count) as usize;
        for i in 0..self.wires.len() {
            let wire = (first + i) % self.wires.len();
            if self.step(wire) {
                return true;
            }
        }
        false
    }

    fn step(&mut self, wire: usize) -> bool {
        if !self.wires[wire].open {
            return self.shake_hands(wire);
        }
        if self.cut {
            return false;
        }
        let first = self.roll(2) as usize;
        for side in [first, 1 - first] {
            if !self.wires[wire].flight[side].is_empty() {
                self.segment(wire, side);
                return true;
            }
            if std::mem::take(&mut self.wires[wire].closed[side]) {
                if let Some(end) = self.wires[wire].ends[side].take() {
                    let connection = end.connection;
                    self.tell(end.speaker, Input::Disconnected { connection });
                }
                return true;
            }
        }
        false
    }

    /// SYN: accepted where the other machine lets it in.
    fn shake_hands(&mut self, wire: usize) -> bool {
        let Some(from) = self.wires[wire].ends[0] else {
            self.wires.remove(wire);
            return true;
        };
        let other = 1 - from.speaker;
        let welcome = self.session(other).accepts().filter(|_| !self.cut);
        let Some(connection) = welcome else {
            self.wires.remove(wire);
            let connection = from.connection;
            self.tell(from.speaker, Input::ConnectFailed { connection });
            return true;
        };
        let speaker = other;
        self.wires[wire].ends[1] = Some(End {
            speaker,
            connection,
        });
        self.wires[wire].open = true;
        self.tell(
            other,
            Input::Connected {
                connection,
                outgoing: false,
            },
        );
        let connection = from.connection;
        self.tell(
            from.speaker,
            Input::Connected {
                connection,
                outgoing: true,
            },
        );
        true
    }

    /// Some of the bytes arrive, cut anywhere.
    fn segment(&mut self, wire: usize, side: usize) {
        let waiting = self.wires[wire].flight[side].len() as u64;
        let len = 1 + self.roll(waiting) as usize;
        let bytes: Vec<u8> = self.wires[wire].flight[side].drain(..len).collect();
        let Some(end) = self.wires[wire].ends[side] else {
            return;
        };
        let mut inbox = std::mem::take(&mut self.wires[wire].inbox[side]);
        inbox.extend(bytes);
        let rest = self.understand(end, &inbox);
        self.wires[wire].inbox[side] = rest;
    }

    /// Whole messages go to the machine; what is left comes back.
    pub fn understand(&mut self, end: End, bytes: &[u8]) -> Vec<u8> {
        let (mut rest, connection) = (bytes, end.connection);
        loop {
            let max_len = self.session(end.speaker).max_receive_len(connection);
            match next_frame(rest, max_len) {
                Ok(Some(frame)) => {
                    rest = &rest[frame.wire.len()..];
                    self.tell(end.speaker, Input::Message { connection, frame });
                }
                Ok(None) => return rest.to_vec(),
                Err(notification) => {
                    self.tell(
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
