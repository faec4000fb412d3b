//! What a sink is doing, for people and for metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_api::SinkRow;

use crate::feed_spooler::FeedSpooler;
use crate::spool::{Position, Spool, Storage};

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
    /// What the last gap says of itself.
    pub last_gap: Option<String>,
    /// Failures of the store.
    pub failures: u64,
    /// The one that is not over, in words.
    pub failure: Option<String>,
    /// The last one, over or not.
    pub last_error: Option<String>,
    /// What the store has been asked for and has not answered, and since when.
    pub request: Option<(&'static str, Instant)>,
    /// Why rows are being dropped, while they are.
    pub dropping: Option<String>,
    /// ByteReader in the spool.
    pub spool_bytes: u64,
    /// The run of this process.
    pub run: u64,
    /// Behind the last committed row.
    pub position: Option<Position>,
    /// Wall time of the last committed row, microseconds since 1970.
    pub last_time_us: u64,
    /// Rows that were taken from the feed.
    pub taken: u64,
    /// Those of them that wait, and those of earlier runs.
    pub waiting: u64,
    /// Rows of earlier runs that wait: all that the spool has, before it is known what the store has.
    pub earlier: u64,
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

    /// Asks the store for something: meanwhile it is known how long that takes.
    pub(crate) fn during_request<T>(&self, what: &'static str, ask: impl FnOnce() -> T) -> T {
        self.update(|view| view.request = Some((what, Instant::now())));
        let answer = ask();
        self.update(|view| view.request = None);
        answer
    }

    /// What waits now, and whether rows are dropped.
    pub fn note<M: Storage>(&self, spooler: &FeedSpooler, spool: &Spool<M>, now_us: u64) {
        let run = spooler.run();
        let own = |position: Option<Position>| {
            let own = position.filter(|position| position.run == run);
            own.map_or(0, |position| position.next_seq)
        };
        self.update(|view| {
            (view.gaps, view.lost) = spooler.gaps();
            view.last_gap = spooler.last_gap().map(str::to_owned);
            view.dropping = spooler.drop_reason().map(str::to_owned);
            (view.run, view.spool_bytes) = (run, spool.bytes());
            // One of a later run is of a clock that was set back: nothing in the spool is known to be behind it.
            let position = view.position.filter(|position| position.run <= run);
            let earlier = spool.initial_rows_behind(position);
            let since_us = match earlier {
                0 => now_us,
                _ => spool.initial_first_us(),
            };
            let waited = view.waiting > 0;
            view.taken = own(spool.end());
            view.waiting = earlier + view.taken.saturating_sub(own(position));
            view.earlier = earlier;
            if !waited {
                view.waiting_since_us = since_us;
            }
            view.now_us = now_us;
        });
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut StatusView)) {
        change(&mut self.0.lock());
    }
}

impl StatusView {
    /// `connecting`, `loading`, `live`, `away` or `dropping`.
    pub fn state(&self) -> &'static str {
        match (self.connected, self.loading) {
            (false, _) if self.failure.is_some() => "away",
            _ if self.silence().is_some() => "away",
            // It is there, but what it is owed is not.
            (true, _) if self.dropping.is_some() => "dropping",
            (false, _) => "connecting",
            (true, true) => "loading",
            (true, false) => "live",
        }
    }

    /// What is wrong now, in words: the failure that is not over, or that no answer comes.
    pub fn problem(&self) -> Option<String> {
        self.failure.clone().or_else(|| self.silence())
    }

    fn silence(&self) -> Option<String> {
        let (what, since) = self.request?;
        let seconds = SILENT.as_secs();
        (since.elapsed() >= SILENT).then(|| {
            format!("{what}: no answer for more than {seconds} s, the server hangs or is busy")
        })
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let state = match self.problem() {
            Some(trouble) => format!("{}: {trouble}", self.state()),
            None => self.state().to_owned(),
        };
        format!(
            "{}: {state}; {} events, {} routes loaded, {} rows wait ({} bytes), {} gaps",
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
            spooled: self.taken,
            committed: (self.taken + self.earlier).saturating_sub(self.waiting),
            earlier: self.earlier,
            behind_s: behind_us / 1_000_000,
            spool_bytes: self.spool_bytes,
            events: self.events,
            loaded_routes: self.loaded,
            loads: self.loads,
            batches: self.batches,
            gaps: self.gaps,
            lost: self.lost,
            last_gap: self.last_gap.clone(),
            failures: self.failures,
            last_error: self.silence().or_else(|| self.last_error.clone()),
            dropping: self.dropping.clone(),
        }
    }
}

/// A store that has not answered for so long is said to be away; it is not given up yet.
const SILENT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_does_not_answer_is_away_until_it_does() {
        let status = Status::new("test");
        status.update(|view| view.connected = true);
        let long_ago = Instant::now().checked_sub(SILENT);
        let long_ago = long_ago.expect("the machine has run for a while");
        status.during_request("a batch", || {
            assert_eq!(status.view().state(), "live");
            status.update(|view| view.request = Some(("a batch", long_ago)));
            let view = status.view();
            assert_eq!(view.state(), "away");
            assert!(
                view.line()
                    .contains("a batch: no answer for more than 10 s"),
                "{}",
                view.line()
            );
            assert_eq!(view.row().last_error, view.problem());
        });
        assert_eq!(status.view().state(), "live");
        assert_eq!(status.view().problem(), None);
    }
}
