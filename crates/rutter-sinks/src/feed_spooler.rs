//! Copies the change feed into the spool without ever blocking the table.

use std::sync::Arc;
use std::time::Duration;

use rutter_events::{Decoder, Kind, Missing, Now, Peer, Row};
use rutter_rib::{FeedEvent, FeedReader, PeerSummary, Rib};

use crate::block::BlockWriter;
use crate::spool::{Position, Spool, SpoolError, Storage, Unended};

/// A source of time.
pub trait Clock {
    /// The time of both clocks.
    fn now(&self) -> Now;
}

/// Rows that did not fit into the spool.
#[derive(Clone, Debug)]
struct DroppedRows {
    rows: u64,
    first_seq: u64,
    since_us: u64,
    why: Arc<str>,
    /// The time of the next attempt, by the monotonic clock.
    retry_us: u64,
}

/// Reads the feed of a table, numbers its rows and appends them to a spool.
///
/// Rows that the spool rejects are counted. When half of the spool is free again, the spooler appends a `gap`
/// row with the bounds of the dropped rows and a marker. The marker makes the writer load all routes again.
pub struct FeedSpooler {
    rib: Arc<Rib>,
    reader: FeedReader,
    decoder: Decoder,
    writer: BlockWriter,
    dropped: Option<DroppedRows>,
    /// The dropped rows that the last gathered `gap` row reports.
    recorded: Option<DroppedRows>,
    /// The details of gaps that are not stored yet.
    pending_gaps: Vec<String>,
    /// The number of them that are gathered in the current block.
    pending_gathered: usize,
    /// All routes must be loaded again.
    start_over: bool,
    gaps: u64,
    lost_rows: u64,
    /// The detail of the last stored gap, and of the last gathered one.
    last_gap: Option<Arc<str>>,
    gathered_gap: Option<Arc<str>>,
    last_time_us: u64,
}

impl FeedSpooler {
    /// Subscribes to the feed. The new run is later than every run in the spool, even if the clock was set
    /// back.
    pub fn new<M: Storage>(
        rib: Arc<Rib>,
        collector: &str,
        spool: &Spool<M>,
        clock: &impl Clock,
    ) -> Self {
        let mut now = clock.now();
        let earlier = spool.end().map_or(0, |end| end.run + 1);
        now.unix_us = now.unix_us.max(earlier);
        let (reader, peers) = rib.subscribe(QUEUE);
        let decoder = Decoder::new(collector, &peers, now);
        let mut spooler = Self::with(rib, reader, decoder, now);
        spooler.pending_gaps = pending_gaps(spool, now);
        let writer = &mut spooler.writer;
        spooler.decoder.start(now, &mut |row| writer.push(row));
        spooler.record_pending(now);
        spooler.mark(&peers);
        spooler
    }

    /// Goes on in the run of another process, from whose last row on nothing in the table has changed. All routes are
    /// loaded again, which the history of the store does not show.
    pub fn continued(
        rib: Arc<Rib>,
        collector: &str,
        (reader, peers): (FeedReader, Vec<PeerSummary>),
        end: Position,
        clock: &impl Clock,
    ) -> Self {
        let now = clock.now();
        let position = (end.run, end.next_seq);
        let decoder = Decoder::continued(collector, &peers, now, position);
        let mut spooler = Self::with(rib, reader, decoder, now);
        spooler.mark(&peers);
        spooler
    }

    fn with(rib: Arc<Rib>, reader: FeedReader, decoder: Decoder, now: Now) -> Self {
        Self {
            rib,
            reader,
            decoder,
            writer: BlockWriter::default(),
            dropped: None,
            recorded: None,
            pending_gaps: Vec::new(),
            pending_gathered: 0,
            start_over: false,
            gaps: 0,
            lost_rows: 0,
            last_gap: None,
            gathered_gap: None,
            last_time_us: now.unix_us,
        }
    }

    /// Stores all events that wait in the feed, so that another process can go on. Returns the position.
    ///
    /// # Errors
    /// If rows are being dropped: only this process knows which.
    pub fn store_all<M: Storage>(
        &mut self,
        spool: &mut Spool<M>,
        clock: &impl Clock,
    ) -> Result<Position, String> {
        self.store(spool, clock);
        while self.read_feed(Duration::ZERO, clock) > 0 {
            self.store(spool, clock);
        }
        let synced = spool.sync();
        let is_whole = self.dropped.is_none() && !self.start_over && self.pending_gaps.is_empty();
        match synced {
            Err(why) => Err(why.to_string()),
            Ok(()) if !is_whole => Err("a gap is not recorded yet".to_owned()),
            Ok(()) => Ok(Position {
                run: self.decoder.run(),
                next_seq: self.decoder.next_seq(),
            }),
        }
    }

