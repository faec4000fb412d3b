//! A fleet and its operations: connect, announce, wait until all clients are exact, disturb, report.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Poll, Waker};

use crate::oracle::Oracle;
use crate::policy::Policy;
use crate::speaker::command::{ClientReport, Command};
use crate::speaker::message::Offer;
use crate::speaker::progress::{Counters, Progress};
use crate::speaker::worker::{WAKER, Worker};
use crate::tracker::Bench;

/// The target and settings of a fleet.
#[derive(Clone, Copy, Debug)]
pub struct FleetSettings {
    /// The daemon under test.
    pub target: SocketAddr,
    /// Threads for all clients.
    pub threads: usize,
    /// The contents of the OPENs.
    pub offer: Offer,
}

/// Why a fleet did not reach its state.
#[derive(Debug)]
pub enum FleetError {
    /// A socket or thread could not be created.
    Io(io::Error),
    /// The timeout is over.
    Timeout {
        /// The state that was waited for.
        waiting_for: &'static str,
        /// The counters so far.
        counters: Counters,
        /// Descriptions of errors so far.
        trouble: Vec<String>,
    },
    /// Sessions were up, but none has been for a while; with descriptions of the errors so far.
    AllLost(Vec<String>),
    /// The threads have ended.
    Gone,
}

/// How long no session may be up, once there were some.
const ALL_LOST: Duration = Duration::from_secs(10);

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FleetError::Io(error) => fmt::Display::fmt(error, f),
            FleetError::Gone => f.write_str("a load thread ended early"),
            FleetError::AllLost(trouble) => {
                f.write_str("all sessions are down and stay down")?;
                first_lines(f, trouble)
            }
            FleetError::Timeout {
                waiting_for,
                counters,
                trouble,
            } => {
                write!(
                    f,
                    "timed out waiting for {waiting_for}: {} established, {} exact, {} streams written, {} prefixes received",
                    counters.established, counters.exact, counters.fed, counters.prefixes
                )?;
                first_lines(f, trouble)
            }
        }
    }
}

fn first_lines(f: &mut fmt::Formatter<'_>, trouble: &[String]) -> fmt::Result {
    let mut lines = trouble.iter().take(5);
    lines.try_for_each(|line| write!(f, "\n    {line}"))
}

impl std::error::Error for FleetError {}

impl From<io::Error> for FleetError {
    fn from(error: io::Error) -> Self {
        FleetError::Io(error)
    }
}

struct Thread {
    commands: Sender<Command>,
    waker: Waker,
    handle: Option<JoinHandle<()>>,
}

/// All clients of a workload, with their threads.
pub struct Fleet {
    threads: Vec<Thread>,
    bench: Arc<Bench>,
    progress: Arc<Progress>,
}

impl Fleet {
    /// Starts the threads; no client is connected yet. The first announcing client and the monitor share a thread.
    pub fn start(bench: Arc<Bench>, settings: FleetSettings) -> Result<Fleet, FleetError> {
        let progress = Arc::new(Progress::new());
        let count = settings.threads.max(1);
        let monitor = bench.workload.monitor();
        let mut threads = Vec::new();
        for number in 0..count {
            let own: Vec<usize> = (0..bench.workload.peers.len())
                .filter(|&client| {
                    if client == monitor {
                        number == 0
                    } else {
                        client % count == number
                    }
                })
                .collect();
            let poll = Poll::new()?;
            let waker = Waker::new(poll.registry(), WAKER)?;
            let (commands, receiver) = mpsc::channel();
            let to = (settings.target, settings.offer);
            let worker = Worker::new(poll, &own, bench.clone(), progress.clone(), receiver, to);
            let handle = std::thread::Builder::new()
                .name(format!("load-{number}"))
                .spawn(move || worker.run())?;
            threads.push(Thread {
                commands,
                waker,
                handle: Some(handle),
            });
        }
        Ok(Fleet {
            threads,
            bench,
            progress,
        })
    }

    /// The workload and the expected routes.
    pub fn bench(&self) -> &Arc<Bench> {
        &self.bench
    }

    /// The counters and the clock.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Starts to connect these clients.
    pub fn connect(&self, clients: &[usize]) -> Result<(), FleetError> {
        self.show_progress(|| Command::Connect(clients.to_vec()))
    }

    /// Waits until `count` sessions are established. `watch` receives the counters regularly.
    pub fn wait_established(
        &self,
        count: usize,
        timeout: Duration,
        watch: impl FnMut(&Counters),
    ) -> Result<(), FleetError> {
        self.wait_for("sessions", timeout, watch, |c| c.established >= count)
    }

    /// Lets these clients announce. The clock starts with the first byte.
    pub fn feed(&self, clients: &[usize]) -> Result<(), FleetError> {
        self.progress.restart_clock();
        self.show_progress(|| Command::Feed(clients.to_vec()))
    }

