//! The run of a seed: faults first, then quiet.

use std::collections::BTreeMap;

use rutter_net::{Family, Prefix};
use rutter_session::{Connection, Input, ResetReason, StopReason};

use crate::client::{Client, Wish, asn};
use crate::endpoint::Wanted;
use crate::server::Server;
use crate::{Pipe, Random};

/// The AS of the route server.
pub(crate) const SERVER_AS: u32 = 64_500;

/// BGP Identifiers run against the indices, so that the steps of the decision differ.
pub(crate) fn router_id(index: u16) -> u32 {
    5_000 - u32::from(index)
}

/// A connection between a client and the server: which of each side's two, and the pipes.
struct Link {
    client: u16,
    at_client: Connection,
    at_server: Connection,
    to_server: Pipe,
    to_client: Pipe,
    /// Each side still holds it: client, server.
    held: [bool; 2],
}

/// What a run was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// A hash of all octets that arrived anywhere, in order.
    pub digest: u64,
    /// Virtual milliseconds until quiet was complete.
    pub took_ms: u64,
    /// Sessions that were established, over all clients.
    pub sessions: u64,
    /// Clients that lagged and left the log.
    pub demotions: u64,
}

/// A whole exchange.
pub struct World {
    now_ms: u64,
    random: Random,
    server: Server,
    clients: Vec<Client>,
    links: Vec<Link>,
    digest: u64,
    sessions: u64,
    prefixes: Vec<Prefix>,
    faults: bool,
}

const FAULTS_MS: u64 = 60_000;
const QUIET_MS: u64 = 200_000;

