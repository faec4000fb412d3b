//! The two threads of a sink: one spools the feed, one writes to the store.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use rutter_config::{Sink, SinkTarget};
use rutter_events::Now;
use rutter_rib::{FeedReader, PeerSummary, Rib};
use rutter_service::{FeedPause, FeedPosition, Service};

use crate::feed_spooler::{Clock, FeedSpooler, QUEUE};
use crate::kafka::Kafka;
use crate::mariadb::MariaDb;
use crate::postgres::Postgres;
use crate::spool::{Disk, Position, Spool};
use crate::status::{Status, StatusView};
use crate::store::Store;
use crate::table_load::TableSource;
use crate::writer::{Limits, Step, Writer};

/// A running sink. Stopping it writes all rows of the feed.
pub struct Handle {
    shared: Arc<Shared>,
    spooler: Option<JoinHandle<()>>,
    writer: Option<JoinHandle<()>>,
    pause: FeedPause,
}

/// The feed of a sink that goes on where that of another process stopped.
pub struct ContinuedFeed {
    feed: (FeedReader, Vec<PeerSummary>),
    end: Position,
}

impl ContinuedFeed {
    /// Subscribes to a table that has not changed since the other process had read everything.
    pub fn subscribe(rib: &Rib, (run, next_seq): FeedPosition) -> Self {
        ContinuedFeed {
            feed: rib.subscribe(QUEUE),
            end: Position { run, next_seq },
        }
    }

    /// Goes on with the sink, after the other process has ended. If the spool ends elsewhere, a new run begins, which says
    /// what is missing.
    pub fn start(
        self,
        rib: &Arc<Rib>,
        collector: &str,
        settings: &Sink,
    ) -> Result<Handle, StartError> {
        start_with(rib, collector, settings, Some(self))
    }
}

struct Shared {
    name: String,
    spool: Mutex<Spool<Disk>>,
    status: Status,
    stop: AtomicBool,
    /// The spooler has stored its last row.
    drained: AtomicBool,
    /// The reasons for which the spooler must start over, each once.
    start_over: Mutex<Vec<String>>,
    /// The problem that was logged last.
    logged_problem: Mutex<Option<String>>,
    wake: (Mutex<()>, Condvar),
    pause: FeedPause,
}

/// The reason why a sink could not be started.
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    fn of(settings: &Sink, why: &dyn std::fmt::Display) -> Self {
        let (name, folder) = (&settings.name, settings.spool.display());
        StartError(format!(
            "sink {name}: cannot use the spool {folder}: {why}\n    \
             write another `spool` in its [[sink]], or let the collector's user write there"
        ))
    }
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// The clocks of the machine.
pub struct MachineClock(Instant);

impl MachineClock {
    /// Starts the monotonic clock.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for MachineClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Now {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            unix_us: since.as_micros() as u64,
            monotonic_us: self.0.elapsed().as_micros() as u64,
        }
    }
}

/// Starts a sink of a table. An unreachable store does not prevent the start.
pub fn start(rib: &Arc<Rib>, collector: &str, settings: &Sink) -> Result<Handle, StartError> {
    start_with(rib, collector, settings, None)
}

/// Checks that the spool of a sink could be opened if no other process had it. A full disk does not prevent the start.
pub fn check(settings: &Sink) -> Result<(), StartError> {
    match Disk::check(&settings.spool) {
        Err(why) if !is_full(&why) => Err(StartError::of(settings, &why)),
        _ => Ok(()),
    }
}

fn start_with(
    rib: &Arc<Rib>,
    collector: &str,
    settings: &Sink,
    continued: Option<ContinuedFeed>,
) -> Result<Handle, StartError> {
    let limits = Limits {
        batch_rows: settings.batch_rows,
        retention: settings.events_retention_s.map(Duration::from_secs),
        ..Limits::default()
    };
    match &settings.target {
        SinkTarget::Postgres(database) => {
            let store = Postgres::new(collector, database.clone());
            start_store(rib, collector, settings, continued, store, limits)
        }
        SinkTarget::MariaDb(database) => {
            let store = MariaDb::new(collector, database.clone());
            start_store(rib, collector, settings, continued, store, limits)
        }
        SinkTarget::Kafka(broker) => {
            let store = Kafka::new(&settings.name, collector, broker.clone(), &settings.spool);
            start_store(rib, collector, settings, continued, store, limits)
        }
    }
}

