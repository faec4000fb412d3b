//! The status of a sink, for people and for metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_api::SinkRow;

use crate::feed_spooler::FeedSpooler;
use crate::spool::{Position, Spool, Storage};

/// The figures of a sink, shared between its threads and the management API.
#[derive(Clone, Default)]
pub struct Status(Arc<Mutex<StatusView>>);

/// The figures at one moment. Counters count from the start of the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusView {
    /// The sink's name.
    pub name: String,
    /// True if the store is connected.
    pub connected: bool,
    /// True if the whole table or a peer's routes are being loaded.
    pub loading: bool,
    /// The number of events committed.
    pub events: u64,
    /// The number of routes committed by loads.
    pub loaded: u64,
    /// The number of batches committed.
    pub batches: u64,
    /// The number of loads finished.
    pub loads: u64,
    /// The number of gaps recorded.
    pub gaps: u64,
    /// The number of rows and messages that the gaps cover.
    pub lost: u64,
    /// The detail of the last gap.
    pub last_gap: Option<String>,
    /// The number of failures of the store.
    pub failures: u64,
    /// The current failure.
    pub failure: Option<String>,
    /// The last failure, whether it persists or not.
    pub last_error: Option<String>,
    /// The unanswered request to the store, and its start.
    pub request: Option<(&'static str, Instant)>,
    /// The reason why rows are being dropped, if they are.
    pub dropping: Option<String>,
    /// The number of bytes in the spool.
    pub spool_bytes: u64,
    /// The run of this process.
    pub run: u64,
    /// The position after the last committed row.
    pub position: Option<Position>,
    /// The wall time of the last committed row, in microseconds since 1970.
    pub last_time_us: u64,
    /// The number of rows read from the feed.
    pub taken: u64,
    /// The number of waiting rows, of this run and of earlier runs.
    pub waiting: u64,
    /// The number of waiting rows of earlier runs. Before the first connection, these are all rows in the
    /// spool.
    pub earlier: u64,
    /// The wall time of the first waiting row, while rows wait.
    pub waiting_since_us: u64,
    /// The wall time of these figures.
    pub now_us: u64,
}

impl Status {
    /// The status of a sink with this name.
    pub fn new(name: &str) -> Self {
        let status = Self::default();
        status.update(|view| view.name = name.to_owned());
        status
    }

    /// The current figures.
    pub fn view(&self) -> StatusView {
        self.0.lock().clone()
    }

    /// Runs a request to the store and notes its start, so that the status shows a hanging store.
    pub(crate) fn during_request<T>(&self, what: &'static str, ask: impl FnOnce() -> T) -> T {
        self.update(|view| view.request = Some((what, Instant::now())));
        let answer = ask();
        self.update(|view| view.request = None);
        answer
    }

    /// Updates the waiting rows and the dropping of rows.
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
            // A position of a later run means that the clock was set back: nothing in the spool is known to be
            // committed.
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
            _ if self.silent_problem().is_some() => "away",
            // The store is connected but does not get all rows.
            (true, _) if self.dropping.is_some() => "dropping",
            (false, _) => "connecting",
            (true, true) => "loading",
            (true, false) => "live",
        }
    }

    /// The current problem: a failure, or an answer that does not come.
    pub fn problem(&self) -> Option<String> {
        self.failure.clone().or_else(|| self.silent_problem())
    }

    fn silent_problem(&self) -> Option<String> {
        let (what, since) = self.request?;
        let seconds = SILENT_AFTER.as_secs();
        (since.elapsed() >= SILENT_AFTER).then(|| {
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

    /// The row of the management API.
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
            last_error: self.silent_problem().or_else(|| self.last_error.clone()),
            dropping: self.dropping.clone(),
        }
    }
}

/// After this time without an answer, the state of a store is `away`. The connection stays open.
const SILENT_AFTER: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_does_not_answer_is_away_until_it_does() {
        let status = Status::new("test");
        status.update(|view| view.connected = true);
        let long_ago = Instant::now().checked_sub(SILENT_AFTER);
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