/// Runs a seed to its end. Panics, naming the seed, where a client ends up with other than what it is owed.
pub fn run(seed: u64) -> Outcome {
    let mut world = World::new(seed);
    while world.now_ms < FAULTS_MS {
        world.disturb();
        world.step();
    }
    world.calm();
    let quiet_from = world.now_ms;
    while world.now_ms < quiet_from + QUIET_MS {
        world.step();
        if world.is_quiet() && world.wrong().is_empty() {
            break;
        }
    }
    let wrong = world.wrong();
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
    /// The exchange of a seed, at the beginning.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let clients = 2 + random.below(5) as u16;
        // Who connects: the client, the server or both at once (collisions).
        let kinds: Vec<u64> = (0..clients).map(|_| random.below(3)).collect();
        let server = Server::new(clients, |index| kinds[usize::from(index)] == 0, seed);
        let client = |index: u16| {
            Client::new(
                index,
                kinds[usize::from(index)] == 1,
                seed ^ u64::from(index) << 8,
            )
        };
        let prefixes = (0..1 + random.below(40)).map(prefix).collect();
        let mut world = World {
            now_ms: 0,
            clients: (0..clients).map(client).collect(),
            server,
            random,
            links: Vec::new(),
            digest: 0,
            sessions: 0,
            prefixes,
            faults: true,
        };
        for index in 0..clients {
            world.client_input(index, Input::Start);
            world.server_input(index, Input::Start);
        }
        world
    }

    /// One moment: everything due happens, then time moves to what is next.
    fn step(&mut self) {
        for index in 0..self.clients.len() as u16 {
            let mut wanted = Vec::new();
            self.clients[usize::from(index)]
                .end
                .tick(self.now_ms, &mut wanted);
            self.client_wants(index, wanted);
            let mut wanted = Vec::new();
            self.server.ports[usize::from(index)]
                .end
                .tick(self.now_ms, &mut wanted);
            self.server_wants(index, wanted);
        }
        for link in 0..self.links.len() {
            self.arrive(link);
        }
        self.server.relieve(self.now_ms);
        for link in 0..self.links.len() {
            self.write(link);
        }
        self.links.retain(|link| {
            link.held != [false; 2] && !(link.to_client.is_over() && link.to_server.is_over())
        });
        self.now_ms = self.next_ms();
    }

    fn next_ms(&mut self) -> u64 {
        let sessions = self
            .clients
            .iter()
            .filter_map(|c| c.end.session.next_deadline());
        let ports = self
            .server
            .ports
            .iter()
            .filter_map(|p| p.end.session.next_deadline());
        let pipes = self
            .links
            .iter()
            .flat_map(|link| [link.to_client.next_arrival(), link.to_server.next_arrival()]);
        let next = sessions.chain(ports).chain(pipes.flatten()).min();
        // Disturbances and writers look at the world at least this often.
        let most = self.now_ms + 1 + self.random.below(200);
        next.unwrap_or(most).clamp(self.now_ms + 1, most)
    }

    fn client_input(&mut self, index: u16, input: Input<'_>) {
        let mut wanted = Vec::new();
        let client = &mut self.clients[usize::from(index)];
        client.end.handle(self.now_ms, input, &mut wanted);
        self.client_wants(index, wanted);
    }

    fn server_input(&mut self, index: u16, input: Input<'_>) {
        let mut wanted = Vec::new();
        let port = &mut self.server.ports[usize::from(index)];
        port.end.handle(self.now_ms, input, &mut wanted);
        self.server_wants(index, wanted);
    }

    fn client_wants(&mut self, index: u16, wanted: Vec<Wanted>) {
        for want in wanted {
            match want {
                Wanted::Connect(connection) => self.connect(index, connection, true),
                Wanted::Close(connection) => self.close(index, connection, true),
                Wanted::Routes(output) => self.clients[usize::from(index)].routes(output),
            }
        }
    }

    fn server_wants(&mut self, index: u16, wanted: Vec<Wanted>) {
        for want in wanted {
            match want {
                Wanted::Connect(connection) => self.connect(index, connection, false),
                Wanted::Close(connection) => self.close(index, connection, false),
                Wanted::Routes(output) => {
                    if matches!(output, rutter_session::Output::Established { .. }) {
                        self.sessions += 1;
                    }
                    self.server.routes(usize::from(index), output);
                }
            }
        }
    }

    /// One side connects: the other takes it, or it fails.
    fn connect(&mut self, index: u16, connection: Connection, by_client: bool) {
        let client = &self.clients[usize::from(index)].end.session;
        let port = &self.server.ports[usize::from(index)].end.session;
        let welcome = if by_client {
            port.accepts()
        } else {
            client.accepts()
        };
        let fails = self.faults && self.random.once_in(8);
        let Some(other) = welcome.filter(|_| !fails) else {
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
        self.links.push(Link {
            client: index,
            at_client,
            at_server,
            to_server: Pipe::new(window),
            to_client: Pipe::new(window),
            held: [true; 2],
        });
        let now_ms = self.now_ms;
        let mut wanted = Vec::new();
        let end = &mut self.clients[usize::from(index)].end;
        end.connected(now_ms, at_client, by_client, &mut wanted);
        self.client_wants(index, wanted);
        let mut wanted = Vec::new();
        let end = &mut self.server.ports[usize::from(index)].end;
        end.connected(now_ms, at_server, !by_client, &mut wanted);
        self.server_wants(index, wanted);
    }

    /// One side closes after what it has sent.
    fn close(&mut self, index: u16, connection: Connection, by_client: bool) {
        let now_ms = self.now_ms;
        for link in &mut self.links {
            let side = if by_client { 0 } else { 1 };
            let at = [link.at_client, link.at_server][side];
            if link.client != index || at != connection || !link.held[side] {
                continue;
            }
            link.held[side] = false;
            let (end, pipe) = match by_client {
                true => (
                    &mut self.clients[usize::from(index)].end,
                    &mut link.to_server,
                ),
                false => (
                    &mut self.server.ports[usize::from(index)].end,
                    &mut link.to_client,
                ),
            };
            let unsent = std::mem::take(&mut end.unsent[connection.index()]);
            pipe.send(now_ms, &unsent, &mut self.random);
            pipe.close();
        }
    }

    /// What arrived on a link goes to its ends.
    fn arrive(&mut self, at: usize) {
        let link = &mut self.links[at];
        let index = link.client;
        let (at_client, at_server) = (link.at_client, link.at_server);
        let to_client = link.to_client.receive(self.now_ms);
        let to_server = link.to_server.receive(self.now_ms);
        self.note(&to_client);
        self.note(&to_server);
        // A session's change of state must be known before the next UPDATE is judged: octets go in so few at a
        // time that no two messages end in one piece.
        for octets in to_client.chunks(16) {
            if self.links[at].held[0] {
                self.receive_at_client(index, at_client, octets);
            }
        }
        for octets in to_server.chunks(16) {
            if self.links[at].held[1] {
                self.receive_at_server(index, at_server, octets);
            }
        }
        self.end_of_stream(at);
    }

    fn receive_at_client(&mut self, index: u16, connection: Connection, octets: &[u8]) {
        let mut wanted = Vec::new();
        let Client { end, held, .. } = &mut self.clients[usize::from(index)];
        let take = |body: &[u8]| Client::take(held, body);
        end.receive(self.now_ms, connection, octets, &mut wanted, take);
        self.client_wants(index, wanted);
    }

    fn receive_at_server(&mut self, index: u16, connection: Connection, octets: &[u8]) {
        let mut wanted = Vec::new();
        let (rib, batch, port) = self.server.split(usize::from(index));
        let peer = port.peer;
        let take = |body: &[u8]| Server::take(rib, batch, peer, body);
        port.end
            .receive(self.now_ms, connection, octets, &mut wanted, take);
        self.server_wants(index, wanted);
    }

    fn end_of_stream(&mut self, at: usize) {
        let link = &mut self.links[at];
        let index = link.client;
        let mut gone = [false; 2];
        if link.held[0] && link.to_client.is_over() {
            link.held[0] = false;
            link.to_server.close();
            gone[0] = true;
        }
        if link.held[1] && link.to_server.is_over() {
            link.held[1] = false;
            link.to_client.close();
            gone[1] = true;
        }
        let (at_client, at_server) = (link.at_client, link.at_server);
        self.lose(index, gone, at_client, at_server);
    }

    fn lose(&mut self, index: u16, gone: [bool; 2], at_client: Connection, at_server: Connection) {
        let mut wanted = Vec::new();
        if gone[0] {
            let end = &mut self.clients[usize::from(index)].end;
            end.disconnected(self.now_ms, at_client, &mut wanted);
            self.client_wants(index, std::mem::take(&mut wanted));
        }
        if gone[1] {
            let end = &mut self.server.ports[usize::from(index)].end;
            end.disconnected(self.now_ms, at_server, &mut wanted);
            self.server_wants(index, wanted);
        }
    }

    /// Both ends of a link write what there is room for.
    fn write(&mut self, at: usize) {
        let link = &mut self.links[at];
        let index = usize::from(link.client);
        if link.held[0] {
            let client = &mut self.clients[index];
            let unsent = &mut client.end.unsent[link.at_client.index()];
            if client.end.session.established() == Some(link.at_client) {
                unsent.append(&mut client.queue);
            }
            let sent = link.to_server.send(self.now_ms, unsent, &mut self.random);
            unsent.drain(..sent);
            let blocked = !unsent.is_empty();
            progress(
                &mut client.end.session,
                self.now_ms,
                link.at_client,
                sent,
                blocked,
            );
        }
        if link.held[1] {
            let room = link.to_client.room();
            let bytes = self.server.gather(index, link.at_server, room);
            let sent = link.to_client.send(self.now_ms, &bytes, &mut self.random);
            assert_eq!(sent, bytes.len());
            let blocked = link.to_client.room() == 0;
            let session = &mut self.server.ports[index].end.session;
            progress(session, self.now_ms, link.at_server, sent, blocked);
        }
    }

    /// Something happens, or nothing.
    fn disturb(&mut self) {
        let index = self.random.below(self.clients.len() as u64) as u16;
        match self.random.below(60) {
            0..=11 => self.change_wish(index),
            12 => self.reset_link(),
            13 => self.stall(),
            14 => self.lie(),
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

    /// A client restarts without a word: its connections are gone.
    fn restart(&mut self, index: u16) {
        while let Some(at) = self.links.iter().position(|link| link.client == index) {
            self.cut(at);
        }
        self.client_input(index, Input::Restarting(true));
    }

    fn change_wish(&mut self, index: u16) {
        let at = self.random.below(self.prefixes.len() as u64) as usize;
        let wish = match self.random.below(4) {
            0 => None,
            _ => Some(1 + self.random.below(3) as Wish),
        };
        let prefix = self.prefixes[at];
        self.clients[usize::from(index)].wish(prefix, wish);
    }

    fn reset_link(&mut self) {
        if self.links.is_empty() {
            return;
        }
        let at = self.random.below(self.links.len() as u64) as usize;
        self.cut(at);
    }

    /// Both ends of a link find it gone.
    fn cut(&mut self, at: usize) {
        let link = self.links.remove(at);
        self.lose(link.client, link.held, link.at_client, link.at_server);
    }

    fn stall(&mut self) {
        let until = self.now_ms + self.random.below(20_000);
        let (links, random) = (&mut self.links, &mut self.random);
        if links.is_empty() {
            return;
        }
        let at = random.below(links.len() as u64) as usize;
        match random.below(2) {
            0 => links[at].to_client.stall(until),
            _ => links[at].to_server.stall(until),
        }
    }

    /// A client's octets are damaged on their way out.
    fn lie(&mut self) {
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

    /// Faults end. Sessions that carry damage are reset: a lie that parses is no fault that BGP can notice.
    fn calm(&mut self) {
        self.faults = false;
        for link in &mut self.links {
            link.to_client.heal();
            link.to_server.heal();
        }
        for index in 0..self.clients.len() as u16 {
            let reason = ResetReason::Administrative;
            self.server_input(index, Input::Start);
            self.server_input(index, Input::Reset { reason, text: "" });
            self.client_input(index, Input::Start);
        }
    }

    fn is_quiet(&self) -> bool {
        self.clients.iter().all(Client::is_up)
            && self.server.is_idle()
            && self
                .server
                .ports
                .iter()
                .all(|port| port.end.session.stale() == [false; 2])
    }

    /// Clients that hold other than what they are owed, with what differs.
    fn wrong(&self) -> Vec<(u16, Vec<Prefix>)> {
        let differing = |client: &Client| {
            let expected = self.expected(client.index);
            let differs = |p: &&Prefix| client.held.get(p) != expected.get(p);
            let wrong: Vec<Prefix> = self.prefixes.iter().filter(differs).copied().collect();
            let foreign = client.held.keys().filter(|p| !self.prefixes.contains(p));
            (
                client.index,
                wrong.into_iter().chain(foreign.copied()).collect(),
            )
        };
        let all = self.clients.iter().map(differing);
        all.filter(|(_, wrong): &(u16, Vec<Prefix>)| !wrong.is_empty())
            .collect()
    }

    /// Where everybody stands, for a failure's message.
    fn describe(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        for (client, port) in self.clients.iter().zip(&self.server.ports) {
            let (ours, theirs) = (&port.end.session, &client.end.session);
            let (a, b) = (ours.state(), theirs.state());
            let (stale, held) = (ours.stale(), client.held.len());
            let index = client.index;
            let _ = writeln!(
                out,
                "client {index}: server {a:?} stale {stale:?}, client {b:?} holds {held}"
            );
            let counts = self.server.rib.counts(port.peer);
            let _ = writeln!(out, "  wishes {}, table {counts:?}", client.wishes.len());
        }
        for link in &self.links {
            let (to, from) = (&link.to_client, &link.to_server);
            let _ = writeln!(
                out,
                "link of {} held {:?}: {to:?} {from:?}",
                link.client, link.held
            );
        }
        out
    }

    /// RFC 7947, naively: the shortest path of another client, then the lowest identifier.
    fn expected(&self, index: u16) -> BTreeMap<Prefix, (u32, u8)> {
        let mut best: BTreeMap<Prefix, (u8, u32, u32)> = BTreeMap::new();
        for client in self.clients.iter().filter(|client| client.index != index) {
            for (prefix, wish) in &client.wishes {
                let rank = (*wish, router_id(client.index), asn(client.index));
                let held = best.entry(*prefix).or_insert(rank);
                *held = (*held).min(rank);
            }
        }
        best.into_iter()
            .map(|(prefix, (len, _, asn))| (prefix, (asn, len)))
            .collect()
    }

    fn note(&mut self, bytes: &[u8]) {
        for octet in bytes {
            self.digest = (self.digest ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn progress(
    session: &mut rutter_session::Session,
    now_ms: u64,
    connection: Connection,
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

fn prefix(index: u64) -> Prefix {
    let text = match index % 3 {
        0 => format!("2001:db8:{index:x}::/48"),
        _ => format!("203.0.{index}.0/24"),
    };
    text.parse().expect("a prefix")
}
