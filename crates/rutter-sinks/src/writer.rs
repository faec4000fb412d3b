//! Moves rows from the spool into the store: decides what to do next, and what after a failure.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::batch::Batch;
use crate::block::Block;
use crate::missing_rows::{self, STORE_CHANGED};
use crate::peer::{PeerKey, StoredPeer};
use crate::spool::{Cursor, Position, Spool, Storage, is_gone};
use crate::status::Status;
use crate::store::{Load, Store, StoreError, StoreProgress};
use crate::store_state::StoreState;
use crate::table_load::{LoadRow, RouteFilter, RouteSource};

/// The limits of batches, retries and retention.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The rows of a batch, without its last block.
    pub batch_rows: usize,
    /// A peer with at least this number of initial rows is loaded by the bulk path.
    pub defer_from: u64,
    /// The pause after the first failure, which doubles with each failure, and the longest pause.
    pub retry: (Duration, Duration),
    /// The time for which events are kept.
    pub retention: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            batch_rows: 100_000,
            defer_from: 20_000,
            retry: (Duration::from_millis(500), Duration::from_secs(30)),
            retention: None,
        }
    }
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Rows were committed or routes were loaded: there may be more to do.
    Worked,
    /// There was nothing to do.
    Idle,
    /// The store failed. The next step is due after this time.
    Failed(Duration),
    /// The store is not at the committed position, or the spool is damaged. The spooler must start over for
    /// this reason.
    StartOver(String),
}

/// Writes the rows of one sink's spool to its store. Every step begins where the last commit ended.
pub struct Writer<S> {
    store: S,
    limits: Limits,
    run: u64,
    open: bool,
    state: StoreState,
    /// The wall time of the last committed row, if known.
    last_us: Option<u64>,
    cursor: Option<Cursor>,
    /// A commit without an answer: the state and the place after it.
    pending: Option<(StoreState, Cursor)>,
    failures: u32,
    /// The wall time of the next search for old events.
    expire_at_us: u64,
    /// The wall time of the next count of the current routes.
    count_at_us: u64,
    /// The time of the last count that matched.
    counted_us: Option<u64>,
    status: Status,
}

impl<S: Store> Writer<S> {
    /// A writer for the run of this process.
    pub fn new(store: S, run: u64, limits: Limits, status: Status) -> Self {
        Self {
            store,
            limits,
            run,
            open: false,
            state: StoreState::new(limits.defer_from),
            last_us: None,
            cursor: None,
            pending: None,
            failures: 0,
            expire_at_us: 0,
            count_at_us: 0,
            counted_us: None,
            status,
        }
    }

    /// The known state of the store.
    pub fn state(&self) -> &StoreState {
        &self.state
    }