    /// The run of this process.
    pub fn run(&self) -> u64 {
        self.decoder.run()
    }

    /// The number of gaps recorded, and the number of rows and events that they cover.
    pub fn gaps(&self) -> (u64, u64) {
        (self.gaps, self.lost_rows)
    }

    /// The detail of the last gap that was recorded.
    pub fn last_gap(&self) -> Option<&str> {
        self.last_gap.as_deref()
    }

    /// Reads events from the feed, at most a full block, and waits at most `wait` for the first one. Returns
    /// their number.
    pub fn read_feed(&mut self, wait: Duration, clock: &impl Clock) -> usize {
        let (mut wait, mut events) = (wait, 0);
        // A marker ends its block.
        while self.writer.len() < BLOCK && !self.writer.is_marked() {
            let Some(event) = self.reader.next(wait) else {
                break;
            };
            wait = Duration::ZERO;
            events += 1;
            let now = clock.now();
            if let FeedEvent::Gap { lost } = event {
                self.feed_overran(lost, now);
                break;
            }
            let writer = &mut self.writer;
            self.decoder
                .decode(&event, now, &mut |row| writer.push(row));
        }
        events
    }

    /// Appends the gathered rows to the spool. Returns `true` if there were any.
    pub fn store<M: Storage>(&mut self, spool: &mut Spool<M>, clock: &impl Clock) -> bool {
        let now = clock.now();
        let room = spool.bytes() <= spool.limit() / 2;
        let can_record = |dropped: &DroppedRows| room && now.monotonic_us >= dropped.retry_us;
        let record_now = self.dropped.as_ref().is_some_and(can_record);
        if record_now || self.start_over && self.dropped.is_none() {
            self.store_gathered(spool, now);
            if record_now || self.dropped.is_none() {
                self.record_dropped(now);
                self.record_pending(now);
                self.start_over = false;
                self.mark_current_state();
            }
        }
        self.store_gathered(spool, now)
    }

    /// Ends the run after all events that wait in the feed. Dropped rows are recorded first. Both rows fit into
    /// a full spool, too.
    pub fn stop<M: Storage>(&mut self, spool: &mut Spool<M>, clock: &impl Clock) {
        self.store(spool, clock);
        // Sessions may stay up while services stop. Read at most the events that could wait when the stop was
        // requested.
        let mut left = QUEUE + 1;
        while left > 0 {
            let events = self.read_feed(Duration::ZERO, clock);
            self.store(spool, clock);
            left = match events {
                0 => 0,
                events => left.saturating_sub(events),
            };
        }
        self.record_dropped(clock.now());
        self.record_pending(clock.now());
        let writer = &mut self.writer;
        self.decoder.stop(clock.now(), &mut |row| writer.push(row));
        self.append(spool, true, clock.now());
    }

    /// Records a gap and a marker with the next stored rows: the store or the spool has lost rows.
    pub fn start_over(&mut self, why: &str) {
        self.pending_gaps
            .push(format!("{why}: all routes are loaded again"));
        self.start_over = true;
    }

    /// The reason why rows are being dropped, if they are.
    pub fn drop_reason(&self) -> Option<&str> {
        self.dropped.as_ref().map(|dropped| &*dropped.why)
    }

    fn store_gathered<M: Storage>(&mut self, spool: &mut Spool<M>, now: Now) -> bool {
        if self.writer.is_empty() {
            return false;
        }
        let (rows, first_seq) = (u64::from(self.writer.rows()), self.writer.first_seq());
        self.last_time_us = self.writer.times_us().1;
        if let Some(dropped) = &mut self.dropped {
            dropped.rows += rows;
            self.writer.clear();
            return true;
        }
        // The first block of a run holds its `start` and is small. It fits into a full spool, too.
        self.append(spool, first_seq == 0, now);
        true
    }

    /// Appends the gathered block to the spool, or counts its rows as dropped.
    fn append<M: Storage>(&mut self, spool: &mut Spool<M>, needed: bool, now: Now) {
        let (rows, first_seq) = (u64::from(self.writer.rows()), self.writer.first_seq());
        let (since_us, _) = self.writer.times_us();
        let (recorded, pending) = (
            self.recorded.take(),
            std::mem::take(&mut self.pending_gathered),
        );
        let gap = self.gathered_gap.take();
        let Err(why) = spool.append(&self.writer.finish(), needed) else {
            self.last_gap = gap.or(self.last_gap.take());
            self.gaps += pending as u64;
            self.pending_gaps.drain(..pending);
            if let Some(recorded) = recorded {
                self.gaps += 1;
                self.lost_rows += recorded.rows;
                tracing::info!(
                    lost = recorded.rows,
                    "rows are stored again; a gap was recorded"
                );
            }
            return;
        };
        let (why, pause_us): (Arc<str>, u64) = match why {
            SpoolError::Full => ("the spool was full".into(), 0),
            other => (other.to_string().into(), FAILED_US),
        };
        let retry_us = now.monotonic_us + pause_us;
        self.dropped = Some(match recorded {
            // The gap was rejected, too: it grows.
            Some(earlier) => DroppedRows {
                rows: earlier.rows + rows,
                why,
                retry_us,
                ..earlier
            },
            None => {
                tracing::warn!(%why, "rows are dropped; a gap will be recorded");
                DroppedRows {
                    rows,
                    first_seq,
                    since_us,
                    why,
                    retry_us,
                }
            }
        });
    }

