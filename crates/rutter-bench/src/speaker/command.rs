//! Commands of the fleet to its threads, and their answers.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::tracker::Bench;

/// A command to a worker. Clients are indices in the workload; a worker ignores clients of other workers.
#[derive(Debug)]
pub(crate) enum Command {
    /// Connect these clients, a few at a time.
    Connect(Vec<usize>),
    /// Let these clients send their streams.
    Feed(Vec<usize>),
    /// Close these connections without a NOTIFICATION.
    Kill(Vec<usize>),
    /// Read slowly from now on, this many bytes every 10 ms; `None`: at full speed.
    Slow(usize, Option<usize>),
    /// Replace the oracle, which differs in these groups. No routes are in transit.
    Oracle {
        bench: Arc<Bench>,
        touched: Arc<Vec<u32>>,
        done: Sender<()>,
    },
    /// Announce the probe prefix this many times from one client, and time its arrival at another.
    Probe {
        from: usize,
        to: usize,
        rounds: u32,
        reply: Sender<Vec<Duration>>,
    },
    /// Report the routes that every client holds.
    Report(Sender<Vec<ClientReport>>),
    /// Close everything and end.
    Stop,
}

/// The routes that a client holds, for the report.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ClientReport {
    /// Its index in the workload.
    pub client: usize,
    /// `true` if it holds exactly its expected routes.
    pub exact: bool,
    /// Prefixes held.
    pub held: u32,
    /// Prefixes held with the right route.
    pub right: u32,
    /// Prefixes to be held.
    pub expected: u32,
    /// Announcements received, including repeated ones.
    pub announced: u64,
    /// Withdrawals received.
    pub withdrawn: u64,
    /// Prefixes that no peer announced.
    pub unknown: u64,
    /// Routes with attributes that no peer announced.
    pub forged: u64,
    /// The state of the session, if it is not Established.
    pub down: Option<String>,
    /// Descriptions of some differences.
    pub differences: Vec<String>,
}
