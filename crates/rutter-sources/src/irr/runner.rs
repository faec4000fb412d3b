//! The thread of the IRR source: it refreshes, decides, publishes and keeps the copy on disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_irr::{AsSetName, IrrData, OriginSet, PrefixLimits};
use tracing::{info, warn};

use super::assemble::{MissingAnswers, assemble};
use super::decision::Refusals;
use super::fetch::{fetch_origins, fetch_sets};
use super::files::read_files;
use super::irrd_servers::IrrdServers;
use super::record::{Record, View};
use super::settings::IrrSettings;
use super::status_rows::{NAME, Overview, Report, location};
use super::store::{FileKey, IrrStore};
use super::store_file;
use super::wanted::Wanted;
use crate::{LastGood, SourceSignals, SourceStatus, unix_seconds};

/// The settings and the status, which the thread shares with the handle.
#[derive(Debug)]
pub(crate) struct Shared {
    pub settings: Mutex<IrrSettings>,
    pub status: Mutex<Vec<SourceStatus>>,
    /// The data that would be in force if an operator accepted what is refused.
    pub refused: Mutex<Option<Arc<IrrData>>>,
    /// The limits of PeeringDB that would be in force then.
    pub refused_limits: Mutex<Option<Arc<PrefixLimits>>>,
    /// The limits of PeeringDB that are in force. `None`: its dump and the copy on disk were not read yet.
    pub prefix_limits: Mutex<Option<Arc<PrefixLimits>>>,
    /// The copy on disk lacks answers about unnamed members.
    pub is_unsaved: AtomicBool,
}

/// The state of the thread.
pub(crate) struct Runner<P> {
    shared: Arc<Shared>,
    publish: P,
    copy: LastGood,
    settings: IrrSettings,
    store: IrrStore,
    wanted: Wanted,
    refusals: Refusals,
    report: Report,
    /// The last data that were published. The next ones are made from them.
    published: Option<Arc<IrrData>>,
    /// Nothing was published, or data without members whose answers are missing.
    is_preliminary: bool,
    /// Failed refreshes since the last complete one.
    failures: u32,
}

/// The part of the answers that a refresh fetches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    /// Answers that are not known.
    Missing,
    /// Answers that are not known, after a change of unnamed members alone: strangers must not set how often a copy is
    /// written.
    MissingOfUnnamed,
}

impl<P: Fn(Arc<IrrData>)> Runner<P> {
    pub fn new(shared: Arc<Shared>, copy: LastGood, publish: P) -> Self {
        let settings = shared.settings.lock().clone();
        Runner {
            shared,
            publish,
            copy,
            settings,
            store: IrrStore::default(),
            wanted: Wanted::default(),
            refusals: Refusals::default(),
            report: Report::default(),
            published: None,
            is_preliminary: true,
            failures: 0,
        }
    }

    /// Runs until the signals end it.
    pub fn run(mut self, signals: &SourceSignals) {
        let mut next = Instant::now();
        loop {
            let timeout = next.saturating_duration_since(Instant::now());
            let Some(wake) = signals.wait(timeout) else {
                return;
            };
            let mut is_due = wake.refresh || Instant::now() >= next;
            let mut scope = Scope::Missing;
            if wake.settings {
                let settings = self.shared.settings.lock().clone();
                // Other servers have other answers.
                is_due |= settings.servers != self.settings.servers;
                is_due |= settings.sources != self.settings.sources;
                if settings.differs_in_unnamed_alone(&self.settings) && !wake.accept {
                    scope = Scope::MissingOfUnnamed;
                }
                self.settings = settings;
            }
            let accepted = wake.accept && self.refusals.accept(&mut self.store);
            if accepted {
                self.offer_refused();
                info!("irr: an operator accepted data that had shrunk");
            }
            if is_due {
                let start = Instant::now();
                self.refresh(signals, Scope::All, accepted || wake.settings);
                next = start + self.pause();
            } else if accepted || wake.settings {
                self.refresh(signals, scope, true);
                next = next.min(Instant::now() + self.pause());
            }
            if wake.save && self.shared.is_unsaved.load(Ordering::Acquire) {
                self.save();
            }
        }
    }

    /// Time to the next refresh.
    fn pause(&self) -> Duration {
        let refresh = self.settings.refresh;
        match self.failures.checked_sub(1) {
            None => refresh,
            Some(doublings) => {
                let factor = 1_u32 << doublings.min(16);
                refresh.min(self.settings.retry.saturating_mul(factor))
            }
        }
    }

