//! What the fleet tells its threads, and what they answer.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::tracker::Bench;

/// What the fleet tells a worker. Clients are indices in the workload; a worker ignores others' clients.
#[derive(Debug)]
pub(crate) enum Command {
    /// Connect these, a few at a time.
    Connect(Vec<usize>),
    /// Let these send their streams.
    Feed(Vec<usize>),
    /// Close these connections without a word.
    Kill(Vec<usize>),
    /// Read slowly from now on, this many octets every 10 ms; or no longer.
    Slow(usize, Option<usize>),
    /// A quiet moment: from now on another oracle holds, which differs in these groups.
    Oracle {
        bench: Arc<Bench>,
        touched: Arc<Vec<u32>>,
        done: Sender<()>,
    },
    /// Announce the probe prefix this often from one client and time its arrival at another.
    Probe {
        from: usize,
        to: usize,
        rounds: u32,
        reply: Sender<Vec<Duration>>,
    },
    /// Tell what every client holds.
    Report(Sender<Vec<ClientReport>>),
    /// Close everything and end.
    Stop,
}

/// What a client holds, for the report.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ClientReport {
    /// Its index in the workload.
    pub client: usize,
    /// Whether it holds exactly what it must.
    pub exact: bool,
    /// Prefixes held.
    pub held: u32,
    /// Prefixes held with the right route.
    pub right: u32,
    /// Prefixes to be held.
    pub expected: u32,
    /// Announcements received, repeated ones included.
    pub announced: u64,
    /// Withdrawals received.
    pub withdrawn: u64,
    /// Prefixes that nobody announced.
    pub unknown: u64,
    /// Routes with attributes that nobody announced.
    pub forged: u64,
    /// The state of the session, if it is not Established.
    pub down: Option<String>,
    /// Some differences in words.
    pub differences: Vec<String>,
}
