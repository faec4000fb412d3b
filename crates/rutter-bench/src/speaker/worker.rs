//! One thread with its clients: a poll loop that reads from and writes to the ready sockets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::judge::Judge;
use crate::speaker::client::{Client, READ_BUFFER, State, Turn};
use crate::speaker::command::{ClientReport, Command};
use crate::speaker::message::{self, KEEPALIVE, Offer};
use crate::speaker::progress::Progress;
use crate::tracker::Bench;

/// One thread's part of the fleet.
pub(crate) struct Worker {
    poll: Poll,
    clients: Vec<Client>,
    /// Position in `clients`, by index in the workload.
    position: Vec<Option<usize>>,
    bench: Arc<Bench>,
    judge: Judge,
    progress: Arc<Progress>,
    commands: Receiver<Command>,
    target: SocketAddr,
    offer: Offer,
    to_connect: Vec<usize>,
    connecting: usize,
    ready: Vec<usize>,
    buffer: Vec<u8>,
    next_tick: Instant,
    next_keepalives: Instant,
}

impl Worker {
    /// A worker for these clients (indices in the workload); none is connected.
    pub(crate) fn new(
        poll: Poll,
        own: &[usize],
        bench: Arc<Bench>,
        progress: Arc<Progress>,
        commands: Receiver<Command>,
        (target, offer): (SocketAddr, Offer),
    ) -> Self {
        let expected = bench.oracle.expected(&bench.workload);
        let mut position = vec![None; bench.workload.peers.len()];
        own.iter()
            .enumerate()
            .for_each(|(at, &index)| position[index] = Some(at));
        Worker {
            poll,
            clients: own
                .iter()
                .map(|&index| Client::new(index, expected[index]))
                .collect(),
            position,
            bench,
            judge: Judge::default(),
            progress,
            commands,
            target,
            offer,
            to_connect: Vec::new(),
            connecting: 0,
            ready: Vec::new(),
            buffer: vec![0; READ_BUFFER + 128 * 1024],
            next_tick: Instant::now(),
            next_keepalives: Instant::now(),
        }
    }

