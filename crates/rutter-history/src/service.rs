//! The archive of a collector: one thread that follows the feed, and one for each snapshot while it is written.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rutter_config::{History, file_name};
use rutter_events::Now;
use rutter_rib::{FeedEvent, FeedReader, PeerSummary};
use rutter_service::{Context, FeedPause, FeedPosition, Service};

use crate::archive::Archive;
use crate::archive_lock::ArchiveLock;
use crate::clock::Clock;
use crate::file_rotation::{FileRotation, Options, write_snapshot};
use crate::file_writer::{Compression, FileWriter};
use crate::time;

/// A running archive.
pub struct HistoryService {
    thread: JoinHandle<()>,
    pause: FeedPause,
}

/// The start of an archive that goes on where that of another process stopped.
pub struct ContinuedHistory {
    clock: Clock,
    reader: FeedReader,
    peers: Vec<PeerSummary>,
    position: FeedPosition,
}

impl ContinuedHistory {
    /// Subscribes to a table that has not changed since the other process had read everything.
    pub fn subscribe(context: &Context, position: FeedPosition) -> Self {
        let (reader, peers) = context.rib.subscribe(QUEUE);
        ContinuedHistory {
            clock: Clock::new(),
            reader,
            peers,
            position,
        }
    }

    /// Goes on with the run, after the other process has ended. A snapshot of the table follows at once.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn start(
        self,
        context: &Context,
        settings: &History,
    ) -> Result<HistoryService, StartError> {
        let archive = Archive::new(&settings.path);
        let failed = |why: &dyn fmt::Display| StartError::of(&archive, why);
        let lock = ArchiveLock::take(&archive, &file_name(&context.collector));
        let lock = lock.map_err(|why| failed(&why))?;
        let options = options(settings);
        let now = self.clock.now();
        let rotation = FileRotation::continued(
            archive.clone(),
            &context.collector,
            options,
            &self.peers,
            now,
            self.position,
        );
        let rotation = rotation.map_err(|why| failed(&why))?;
        let feed = (self.reader, self.clock);
        HistoryService::spawn(context, &archive, options, (lock, rotation), feed)
    }
}

/// The reason why the archive could not be started.
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    fn of(archive: &Archive, why: &dyn fmt::Display) -> Self {
        let folder = archive.folder().display();
        StartError(format!(
            "history: cannot use the folder {folder}: {why}\n    \
             write another `history.path`, or let the collector's user write there"
        ))
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

impl HistoryService {
    /// Checks that the archive of a collector could be started if no other process had it.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn check(collector: &str, settings: &History) -> Result<(), StartError> {
        let archive = Archive::new(&settings.path);
        let lock = ArchiveLock::check(&archive, &file_name(collector));
        lock.map_err(|why| StartError::of(&archive, &why))?;
        let hour = time::hour(Clock::new().now().unix_us);
        FileWriter::check(&archive, hour).map_err(|why| StartError::of(&archive, &why))
    }

    /// Begins a run in the archive. A snapshot of the table follows at once.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn start(context: &Context, settings: &History) -> Result<Self, StartError> {
        Self::with_options(context, &Archive::new(&settings.path), options(settings))
    }

    /// As [`Self::start`], with options of the caller's choice.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn with_options(
        context: &Context,
        archive: &Archive,
        options: Options,
    ) -> Result<Self, StartError> {
        let clock = Clock::new();
        let (reader, peers) = context.rib.subscribe(QUEUE);
        let failed = |why: &dyn fmt::Display| StartError::of(archive, why);
        let lock = ArchiveLock::take(archive, &file_name(&context.collector));
        let lock = lock.map_err(|why| failed(&why))?;
        let rotation = FileRotation::start(
            archive.clone(),
            &context.collector,
            options,
            &peers,
            clock.now(),
        );
        let rotation = rotation.map_err(|why| failed(&why))?;
        Self::spawn(context, archive, options, (lock, rotation), (reader, clock))
    }

    fn spawn(
        context: &Context,
        archive: &Archive,
        options: Options,
        (lock, rotation): (ArchiveLock, FileRotation),
        (reader, clock): (FeedReader, Clock),
    ) -> Result<Self, StartError> {
        let pause = FeedPause::default();
        let history = HistoryThread {
            lock,
            rotation,
            pause: pause.clone(),
            context: context.clone(),
            archive: archive.clone(),
            options,
            reader,
            clock,
            snapshot: None,
            snapshot_us: 0,
            expire_us: 0,
        };
        let thread = thread::Builder::new().name("history".into());
        let thread = thread.spawn(move || history.run());
        let thread = thread.map_err(|why| StartError::of(archive, &why))?;
        Ok(Self { thread, pause })
    }

    /// Lets the archive stand still, for another process.
    pub fn pause(&self) -> FeedPause {
        self.pause.clone()
    }
}

fn options(settings: &History) -> Options {
    Options {
        rotate: Duration::from_secs(settings.rotate_s),
        rotate_rows: settings.rotate_rows,
        snapshot_every: Duration::from_secs(settings.snapshot_every_s),
        retention: (settings.retention_s > 0).then(|| Duration::from_secs(settings.retention_s)),
        compression: Compression(settings.compression),
        retry: RETRY,
    }
}

impl Service for HistoryService {
    fn name(&self) -> String {
        "history".into()
    }

