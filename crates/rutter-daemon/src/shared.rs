//! What all threads of the daemon share.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, RwLock};
use rutter_api::CollectorServices;
use rutter_config::Config;
use rutter_rib::Rib;
use rutter_rpki::Vrps;

use crate::listener::Listeners;
use crate::logging::LogRing;
use crate::mailbox::{Command, Mailbox};
use crate::management::Service;
use crate::mrt::Archive;
use crate::neighbor::Plan;
use crate::reactor::Reactor;
use crate::status::{PeerStatus, PeerTable};

/// One daemon.
pub(crate) struct Shared {
    pub(crate) rib: Arc<Rib>,
    pub(crate) clock: Clock,
    pub(crate) peers: PeerTable,
    pub(crate) threads: Vec<Thread>,
    pub(crate) listeners: Listeners,
    pub(crate) config: RwLock<Arc<Config>>,
    /// Held while a new configuration is applied.
    pub(crate) reloading: Mutex<()>,
    /// What a reload may start anew.
    pub(crate) outlets: Mutex<Outlets>,
    /// The file that a reload reads; `None` for an embedded configuration.
    pub(crate) source: Option<PathBuf>,
    pub(crate) loaded: Mutex<Loaded>,
    pub(crate) log: Arc<LogRing>,
    pub(crate) jitter: RandomState,
    /// Set once, when the end begins.
    pub(crate) stopping: AtomicBool,
    /// The end was asked for: the text for the neighbors.
    pub(crate) stop_request: StopRequest,
    /// What look-ups validate origins by.
    pub(crate) vrps: RwLock<Option<Arc<Vrps>>>,
    /// The services of a collector, where there are any.
    pub(crate) collected: OnceLock<Arc<dyn CollectorServices>>,
}

/// Where the daemon writes to besides neighbors, as configured.
#[derive(Default)]
pub(crate) struct Outlets {
    pub(crate) metrics: Option<Service>,
    pub(crate) archive: Option<Archive>,
}

/// When the configuration in force came, and why a later one did not.
pub(crate) struct Loaded {
    pub(crate) unix_s: u64,
    pub(crate) last_error: Option<String>,
}

/// One I/O thread as the others see it.
pub(crate) struct Thread {
    pub(crate) mailbox: Mailbox,
    /// What it owns; `None` before it starts and after it ends.
    pub(crate) reactor: Mutex<Option<Reactor>>,
    /// Neighbors it owns.
    pub(crate) load: AtomicUsize,
}

impl Shared {
    /// The thread with the fewest neighbors; the caller's neighbor is counted to it.
    pub(crate) fn claim_thread(&self) -> usize {
        let loads = self.threads.iter().enumerate();
        let index = loads
            .min_by_key(|(_, t)| t.load.load(Ordering::Relaxed))
            .map_or(0, |(index, _)| index);
        self.threads[index].load.fetch_add(1, Ordering::Relaxed);
        index
    }

    /// A neighbor left its thread.
    pub(crate) fn release_thread(&self, index: usize) {
        self.threads[index].load.fetch_sub(1, Ordering::Relaxed);
    }

    /// Decides the jitter of a neighbor's timers.
    pub(crate) fn seed_for(&self, address: IpAddr) -> u64 {
        self.jitter.hash_one(address)
    }

    /// Gives a neighbor to a thread, which starts its session.
    pub(crate) fn add_peer(&self, plan: Plan) -> Result<(), Busy> {
        let thread = self.claim_thread();
        let address = plan.config.address;
        let dynamic = plan.dynamic.is_some();
        let config = Arc::clone(&plan.config);
        let status = PeerStatus::new(config, thread, dynamic, self.clock.now_ms());
        self.peers.insert(address, Arc::new(status));
        let posted = self.post(thread, Command::Add(Box::new(plan)));
        if posted.is_err() {
            self.peers.remove(address);
            self.release_thread(thread);
        }
        posted
    }

    /// Leaves a command with the thread that owns a neighbor.
    pub(crate) fn post_to_peer(&self, address: IpAddr, command: Command) -> Result<(), Busy> {
        let status = self.peers.find(address).ok_or(Busy::Unknown)?;
        let thread = status.with(|details| details.thread);
        self.post(thread, command)
    }

    /// Leaves a command with a thread.
    pub(crate) fn post(&self, thread: usize, command: Command) -> Result<(), Busy> {
        let posted = self.threads[thread].mailbox.post(command);
        posted.map_err(|_| Busy::MailboxFull)
    }

    /// What neighbors are told at the end where nobody said what (RFC 9003).
    pub(crate) fn farewell(&self) -> &'static str {
        match (self.collected.get(), &self.config.read().exchange) {
            (Some(_), _) => "the collector is being shut down",
            (None, Some(_)) => "the route server is being shut down",
            (None, None) => "the router is being shut down",
        }
    }

    /// Sends what a change made outside of the I/O threads left to be sent.
    pub(crate) fn flush(&self) {
        if self.rib.flush() {
            self.wake_all_but(usize::MAX);
        }
    }

    /// The streams of all threads may have something new.
    pub(crate) fn wake_all_but(&self, own: usize) {
        for (index, thread) in self.threads.iter().enumerate() {
            if index != own {
                thread.mailbox.wake();
            }
        }
    }
}

/// Why a command was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// The thread's box is full.
    MailboxFull,
    /// No such neighbor.
    Unknown,
}

impl std::fmt::Display for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Busy::MailboxFull => "the thread that owns the session is too busy to take the request",
            Busy::Unknown => "no such neighbor",
        })
    }
}

/// Monotonic milliseconds since the daemon started.
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock {
            start: Instant::now(),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

/// Wall time in microseconds since 1970.
pub(crate) fn unix_us() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_micros() as u64)
}

/// Somebody asks the daemon to end.
#[derive(Default)]
pub(crate) struct StopRequest {
    asked: Mutex<Option<Asked>>,
    made: parking_lot::Condvar,
}

/// What neighbors are to be told, if anything was said of it.
type Asked = Option<Arc<str>>;

impl StopRequest {
    /// Asks; later requests do not change the first one's text.
    pub(crate) fn make(&self, text: Option<&str>) {
        self.asked.lock().get_or_insert_with(|| text.map(Arc::from));
        self.made.notify_all();
    }

    /// Waits for the request, at most so long.
    pub(crate) fn wait(&self, timeout: std::time::Duration) -> Option<Asked> {
        let mut asked = self.asked.lock();
        if asked.is_none() {
            self.made.wait_for(&mut asked, timeout);
        }
        asked.clone()
    }
}
