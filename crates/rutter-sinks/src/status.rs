//! What a sink is doing, for people and for metrics.

use std::sync::Arc;

use parking_lot::Mutex;
use rutter_api::SinkRow;

use crate::spool::Position;

/// A sink's own figures, shared between its threads and whoever asks.
#[derive(Clone, Default)]
pub struct Status(Arc<Mutex<StatusView>>);

/// The figures at one moment. Counters count from the start of the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusView {
    /// The sink's name.
    pub name: String,
    /// Whether it is connected.
    pub connected: bool,
    /// Whether the whole table or a peer's is being loaded.
    pub loading: bool,
    /// Rows that were committed as events.
    pub events: u64,
    /// Routes that were committed by loads.
    pub loaded: u64,
    /// Batches committed.
    pub batches: u64,
    /// Loads finished.
    pub loads: u64,
    /// Gaps told.
    pub gaps: u64,
    /// Rows and messages that gaps hid.
    pub lost: u64,
    /// Failures of the store.
    pub failures: u64,
    /// The one that is not over, in words.
    pub trouble: Option<String>,
    /// The last one, over or not.
    pub last_error: Option<String>,
    /// Why rows are being dropped, while they are.
    pub dropping: Option<String>,
    /// Octets in the spool.
    pub spool_bytes: u64,
    /// The run of this process.
    pub run: u64,
    /// Behind the last committed row.
    pub position: Option<Position>,
    /// Wall time of the last committed row, microseconds since 1970.
    pub last_time_us: u64,
    /// Rows that were taken from the feed.
    pub taken: u64,
    /// Those of them that wait.
    pub waiting: u64,
    /// Wall time at which the first of them came, as long as some wait.
    pub waiting_since_us: u64,
    /// Wall time of these figures.
    pub now_us: u64,
}

impl Status {
    /// Of a sink of this name.
    pub fn new(name: &str) -> Self {
        let status = Self::default();
        status.update(|view| view.name = name.to_owned());
        status
    }

    /// The figures now.
    pub fn view(&self) -> StatusView {
        self.0.lock().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut StatusView)) {
        change(&mut self.0.lock());
    }
}

impl StatusView {
    /// `connecting`, `loading`, `live` or `away`.
    pub fn state(&self) -> &'static str {
        match (self.connected, self.loading) {
            (false, _) if self.trouble.is_some() => "away",
            (false, _) => "connecting",
            (true, true) => "loading",
            (true, false) => "live",
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let state = match &self.trouble {
            Some(trouble) => format!("{}: {trouble}", self.state()),
            None => self.state().to_owned(),
        };
        format!(
            "{}: {state}; {} events, {} routes loaded, {} rows wait ({} octets), {} gaps",
            self.name, self.events, self.loaded, self.waiting, self.spool_bytes, self.gaps
        )
    }

    /// As the management side shows it.
    pub fn row(&self) -> SinkRow {
        let since_us = self.waiting_since_us.max(self.last_time_us);
        let behind_us = match self.waiting {
            0 => 0,
            _ => self.now_us.saturating_sub(since_us),
        };
        SinkRow {
            name: self.name.clone(),
            state: self.state().to_owned(),
            run: self.run,
            taken: self.taken,
            committed: self.taken - self.waiting.min(self.taken),
            behind_s: behind_us / 1_000_000,
            spool_bytes: self.spool_bytes,
            events: self.events,
            loaded_routes: self.loaded,
            loads: self.loads,
            batches: self.batches,
            gaps: self.gaps,
            lost: self.lost,
            failures: self.failures,
            last_error: self.last_error.clone(),
            dropping: self.dropping.clone(),
        }
    }
}
