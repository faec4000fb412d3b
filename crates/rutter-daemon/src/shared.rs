//! The state that all threads of the daemon share.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, RwLock};
use rutter_api::CollectorServices;
use rutter_config::{Config, ConfigSource, DynamicNeighbor};
use rutter_rib::Rib;
use rutter_web::WebServer;

use crate::apply::Changes;
use crate::bmp_report::Stations;
use crate::handover::{MovableServices, UpgradeDesk};
use crate::listener::Listeners;
use crate::logging::LogRing;
use crate::mailbox::{Command, Mailbox};
use crate::memory_limits::MemoryLimits;
use crate::mrt::Archive;
use crate::neighbor_settings::NeighborSettings;
use crate::outside_sources::OutsideSources;
use crate::peer_table::{Change, PeerTable, Recorded, Run, SectionIsFull};
use crate::reactor::Reactor;
use crate::restart::Restart;
use crate::status::PeerStatus;
use crate::turn_clock::TurnCounts;

/// The shared state of one daemon.
pub(crate) struct Shared {
    pub(crate) rib: Arc<Rib>,
    pub(crate) clock: Clock,
    pub(crate) peers: PeerTable,
    pub(crate) threads: Vec<Thread>,
    pub(crate) listeners: Listeners,
    /// The configuration in force. Beside a reload, only its dynamic members change.
    pub(crate) config: RwLock<Arc<Config>>,
    /// Grows when another configuration comes into force. Other dynamic members do not count.
    pub(crate) config_changes: AtomicU64,
    /// Locked while a new configuration is applied.
    pub(crate) reloading: Mutex<()>,
    /// The services that a reload may restart.
    pub(crate) outlets: Mutex<Outlets>,
    /// The BMP stations to which the daemon reports.
    pub(crate) stations: Mutex<Stations>,
    /// Grows when policies or the settings of clients took effect, or advertisement began, for readers of what clients are
    /// sent.
    pub(crate) policy_changes: AtomicU64,
    /// What a reload reads; `None` for an embedded configuration.
    pub(crate) source: Option<ConfigSource>,
    pub(crate) loaded: Mutex<Loaded>,
    /// The configurations that ran, and a change that waits for its confirmation.
    pub(crate) changes: Changes,
    pub(crate) log: Arc<LogRing>,
    pub(crate) jitter: RandomState,
    /// The daemon stops; it is never reset.
    pub(crate) stopping: AtomicBool,
    /// The request to stop, with the text for the neighbors.
    pub(crate) stop_request: StopRequest,
    /// The neighbors that keep our routes when we restart, and those that we wait for after a restart.
    pub(crate) restart: Restart,
    /// Hand-overs to a new version.
    pub(crate) upgrades: UpgradeDesk,
    /// Until this time, milliseconds, the threads read little at once: a neighbor of any thread sends single changes, and
    /// waits for the work of all.
    pub(crate) small_shares_until_ms: AtomicU64,
    /// The limit on the memory of the table.
    pub(crate) memory_limits: MemoryLimits,
    /// The sources of outside data.
    pub(crate) sources: OutsideSources,
    /// The services of a collector, in a collector.
    pub(crate) collected: OnceLock<Arc<dyn CollectorServices>>,
    /// The same, for a hand-over. A collector that still starts has none.
    pub(crate) services: OnceLock<Arc<dyn MovableServices>>,
}

/// The configured services besides BGP.
#[derive(Default)]
pub(crate) struct Outlets {
    pub(crate) metrics: Option<WebServer>,
    /// The looking glass and the REST interface.
    pub(crate) web: Option<WebServer>,
    pub(crate) archive: Option<Archive>,
}

/// The time at which the current configuration was loaded, and the error of a later attempt.
pub(crate) struct Loaded {
    pub(crate) unix_s: u64,
    pub(crate) last_error: Option<String>,
}

/// One I/O thread, as other threads see it.
pub(crate) struct Thread {
    pub(crate) mailbox: Mailbox,
    /// Its event loop; `None` before it starts and after it ends.
    pub(crate) reactor: Mutex<Option<Reactor>>,
    /// The number of its neighbors.
    pub(crate) load: AtomicUsize,
    /// Its turns by their processor time.
    pub(crate) turns: TurnCounts,
}

