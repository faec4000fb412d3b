//! One run of the simulator: a phase with faults, then a quiet phase.

mod changes;
mod faults;
mod reference_model;

use std::collections::BTreeMap;

use rutter_net::{PerFamily, Prefix};
use rutter_session::{ConnectionId, Input, StopReason};

use crate::client::Client;
use crate::configuration::Configuration;
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
    /// The rules that should hold when all is quiet.
    pub(crate) configuration: Configuration,
    /// The size of a log above which lagging clients may leave it, bytes.
    pub(crate) log_limit: usize,
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
        let (configuration, log_limit) = (setup.rules.clone(), setup.log_limit);
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
            configuration,
            log_limit,
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
                    let is_up = matches!(output, rutter_session::Output::Established { .. });
                    self.server.handle_output(usize::from(index), output);
                    if is_up {
                        self.sessions += 1;
                        if self.server.peers[usize::from(index)].stream.is_none() {
                            self.server_input(index, Input::SendEndOfRib);
                        }
                    }
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
        let kept = self.server.kept.clone();
        self.start_server(setup, kept, deferral_ms, seed);
    }

    /// Another process begins with an empty table. It knows of the process before only which clients keep its routes.
    pub(crate) fn start_server(
        &mut self,
        setup: Setup,
        kept: BTreeMap<u16, PerFamily<bool>>,
        deferral_ms: u64,
        seed: u64,
    ) {
        let clients = 0..self.clients.len() as u16;
        self.configuration = setup.rules.clone();
        let server = Server::new(setup, connects_by(&self.kinds), seed);
        let ends_at_ms = self.now_ms + deferral_ms;
        self.server = server.restarted(kept, ends_at_ms);
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
        _ => format!("203.{}.{}.0/24", index >> 8, index & 255),
    };
    text.parse().expect("a prefix")
}
