//! One run of the simulator: a phase with faults, then a quiet phase.

use std::collections::BTreeMap;

use rutter_net::{Family, PerFamily, Prefix};
use rutter_session::{ConnectionId, Input, ResetReason, StopReason};

use crate::client::{Client, PathLen, asn};
use crate::endpoint::Request;
use crate::server::Server;
use crate::setup::Setup;
use crate::{Pipe, Random};

/// The AS of the route server.
pub(crate) const SERVER_AS: u32 = 64_500;

/// BGP Identifiers decrease while indices increase, so that different steps of the decision process differ.
pub(crate) fn router_id(index: u16) -> u32 {
    5_000 - u32::from(index)
}

/// A connection between a client and the server: its id on each side, and the pipes.
struct Connection {
    client: u16,
    at_client: ConnectionId,
    at_server: ConnectionId,
    to_server: Pipe,
    to_client: Pipe,
    /// Open at the client, open at the server.
    open: [bool; 2],
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// A hash of all received bytes, in order.
    pub digest: u64,
    /// The length of the quiet phase, virtual milliseconds.
    pub took_ms: u64,
    /// The number of sessions that were established, over all clients.
    pub sessions: u64,
    /// The number of times that a lagging client left the log.
    pub demotions: u64,
}

/// A whole exchange.
pub struct World {
    pub(crate) now_ms: u64,
    pub(crate) random: Random,
    pub(crate) server: Server,
    pub(crate) clients: Vec<Client>,
    connections: Vec<Connection>,
    pub(crate) digest: u64,
    pub(crate) sessions: u64,
    pub(crate) prefixes: Vec<Prefix>,
    faults: bool,
    /// Connections are fast: see [`Pipe::fast`].
    is_fast: bool,
    /// The side that connects to each client: 0 the client, 1 the server, 2 both.
    kinds: Vec<u64>,
    /// The times until which clients and server cannot connect.
    pub(crate) unreachable_until_ms: Vec<u64>,
}

const FAULTS_MS: u64 = 60_000;
const QUIET_MS: u64 = 200_000;

/// Runs a seed to its end. Panics with the seed if a client ends up with other routes than the reference model.
pub fn run(seed: u64) -> Outcome {
    let mut world = World::new(seed);
    while world.now_ms < FAULTS_MS {
        world.inject_fault();
        world.step();
    }
    world.end_faults();
    let quiet_from = world.now_ms;
    while world.now_ms < quiet_from + QUIET_MS {
        world.step();
        if world.is_quiet() && world.differences().is_empty() {
            break;
        }
    }
    let wrong = world.differences();
    assert!(
        wrong.is_empty(),
        "seed {seed}: {wrong:?}\n{}",
        world.describe()
    );
    Outcome {
        digest: world.digest,
        took_ms: world.now_ms - quiet_from,
        sessions: world.sessions,
        demotions: world.server.rib.demotions(),
    }
}