fn start_store<S: Store + Send + 'static>(
    rib: &Arc<Rib>,
    collector: &str,
    settings: &Sink,
    continued: Option<ContinuedFeed>,
    store: S,
    limits: Limits,
) -> Result<Handle, StartError> {
    let failed = |why: &dyn std::fmt::Display| StartError::of(settings, why);
    let disk = match Disk::open(&settings.spool) {
        // Everything else continues, as it does when the disk fills later.
        Err(why) if is_full(&why) => Disk::later(&settings.spool),
        opened => opened.map_err(|why| failed(&why))?,
    };
    let spool = Spool::open(disk, settings.spool_limit).map_err(|why| failed(&why))?;
    let clock = MachineClock::new();
    let table = Arc::clone(rib);
    // Another end means that rows are missing: a new run says so.
    let continued = continued.filter(|continued| spool.end() == Some(continued.end));
    let spooler = match continued {
        Some(ContinuedFeed { feed, end }) => {
            FeedSpooler::continued(table, collector, feed, end, &clock)
        }
        None => FeedSpooler::new(table, collector, &spool, &clock),
    };
    let shared = Arc::new(Shared {
        name: settings.name.clone(),
        spool: Mutex::new(spool),
        status: Status::new(&settings.name),
        stop: AtomicBool::new(false),
        drained: AtomicBool::new(false),
        start_over: Mutex::default(),
        logged_problem: Mutex::default(),
        wake: Default::default(),
        pause: FeedPause::default(),
    });
    // Show the rows that earlier runs left from the beginning.
    shared
        .status
        .note(&spooler, &shared.spool.lock(), clock.now().unix_us);
    let writer = Writer::new(store, spooler.run(), limits, shared.status.clone());
    let writing = WriterThread {
        source: TableSource(Arc::clone(rib)),
        interval: Duration::from_millis(settings.interval_ms),
        writer,
        shared: Arc::clone(&shared),
    };
    let feed_shared = Arc::clone(&shared);
    let thread = |what: &str| thread::Builder::new().name(format!("{what} {}", settings.name));
    let spooler = thread("spooler").spawn(move || spool_feed(&feed_shared, spooler, &clock));
    let writer = thread("sink").spawn(move || writing.run());
    Ok(Handle {
        pause: shared.pause.clone(),
        shared,
        spooler: Some(spooler.map_err(|why| failed(&why))?),
        writer: Some(writer.map_err(|why| failed(&why))?),
    })
}