    /// Adds a `gap` row with the bounds of the dropped rows, if there are any.
    fn record_dropped(&mut self, now: Now) {
        let Some(dropped) = self.dropped.take() else {
            return;
        };
        let missing = Missing::Rows {
            first: dropped.first_seq,
            last: dropped.first_seq + dropped.rows.saturating_sub(1),
        };
        let times_us = (dropped.since_us, self.last_time_us);
        let detail = missing.because(Some(times_us), &dropped.why);
        self.record_gap(dropped.rows, &detail, now);
        self.recorded = Some(dropped);
    }

    /// Adds a `gap` row for each pending gap. If the disk rejects the block, they stay pending.
    fn record_pending(&mut self, now: Now) {
        for detail in self.pending_gaps.clone() {
            self.record_gap(0, &detail, now);
        }
        self.pending_gathered = self.pending_gaps.len();
    }

    /// Records events that were lost because the spooler was too slow for the feed.
    fn feed_overran(&mut self, lost: u64, now: Now) {
        let detail = Missing::overrun(lost, (self.last_row_us(), now.unix_us));
        self.gaps += 1;
        self.lost_rows += lost;
        self.record_gap(lost, &detail, now);
        self.resubscribe();
    }

    fn last_row_us(&self) -> u64 {
        match self.writer.rows() {
            0 => self.last_time_us,
            _ => self.writer.times_us().1,
        }
    }

    fn record_gap(&mut self, lost: u64, detail: &str, now: Now) {
        self.gathered_gap = Some(detail.into());
        let writer = &mut self.writer;
        self.decoder
            .decode(&FeedEvent::Gap { lost }, now, &mut |row| {
                let row = match row.kind {
                    Kind::Gap { .. } => Row { detail, ..*row },
                    _ => *row,
                };
                writer.push(&row);
            });
    }

    /// Adds a marker for the current state. The feed may still hold events that this state already contains.
    fn mark_current_state(&mut self) {
        let peers = self.rib.peers();
        self.mark(&peers);
    }

    /// Subscribes again, since session changes may be among the lost events, and adds a marker for the new
    /// state.
    fn resubscribe(&mut self) {
        let (reader, peers) = self.rib.subscribe(QUEUE);
        // Drop the old reader only now, so that the feed stays active all the time.
        self.reader = reader;
        self.decoder.relearn(&peers);
        self.mark(&peers);
    }

    fn mark(&mut self, peers: &[PeerSummary]) {
        let held = peers.iter().filter_map(|summary| {
            let routes: u32 = summary.counts.iter().map(|counts| counts.received).sum();
            let up = summary.session.is_some();
            (up || routes > 0).then(|| (up, Peer::from(summary)))
        });
        let held: Vec<(bool, Peer)> = held.collect();
        self.writer.mark(
            self.decoder.run(),
            self.decoder.next_seq(),
            held.iter().map(|(up, peer)| (*up, peer)),
        );
    }
}

/// The gaps of earlier runs that the spool shows: damaged rows, and the unknown end of a run without a `stop`.
fn pending_gaps<M: Storage>(spool: &Spool<M>, now: Now) -> Vec<String> {
    let mut pending_gaps: Vec<String> = spool.damage().iter().map(ToString::to_string).collect();
    if let Some(Unended { end, last_us }) = spool.unended() {
        let times_us = (last_us, now.unix_us);
        let missing = end.rest_of_run();
        pending_gaps.push(missing.because(Some(times_us), "the collector did not stop cleanly"));
    }
    for detail in &pending_gaps {
        tracing::warn!(%detail, "rows of an earlier run are missing; a gap is recorded");
    }
    pending_gaps
}

/// The largest number of events that wait in the feed.
pub(crate) const QUEUE: usize = 1 << 18;
/// The pause after a failed write.
const FAILED_US: u64 = 1_000_000;
/// The size at which a block is stored.
const BLOCK: usize = 256 << 10;
