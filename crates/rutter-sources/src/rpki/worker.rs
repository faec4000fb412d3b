//! The thread that chooses the data in force and publishes them.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::{error, info, warn};

use super::candidate::{Candidate, Content};
use super::copy::Copy;
use super::files::Files;
use super::live_data::LiveRpkiData;
use super::origin::Origin;
use super::selection::{Choice, Selection};
use super::settings::RpkiSettings;
use crate::line_limit::LineLimit;
use crate::rtr::{CacheReport, CacheThread};
use crate::status::{SourceState, SourceStatus, unix_seconds};

mod status_rows;

/// A message to the thread.
#[derive(Debug)]
pub(super) enum Message {
    /// The report of a cache. Reports of a thread that is no longer the cache's are ignored.
    Cache {
        name: String,
        thread: u64,
        report: CacheReport,
    },
    Refresh,
    Accept,
    Settings(RpkiSettings),
    /// Write the copy that is due, then answer.
    Save(Sender<()>),
    Stop,
}

/// The state of the thread.
pub(super) struct Worker {
    settings: RpkiSettings,
    caches: Vec<Cache>,
    files: Files,
    copy: Copy,
    loaded: Option<Candidate>,
    selection: Selection,
    poll_at: Instant,
    save_at: Option<Instant>,
    saved_at: Option<Instant>,
    copy_error: Option<String>,
    /// `false`: no thread connects to a cache. The last good copy of its data still counts.
    connects: bool,
    next_thread: u64,
    refusal_lines: LineLimit,
    in_force_lines: LineLimit,
    messages: Sender<Message>,
    status: Arc<Mutex<Vec<SourceStatus>>>,
    refused: Arc<Mutex<Option<Candidate>>>,
    publish: Box<dyn Fn(LiveRpkiData) + Send>,
}

/// A configured cache.
struct Cache {
    name: String,
    number: u64,
    thread: Option<CacheThread>,
    report: CacheReport,
    /// The time of its data, Unix seconds.
    time: u64,
    lines: LineLimit,
}

impl Worker {
    pub fn new(
        state: &Path,
        messages: Sender<Message>,
        status: Arc<Mutex<Vec<SourceStatus>>>,
        refused: Arc<Mutex<Option<Candidate>>>,
        publish: Box<dyn Fn(LiveRpkiData) + Send>,
    ) -> Self {
        Worker {
            settings: RpkiSettings::default(),
            caches: Vec::new(),
            files: Files::default(),
            copy: Copy::new(state),
            loaded: None,
            selection: Selection::default(),
            poll_at: Instant::now(),
            save_at: None,
            saved_at: None,
            copy_error: None,
            connects: true,
            next_thread: 0,
            refusal_lines: LineLimit::default(),
            in_force_lines: LineLimit::default(),
            messages,
            status,
            refused,
            publish,
        }
    }

    /// A worker that connects to no cache.
    pub fn without_caches(self) -> Self {
        Worker {
            connects: false,
            ..self
        }
    }

    /// Loads the last good copy and the files, publishes them, and connects to the caches.
    pub fn start(&mut self, settings: RpkiSettings) {
        self.selection = Selection::new(settings.refuse_shrink, settings.aspa);
        match self.copy.load(&settings) {
            Ok(copy) => self.loaded = copy,
            Err(why) => self.copy_fails(why),
        }
        self.change_settings(settings);
        self.choose();
    }

    /// Runs until [`Message::Stop`].
    pub fn run(mut self, messages: &Receiver<Message>) {
        loop {
            match messages.recv_timeout(self.time_to_deadline()) {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if now >= self.poll_at {
                self.read_files(false);
            }
            self.choose();
            if self.save_at.is_some_and(|at| at <= now) {
                self.save();
            }
        }
        self.stop_caches();
        if self.save_at.is_some() {
            self.save();
        }
    }

    /// Stops all caches at the same time: ten caches that wait for a name server cost one timeout.
    fn stop_caches(&mut self) {
        for cache in &self.caches {
            if let Some(thread) = &cache.thread {
                thread.signal_stop();
            }
        }
        let end = Instant::now() + CACHES_TIMEOUT;
        for cache in self.caches.drain(..) {
            cache.stop(end.saturating_duration_since(Instant::now()));
        }
    }

    fn time_to_deadline(&self) -> Duration {
        let next = self.save_at.map_or(self.poll_at, |at| at.min(self.poll_at));
        next.saturating_duration_since(Instant::now())
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Cache {
                name,
                thread,
                report,
            } => self.cache_reports(&name, thread, report),
            Message::Refresh => {
                let threads = self.caches.iter().filter_map(|cache| cache.thread.as_ref());
                threads.for_each(CacheThread::refresh);
                self.read_files(true);
            }
            Message::Accept => {
                if self.selection.accept() {
                    info!("rpki: an operator accepted data that had shrunk");
                }
            }
            Message::Settings(settings) => self.change_settings(settings),
            Message::Save(done) => {
                if self.save_at.is_some() {
                    self.save();
                }
                let _ = done.send(());
            }
            Message::Stop => {}
        }
    }