    /// Runs until the stop command.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        loop {
            loop {
                match self.commands.try_recv() {
                    Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return,
                    Ok(command) => self.command(command, &mut events),
                    Err(TryRecvError::Empty) => break,
                }
            }
            let received = self.turn(&mut events, Duration::from_millis(200));
            // If little arrives, wait for more, so that reading takes few system calls.
            if received > 0 && received < QUIET {
                std::thread::sleep(GATHER);
            }
        }
    }

    fn command(&mut self, command: Command, events: &mut Events) {
        match command {
            Command::Connect(clients) => {
                let own = self.own(&clients);
                self.to_connect.extend(own);
                self.to_connect.reverse();
            }
            Command::Feed(clients) => {
                for at in self.own(&clients) {
                    self.clients[at].feeding = true;
                    self.queue(at);
                }
            }
            Command::Kill(clients) => {
                for at in self.own(&clients) {
                    self.clients[at].crashed = true;
                    self.close(at, State::Idle);
                }
            }
            Command::Slow(client, budget) => {
                if let Some(at) = self.position[client] {
                    self.clients[at].read_budget = budget;
                    self.queue(at);
                }
            }
            Command::Oracle {
                bench,
                touched,
                done,
            } => self.change_oracle(&bench, &touched, &done),
            Command::Probe {
                from,
                to,
                rounds,
                reply,
            } => {
                let times = self.probe(from, to, rounds, events);
                // The caller may have given up.
                let _ = reply.send(times);
            }
            Command::Report(reply) => {
                let _ = reply.send(self.report());
            }
            Command::Stop => {}
        }
    }

    /// The positions of those clients that belong to this worker.
    fn own(&self, clients: &[usize]) -> Vec<usize> {
        clients
            .iter()
            .filter_map(|&index| self.position[index])
            .collect()
    }

    fn queue(&mut self, at: usize) {
        let client = &mut self.clients[at];
        if !client.queued && client.socket.is_some() {
            client.queued = true;
            self.ready.push(at);
        }
    }

    /// Waits, unless a client is ready, and serves every ready client. Returns the bytes read.
    fn turn(&mut self, events: &mut Events, longest: Duration) -> usize {
        let wait = match (self.ready.is_empty(), self.needs_ticks()) {
            (false, _) => Duration::ZERO,
            (true, true) => longest.min(TICK),
            (true, false) => longest,
        };
        if self.poll.poll(events, Some(wait)).is_err() {
            return 0;
        }
        for event in events.iter().filter(|event| event.token() != WAKER) {
            let at = event.token().0;
            let client = &mut self.clients[at];
            let ended = event.is_read_closed() || event.is_error();
            client.readable |= event.is_readable() || ended;
            client.hung_up |= ended;
            client.writable |= event.is_writable();
            self.queue(at);
        }
        let now = Instant::now();
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.tick(now);
        }
        let mut received = 0;
        for at in std::mem::take(&mut self.ready) {
            self.clients[at].queued = false;
            received += self.serve(at, now);
        }
        received
    }

    fn needs_ticks(&self) -> bool {
        !self.to_connect.is_empty()
            || self.connecting > 0
            || self.clients.iter().any(|c| c.read_budget.is_some())
    }

    fn serve(&mut self, at: usize, now: Instant) -> usize {
        let mut turn = Turn::default();
        let client = &mut self.clients[at];
        if client.socket.is_none() {
            return 0;
        }
        if client.may_feed(&self.bench) {
            self.progress.note_first_sent();
        }
        let was_established = client.state == State::Established;
        let result = client.serve(&mut self.buffer, &mut self.judge, &self.bench, &mut turn);
        if turn.sent > 0 {
            client.last_write = now;
        }
        self.progress.note_turn(&turn);
        for complaint in self.judge.complaints.drain(..) {
            self.progress
                .note_trouble(format!("client {}: {complaint}", client.index));
        }
        if let Err(error) = result {
            self.lost(at, was_established, &error, now);
            return turn.received;
        }
        if client.is_ready(&self.bench) {
            self.queue(at);
        }
        let client = &self.clients[at];
        if !was_established && client.state == State::Established {
            self.clients[at].crashed = false;
            self.connecting -= 1;
            self.progress.note_established(true);
            self.queue(at);
        }
        self.account(at);
        turn.received
    }

    /// Updates the shared counters when a client becomes exact or fed, or stops being so.
    fn account(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let exact = client.state == State::Established && client.tracker.is_exact();
        if exact != std::mem::replace(&mut client.was_exact, exact) {
            self.progress.note_exact(exact);
        }
        let fed = client.is_fed(&self.bench);
        if fed != std::mem::replace(&mut client.was_fed, fed) {
            self.progress.note_fed(fed);
        }
    }

    fn lost(&mut self, at: usize, was_established: bool, error: &io::Error, now: Instant) {
        let client = &self.clients[at];
        // A daemon may refuse a client for a while after a crash. If the client stays away, the wait for it reports
        // that.
        if was_established || !client.crashed {
            self.progress
                .note_trouble(format!("client {}: {error}", client.index));
        }
        self.close_as(at, was_established, State::Down(error.to_string()));
        if !was_established {
            self.clients[at].retry_at = Some(now + RETRY);
        }
    }

    fn close(&mut self, at: usize, state: State) {
        let was_established = self.clients[at].state == State::Established;
        if self.clients[at].socket.is_some() {
            self.close_as(at, was_established, state);
        }
    }

    fn close_as(&mut self, at: usize, was_established: bool, state: State) {
        self.clients[at].disconnect(state);
        if was_established {
            self.progress.note_established(false);
        } else {
            self.connecting -= 1;
        }
        self.account(at);
    }

    fn tick(&mut self, now: Instant) {
        for at in 0..self.clients.len() {
            let client = &mut self.clients[at];
            if client.retry_at.is_some_and(|due| due <= now) {
                client.retry_at = None;
                self.to_connect.push(at);
            }
            if client.read_budget.is_some() {
                client.may_read = true;
                self.queue(at);
            }
        }
        while self.connecting < MOST_CONNECTING {
            let Some(at) = self.to_connect.pop() else {
                break;
            };
            if let Err(error) = self.connect(at) {
                let index = self.clients[at].index;
                self.progress
                    .note_trouble(format!("client {index}: cannot connect: {error}"));
                self.clients[at].retry_at = Some(now + RETRY);
            }
        }
        if now >= self.next_keepalives {
            self.next_keepalives = now + Duration::from_secs(1);
            self.send_keepalives(now);
        }
    }

    fn send_keepalives(&mut self, now: Instant) {
        let pause =
            Duration::from_secs(u64::from(self.offer.hold_time_s) / 3).max(Duration::from_secs(1));
        for at in 0..self.clients.len() {
            let client = &mut self.clients[at];
            let due = client.state == State::Established
                && now.duration_since(client.last_write) >= pause;
            if due && client.is_between_messages(&self.bench) {
                client.send(&KEEPALIVE);
                self.queue(at);
            }
        }
    }

    fn connect(&mut self, at: usize) -> io::Result<()> {
        let client = &mut self.clients[at];
        if client.socket.is_some() {
            return Ok(());
        }
        client.connect(self.target, &self.bench, &self.offer)?;
        if let Some(socket) = &mut client.socket {
            let both = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(socket, Token(at), both)?;
        }
        self.connecting += 1;
        Ok(())
    }

    fn change_oracle(
        &mut self,
        bench: &Arc<Bench>,
        touched: &[u32],
        done: &std::sync::mpsc::Sender<()>,
    ) {
        let old = std::mem::replace(&mut self.bench, bench.clone());
        let expected = bench.oracle.expected(&bench.workload);
        self.judge.clear();
        for at in 0..self.clients.len() {
            let client = &mut self.clients[at];
            let index = client.index;
            client
                .tracker
                .change_oracle(&old, bench, touched, expected[index]);
            self.account(at);
        }
        let _ = done.send(());
    }

    /// Announces one prefix repeatedly with different attributes, and times each announcement until it arrives.
    fn probe(&mut self, from: usize, to: usize, rounds: u32, events: &mut Events) -> Vec<Duration> {
        let mut times = Vec::with_capacity(rounds as usize);
        let (Some(from), Some(to), Some(prefix)) =
            (self.position[from], self.position[to], self.bench.probe)
        else {
            return times;
        };
        let peer = self.bench.workload.peers[self.clients[from].index].clone_identity();
        for round in 0..rounds {
            let message = message::probe(peer.asn, &peer.next_hops, prefix, round);
            let before = self.clients[to].tracker.probes;
            let sent = Instant::now();
            self.clients[from].send(&message);
            self.queue(from);
            while self.clients[to].tracker.probes == before && sent.elapsed() < PROBE_PATIENCE {
                self.turn(events, Duration::from_millis(50));
            }
            if self.clients[to].tracker.probes == before {
                self.progress
                    .note_trouble(format!("round {round} of the latency test never arrived"));
                return times;
            }
            times.push(sent.elapsed());
            let quiet = Instant::now();
            while quiet.elapsed() < PROBE_PAUSE {
                self.turn(events, PROBE_PAUSE);
            }
        }
        times
    }

    fn report(&self) -> Vec<ClientReport> {
        let mut explained = 0;
        self.clients
            .iter()
            .map(|client| {
                let tracker = &client.tracker;
                let exact = client.state == State::Established && tracker.is_exact();
                explained += usize::from(!exact);
                ClientReport {
                    client: client.index,
                    exact,
                    held: tracker.held,
                    right: tracker.right,
                    expected: tracker.expected,
                    announced: tracker.announced,
                    withdrawn: tracker.withdrawn,
                    unknown: tracker.unknown,
                    forged: tracker.forged,
                    down: match &client.state {
                        State::Established => None,
                        state => Some(format!("{state:?}")),
                    },
                    differences: if exact || explained > 5 {
                        Vec::new()
                    } else {
                        tracker.differences(&self.bench, 5)
                    },
                }
            })
            .collect()
    }
}

/// The token of the waker for commands.
pub(crate) const WAKER: Token = Token(usize::MAX - 1);
const TICK: Duration = Duration::from_millis(10);
const RETRY: Duration = Duration::from_millis(500);
/// The number of connections opened at the same time, so that no listen queue overflows.
const MOST_CONNECTING: usize = 32;
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
const PROBE_PAUSE: Duration = Duration::from_micros(500);
/// Below this number of bytes in a turn, the thread waits briefly.
const QUIET: usize = 128 * 1024;
const GATHER: Duration = Duration::from_micros(300);