fn is_full(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn spool_feed(shared: &Shared, mut spooler: FeedSpooler, clock: &MachineClock) {
    let mut synced = Instant::now();
    while !shared.stop.load(Ordering::Relaxed) {
        spooler.read_feed(FEED_WAIT, clock);
        if shared.pause.is_requested() && !stand_still(shared, &mut spooler, clock) {
            return;
        }
        for why in shared.start_over.lock().drain(..) {
            spooler.start_over(&why);
        }
        let mut spool = shared.spool.lock();
        let stored = spooler.store(&mut spool, clock);
        if synced.elapsed() >= SYNC_EVERY {
            synced = Instant::now();
            // The next append will report a failing disk.
            let _ = spool.sync();
        }
        shared.status.note(&spooler, &spool, clock.now().unix_us);
        drop(spool);
        shared.log_problem();
        if stored {
            shared.wake.1.notify_one();
        }
    }
    let mut spool = shared.spool.lock();
    spooler.stop(&mut spool, clock);
    let _ = spool.sync();
    shared.status.note(&spooler, &spool, clock.now().unix_us);
    drop(spool);
    shared.drained.store(true, Ordering::Release);
    shared.wake.1.notify_one();
}

/// Spools everything and stands still. Returns whether to go on.
fn stand_still(shared: &Shared, spooler: &mut FeedSpooler, clock: &MachineClock) -> bool {
    let stored = spooler.store_all(&mut shared.spool.lock(), clock);
    let stored = match shared.start_over.lock().first() {
        Some(why) => Err(why.clone()),
        None => stored,
    };
    let named = |why| format!("sink {}: {why}", shared.name);
    let position = stored.map(|end| (end.run, end.next_seq)).map_err(named);
    let goes_on = shared.pause.stand(position);
    if !goes_on {
        // The writer ends with its present step. The other process goes on from what the store has committed.
        shared.stop.store(true, Ordering::Relaxed);
        shared.drained.store(true, Ordering::Release);
    }
    goes_on
}

/// The thread that writes to the store.
struct WriterThread<S> {
    shared: Arc<Shared>,
    writer: Writer<S>,
    source: TableSource,
    interval: Duration,
}

impl<S: Store> WriterThread<S> {
    fn run(mut self) {
        let clock = MachineClock::new();
        while !self.is_over() {
            // Load the flag before the step: rows stored during the step would be left behind otherwise.
            let drained = self.shared.drained.load(Ordering::Acquire);
            let step = self
                .writer
                .step(clock.now().unix_us, &self.shared.spool, &self.source);
            self.shared.log_problem();
            match step {
                Step::Worked => self.pause_between(),
                Step::Idle if drained => break,
                Step::Idle => self.sleep(self.interval),
                Step::Failed(pause) => self.sleep(pause),
                Step::StartOver(why) => {
                    tracing::warn!(sink = %self.shared.name, "{why}; a gap is recorded, and all routes are loaded again");
                    self.shared.start_over.lock().push(why);
                }
            }
        }
        self.shared.spool.lock().sync().ok();
    }

    /// Returns whether to end although rows are left: the store is unreachable, and the spool keeps them.
    fn is_over(&self) -> bool {
        let view = self.shared.status.view();
        let away = !view.connected && view.failure.is_some();
        away && self.shared.drained.load(Ordering::Acquire)
    }

    /// Waits while the next batch grows, unless there is one already.
    fn pause_between(&self) {
        let view = self.shared.status.view();
        if !self.shared.stop.load(Ordering::Relaxed) && view.waiting == 0 {
            self.sleep(self.interval);
        }
    }

    fn sleep(&self, pause: Duration) {
        let end = Instant::now() + pause;
        while Instant::now() < end && !self.shared.stop.load(Ordering::Relaxed) {
            let mut guard = self.shared.wake.0.lock();
            let left = end.saturating_duration_since(Instant::now()).min(MAX_WAIT);
            self.shared.wake.1.wait_for(&mut guard, left);
        }
    }
}

impl Shared {
    /// Logs a new problem and the end of a problem. Both threads call this, since the writing thread may wait
    /// for an answer.
    fn log_problem(&self) {
        let mut logged = self.logged_problem.lock();
        let trouble = self.status.view().problem();
        if *logged == trouble {
            return;
        }
        match &trouble {
            Some(why) => tracing::warn!(sink = %self.name, "{why}; rows wait in the spool"),
            None => tracing::info!(sink = %self.name, "rows are written again"),
        }
        *logged = trouble;
    }
}

impl Handle {
    /// Lets the sink stand still, for another process.
    pub fn pause(&self) -> FeedPause {
        self.pause.clone()
    }

    /// The current figures.
    pub fn status(&self) -> StatusView {
        self.shared.status.view()
    }

    /// A shared handle to the figures, for repeated queries.
    pub fn shared_status(&self) -> Status {
        self.shared.status.clone()
    }

    fn end(&mut self, timeout: Duration) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.wake.1.notify_one();
        if let Some(spooler) = self.spooler.take() {
            let _ = spooler.join();
        }
        let end = Instant::now() + timeout;
        if let Some(writer) = self.writer.take() {
            while !writer.is_finished() && Instant::now() < end {
                thread::sleep(Duration::from_millis(5));
            }
            if writer.is_finished() {
                let _ = writer.join();
            }
        }
    }
}

impl Service for Handle {
    fn name(&self) -> String {
        format!("sink {}", self.shared.name)
    }

    /// Spools the rest of the feed, writes it if the store is reachable, and ends. Rows that the store does not
    /// accept in time stay in the spool for the next run.
    fn stop(mut self: Box<Self>) {
        self.end(STOP_TIMEOUT);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// The longest wait for an event.
const FEED_WAIT: Duration = Duration::from_millis(50);
/// The interval of syncs of the spool to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// The interval at which a sleeping writer checks for a stop.
const MAX_WAIT: Duration = Duration::from_millis(200);
/// The longest time that a stop waits for the store.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