    /// Loads the copy on disk and publishes it.
    pub fn load(&mut self) {
        match self.copy.load() {
            Ok(None) => {}
            Ok(Some(last_good)) => match store_file::read(&last_good.data) {
                Some(store) => {
                    self.store = store;
                    self.report.updated_at = Some(last_good.time);
                }
                None => {
                    let path = self.copy.path().display();
                    let why =
                        format!("{path}: the last good copy has another form and is not used");
                    self.report.copy_error = Some(why);
                }
            },
            Err(error) => self.report.copy_error = Some(error.to_string()),
        }
        if let Some(why) = &self.report.copy_error {
            warn!("irr: {why}; the data are fetched again");
        }
        let known = self.limits_in_force();
        *self.shared.prefix_limits.lock() = known;
        self.wanted = Wanted::new(&self.settings, &self.store);
        if self.report.updated_at.is_some() {
            self.publish();
        } else {
            info!("irr: there are no data yet, and no route is checked until they arrive");
        }
        self.show();
    }

    /// Loads the copy on disk and reads the files, without a server. Publishes what a start has before its first answer;
    /// without servers in the settings, that is all.
    pub fn load_with_files(&mut self) {
        self.load();
        read_files(&self.settings, &mut self.store);
        let limit = self.settings.refuse_shrink;
        self.refusals.decide_files(&mut self.store, limit);
        self.publish_limits();
        self.wanted = Wanted::new(&self.settings, &self.store);
        self.report.is_complete = self.settings.servers.is_empty();
        self.publish();
        self.show();
    }

    /// Reads the files, fetches answers, decides on them and publishes changes; all data, if `forced`.
    fn refresh(&mut self, signals: &SourceSignals, scope: Scope, forced: bool) {
        let refused = self.refusals.clone();
        read_files(&self.settings, &mut self.store);
        let limit = self.settings.refuse_shrink;
        let mut changed = self.refusals.decide_files(&mut self.store, limit);
        // Servers may need minutes.
        self.publish_limits();
        self.wanted = Wanted::new(&self.settings, &self.store);
        let went_through = self.fetch(signals, scope);
        if signals.is_stopped() {
            return;
        }
        changed |= self
            .refusals
            .decide_answers(&mut self.store, &self.wanted, limit);
        self.store.retain(&self.wanted);
        self.offer_refused();
        self.log_refusals(&refused);
        let is_first = went_through && !self.report.is_complete;
        self.report.is_complete |= went_through;
        if scope == Scope::All || !went_through {
            self.conclude(went_through);
        }
        if changed || forced || (is_first && self.is_preliminary) {
            self.publish();
        }
        // A copy without a complete refresh would say that the other members are new.
        let is_news = changed || (went_through && scope == Scope::All);
        if is_news && self.report.updated_at.is_some() {
            match scope {
                Scope::MissingOfUnnamed => self.shared.is_unsaved.store(true, Ordering::Release),
                _ => self.save(),
            }
        }
        self.show();
    }

    /// Fetches sets, and then the prefixes of their origins. Returns whether a server went through all queries.
    fn fetch(&mut self, signals: &SourceSignals, scope: Scope) -> bool {
        let (settings, store, shared) = (&self.settings, &mut self.store, &*self.shared);
        let wanted = &self.wanted;
        let mut servers = IrrdServers::new(settings, signals);
        let names: Vec<AsSetName> = wanted
            .named()
            .filter(|name| needs_answer(store, name))
            .filter(|name| scope == Scope::All || is_unknown(store.sets.get(*name)))
            .cloned()
            .collect();
        if settings.servers.is_empty() {
            for name in names {
                let why = "no server is configured, and no file has this AS-SET".to_owned();
                store.sets.entry(name).or_default().error = Some(why);
            }
            self.report.errors.clear();
            return true;
        }
        let total = names.len();
        shared.set_progress(&format!("0 of {total} AS-SETs"));
        let sets = fetch_sets(&mut servers, settings, store, names, &mut |done| {
            shared.set_progress(&format!("{done} of {total} AS-SETs"));
        });
        let mut origins = store.needed_origins(wanted, View::Next);
        if scope != Scope::All {
            origins.retain(|origin| is_unknown(store.origins.get(origin)));
        }
        let mut origins: Vec<u32> = origins.into_iter().collect();
        origins.sort_unstable();
        let total = origins.len();
        let prefixes = fetch_origins(&mut servers, store, origins, &mut |done| {
            shared.set_progress(&format!("prefixes of {done} of {total} AS numbers"));
        });
        if scope == Scope::All || !servers.errors.is_empty() {
            self.report.errors = servers.errors;
        }
        if servers.answering.is_some() {
            self.report.server = servers.answering;
        }
        sets && prefixes
    }