    fn cache_reports(&mut self, name: &str, thread: u64, report: CacheReport) {
        let known = self.caches.iter_mut().find(|cache| cache.number == thread);
        let Some(cache) = known else {
            return;
        };
        let (before, now) = (cache.report.fault.as_ref(), report.fault.as_ref());
        if before != now
            && let Some(not_logged) = cache.lines.allow()
        {
            match now {
                Some(fault) => warn!(not_logged, "rpki: RTR cache {name}: {fault}"),
                None => info!(not_logged, "rpki: RTR cache {name} answers again"),
            }
        }
        if report.fault.is_none() {
            cache.time = unix_seconds();
        }
        let version = |report: &CacheReport| report.data.as_ref().map(|data| data.version);
        if let (Some(before), Some(now)) = (version(&cache.report), version(&report))
            && now < before
            && let Some(not_logged) = cache.lines.allow()
        {
            warn!(
                not_logged,
                "rpki: RTR cache {name} fell back from version {before} to {now}"
            );
        }
        cache.report = report;
    }

    fn change_settings(&mut self, settings: RpkiSettings) {
        self.selection
            .set_limit(settings.refuse_shrink, settings.aspa);
        let mut old = std::mem::take(&mut self.caches);
        for name in &settings.rtr {
            if self.caches.iter().any(|cache| cache.name == *name) {
                continue;
            }
            let cache = match old.iter().position(|cache| cache.name == *name) {
                Some(at) => {
                    let cache = old.swap_remove(at);
                    if let Some(thread) = &cache.thread {
                        thread.change_settings(settings.client());
                    }
                    cache
                }
                None => self.connect(name, &settings),
            };
            self.caches.push(cache);
        }
        // Without waiting: the threads use nothing that others need.
        drop(old);
        self.files.set_paths(&settings.vrps);
        self.settings = settings;
        self.read_files(false);
    }

    fn connect(&mut self, name: &str, settings: &RpkiSettings) -> Cache {
        if !self.connects {
            return Cache::unconnected(name);
        }
        self.next_thread += 1;
        let (messages, number) = (self.messages.clone(), self.next_thread);
        let own_name = name.to_owned();
        let report = move |report| {
            // Nobody listens after a stop.
            let _ = messages.send(Message::Cache {
                name: own_name.clone(),
                thread: number,
                report,
            });
        };
        let started = CacheThread::start(name, settings.client(), report);
        let fault = started
            .as_ref()
            .err()
            .map(|why| format!("cannot start a thread: {why}"));
        Cache {
            name: name.to_owned(),
            number,
            thread: started.ok(),
            report: CacheReport { data: None, fault },
            time: 0,
            lines: LineLimit::default(),
        }
    }

    fn read_files(&mut self, force: bool) {
        let now = Instant::now();
        self.poll_at = now + self.settings.file_poll;
        for why in self.files.read(force, now) {
            warn!("rpki: {why}");
        }
    }

