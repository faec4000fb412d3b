//! From the feed into the spool, without ever holding the table up.

use std::sync::Arc;
use std::time::Duration;

use rutter_events::{Decoder, Kind, Missing, Now, Peer, Row};
use rutter_rib::{FeedEvent, FeedReader, PeerSummary, Rib};

use crate::block::BlockWriter;
use crate::spool::{Spool, SpoolError, Storage, Unended};

/// Where the time comes from.
pub trait Clock {
    /// The time by both clocks.
    fn now(&self) -> Now;
}

/// Rows that did not fit the spool.
#[derive(Clone, Debug)]
struct DroppedRows {
    rows: u64,
    first_seq: u64,
    since_us: u64,
    why: Arc<str>,
    /// When the next one is tried, by the clock that only runs forward.
    retry_us: u64,
}

/// Reads the feed of a table, numbers its rows and puts them into a spool.
///
/// What the spool does not take is counted; as soon as half of it is free again a `gap` row with the bounds of what
/// is missing follows, and the marker that has the state read anew.
pub struct FeedSpooler {
    rib: Arc<Rib>,
    reader: FeedReader,
    decoder: Decoder,
    writer: BlockWriter,
    dropped: Option<DroppedRows>,
    /// What the `gap` row tells that was gathered last.
    recorded: Option<DroppedRows>,
    /// Gaps that are to be told, or were gathered and are not stored yet.
    pending_gaps: Vec<String>,
    /// How many of them were gathered.
    pending_gathered: usize,
    /// The state is to be read anew.
    start_over: bool,
    gaps: u64,
    lost_rows: u64,
    /// The gap that was told last, and the one that was gathered last.
    last_gap: Option<Arc<str>>,
    gathered_gap: Option<Arc<str>>,
    last_time_us: u64,
}

impl FeedSpooler {
    /// Subscribes. The run is later than that of every row in the spool, also where the clock was set back.
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
        let mut spooler = Self {
            decoder: Decoder::new(collector, &peers, now),
            rib,
            reader,
            writer: BlockWriter::default(),
            dropped: None,
            recorded: None,
            pending_gaps: pending_gaps(spool, now),
            pending_gathered: 0,
            start_over: false,
            gaps: 0,
            lost_rows: 0,
            last_gap: None,
            gathered_gap: None,
            last_time_us: now.unix_us,
        };
        let writer = &mut spooler.writer;
        spooler.decoder.start(now, &mut |row| writer.push(row));
        spooler.record_pending(now);
        spooler.mark(&peers);
        spooler
    }

    /// The run of this process.
    pub fn run(&self) -> u64 {
        self.decoder.run()
    }

    /// How many gaps were told, and how many rows and events they hid.
    pub fn gaps(&self) -> (u64, u64) {
        (self.gaps, self.lost_rows)
    }

    /// What the gap says of itself that was told last.
    pub fn last_gap(&self) -> Option<&str> {
        self.last_gap.as_deref()
    }

    /// Takes what the feed has, at most a block full, waiting at most `wait` for the first event. How many events.
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

    /// Puts what was gathered into the spool; `true` where there was something.
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

    /// The events of a run end in order, behind all that waits in the feed. What a full spool did not take is told first;
    /// both rows have a place there, too.
    pub fn stop<M: Storage>(&mut self, spool: &mut Spool<M>, clock: &impl Clock) {
        self.store(spool, clock);
        // Sessions may go on while services stop: no more than can have waited when the end was asked for.
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

    /// The store is not as it was left, or rows are damaged: with the next rows that are stored a gap is told, and the
    /// state is read anew.
    pub fn start_over(&mut self, why: &str) {
        self.pending_gaps
            .push(format!("{why}: all routes are loaded again"));
        self.start_over = true;
    }

    /// Whether rows are being dropped, and why.
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
        // The first block of a run holds its start and is small: it has a place in a full spool, too.
        self.append(spool, first_seq == 0, now);
        true
    }

    /// Puts what was gathered into the spool, or counts it as lost.
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
            // The gap was not taken either: it grows.
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

    /// A `gap` row with the bounds of what was dropped, if anything was.
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

    /// A `gap` row for each that is pending_gaps. They are told again where the disk does not take them.
    fn record_pending(&mut self, now: Now) {
        for detail in self.pending_gaps.clone() {
            self.record_gap(0, &detail, now);
        }
        self.pending_gathered = self.pending_gaps.len();
    }

    /// The reader was too slow for the feed.
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

    /// Has the state read at this point. What the feed still holds says again what that state knows already.
    fn mark_current_state(&mut self) {
        let peers = self.rib.peers();
        self.mark(&peers);
    }

    /// Subscribes anew, since sessions may have come and gone unheard, and has the state read there.
    fn resubscribe(&mut self) {
        let (reader, peers) = self.rib.subscribe(QUEUE);
        // The old reader goes after the new one is there: the feed is active all the time.
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

/// What is missing of earlier runs, as far as their spool shows: what was damaged, and what a run that was not ended in
/// order had not stored.
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

/// Events that may wait in the feed.
const QUEUE: usize = 1 << 18;
/// After the disk said no, it is asked again after this.
const FAILED_US: u64 = 1_000_000;
/// A block is stored when it has grown to this.
const BLOCK: usize = 256 << 10;