    /// Notes the outcome of a refresh. The first failure is logged, then each time their number has doubled.
    fn conclude(&mut self, went_through: bool) {
        self.report.attempts += 1;
        self.report.is_failing = !went_through;
        if went_through {
            if self.failures > 0 {
                info!("irr: a refresh is complete again");
            }
            self.failures = 0;
            self.report.updated_at = Some(unix_seconds());
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures.is_power_of_two() {
            let (failures, errors) = (self.failures, self.report.errors.join("; "));
            warn!("irr: no server answered all queries, attempt {failures}: {errors}");
        }
    }

    fn limits_in_force(&self) -> Option<Arc<PrefixLimits>> {
        self.limits_of(&self.store)
    }

    fn limits_of(&self, store: &IrrStore) -> Option<Arc<PrefixLimits>> {
        self.settings.peeringdb.as_ref()?;
        let peering_db = store.file(&FileKey::PeeringDb)?;
        peering_db.prefix_limits.clone()
    }

    /// After an attempt to read the dump. Without any data of it, no network has a limit.
    fn publish_limits(&self) {
        let known = self.settings.peeringdb.as_ref();
        let known = known.map(|_| self.limits_in_force().unwrap_or_default());
        *self.shared.prefix_limits.lock() = known;
    }

    /// Builds the data with what is refused, while there is any.
    fn offer_refused(&self) {
        let refused = (!self.refusals.is_empty()).then(|| {
            let (mut store, mut refusals) = (self.store.clone(), self.refusals.clone());
            refusals.accept(&mut store);
            *self.shared.refused_limits.lock() = self.limits_of(&store);
            let wanted = Wanted::new(&self.settings, &store);
            let (missing, former) = (MissingAnswers::AddNothing, self.published.as_deref());
            assemble(&self.settings, &store, &wanted, missing, former)
        });
        if refused.is_none() {
            *self.shared.refused_limits.lock() = None;
        }
        let data = refused.and_then(Result::ok);
        *self.shared.refused.lock() = data.map(|(data, _)| Arc::new(data));
    }

    fn log_refusals(&self, before: &Refusals) {
        if self.refusals == *before {
            return;
        }
        if let Some(refused) = self.overview().refused() {
            warn!("irr: data are refused: {refused}; `rutter source accept irr` accepts them");
        }
    }

    fn publish(&mut self) {
        let missing = match (self.report.is_complete, self.report.updated_at) {
            (true, _) => MissingAnswers::AddNothing,
            (false, Some(_)) => MissingAnswers::LeaveOut,
            (false, None) => MissingAnswers::SwitchOff,
        };
        let former = self.published.as_deref();
        match assemble(&self.settings, &self.store, &self.wanted, missing, former) {
            Ok((data, left_out)) => {
                self.is_preliminary = left_out;
                self.report.entries = data.entries() as u64;
                let data = Arc::new(data);
                self.published = Some(Arc::clone(&data));
                (self.publish)(data);
                let (entries, sets) = (self.report.entries, self.wanted.named().count());
                info!("irr: {entries} entries for {sets} AS-SETs are in force");
            }
            Err(error) => {
                warn!("irr: {error}");
                self.report.errors.push(error.to_string());
            }
        }
    }

    fn save(&mut self) {
        let time = self.report.updated_at.unwrap_or_else(unix_seconds);
        let store = &self.store;
        let saved = self.copy.save(time, |out| store_file::write(store, out));
        let error = saved.err().map(|error| error.to_string());
        if let Some(why) = error.as_ref().filter(|_| error != self.report.copy_error) {
            warn!("irr: the last good copy is not written: {why}");
        }
        self.report.copy_error = error;
        self.shared.is_unsaved.store(false, Ordering::Release);
    }

    fn overview(&self) -> Overview<'_> {
        Overview {
            settings: &self.settings,
            store: &self.store,
            wanted: &self.wanted,
            refusals: &self.refusals,
            report: &self.report,
            now: unix_seconds(),
        }
    }

    fn show(&self) {
        *self.shared.status.lock() = self.overview().rows();
    }
}

impl Shared {
    pub fn new(settings: IrrSettings) -> Self {
        let status = SourceStatus::starting(NAME, location(&settings));
        Shared {
            settings: Mutex::new(settings),
            status: Mutex::new(vec![status]),
            refused: Mutex::new(None),
            refused_limits: Mutex::new(None),
            prefix_limits: Mutex::new(None),
            is_unsaved: AtomicBool::new(false),
        }
    }

    fn set_progress(&self, progress: &str) {
        if let Some(whole) = self.status.lock().first_mut() {
            progress.clone_into(&mut whole.detail);
        }
    }
}

/// Returns whether a server has to say the AS numbers of a set: no file has them. What a file should have but cannot be
/// read is not asked for, because another set with this name could come into force.
fn needs_answer(store: &IrrStore, name: &AsSetName) -> bool {
    let set = OriginSet::Named(name.clone());
    let list = store.list(&set);
    !store.is_unreadable(&set) && list.is_none_or(|list| list.asns.is_empty())
}

fn is_unknown<T>(record: Option<&Record<T>>) -> bool {
    record.is_none_or(|record| record.good.is_none() && record.pending.is_none())
}