    /// Waits until `exact` clients hold exactly their expected routes and `fed` streams are written.
    pub fn wait_exact(
        &self,
        exact: usize,
        fed: usize,
        timeout: Duration,
        watch: impl FnMut(&Counters),
    ) -> Result<Duration, FleetError> {
        self.wait_for("every client to be exact", timeout, watch, |c| {
            c.exact >= exact && c.fed >= fed
        })?;
        Ok(self.progress.elapsed())
    }

    /// Closes connections without a NOTIFICATION, as a crash does.
    pub fn kill(&self, clients: &[usize]) -> Result<(), FleetError> {
        self.show_progress(|| Command::Kill(clients.to_vec()))
    }

    /// Makes a client read this many bytes every 10 ms, or at full speed again.
    pub fn slow(&self, client: usize, octets: Option<usize>) -> Result<(), FleetError> {
        self.show_progress(|| Command::Slow(client, octets))
    }

    /// Sets which announcing peers count from now on. Call it before they are killed or reconnect, while no routes are
    /// in transit.
    pub fn set_alive(&mut self, peers: &[usize], alive: bool) -> Result<(), FleetError> {
        let routes = self.bench.workload.routes.iter();
        let touched = routes
            .filter(|route| peers.contains(&(route.peer as usize)))
            .map(|route| route.group)
            .collect();
        self.change_oracle(touched, |oracle| {
            peers.iter().for_each(|&peer| oracle.set_alive(peer, alive));
        })
    }

    /// Sets the daemon's policy in the oracle. Call it before the daemon's policy changes, while no routes are in
    /// transit.
    pub fn set_policy(&mut self, policy: Policy) -> Result<(), FleetError> {
        let all = (0..self.bench.workload.groups.len() as u32).collect();
        self.change_oracle(all, |oracle| oracle.set_policy(policy))
    }

    fn change_oracle(
        &mut self,
        mut touched: Vec<u32>,
        change: impl FnOnce(&mut Oracle),
    ) -> Result<(), FleetError> {
        touched.sort_unstable();
        touched.dedup();
        let mut bench = (*self.bench).clone();
        let mut oracle = (*bench.oracle).clone();
        change(&mut oracle);
        bench.oracle = Arc::new(oracle);
        self.bench = Arc::new(bench);
        let touched = Arc::new(touched);
        let (done, finished) = mpsc::channel();
        self.show_progress(|| Command::Oracle {
            bench: self.bench.clone(),
            touched: touched.clone(),
            done: done.clone(),
        })?;
        for _ in &self.threads {
            finished.recv().map_err(|_| FleetError::Gone)?;
        }
        self.progress.start_clock_now();
        Ok(())
    }

    /// Announces the probe prefix `rounds` times from the first peer, and times each announcement until the monitor has
    /// it.
    pub fn probe(&self, rounds: u32) -> Result<Vec<Duration>, FleetError> {
        let (reply, times) = mpsc::channel();
        let command = Command::Probe {
            from: 0,
            to: self.bench.workload.monitor(),
            rounds,
            reply,
        };
        let first = self.threads.first().ok_or(FleetError::Gone)?;
        first.commands.send(command).map_err(|_| FleetError::Gone)?;
        first.waker.wake()?;
        times.recv().map_err(|_| FleetError::Gone)
    }

    /// The routes that every client holds, in the order of the clients.
    pub fn report(&self) -> Result<Vec<ClientReport>, FleetError> {
        let (reply, reports) = mpsc::channel();
        self.show_progress(|| Command::Report(reply.clone()))?;
        drop(reply);
        let mut all: Vec<ClientReport> =
            reports.iter().take(self.threads.len()).flatten().collect();
        all.sort_by_key(|report| report.client);
        Ok(all)
    }

    fn show_progress(&self, command: impl Fn() -> Command) -> Result<(), FleetError> {
        for thread in &self.threads {
            thread
                .commands
                .send(command())
                .map_err(|_| FleetError::Gone)?;
            thread.waker.wake()?;
        }
        Ok(())
    }

    fn wait_for(
        &self,
        waiting_for: &'static str,
        timeout: Duration,
        mut watch: impl FnMut(&Counters),
        reached: impl Fn(&Counters) -> bool,
    ) -> Result<(), FleetError> {
        let begun = Instant::now();
        let mut seen_up = None;
        loop {
            let counters = self.progress.counters();
            watch(&counters);
            if counters.established > 0 {
                seen_up = Some(Instant::now());
            } else if seen_up.is_some_and(|at| at.elapsed() > ALL_LOST) {
                return Err(FleetError::AllLost(self.progress.take_trouble()));
            }
            if reached(&counters) {
                return Ok(());
            }
            if begun.elapsed() > timeout {
                let trouble = self.progress.take_trouble();
                return Err(FleetError::Timeout {
                    waiting_for,
                    counters,
                    trouble,
                });
            }
            self.progress.wait(Duration::from_millis(20));
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            // A thread that has ended needs no command.
            let _ = thread.commands.send(Command::Stop);
            let _ = thread.waker.wake();
            if let Some(handle) = thread.handle.take() {
                let _ = handle.join();
            }
        }
    }
}