    /// The data that could be in force, in order of preference. The last good copy has the place of its origin.
    fn candidates(&mut self, now: Instant) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let loaded = self.loaded.as_ref();
        for cache in &self.caches {
            let copy = loaded.filter(|copy| copy.origin == Origin::Cache(cache.name.clone()));
            candidates.extend(
                cache
                    .candidate(self.settings.aspa)
                    .or_else(|| copy.cloned()),
            );
        }
        let (aspa, expire) = (self.settings.aspa, self.settings.expire());
        let copy =
            loaded.filter(|copy| copy.origin == Origin::Files && !self.settings.vrps.is_empty());
        let files = self.files.candidate(aspa, expire, now);
        candidates.extend(files.or_else(|| copy.cloned()));
        candidates
    }

    fn choose(&mut self) {
        let now = Instant::now();
        let refused = self.selection.refusals().to_vec();
        let candidates = self.candidates(now);
        let choice = self.selection.choose(&candidates, now);
        for (origin, why) in self.selection.refusals() {
            if !refused.iter().any(|old| old.0 == *origin && old.1 == *why)
                && let Some(not_logged) = self.refusal_lines.allow()
            {
                warn!(
                    not_logged,
                    "rpki: data of {origin} are refused: {why}; `rutter source accept rpki` accepts them"
                );
            }
        }
        match (choice, self.selection.in_force()) {
            (Choice::Changed, Some(in_force)) => {
                let (sizes, origin) = (in_force.data.sizes(), &in_force.from.origin);
                if let Some(not_logged) = self.in_force_lines.allow() {
                    info!(not_logged, "rpki: {sizes} of {origin} are in force");
                }
                (self.publish)(in_force.data.clone());
            }
            (Choice::Expired, _) => {
                error!("rpki: the data expired and no source has others, so no route is invalid");
                (self.publish)(LiveRpkiData::default());
            }
            _ => {}
        }
        self.plan_save(choice, now);
        *self.refused.lock() = self.selection.refused().cloned();
        *self.status.lock() = self.status_rows();
    }

    /// The copy follows a change after a while, so that many changes cost one write. Without a change it follows the
    /// time of the data.
    fn plan_save(&mut self, choice: Choice, now: Instant) {
        let Some(in_force) = self.selection.in_force().filter(|data| !data.from.is_copy) else {
            return;
        };
        let renew = in_force.from.expire / 4;
        let is_old = self
            .saved_at
            .is_none_or(|at| now.saturating_duration_since(at) >= renew);
        if self.save_at.is_none() && (choice == Choice::Changed || is_old) {
            let earliest = self.saved_at.map_or(now, |at| at + SAVE_GAP);
            self.save_at = Some(earliest.max(now));
        }
    }

    fn save(&mut self) {
        self.save_at = None;
        self.saved_at = Some(Instant::now());
        let saved = self
            .selection
            .in_force()
            .map(|in_force| self.copy.save(in_force));
        match saved {
            Some(Err(why)) => self.copy_fails(why.to_string()),
            _ => self.copy_error = None,
        }
    }

    fn copy_fails(&mut self, why: String) {
        if self.copy_error.as_ref() != Some(&why) {
            warn!("rpki: {why}");
        }
        self.copy_error = Some(why);
    }
}

impl Cache {
    fn unconnected(name: &str) -> Cache {
        Cache {
            name: name.to_owned(),
            number: 0,
            thread: None,
            report: CacheReport {
                data: None,
                fault: None,
            },
            time: 0,
            lines: LineLimit::default(),
        }
    }

    fn candidate(&self, aspa: bool) -> Option<Candidate> {
        let data = self.report.data.as_ref()?;
        let has_aspas = aspa && data.version >= 2;
        Some(Candidate {
            origin: Origin::Cache(self.name.clone()),
            content: Content::Records(data.records.clone(), has_aspas),
            confirmed_at: data.received_at,
            time: self.time,
            expire: Duration::from_secs(data.intervals.expire_s.into()),
            is_copy: false,
        })
    }

    fn stop(self, timeout: Duration) {
        if let Some(thread) = self.thread {
            thread.stop(timeout);
        }
    }
}

/// How long the worker waits for the ends of its caches' threads.
const CACHES_TIMEOUT: Duration = Duration::from_millis(900);

/// The shortest time between two writes of the last good copy.
const SAVE_GAP: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use tracing::{Event, Metadata, span};

    use super::*;

    /// Counts log lines.
    #[derive(Clone, Default)]
    struct Lines(Arc<AtomicUsize>);

    impl tracing::Subscriber for Lines {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            *metadata.level() <= tracing::Level::INFO
        }

        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    /// The log lines while data change 50 times, and the state of a cache as often.
    #[test]
    fn a_server_cannot_cause_lines_without_limit() {
        let folder = std::env::temp_dir().join(format!("rutter-rpki-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("vrps.json");
        let (messages, _kept) = mpsc::channel();
        let published = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&published);
        let publish = Box::new(move |_| _ = count.fetch_add(1, Ordering::Relaxed));
        let (status, refused) = (Arc::default(), Arc::default());
        let worker = Worker::new(&folder, messages, status, refused, publish);
        let mut worker = worker.without_caches();
        worker.change_settings(RpkiSettings {
            vrps: vec![file.clone()],
            rtr: vec!["cache:3323".to_owned()],
            ..RpkiSettings::default()
        });
        let lines = Lines::default();
        tracing::subscriber::with_default(lines.clone(), || {
            for number in 1..=50 {
                let vrp = format!(r#"{{"prefix":"192.0.2.0/24","maxLength":24,"asn":{number}}}"#);
                std::fs::write(&file, format!(r#"{{"roas":[{vrp}]}}"#)).expect("a file");
                worker.read_files(true);
                worker.cache_reports(
                    "cache:3323",
                    0,
                    CacheReport {
                        data: None,
                        fault: (number % 2 == 0).then(|| "it sends nonsense".to_owned()),
                    },
                );
                worker.choose();
            }
        });
        std::fs::remove_dir_all(&folder).expect("the folder");
        assert_eq!(published.load(Ordering::Relaxed), 50);
        assert_eq!(lines.0.load(Ordering::Relaxed), 20);
    }
}
