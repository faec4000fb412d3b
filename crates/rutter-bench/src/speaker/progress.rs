//! The state that the threads of a fleet share: counters, two times, and a condition variable.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::speaker::client::Turn;

/// Counters of a fleet; read at any time.
#[derive(Debug)]
pub struct Progress {
    begun: Instant,
    established: AtomicUsize,
    exact: AtomicUsize,
    fed: AtomicUsize,
    sent: AtomicU64,
    received: AtomicU64,
    updates: AtomicU64,
    held: AtomicU64,
    first_sent_ns: AtomicU64,
    last_exact_ns: AtomicU64,
    trouble: Mutex<Vec<String>>,
    bell: Condvar,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Counters {
    /// Established sessions.
    pub established: usize,
    /// Clients that hold exactly their expected routes.
    pub exact: usize,
    /// Clients whose stream is written.
    pub fed: usize,
    /// Octets written.
    pub sent: u64,
    /// Octets read.
    pub received: u64,
    /// UPDATEs read.
    pub updates: u64,
    /// Prefixes announced to the clients, including repeated ones.
    pub prefixes: u64,
}

impl Progress {
    /// All zero.
    pub fn new() -> Self {
        Progress {
            begun: Instant::now(),
            established: AtomicUsize::new(0),
            exact: AtomicUsize::new(0),
            fed: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            updates: AtomicU64::new(0),
            held: AtomicU64::new(0),
            first_sent_ns: AtomicU64::new(u64::MAX),
            last_exact_ns: AtomicU64::new(0),
            trouble: Mutex::new(Vec::new()),
            bell: Condvar::new(),
        }
    }

    /// The counters now.
    pub fn counters(&self) -> Counters {
        Counters {
            established: self.established.load(Ordering::Relaxed),
            exact: self.exact.load(Ordering::Relaxed),
            fed: self.fed.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            updates: self.updates.load(Ordering::Relaxed),
            prefixes: self.held.load(Ordering::Relaxed),
        }
    }

    /// Restarts the clock: it starts with the next byte of a stream.
    pub fn restart_clock(&self) {
        self.first_sent_ns.store(u64::MAX, Ordering::Relaxed);
        self.last_exact_ns.store(0, Ordering::Relaxed);
    }

    /// Starts the clock now, whatever is sent.
    pub fn start_clock_now(&self) {
        self.last_exact_ns.store(0, Ordering::Relaxed);
        self.first_sent_ns.store(self.now_ns(), Ordering::Relaxed);
    }

    /// The time from the first byte until the last client became exact.
    pub fn elapsed(&self) -> Duration {
        let first = self.first_sent_ns.load(Ordering::Relaxed);
        let last = self.last_exact_ns.load(Ordering::Relaxed);
        Duration::from_nanos(last.saturating_sub(first))
    }

    /// Takes the descriptions of all errors so far.
    pub fn take_trouble(&self) -> Vec<String> {
        std::mem::take(&mut self.lock())
    }

    /// Waits for a notable event, at most this long.
    pub fn wait(&self, longest: Duration) {
        let guard = self.lock();
        // Spurious and missed wake-ups are harmless: the caller reads the counters again.
        drop(self.bell.wait_timeout(guard, longest));
    }

    pub(crate) fn note_turn(&self, turn: &Turn) {
        self.sent.fetch_add(turn.sent as u64, Ordering::Relaxed);
        self.received
            .fetch_add(turn.received as u64, Ordering::Relaxed);
        self.updates.fetch_add(turn.updates, Ordering::Relaxed);
        self.held.fetch_add(turn.prefixes, Ordering::Relaxed);
    }

    /// An UPDATE is about to be sent.
    pub(crate) fn note_first_sent(&self) {
        if self.first_sent_ns.load(Ordering::Relaxed) == u64::MAX {
            let now = self.now_ns();
            self.first_sent_ns.fetch_min(now, Ordering::Relaxed);
        }
    }

    pub(crate) fn note_established(&self, up: bool) {
        count(&self.established, up);
        self.ring();
    }

    pub(crate) fn note_exact(&self, exact: bool) {
        if exact {
            let now = self.now_ns();
            self.last_exact_ns.fetch_max(now, Ordering::Relaxed);
        }
        count(&self.exact, exact);
        self.ring();
    }

    pub(crate) fn note_fed(&self, fed: bool) {
        count(&self.fed, fed);
    }

    pub(crate) fn note_trouble(&self, text: String) {
        let mut trouble = self.lock();
        if trouble.len() < MOST_TROUBLE {
            trouble.push(text);
        }
        drop(trouble);
        self.ring();
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    fn ring(&self) {
        self.bell.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

fn count(counter: &AtomicUsize, up: bool) {
    if up {
        counter.fetch_add(1, Ordering::Release);
    } else {
        counter.fetch_sub(1, Ordering::Release);
    }
}

const MOST_TROUBLE: usize = 100;