    /// Writes the rest of the feed and completes the file.
    fn stop(self: Box<Self>) {
        // The thread panics only after a programming error, which was printed then.
        let _ = self.thread.join();
    }
}

struct HistoryThread {
    /// Held while this collector writes to the archive.
    lock: ArchiveLock,
    context: Context,
    rotation: FileRotation,
    pause: FeedPause,
    archive: Archive,
    options: Options,
    reader: FeedReader,
    clock: Clock,
    snapshot: Option<JoinHandle<bool>>,
    /// When the next snapshot is due, and when old files are removed, by the monotonic clock.
    snapshot_us: u64,
    expire_us: u64,
}

impl HistoryThread {
    fn run(mut self) {
        // Routing comes first. On Linux, this priority applies to the thread alone.
        let _ = rustix::process::nice(5);
        while !self.context.shutdown.is_triggered() {
            self.turn(self.clock.now());
            if self.pause.is_requested() && !self.stand_still() {
                return;
            }
            for _ in 0..TURN_EVENTS {
                let Some(event) = self.reader.next(TURN) else {
                    break;
                };
                self.take(&event);
                if self.context.shutdown.is_triggered() {
                    break;
                }
            }
        }
        // Sessions may stay up while services stop. Read about the events that came before the stop was
        // requested.
        let deadline = Instant::now() + LAST_EVENTS;
        while Instant::now() < deadline
            && let Some(event) = self.reader.next(Duration::ZERO)
        {
            self.take(&event);
        }
        self.rotation.stop(self.clock.now());
        if let Some(thread) = self.snapshot.take() {
            let _ = thread.join();
        }
    }

    /// Reads everything and stands still. Returns whether to go on.
    fn stand_still(&mut self) -> bool {
        while let Some(event) = self.reader.next(Duration::ZERO) {
            self.take(&event);
        }
        let pause = self.pause.clone();
        pause.stand(self.rotation.complete_file())
    }

    fn take(&mut self, event: &FeedEvent) {
        let now = self.clock.now();
        let FeedEvent::Gap { lost } = event else {
            return self.rotation.take(event, now);
        };
        // Session changes may be among the lost events. Drop the old reader only now, so that the feed stays
        // active all the time.
        let (reader, peers) = self.context.rib.subscribe(QUEUE);
        self.reader = reader;
        self.rotation.feed_overran(*lost, &peers, now);
        self.snapshot_us = now.monotonic_us;
    }

    fn turn(&mut self, now: Now) {
        self.lock.renew();
        if self.rotation.turn(now) {
            self.snapshot_us = now.monotonic_us;
        }
        if self.snapshot.as_ref().is_some_and(JoinHandle::is_finished) {
            let done = self
                .snapshot
                .take()
                .is_some_and(|thread| thread.join().unwrap_or(false));
            if !done {
                self.snapshot_us = self
                    .snapshot_us
                    .min(now.monotonic_us + micros(self.options.retry));
            }
        }
        if now.monotonic_us >= self.snapshot_us
            && self.snapshot.is_none()
            && self.rotation.failure().is_none()
        {
            self.snapshot_us = now.monotonic_us + micros(self.options.snapshot_every);
            self.snapshot = self.begin_snapshot();
        }
        if now.monotonic_us >= self.expire_us {
            self.expire_us = now.monotonic_us + micros(EXPIRE);
            self.expire(now);
        }
    }

    fn begin_snapshot(&self) -> Option<JoinHandle<bool>> {
        let position = self.rotation.position();
        let snapshot = self.context.rib.snapshot();
        // All events in the snapshot are before this time.
        let time_us = self.clock.now().unix_us;
        let (archive, collector) = (self.archive.clone(), Arc::clone(&self.context.collector));
        let compression = self.options.compression;
        let write = move || {
            let _ = rustix::process::nice(5);
            match write_snapshot(
                &archive,
                &collector,
                compression,
                &snapshot,
                position,
                time_us,
            ) {
                Ok((routes, bytes)) => tracing::info!(routes, bytes, "snapshot written"),
                Err(why) => {
                    tracing::error!("history: snapshot: {why}; it is tried again");
                    return false;
                }
            }
            true
        };
        let thread = thread::Builder::new().name("snapshot".into()).spawn(write);
        thread
            .inspect_err(|why| tracing::error!("history: snapshot: {why}"))
            .ok()
    }

    fn expire(&self, now: Now) {
        let Some(retention) = self.options.retention else {
            return;
        };
        let before_us = now.unix_us.saturating_sub(micros(retention));
        let own = file_name(&self.context.collector);
        match self.archive.expire(&own, before_us) {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "old history removed"),
            Err(why) => tracing::warn!("history: cannot remove old files: {why}"),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// The largest number of events that wait in the feed.
const QUEUE: usize = 1 << 18;
/// The longest wait for an event.
const TURN: Duration = Duration::from_millis(100);
/// The longest time for reading events after a stop.
const LAST_EVENTS: Duration = Duration::from_secs(5);
/// The number of events between two checks for due work.
const TURN_EVENTS: usize = 1024;
/// The interval between searches for old files.
const EXPIRE: Duration = Duration::from_secs(600);
/// The pause before a failed disk is tried again.
const RETRY: Duration = Duration::from_secs(10);