impl Shared {
    /// Returns the thread with the fewest neighbors and counts one more there.
    pub(crate) fn claim_thread(&self) -> usize {
        let loads = self.threads.iter().enumerate();
        let index = loads
            .min_by_key(|(_, t)| t.load.load(Ordering::Relaxed))
            .map_or(0, |(index, _)| index);
        self.threads[index].load.fetch_add(1, Ordering::Relaxed);
        index
    }

    /// Counts one neighbor less on a thread.
    pub(crate) fn release_thread(&self, index: usize) {
        self.threads[index].load.fetch_sub(1, Ordering::Relaxed);
    }

    /// The seed for the jitter of a neighbor's timers.
    pub(crate) fn seed_for(&self, address: IpAddr) -> u64 {
        self.jitter.hash_one(address)
    }

    /// Gives a configured neighbor new settings, or adds it. `change` is for a neighbor that is there.
    pub(crate) fn run_peer(&self, settings: NeighborSettings, change: Change) {
        let run = Run {
            adds: settings.dynamic.is_none(),
            settings: Box::new(settings),
            change,
        };
        let address = run.settings.config.address;
        let recorded = self.peers.run(run, |settings| self.new_status(settings));
        self.settle(address, recorded);
    }

    /// Adds a dynamic neighbor that connects, unless there is a neighbor with its address. Returns the one that gave way to
    /// it.
    pub(crate) fn admit_peer(
        &self,
        settings: NeighborSettings,
        section: &DynamicNeighbor,
    ) -> Result<Option<IpAddr>, SectionIsFull> {
        let run = Run {
            settings: Box::new(settings),
            change: Change::Live,
            adds: true,
        };
        let now_ms = self.clock.now_ms();
        let new_status = |settings: &NeighborSettings| self.new_status(settings);
        let admitted = self.peers.admit(run, section, now_ms, new_status)?;
        for (address, recorded) in admitted.orders {
            self.settle(address, recorded);
        }
        Ok(admitted.gave_way)
    }

    /// Removes a neighbor.
    pub(crate) fn remove_peer(&self, address: IpAddr) {
        let recorded = self.peers.remove(address);
        recorded
            .into_iter()
            .for_each(|recorded| self.settle(address, recorded));
    }

    /// Forgets a neighbor that its thread has removed or never had, unless it should be there again.
    pub(crate) fn peer_removed(&self, address: IpAddr, thread: usize) {
        let successor = |settings: &NeighborSettings| self.status_on(settings, thread);
        if self.peers.removed(address, successor) {
            self.release_thread(thread);
        }
    }

    fn new_status(&self, settings: &NeighborSettings) -> PeerStatus {
        self.status_on(settings, self.claim_thread())
    }

    /// The state of a new neighbor on a thread.
    pub(crate) fn status_on(&self, settings: &NeighborSettings, thread: usize) -> PeerStatus {
        let config = Arc::clone(&settings.config);
        let dynamic = settings.dynamic.is_some();
        PeerStatus::new(config, thread, dynamic, self.clock.now_ms())
    }

    fn settle(&self, address: IpAddr, recorded: Recorded) {
        if recorded.is_first {
            let mailbox = &self.threads[recorded.thread].mailbox;
            mailbox.post_order(address);
        }
    }

    /// Posts a command to the thread that owns a neighbor.
    pub(crate) fn post_to_peer(&self, address: IpAddr, command: Command) -> Result<(), PostError> {
        let status = self.peers.find(address).ok_or(PostError::Unknown)?;
        let thread = status.with(|details| details.thread);
        self.post(thread, command)
    }

    /// Posts a command to a thread.
    pub(crate) fn post(&self, thread: usize, command: Command) -> Result<(), PostError> {
        let posted = self.threads[thread].mailbox.post(command);
        posted.map_err(|_| PostError::MailboxFull)
    }

    /// The text for the neighbors at a shutdown without a text of the operator (RFC 9003).
    pub(crate) fn default_shutdown_text(&self) -> &'static str {
        match (self.collected.get(), &self.config.read().exchange) {
            (Some(_), _) => "the collector is being shut down",
            (None, Some(_)) => "the route server is being shut down",
            (None, None) => "the router is being shut down",
        }
    }

    /// Returns whether neighbors of any thread have sent single changes lately.
    pub(crate) fn has_single_changes(&self, now_ms: u64) -> bool {
        now_ms < self.small_shares_until_ms.load(Ordering::Relaxed)
    }

    /// Advertises the routes that changed outside of the I/O threads.
    pub(crate) fn flush(&self) {
        if self.rib.flush() {
            self.wake_all_but(usize::MAX);
        }
    }

    /// Wakes all threads but one: their clients may have new bytes.
    pub(crate) fn wake_all_but(&self, own: usize) {
        for (index, thread) in self.threads.iter().enumerate() {
            if index != own {
                thread.mailbox.wake();
            }
        }
    }
}