impl World {
    /// The exchange of a seed before its first step.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let clients = 2 + random.below(5) as u16;
        let setup = Setup::without_checks(clients);
        let mut world = World::with(setup, random, seed);
        let prefixes = 1 + world.random.below(40);
        world.prefixes = (0..prefixes).map(prefix).collect();
        world.faults = true;
        world
    }

    /// An exchange of this setup, without faults or prefixes, before its first step.
    pub(crate) fn with(setup: Setup, mut random: Random, seed: u64) -> Self {
        let clients = setup.imports.len() as u16;
        // The side that connects: the client, the server or both at once (collisions).
        let kinds: Vec<u64> = (0..clients).map(|_| random.below(3)).collect();
        let is_fast = setup.is_fast;
        let server = Server::new(setup, connects_by(&kinds), seed);
        let client = |index: u16| {
            Client::new(
                index,
                kinds[usize::from(index)] == 1,
                seed ^ u64::from(index) << 8,
            )
        };
        let mut world = World {
            now_ms: 0,
            clients: (0..clients).map(client).collect(),
            server,
            random,
            connections: Vec::new(),
            digest: 0,
            sessions: 0,
            prefixes: Vec::new(),
            faults: false,
            is_fast,
            kinds,
            unreachable_until_ms: vec![0; usize::from(clients)],
        };
        for index in 0..clients {
            world.client_input(index, Input::Start);
            world.server_input(index, Input::Start);
        }
        world
    }

    /// One step: fires timers, delivers and writes, then moves the clock to the next event.
    pub(crate) fn step(&mut self) {
        for index in 0..self.clients.len() as u16 {
            let mut requests = Vec::new();
            self.clients[usize::from(index)]
                .end
                .tick(self.now_ms, &mut requests);
            self.perform_for_client(index, requests);
            let mut requests = Vec::new();
            self.server.peers[usize::from(index)]
                .end
                .tick(self.now_ms, &mut requests);
            self.perform_for_server(index, requests);
        }
        for connection in 0..self.connections.len() {
            self.arrive(connection);
        }
        self.server.defers(self.now_ms);
        self.server.relieve(self.now_ms);
        for connection in 0..self.connections.len() {
            self.write(connection);
        }
        self.connections.retain(|connection| {
            connection.open != [false; 2]
                && !(connection.to_client.is_over() && connection.to_server.is_over())
        });
        self.now_ms = self.next_ms();
    }

    fn next_ms(&mut self) -> u64 {
        let sessions = self
            .clients
            .iter()
            .filter_map(|c| c.end.session.next_deadline());
        let peers = self
            .server
            .peers
            .iter()
            .filter_map(|p| p.end.session.next_deadline());
        let pipes = self.connections.iter().flat_map(|connection| {
            [
                connection.to_client.next_arrival(),
                connection.to_server.next_arrival(),
            ]
        });
        let next = sessions.chain(peers).chain(pipes.flatten()).min();
        // Faults and writers get their turn at least this often.
        let most = self.now_ms + 1 + self.random.below(200);
        next.unwrap_or(most).clamp(self.now_ms + 1, most)
    }

    pub(crate) fn client_input(&mut self, index: u16, input: Input<'_>) {
        let mut requests = Vec::new();
        let client = &mut self.clients[usize::from(index)];
        client.end.handle(self.now_ms, input, &mut requests);
        self.perform_for_client(index, requests);
    }

    pub(crate) fn server_input(&mut self, index: u16, input: Input<'_>) {
        let mut requests = Vec::new();
        let peer = &mut self.server.peers[usize::from(index)];
        peer.end.handle(self.now_ms, input, &mut requests);
        self.perform_for_server(index, requests);
    }

    fn perform_for_client(&mut self, index: u16, requests: Vec<Request>) {
        for request in requests {
            match request {
                Request::Connect(connection) => self.connect(index, connection, true),
                Request::Close(connection) => self.close(index, connection, true),
                Request::Routes(output) => self.clients[usize::from(index)].handle_output(output),
            }
        }
    }

    fn perform_for_server(&mut self, index: u16, requests: Vec<Request>) {
        for request in requests {
            match request {
                Request::Connect(connection) => self.connect(index, connection, false),
                Request::Close(connection) => self.close(index, connection, false),
                Request::Routes(output) => {
                    if matches!(output, rutter_session::Output::Established { .. }) {
                        self.sessions += 1;
                    }
                    self.server.handle_output(usize::from(index), output);
                }
            }
        }
    }

    /// One side connects: the other accepts, or the attempt fails.
    fn connect(&mut self, index: u16, connection: ConnectionId, by_client: bool) {
        let client = &self.clients[usize::from(index)].end.session;
        let peer = &self.server.peers[usize::from(index)].end.session;
        let accepting = if by_client {
            peer.accepts()
        } else {
            client.accepts()
        };
        let is_unreachable = self.now_ms < self.unreachable_until_ms[usize::from(index)];
        let fails = is_unreachable || self.faults && self.random.once_in(8);
        let Some(other) = accepting.filter(|_| !fails) else {
            let input = Input::ConnectFailed { connection };
            return match by_client {
                true => self.client_input(index, input),
                false => self.server_input(index, input),
            };
        };
        let (at_client, at_server) = match by_client {
            true => (connection, other),
            false => (other, connection),
        };
        let window = 64 + self.random.below(8_000) as usize;
        let pipe = || match self.is_fast {
            true => Pipe::fast(),
            false => Pipe::new(window),
        };
        self.connections.push(Connection {
            client: index,
            at_client,
            at_server,
            to_server: pipe(),
            to_client: pipe(),
            open: [true; 2],
        });
        let now_ms = self.now_ms;
        let mut requests = Vec::new();
        let end = &mut self.clients[usize::from(index)].end;
        end.connected(now_ms, at_client, by_client, &mut requests);
        self.perform_for_client(index, requests);
        let mut requests = Vec::new();
        let end = &mut self.server.peers[usize::from(index)].end;
        end.connected(now_ms, at_server, !by_client, &mut requests);
        self.perform_for_server(index, requests);
    }

    /// One side closes the connection after the bytes that it has sent.
    fn close(&mut self, index: u16, id: ConnectionId, by_client: bool) {
        let now_ms = self.now_ms;
        for connection in &mut self.connections {
            let side = if by_client { 0 } else { 1 };
            let at = [connection.at_client, connection.at_server][side];
            if connection.client != index || at != id || !connection.open[side] {
                continue;
            }
            connection.open[side] = false;
            let (end, pipe) = match by_client {
                true => (
                    &mut self.clients[usize::from(index)].end,
                    &mut connection.to_server,
                ),
                false => (
                    &mut self.server.peers[usize::from(index)].end,
                    &mut connection.to_client,
                ),
            };
            let unsent = std::mem::take(&mut end.unsent[id.index()]);
            pipe.send(now_ms, &unsent, &mut self.random);
            pipe.close();
        }
    }

    /// Delivers the bytes that arrived on a connection to its ends.
    fn arrive(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        let index = connection.client;
        let (at_client, at_server) = (connection.at_client, connection.at_server);
        let to_client = connection.to_client.receive(self.now_ms);
        let to_server = connection.to_server.receive(self.now_ms);
        self.hash(&to_client);
        self.hash(&to_server);
        // A session must change its state before the next UPDATE is applied. Chunks are so short that no two
        // messages end in the same one.
        for bytes in to_client.chunks(16) {
            if self.connections[at].open[0] {
                self.receive_at_client(index, at_client, bytes);
            }
        }
        for bytes in to_server.chunks(16) {
            if self.connections[at].open[1] {
                self.receive_at_server(index, at_server, bytes);
            }
        }
        self.end_of_stream(at);
    }

    fn receive_at_client(&mut self, index: u16, connection: ConnectionId, bytes: &[u8]) {
        let mut requests = Vec::new();
        let Client { end, held, .. } = &mut self.clients[usize::from(index)];
        let take = |body: &[u8]| held.apply(body);
        end.receive(self.now_ms, connection, bytes, &mut requests, take);
        self.perform_for_client(index, requests);
    }

    fn receive_at_server(&mut self, index: u16, connection: ConnectionId, bytes: &[u8]) {
        let mut requests = Vec::new();
        let (rib, batch, peer) = self.server.split(usize::from(index));
        let id = peer.id;
        let mut ended = Vec::new();
        let take = |body: &[u8]| {
            let outcome = Server::apply(rib, batch, id, body);
            ended.extend(outcome.end_of_rib);
            outcome
        };
        peer.end
            .receive(self.now_ms, connection, bytes, &mut requests, take);
        self.perform_for_server(index, requests);
        for family in ended {
            self.server.end_of_rib(index, family, self.now_ms);
        }
    }

    /// The server ends, in order or like a crash, and starts again with an empty table.
    pub(crate) fn restart_server(&mut self, is_orderly: bool, deferral_ms: u64, seed: u64) {
        let clients = 0..self.clients.len() as u16;
        if is_orderly {
            for index in clients.clone() {
                let reason = StopReason::Restart;
                self.server_input(index, Input::Stop { reason, text: "" });
            }
        }
        let setup = Setup::without_checks(clients.end);
        let server = Server::new(setup, connects_by(&self.kinds), seed);
        let ends_at_ms = self.now_ms + deferral_ms;
        self.server = server.restarted(&self.server, ends_at_ms);
        // What the old process had sent still arrives.
        for at in 0..self.connections.len() {
            let connection = &mut self.connections[at];
            if std::mem::take(&mut connection.open[1]) {
                connection.to_client.close();
            }
        }
        for index in clients {
            self.server_input(index, Input::Restarting(true));
            self.server_input(index, Input::Start);
        }
    }

    fn end_of_stream(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        let index = connection.client;
        let mut gone = [false; 2];
        if connection.open[0] && connection.to_client.is_over() {
            connection.open[0] = false;
            connection.to_server.close();
            gone[0] = true;
        }
        if connection.open[1] && connection.to_server.is_over() {
            connection.open[1] = false;
            connection.to_client.close();
            gone[1] = true;
        }
        let (at_client, at_server) = (connection.at_client, connection.at_server);
        self.lose(index, gone, at_client, at_server);
    }

    fn lose(
        &mut self,
        index: u16,
        gone: [bool; 2],
        at_client: ConnectionId,
        at_server: ConnectionId,
    ) {
        let mut requests = Vec::new();
        if gone[0] {
            let end = &mut self.clients[usize::from(index)].end;
            end.disconnected(self.now_ms, at_client, &mut requests);
            self.perform_for_client(index, std::mem::take(&mut requests));
        }
        if gone[1] {
            let end = &mut self.server.peers[usize::from(index)].end;
            end.disconnected(self.now_ms, at_server, &mut requests);
            self.perform_for_server(index, requests);
        }
    }

    /// Both ends of a connection write as many bytes as fit.
    fn write(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        let index = usize::from(connection.client);
        if connection.open[0] {
            let client = &mut self.clients[index];
            let unsent = &mut client.end.unsent[connection.at_client.index()];
            if client.end.session.established() == Some(connection.at_client) {
                unsent.append(&mut client.queue);
            }
            let sent = connection
                .to_server
                .send(self.now_ms, unsent, &mut self.random);
            unsent.drain(..sent);
            let blocked = !unsent.is_empty();
            progress(
                &mut client.end.session,
                self.now_ms,
                connection.at_client,
                sent,
                blocked,
            );
        }
        if connection.open[1] {
            let room = connection.to_client.room();
            let bytes = self.server.gather(index, connection.at_server, room);
            let sent = connection
                .to_client
                .send(self.now_ms, &bytes, &mut self.random);
            assert_eq!(sent, bytes.len());
            let blocked = connection.to_client.room() == 0;
            let session = &mut self.server.peers[index].end.session;
            progress(session, self.now_ms, connection.at_server, sent, blocked);
        }
    }

    /// Injects a random fault or change, or none.
    fn inject_fault(&mut self) {
        let index = self.random.below(self.clients.len() as u64) as u16;
        match self.random.below(60) {
            0..=11 => {
                self.change_announcement(index);
            }
            12 => self.reset_connection(),
            13 => self.stall(),
            14 => self.corrupt(),
            15 => self.restart(index),
            16 => {
                let reason = ResetReason::Administrative;
                self.server_input(
                    index,
                    Input::Reset {
                        reason,
                        text: "maintenance",
                    },
                );
            }
            17 => {
                let reason = StopReason::Shutdown;
                self.server_input(
                    index,
                    Input::Stop {
                        reason,
                        text: "bye",
                    },
                );
            }
            18..=19 => self.server_input(index, Input::Start),
            20 => {
                let family = Family::ALL[self.random.below(2) as usize];
                self.client_input(index, Input::RequestRefresh { family });
            }
            21 => {
                let family = Family::ALL[self.random.below(2) as usize];
                self.server_input(index, Input::RequestRefresh { family });
            }
            _ => {}
        }
    }

    /// A client restarts without a NOTIFICATION: its connections are lost.
    pub(crate) fn restart(&mut self, index: u16) {
        while let Some(at) = self
            .connections
            .iter()
            .position(|connection| connection.client == index)
        {
            self.cut(at);
        }
        self.client_input(index, Input::Restarting(true));
    }

    /// Announces or withdraws a random prefix and returns it.
    pub(crate) fn change_announcement(&mut self, index: u16) -> Prefix {
        let at = self.random.below(self.prefixes.len() as u64) as usize;
        let path_len = match self.random.below(4) {
            0 => None,
            _ => Some(1 + self.random.below(3) as PathLen),
        };
        let prefix = self.prefixes[at];
        self.clients[usize::from(index)].announce(prefix, path_len);
        prefix
    }

    pub(crate) fn reset_connection(&mut self) {
        if self.connections.is_empty() {
            return;
        }
        let at = self.random.below(self.connections.len() as u64) as usize;
        self.cut(at);
    }

    /// Both ends of a connection lose it.
    fn cut(&mut self, at: usize) {
        let connection = self.connections.remove(at);
        self.lose(
            connection.client,
            connection.open,
            connection.at_client,
            connection.at_server,
        );
    }

    pub(crate) fn stall(&mut self) {
        let until = self.now_ms + self.random.below(20_000);
        let (connections, random) = (&mut self.connections, &mut self.random);
        if connections.is_empty() {
            return;
        }
        let at = random.below(connections.len() as u64) as usize;
        match random.below(2) {
            0 => connections[at].to_client.stall(until),
            _ => connections[at].to_server.stall(until),
        }
    }

    /// Corrupts the unsent bytes of a client.
    fn corrupt(&mut self) {
        let index = self.random.below(self.clients.len() as u64) as usize;
        let queue = &mut self.clients[index].queue;
        if queue.is_empty() {
            let garbage: Vec<u8> = (0..30).map(|_| self.random.number() as u8).collect();
            queue.extend(garbage);
        } else {
            let at = self.random.below(queue.len() as u64) as usize;
            queue[at] ^= 1 << self.random.below(8);
        }
    }

    /// Ends the phase with faults and resets all sessions: BGP cannot notice corrupted bytes that still parse.
    fn end_faults(&mut self) {
        self.faults = false;
        for connection in &mut self.connections {
            connection.to_client.end_stall();
            connection.to_server.end_stall();
        }
        for index in 0..self.clients.len() as u16 {
            let reason = ResetReason::Administrative;
            self.server_input(index, Input::Start);
            self.server_input(index, Input::Reset { reason, text: "" });
            self.client_input(index, Input::Start);
        }
    }

    /// Returns whether all sessions are up, and nothing waits to be sent or removed.
    pub(crate) fn is_quiet(&self) -> bool {
        let is_settled = |client: &Client| client.is_up() && !client.held.has_stale();
        self.clients.iter().all(is_settled)
            && self.server.is_idle()
            && self
                .server
                .peers
                .iter()
                .all(|peer| peer.end.session.stale() == PerFamily::both(false))
    }

    /// Returns whether no byte is on its way or waits to be sent.
    pub(crate) fn has_arrived(&self) -> bool {
        let sent = |client: &Client| client.queue.is_empty();
        let is_empty = |pipe: &Pipe| pipe.next_arrival().is_none();
        self.clients.iter().all(sent) && { self.connections.iter() }
            .all(|connection| is_empty(&connection.to_client) && is_empty(&connection.to_server))
    }

    /// The clients whose routes differ from the reference model, with the prefixes that differ.
    pub(crate) fn differences(&self) -> Vec<(u16, Vec<Prefix>)> {
        let differing = |client: &Client| {
            let expected = self.expected(client.index);
            let held = |p: &Prefix| {
                client
                    .held
                    .get(p)
                    .map(|held| (held.path[0], held.path.len()))
            };
            let differs = |p: &&Prefix| held(p) != expected.get(p).copied();
            let wrong: Vec<Prefix> = self.prefixes.iter().filter(differs).copied().collect();
            let foreign = client
                .held
                .prefixes()
                .filter(|p| !self.prefixes.contains(p));
            (
                client.index,
                wrong.into_iter().chain(foreign.copied()).collect(),
            )
        };
        let all = self.clients.iter().map(differing);
        all.filter(|(_, wrong): &(u16, Vec<Prefix>)| !wrong.is_empty())
            .collect()
    }

    /// The state of all sessions and connections, for the message of a failure.
    pub(crate) fn describe(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        for (client, peer) in self.clients.iter().zip(&self.server.peers) {
            let (ours, theirs) = (&peer.end.session, &client.end.session);
            let (a, b) = (ours.state(), theirs.state());
            let (stale, held) = (ours.stale(), client.held.len());
            let index = client.index;
            let _ = writeln!(
                out,
                "client {index}: server {a:?} stale {stale:?}, client {b:?} holds {held}"
            );
            let counts = self.server.rib.counts(peer.id);
            let _ = writeln!(
                out,
                "  announced {}, table {counts:?}",
                client.announced.len()
            );
        }
        for connection in &self.connections {
            let (to, from) = (&connection.to_client, &connection.to_server);
            let _ = writeln!(
                out,
                "connection of {} open {:?}: {to:?} {from:?}",
                connection.client, connection.open
            );
        }
        out
    }

    /// The reference model of RFC 7947: the shortest path of another client, then the lowest identifier.
    fn expected(&self, index: u16) -> BTreeMap<Prefix, (u32, usize)> {
        let mut best: BTreeMap<Prefix, (u8, u32, u32)> = BTreeMap::new();
        for client in self.clients.iter().filter(|client| client.index != index) {
            for (prefix, path_len) in &client.announced {
                let rank = (*path_len, router_id(client.index), asn(client.index));
                let held = best.entry(*prefix).or_insert(rank);
                *held = (*held).min(rank);
            }
        }
        best.into_iter()
            .map(|(prefix, (len, _, asn))| (prefix, (asn, usize::from(len))))
            .collect()
    }

    fn hash(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Returns for each client whether the server waits for it to connect.
fn connects_by(kinds: &[u64]) -> impl Fn(u16) -> bool + '_ {
    |index| kinds[usize::from(index)] == 0
}

fn progress(
    session: &mut rutter_session::Session,
    now_ms: u64,
    connection: ConnectionId,
    sent: usize,
    blocked: bool,
) {
    let input = match (sent > 0, blocked) {
        (true, true) => Input::WriteProgress { connection },
        (false, true) => Input::WriteBlocked { connection },
        (_, false) => Input::WriteDrained { connection },
    };
    session.handle(now_ms, input);
}

pub(crate) fn prefix(index: u64) -> Prefix {
    let text = match index % 3 {
        0 => format!("2001:db8:{index:x}::/48"),
        _ => format!("203.0.{index}.0/24"),
    };
    text.parse().expect("a prefix")
}