    /// Does the next thing: connects, loads a table, or commits a batch. `now_us` is wall time.
    pub fn step<M: Storage>(
        &mut self,
        now_us: u64,
        spool: &Mutex<Spool<M>>,
        source: &impl RouteSource,
    ) -> Step {
        let done = if !self.open {
            self.count_at_us = now_us;
            self.open(spool)
        } else if self.state.load_all() {
            self.load_all(now_us, source).map(|()| Step::Worked)
        } else {
            self.commit_or_load(now_us, spool, source)
        };
        match done {
            Ok(step) => step,
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &StoreError) -> Step {
        self.store.close();
        self.open = false;
        let (first, longest) = self.limits.retry;
        let pause = first
            .saturating_mul(1 << self.failures.min(16))
            .min(longest);
        self.failures += 1;
        self.status.update(|view| {
            (view.connected, view.loading) = (false, false);
            view.failures += 1;
            view.failure = Some(error.to_string());
            view.last_error = view.failure.clone();
        });
        Step::Failed(pause)
    }

    fn open<M: Storage>(&mut self, spool: &Mutex<Spool<M>>) -> Result<Step, StoreError> {
        let store = &mut self.store;
        let held = self
            .status
            .during_request("the connection", || store.open())?;
        let position = held.position;
        self.open = true;
        self.status.update(|view| view.connected = true);
        let pending = self.pending.take();
        let Some(cursor) = self.cursor else {
            let mut state = self.state.clone();
            state.resume(position);
            let cursor = seek(spool, position, self.run)?;
            let missing = match held.lost_position {
                Some(lost) => Some(missing_rows::after_reset(
                    lost,
                    None,
                    self.store.find_loss(lost, 0)?,
                )),
                None => missing_rows::at_start(&mut spool.lock(), held, self.run, cursor)
                    .map_err(|why| unreadable(&why))?,
            };
            self.last_us = held.time_us;
            // Remove segments that were committed but not yet acknowledged: they may be what fills the disk.
            self.acknowledge(spool, state, cursor)?;
            return Ok(missing.map_or(Step::Worked, Step::StartOver));
        };
        if position == self.state.position() {
            return Ok(Step::Worked);
        }
        if let Some((state, cursor)) = pending
            && state.position() == position
        {
            self.acknowledge(spool, state, cursor)?;
            return Ok(Step::Worked);
        }
        self.resume_elsewhere(spool, cursor, held)
    }

    /// Continues at the position of a store that was restored from a backup or created again, as far as the
    /// spool goes back. Reports the lost rows.
    fn resume_elsewhere<M: Storage>(
        &mut self,
        spool: &Mutex<Spool<M>>,
        cursor: Cursor,
        held: StoreProgress,
    ) -> Result<Step, StoreError> {
        let own = self.state.position();
        let (mut cursor, mut why) = (cursor, STORE_CHANGED.to_owned());
        match (held.position, own) {
            (Some(position), Some(own)) if position < own => {
                let mut spool = spool.lock();
                // An unreadable spool is reported when the writer reads it.
                cursor = spool.seek(Some(position), self.run).unwrap_or(cursor);
                let gap = spool.gap_between(Some(position), cursor);
                why = missing_rows::after_rollback(held, gap.ok(), (own, self.last_us));
            }
            (None, Some(own)) => {
                let (store, time_us) = (&mut self.store, self.last_us.unwrap_or_default());
                let what = self
                    .status
                    .during_request("the last event", || store.find_loss(own, time_us))?;
                why = missing_rows::after_reset(own, self.last_us, what);
            }
            _ => {}
        }
        self.state.reset();
        self.state.resume(held.position);
        self.last_us = held.time_us;
        self.cursor = Some(cursor);
        self.status.update(|view| view.position = held.position);
        Ok(Step::StartOver(why))
    }

    fn commit_or_load<M: Storage>(
        &mut self,
        now_us: u64,
        spool: &Mutex<Spool<M>>,
        source: &impl RouteSource,
    ) -> Result<Step, StoreError> {
        let Some(cursor) = self.cursor else {
            return Ok(Step::Idle);
        };
        // Before the next batch: the count is unreliable while the last commit over the previous connection is
        // unconfirmed.
        if let Some(why) = self.check_route_count(now_us)? {
            return Ok(Step::StartOver(why));
        }
        let blocks = match read(spool, cursor, self.limits.batch_rows) {
            Ok(blocks) => blocks,
            Err(why) if self.is_damage(&why) => return self.skip_damage(spool, cursor),
            Err(why) => return Err(unreadable(&why)),
        };
        if blocks.is_empty() {
            self.state.no_batch();
            let loaded = self.load_due(now_us, source)?;
            let expired = self.expire(now_us)?;
            return Ok(match loaded || expired {
                true => Step::Worked,
                false => Step::Idle,
            });
        }
        self.commit(spool, blocks)?;
        self.load_due(now_us, source)?;
        self.expire(now_us)?;
        Ok(Step::Worked)
    }

    /// Counts the current routes if it is time. Returns the reason to start over if the number is wrong.
    fn check_route_count(&mut self, now_us: u64) -> Result<Option<String>, StoreError> {
        let loaded = self.state.is_live() && !self.state.load_all();
        if !(loaded && is_due(now_us, self.count_at_us, COUNT_EVERY_US)) {
            return Ok(None);
        }
        self.count_at_us = now_us + COUNT_EVERY_US;
        let store = &mut self.store;
        if self
            .status
            .during_request("the number of routes", || store.has_expected_routes())?
        {
            self.counted_us = Some(now_us);
            return Ok(None);
        }
        self.state.reset();
        Ok(Some(missing_rows::changed_routes(self.counted_us, now_us)))
    }

    /// Removes some old events if it is time. Returns `true` if there may be more.
    fn expire(&mut self, now_us: u64) -> Result<bool, StoreError> {
        let Some(kept) = self
            .limits
            .retention
            .filter(|_| is_due(now_us, self.expire_at_us, EXPIRE_EVERY_US))
        else {
            return Ok(false);
        };
        let kept_us = kept.as_micros() as u64;
        let before_us = now_us.saturating_sub(kept_us);
        let store = &mut self.store;
        let more = self
            .status
            .during_request("old events", || store.expire(before_us))?;
        if !more {
            self.expire_at_us = now_us + EXPIRE_EVERY_US.min(kept_us);
        }
        Ok(more)
    }

    fn commit<M: Storage>(
        &mut self,
        spool: &Mutex<Spool<M>>,
        blocks: Vec<(Block, Cursor)>,
    ) -> Result<(), StoreError> {
        let cursors: Vec<Cursor> = blocks.iter().map(|(_, cursor)| *cursor).collect();
        let blocks = blocks.into_iter().map(|(block, _)| block).collect();
        let (batch, state, taken) = self.state.apply(blocks);
        let Some(cursor) = taken.checked_sub(1).and_then(|last| cursors.get(last)) else {
            return Ok(());
        };
        self.pending = Some((state.clone(), *cursor));
        let store = &mut self.store;
        self.status
            .during_request("a batch", || store.write(&batch))?;
        self.pending = None;
        self.failures = 0;
        self.count_batch(&batch);
        self.acknowledge(spool, state, *cursor)
    }

    fn count_batch(&mut self, batch: &Batch) {
        let last = batch.last_us();
        self.last_us = last.or(self.last_us);
        self.status.update(|view| {
            view.failure = None;
            view.batches += 1;
            view.events += batch.rows.len() as u64;
            view.last_time_us = last.unwrap_or(view.last_time_us);
        });
    }

    fn acknowledge<M: Storage>(
        &mut self,
        spool: &Mutex<Spool<M>>,
        state: StoreState,
        cursor: Cursor,
    ) -> Result<(), StoreError> {
        self.state = state;
        self.cursor = Some(cursor);
        let position = self.state.position();
        self.status.update(|view| view.position = position);
        let removed = spool.lock().acknowledge(cursor);
        removed.map_err(|why| {
            StoreError(format!(
                "cannot remove committed rows from the spool: {why}"
            ))
        })
    }

    /// Returns whether bytes are lost for good. A disk that fails to read is tried a few times.
    fn is_damage(&self, why: &io::Error) -> bool {
        is_gone(why) || why.raw_os_error() == Some(EIO) && self.failures >= TRIES
    }

    /// Skips damaged segments, and records a gap before the next one.
    fn skip_damage<M: Storage>(
        &mut self,
        spool: &Mutex<Spool<M>>,
        cursor: Cursor,
    ) -> Result<Step, StoreError> {
        let (damage, next) = spool.lock().damage_at(self.state.position(), cursor);
        self.state.reset();
        let state = self.state.clone();
        self.acknowledge(spool, state, next)?;
        Ok(Step::StartOver(damage.to_string()))
    }

    fn load_all(&mut self, now_us: u64, source: &impl RouteSource) -> Result<(), StoreError> {
        let held = self.state.peers();
        let mut peers: Vec<_> = held.map(|(up, peer)| (up, peer.clone())).collect();
        peers.sort_unstable_by(|a, b| a.1.key.cmp(&b.1.key));
        let load = self.begin_load(true, peers, now_us)?;
        let state = self.state.clone();
        self.load_routes(&load, source, &|peer| state.holds(peer))?;
        self.state.loaded(None);
        self.counted_us = Some(now_us);
        self.loaded();
        Ok(())
    }

    fn load_due(&mut self, now_us: u64, source: &impl RouteSource) -> Result<bool, StoreError> {
        let due = self.state.peers_to_load(now_us);
        if due.is_empty() || self.state.load_all() {
            return Ok(false);
        }
        let up = |key| self.state.is_up(key);
        let peers = due
            .iter()
            .map(|peer| (up(&peer.key), peer.clone()))
            .collect();
        let load = self.begin_load(false, peers, now_us)?;
        let state = self.state.clone();
        let wanted = |key: &PeerKey| {
            let named = due.iter().any(|peer| peer.key == *key);
            state.holds(key).filter(|_| named)
        };
        self.load_routes(&load, source, &wanted)?;
        self.state.loaded(Some(&due));
        self.loaded();
        Ok(true)
    }

    /// Loads routes. A second thread reads, sorts and formats the next routes while the store accepts the
    /// previous ones.
    fn load_routes(
        &mut self,
        load: &Load,
        source: &impl RouteSource,
        wanted: RouteFilter<'_>,
    ) -> Result<(), StoreError> {
        let (store, status) = (&mut self.store, &self.status);
        status.during_request("the routes that a load replaces", || store.begin_load(load))?;
        let (chunks, arrived) = sync_channel(AHEAD);
        thread::scope(|scope| {
            // The thread ends when the receiver is dropped.
            scope.spawn(move || source.routes(wanted, &mut |rows| chunks.send(rows)));
            let arrived = arrived;
            let asking = |rows: usize| {
                status.update(|view| {
                    view.loaded += rows as u64;
                    view.request = Some(("a load", Instant::now()));
                });
            };
            status.during_request("a load", || {
                store.load(load, &mut || {
                    // Waiting here is not waiting for the store.
                    status.update(|view| view.request = None);
                    let rows: Option<Vec<LoadRow>> = arrived.recv().ok();
                    asking(rows.as_ref().map_or(0, Vec::len));
                    rows
                })
            })
        })?;
        status.during_request("the end of a load, and indexes", || store.end_load(load))
    }

    fn begin_load(
        &self,
        all: bool,
        peers: Vec<(bool, Arc<StoredPeer>)>,
        time_us: u64,
    ) -> Result<Load, StoreError> {
        self.status.update(|view| view.loading = true);
        Ok(Load {
            all,
            peers,
            position: self.state.position().unwrap_or_default(),
            time_us,
        })
    }

    fn loaded(&mut self) {
        self.failures = 0;
        self.status.update(|view| {
            (view.loading, view.failure) = (false, None);
            view.loads += 1;
        });
    }
}

/// The interval between searches for old events.
const EXPIRE_EVERY_US: u64 = 60_000_000;

/// The interval between counts of the current routes. Each new connection counts, too.
const COUNT_EVERY_US: u64 = 600_000_000;

/// Returns whether a periodic task is due. A time farther away than one period was set before the clock was set back.
fn is_due(now_us: u64, at_us: u64, every_us: u64) -> bool {
    now_us >= at_us || at_us - now_us > every_us
}

/// The error code of a disk that fails to read.
const EIO: i32 = 5;
/// The number of attempts.
const TRIES: u32 = 5;

/// The number of chunks of a load that are prepared in advance.
const AHEAD: usize = 8;

fn seek<M: Storage>(
    spool: &Mutex<Spool<M>>,
    position: Option<Position>,
    run: u64,
) -> Result<Cursor, StoreError> {
    let found = spool.lock().seek(position, run);
    found.map_err(|why| unreadable(&why))
}

fn unreadable(why: &io::Error) -> StoreError {
    StoreError(format!("cannot read the spool: {why}"))
}

/// Reads blocks from a place on, up to the block that completes the number of rows.
fn read<M: Storage>(
    spool: &Mutex<Spool<M>>,
    from: Cursor,
    rows: usize,
) -> io::Result<Vec<(Block, Cursor)>> {
    let (mut cursor, mut found, mut blocks) = (from, 0, Vec::new());
    while found < rows {
        let (block, next) = match block(spool, cursor) {
            Ok(Some(found)) => found,
            Ok(None) => break,
            Err(why) if blocks.is_empty() => return Err(why),
            // The blocks before it are readable.
            Err(_) => break,
        };
        found += block.entries.len();
        blocks.push((block, next));
        cursor = next;
    }
    Ok(blocks)
}

fn block<M: Storage>(
    spool: &Mutex<Spool<M>>,
    cursor: Cursor,
) -> io::Result<Option<(Block, Cursor)>> {
    let Some((bytes, next)) = spool.lock().next(cursor)? else {
        return Ok(None);
    };
    let block = Block::decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some((block, next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_does_not_end_the_search_for_old_events() {
        let now_us = 1_795_000_000_000_000;
        let every_us = EXPIRE_EVERY_US;
        assert!(is_due(now_us, now_us, every_us));
        assert!(!is_due(now_us, now_us + every_us, every_us));
        assert!(is_due(now_us, now_us + 3_600_000_000, every_us));
    }
}
