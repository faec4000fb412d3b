//! From the feed into the spool, without ever holding the table up.

use std::sync::Arc;
use std::time::Duration;

use rutter_events::{Decoder, Kind, Missing, Now, Peer, Row};
use rutter_rib::{FeedEvent, FeedReader, PeerSummary, Rib};

use crate::block::BlockWriter;
use crate::spool::{Medium, Spool, SpoolError, Unended};

/// Where the time comes from.
pub trait Clock {
    /// The time by both clocks.
    fn now(&self) -> Now;
}

/// Rows that did not fit the spool.
#[derive(Clone, Debug)]
struct Lost {
    rows: u64,
    first_seq: u64,
    since_us: u64,
    why: Arc<str>,
    /// When the next one is tried, by the clock that only runs forward.
    again_us: u64,
}

/// Reads the feed of a table, numbers its rows and puts them into a spool.
///
/// What the spool does not take is counted; as soon as half of it is free again a `gap` row with the bounds of what
/// is missing follows, and the marker that has the state read anew.
pub struct Intake {
    rib: Arc<Rib>,
    reader: FeedReader,
    decoder: Decoder,
    writer: BlockWriter,
    lost: Option<Lost>,
    /// What the `gap` row tells that was gathered last.
    told: Option<Lost>,
    /// Gaps that are to be told, or were gathered and are not stored yet.
    owed: Vec<String>,
    /// How many of them were gathered.
    owed_told: usize,
    /// The state is to be read anew.
    start_over: bool,
    gaps: u64,
    lost_rows: u64,
    /// The gap that was told last, and the one that was gathered last.
    last_gap: Option<Arc<str>>,
    gathered_gap: Option<Arc<str>>,
    last_time_us: u64,
}