/// The reason why a command was not posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostError {
    /// The mailbox of the thread is full.
    MailboxFull,
    /// The neighbor is unknown.
    Unknown,
}

impl std::fmt::Display for PostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PostError::MailboxFull => "the thread of the session is too busy for the request",
            PostError::Unknown => "no such neighbor",
        })
    }
}

/// Monotonic milliseconds since the daemon started. A process that takes over goes on with those of the one before.
pub(crate) struct Clock {
    start: Instant,
    base_ms: u64,
    /// The wall time when this clock showed 0, milliseconds since 1970.
    zero_unix_ms: AtomicU64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock::start_at(0)
    }

    /// A clock that shows this time now.
    pub(crate) fn start_at(base_ms: u64) -> Self {
        Clock {
            start: Instant::now(),
            base_ms,
            zero_unix_ms: AtomicU64::new((unix_us() / 1_000).saturating_sub(base_ms)),
        }
    }

    /// The wall time of a time of this clock, Unix seconds. It is the same each time, unless the wall clock was set.
    pub(crate) fn unix_s(&self, ms: u64) -> u64 {
        let now_ms = self.now_ms();
        let unix_ms = unix_us() / 1_000;
        // Where a thread had to wait between the two clocks, their difference means nothing.
        if self.now_ms() - now_ms < WALL_CLOCK_SET_MS / 10 {
            self.follow_wall_clock(unix_ms.saturating_sub(now_ms));
        }
        (self.zero_unix_ms.load(Ordering::Relaxed) + ms) / 1_000
    }

    /// Takes a new difference of the clocks if the wall clock was set, and not if it was steered a little.
    fn follow_wall_clock(&self, zero_unix_ms: u64) {
        let kept = self.zero_unix_ms.load(Ordering::Relaxed);
        if kept.abs_diff(zero_unix_ms) > WALL_CLOCK_SET_MS {
            self.zero_unix_ms.store(zero_unix_ms, Ordering::Relaxed);
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now().as_millis() as u64
    }

    pub(crate) fn now(&self) -> Duration {
        Duration::from_millis(self.base_ms) + self.start.elapsed()
    }
}

/// A larger difference means that the wall clock was set.
const WALL_CLOCK_SET_MS: u64 = 1_000;

/// Wall time in microseconds since 1970.
pub(crate) fn unix_us() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_micros() as u64)
}

/// The way in which the daemon is to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopOrder {
    /// It starts again soon: neighbors with Graceful Restart keep our routes.
    Restart,
    /// Another process has taken everything over: this one ends without a word.
    HandOver,
    /// It leaves: every session ends with Cease/Administrative Shutdown and this text (RFC 9003).
    Leave(Arc<str>),
}

/// A request to stop the daemon.
#[derive(Default)]
pub(crate) struct StopRequest {
    request: Mutex<Option<StopOrder>>,
    requested: parking_lot::Condvar,
}

impl StopRequest {
    /// Requests the stop. Later requests do not change the first one.
    pub(crate) fn make(&self, order: StopOrder) {
        let mut request = self.request.lock();
        request.get_or_insert(order);
        self.requested.notify_all();
    }

    /// Waits for the request, at most for this time.
    pub(crate) fn wait(&self, timeout: Duration) -> Option<StopOrder> {
        let mut request = self.request.lock();
        if request.is_none() {
            self.requested.wait_for(&mut request, timeout);
        }
        request.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time since when a session is in its state must not change from answer to answer.
    #[test]
    fn wall_times_stay_the_same_until_the_clock_is_set() {
        let clock = Clock::start_at(0);
        let zero = 1_800_000_000_999;
        clock.follow_wall_clock(zero);
        let time = || (clock.zero_unix_ms.load(Ordering::Relaxed) + 5_000) / 1_000;
        let first = time();
        for steered in [zero + 1, zero - 40, zero + 900] {
            clock.follow_wall_clock(steered);
            assert_eq!(time(), first);
        }
        clock.follow_wall_clock(zero + 3_600_000);
        assert_eq!(time(), first + 3_600);
    }
}