impl Intake {
    /// Subscribes. The run is later than that of every row in the spool, also where the clock was set back.
    pub fn new<M: Medium>(
        rib: Arc<Rib>,
        collector: &str,
        spool: &Spool<M>,
        clock: &impl Clock,
    ) -> Self {
        let mut now = clock.now();
        let earlier = spool.end().map_or(0, |end| end.run + 1);
        now.unix_us = now.unix_us.max(earlier);
        let (reader, peers) = rib.subscribe(QUEUE);
        let mut intake = Self {
            decoder: Decoder::new(collector, &peers, now),
            rib,
            reader,
            writer: BlockWriter::default(),
            lost: None,
            told: None,
            owed: owed(spool, now),
            owed_told: 0,
            start_over: false,
            gaps: 0,
            lost_rows: 0,
            last_gap: None,
            gathered_gap: None,
            last_time_us: now.unix_us,
        };
        let writer = &mut intake.writer;
        intake.decoder.start(now, &mut |row| writer.push(row));
        intake.tell_owed(now);
        intake.mark(&peers);
        intake
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
    pub fn gather(&mut self, wait: Duration, clock: &impl Clock) -> usize {
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
                self.missed(lost, now);
                break;
            }
            let writer = &mut self.writer;
            self.decoder
                .decode(&event, now, &mut |row| writer.push(row));
        }
        events
    }

    /// Puts what was gathered into the spool; `true` where there was something.
    pub fn store<M: Medium>(&mut self, spool: &mut Spool<M>, clock: &impl Clock) -> bool {
        let now = clock.now();
        let room = spool.bytes() <= spool.limit() / 2;
        let is_over = |lost: &Lost| room && now.monotonic_us >= lost.again_us;
        let closes = self.lost.as_ref().is_some_and(is_over);
        if closes || self.start_over && self.lost.is_none() {
            self.store_gathered(spool, now);
            if closes || self.lost.is_none() {
                self.tell_lost(now);
                self.tell_owed(now);
                self.start_over = false;
                self.mark_here();
            }
        }
        self.store_gathered(spool, now)
    }

    /// The events of a run end in order, behind all that waits in the feed. What a full spool did not take is told first;
    /// both rows have a place there, too.
    pub fn stop<M: Medium>(&mut self, spool: &mut Spool<M>, clock: &impl Clock) {
        self.store(spool, clock);
        // Sessions may go on while services stop: no more than can have waited when the end was asked for.
        let mut left = QUEUE + 1;
        while left > 0 {
            let events = self.gather(Duration::ZERO, clock);
            self.store(spool, clock);
            left = match events {
                0 => 0,
                events => left.saturating_sub(events),
            };
        }
        self.tell_lost(clock.now());
        self.tell_owed(clock.now());
        let writer = &mut self.writer;
        self.decoder.stop(clock.now(), &mut |row| writer.push(row));
        self.append(spool, true, clock.now());
    }

    /// The store is not as it was left, or rows are damaged: with the next rows that are stored a gap is told, and the
    /// state is read anew.
    pub fn start_over(&mut self, why: &str) {
        self.owed.push(format!("{why}: the state is read anew"));
        self.start_over = true;
    }

    /// Whether rows are being dropped, and why.
    pub fn trouble(&self) -> Option<&str> {
        self.lost.as_ref().map(|lost| &*lost.why)
    }

    fn store_gathered<M: Medium>(&mut self, spool: &mut Spool<M>, now: Now) -> bool {
        if self.writer.is_empty() {
            return false;
        }
        let (rows, first_seq) = (u64::from(self.writer.rows()), self.writer.first_seq());
        self.last_time_us = self.writer.times_us().1;
        if let Some(lost) = &mut self.lost {
            lost.rows += rows;
            self.writer.clear();
            return true;
        }
        // The first block of a run holds its start and is small: it has a place in a full spool, too.
        self.append(spool, first_seq == 0, now);
        true
    }

    /// Puts what was gathered into the spool, or counts it as lost.
    fn append<M: Medium>(&mut self, spool: &mut Spool<M>, needed: bool, now: Now) {
        let (rows, first_seq) = (u64::from(self.writer.rows()), self.writer.first_seq());
        let (since_us, _) = self.writer.times_us();
        let (told, owed) = (self.told.take(), std::mem::take(&mut self.owed_told));
        let gap = self.gathered_gap.take();
        let Err(why) = spool.append(&self.writer.finish(), needed) else {
            self.last_gap = gap.or(self.last_gap.take());
            self.gaps += owed as u64;
            self.owed.drain(..owed);
            if let Some(told) = told {
                self.gaps += 1;
                self.lost_rows += told.rows;
                tracing::info!(lost = told.rows, "rows are taken again, and a gap was told");
            }
            return;
        };
        let (why, pause_us): (Arc<str>, u64) = match why {
            SpoolError::Full => ("the spool was full".into(), 0),
            other => (other.to_string().into(), FAILED_US),
        };
        let again_us = now.monotonic_us + pause_us;
        self.lost = Some(match told {
            // The gap was not taken either: it grows.
            Some(earlier) => Lost {
                rows: earlier.rows + rows,
                why,
                again_us,
                ..earlier
            },
            None => {
                tracing::warn!(%why, "rows are dropped, and a gap will be told");
                Lost {
                    rows,
                    first_seq,
                    since_us,
                    why,
                    again_us,
                }
            }
        });
    }

    /// A `gap` row with the bounds of what was dropped, if anything was.
    fn tell_lost(&mut self, now: Now) {
        let Some(lost) = self.lost.take() else {
            return;
        };
        let missing = Missing::Rows {
            first: lost.first_seq,
            last: lost.first_seq + lost.rows.saturating_sub(1),
        };
        let times_us = (lost.since_us, self.last_time_us);
        let detail = missing.because(Some(times_us), &lost.why);
        self.tell_gap(lost.rows, &detail, now);
        self.told = Some(lost);
    }

    /// A `gap` row for each that is owed. They are told again where the disk does not take them.
    fn tell_owed(&mut self, now: Now) {
        for detail in self.owed.clone() {
            self.tell_gap(0, &detail, now);
        }
        self.owed_told = self.owed.len();
    }

    /// The reader was too slow for the feed.
    fn missed(&mut self, lost: u64, now: Now) {
        let detail = Missing::overrun(lost, (self.last_row_us(), now.unix_us));
        self.gaps += 1;
        self.lost_rows += lost;
        self.tell_gap(lost, &detail, now);
        self.mark_anew();
    }

    fn last_row_us(&self) -> u64 {
        match self.writer.rows() {
            0 => self.last_time_us,
            _ => self.writer.times_us().1,
        }
    }

    fn tell_gap(&mut self, lost: u64, detail: &str, now: Now) {
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
    fn mark_here(&mut self) {
        let peers = self.rib.peers();
        self.mark(&peers);
    }

    /// Subscribes anew, since sessions may have come and gone unheard, and has the state read there.
    fn mark_anew(&mut self) {
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
fn owed<M: Medium>(spool: &Spool<M>, now: Now) -> Vec<String> {
    let mut owed: Vec<String> = spool.damage().iter().map(ToString::to_string).collect();
    if let Some(Unended { end, last_us }) = spool.unended() {
        let times_us = (last_us, now.unix_us);
        let missing = end.rest_of_run();
        owed.push(missing.because(Some(times_us), "it was not ended in order"));
    }
    for detail in &owed {
        tracing::warn!(%detail, "a gap is told");
    }
    owed
}

/// Events that may wait in the feed.
const QUEUE: usize = 1 << 18;
/// After the disk said no, it is asked again after this.
const FAILED_US: u64 = 1_000_000;
/// A block is stored when it has grown to this.
const BLOCK: usize = 256 << 10;
