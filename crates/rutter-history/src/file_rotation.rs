//! Writes events into files: when a file ends, and what happens if none can be written.

use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use rutter_config::file_name;
use rutter_events::{Decoder, Kind, Missing, Now, Peer, Row};
use rutter_rib::{FeedEvent, PeerId, PeerSummary, Snapshot};

use crate::archive::{Archive, ArchiveFile, Part};
use crate::file_writer::{Compression, FileWriter, WriteError};
use crate::last_run;
use crate::row_group::PAGE;
use crate::row_page::RowPage;
use crate::time;

/// The settings of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A file of events ends after this time.
    pub rotate: Duration,
    /// A file of events ends after this number of rows.
    pub rotate_rows: u64,
    /// The time between snapshots.
    pub snapshot_every: Duration,
    /// Files of hours that ended this long ago are removed; `None` keeps all.
    pub retention: Option<Duration>,
    /// The compression of files.
    pub compression: Compression,
    /// The pause after a failure of the disk.
    pub retry: Duration,
}

/// Writes the rows of one run of a collector into a sequence of files.
pub struct FileRotation {
    decoder: Decoder,
    store: EventStore,
    pending: PendingGaps,
}

/// The gaps of earlier runs that are not on the disk yet.
#[derive(Default)]
struct PendingGaps {
    gaps: Vec<String>,
    /// Unfinished files that remain until the gaps are on the disk.
    unfinished: Vec<ArchiveFile>,
}

/// Rows that were not written.
#[derive(Clone, Debug)]
struct DroppedRows {
    rows: u64,
    first_seq: u64,
    since_us: u64,
    why: Arc<str>,
    retry_us: u64,
}

struct OpenFile {
    writing: FileWriter,
    first_seq: u64,
    since_us: u64,
    hour: u64,
    rows: u64,
    end_us: u64,
}

struct EventStore {
    archive: Archive,
    options: Options,
    name: String,
    columns: RowPage,
    open: Option<OpenFile>,
    dropped: Option<DroppedRows>,
    last_us: u64,
    monotonic_us: u64,
    rows: u64,
    bytes: u64,
    files: u64,
}

impl FileRotation {
    /// Begins a run with a `start`, and a `gap` for the unfinished files of a killed run. The new run is later
    /// than every run of the archive, even if the clock was set back.
    ///
    /// If the disk fails, it is tried again later, provided that this collector has written to the archive
    /// before.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn start(
        archive: Archive,
        collector: &str,
        options: Options,
        peers: &[PeerSummary],
        mut now: Now,
    ) -> Result<Self, WriteError> {
        let failed = |why: io::Error| WriteError::new(archive.folder(), why);
        fs::create_dir_all(archive.folder()).map_err(failed)?;
        let name = file_name(collector);
        let snapshots = archive.unfinished(&name, Part::Snapshots).map_err(failed)?;
        remove(&snapshots).map_err(failed)?;
        let unfinished = archive.unfinished(&name, Part::Events).map_err(failed)?;
        let files = archive.files(Part::Events).map_err(failed)?;
        let runs = files.iter().chain(&unfinished).map(|file| file.run);
        let last = files.iter().rfind(|file| file.collector == name);
        let has_written = last.is_some() || !unfinished.is_empty();
        // The gap of an unfinished file covers the end of its run.
        let last = last.filter(|last| unfinished.iter().all(|file| file.run != last.run));
        let mut gaps: Vec<String> = last.and_then(last_run::missing_rows).into_iter().collect();
        gaps.extend(unfinished.iter().map(last_run::unfinished_file));
        now.unix_us = now.unix_us.max(runs.max().map_or(0, |run| run + 1));
        let mut rotation = Self {
            decoder: Decoder::new(collector, peers, now),
            store: EventStore::new(archive.clone(), collector, options, now),
            pending: PendingGaps::default(),
        };
        let Self { decoder, store, .. } = &mut rotation;
        decoder.start(now, &mut |row| store.push(row));
        for detail in &gaps {
            rotation.record_gap(0, detail, now);
        }
        if !gaps.is_empty() {
            rotation.store.rotate();
        }
        match &rotation.store.dropped {
            Some(dropped) if !has_written => {
                return Err(WriteError::new(archive.folder(), &dropped.why));
            }
            Some(_) => rotation.pending = PendingGaps { gaps, unfinished },
            // Only now: the gaps are on the disk, and remain there if this run is killed, too.
            None => remove(&unfinished).map_err(failed)?,
        }
        Ok(rotation)
    }

    /// Goes on with the run of another process that stopped writing at this position. It has completed its file
    /// ([`FileRotation::complete_file`]).
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn continued(
        archive: Archive,
        collector: &str,
        options: Options,
        peers: &[PeerSummary],
        now: Now,
        position: (u64, u64),
    ) -> Result<Self, WriteError> {
        let failed = |why: io::Error| WriteError::new(archive.folder(), why);
        let name = file_name(collector);
        // All rows and gaps of the other process are on the disk.
        for part in [Part::Snapshots, Part::Events] {
            let unfinished = archive.unfinished(&name, part).map_err(failed)?;
            remove(&unfinished).map_err(failed)?;
        }
        Ok(Self {
            decoder: Decoder::continued(collector, peers, now, position),
            store: EventStore::new(archive, collector, options, now),
            pending: PendingGaps::default(),
        })
    }

    /// Completes the file, so that another process can go on. Returns the position.
    ///
    /// # Errors
    /// If rows are being dropped: only this process knows which.
    pub fn complete_file(&mut self) -> Result<(u64, u64), String> {
        self.store.rotate();
        match self.failure() {
            None => Ok(self.position()),
            Some(why) => Err(format!(
                "history drops rows until the disk accepts them: {why}"
            )),
        }
    }

    /// The run, and the number of the next event.
    pub fn position(&self) -> (u64, u64) {
        (self.decoder.run(), self.decoder.next_seq())
    }

    /// The number of rows written, of the bytes of their files, and of the files.
    pub fn written(&self) -> (u64, u64, u64) {
        (self.store.rows, self.store.bytes, self.store.files)
    }

    /// The reason why rows are being dropped, if they are.
    pub fn failure(&self) -> Option<&str> {
        self.store.dropped.as_ref().map(|dropped| &*dropped.why)
    }

    /// Writes an event.
    pub fn take(&mut self, event: &FeedEvent, now: Now) {
        self.store.monotonic_us = now.monotonic_us;
        let Self { decoder, store, .. } = self;
        decoder.decode(event, now, &mut |row| store.push(row));
    }

    /// Records that the reader was too slow for the feed. `peers` come from a new subscription. The caller must
    /// write a snapshot.
    pub fn feed_overran(&mut self, lost: u64, peers: &[PeerSummary], now: Now) {
        let detail = Missing::overrun(lost, (self.store.last_us, now.unix_us));
        self.record_gap(lost, &detail, now);
        self.decoder.relearn(peers);
    }

    /// Ends files that are old enough, and tries a failed disk again. Returns `true` if that recorded a gap.
    /// The caller must then write a snapshot.
    pub fn turn(&mut self, now: Now) -> bool {
        self.store.monotonic_us = now.monotonic_us;
        let over = self.store.open.as_ref().is_some_and(|open| {
            now.monotonic_us >= open.end_us || time::hour(now.unix_us) > open.hour
        });
        if over {
            self.store.rotate();
        }
        let retry = self
            .store
            .dropped
            .as_ref()
            .is_some_and(|dropped| now.monotonic_us >= dropped.retry_us);
        retry && self.close_gap(now)
    }

    /// Ends the run with a `stop`.
    pub fn stop(&mut self, now: Now) {
        if self.store.dropped.is_some() {
            self.close_gap(now);
        }
        let Self { decoder, store, .. } = self;
        decoder.stop(now, &mut |row| store.push(row));
        store.rotate();
    }

    fn close_gap(&mut self, now: Now) -> bool {
        self.store.flush();
        let Some(dropped) = self.store.dropped.take() else {
            return false;
        };
        let missing = Missing::Rows {
            first: dropped.first_seq,
            last: dropped.first_seq + dropped.rows.saturating_sub(1),
        };
        let times_us = (dropped.since_us, self.store.last_us);
        let detail = missing.because(Some(times_us), &dropped.why);
        self.record_gap(dropped.rows, &detail, now);
        let pending = std::mem::take(&mut self.pending);
        for detail in &pending.gaps {
            self.record_gap(0, detail, now);
        }
        self.store.rotate();
        if let Some(again) = &mut self.store.dropped {
            again.rows += dropped.rows;
            (again.first_seq, again.since_us) = (dropped.first_seq, dropped.since_us);
            self.pending = pending;
            return false;
        }
        if let Err(why) = remove(&pending.unfinished) {
            tracing::warn!("history: cannot remove unfinished files of an earlier run: {why}");
        }
        tracing::warn!("history is written again; {detail}");
        true
    }

    fn record_gap(&mut self, lost: u64, detail: &str, now: Now) {
        let Self { decoder, store, .. } = self;
        decoder.decode(&FeedEvent::Gap { lost }, now, &mut |row| {
            let row = match row.kind {
                Kind::Gap { .. } => Row { detail, ..*row },
                _ => *row,
            };
            store.push(&row);
        });
    }
}

fn remove(files: &[ArchiveFile]) -> io::Result<()> {
    files
        .iter()
        .try_for_each(|file| fs::remove_file(&file.path))
}

impl EventStore {
    fn new(archive: Archive, collector: &str, options: Options, now: Now) -> Self {
        EventStore {
            columns: RowPage::new(collector, SETS),
            name: file_name(collector),
            archive,
            options,
            open: None,
            dropped: None,
            last_us: now.unix_us,
            monotonic_us: now.monotonic_us,
            rows: 0,
            bytes: 0,
            files: 0,
        }
    }

    fn push(&mut self, row: &Row<'_>) {
        let hour = time::hour(row.time_us);
        let later = self.open.as_ref().is_some_and(|open| hour > open.hour);
        // The rows of a file are in the order of their times, so that its folder gives a lower bound.
        if later || matches!(row.kind, Kind::ClockStep { .. }) {
            self.rotate();
        }
        if self.open.is_none() && self.dropped.is_none() {
            self.begin(row);
        }
        self.last_us = row.time_us;
        self.columns.push(row);
        if self.columns.len() >= PAGE {
            self.flush();
            if self
                .open
                .as_ref()
                .is_some_and(|open| open.rows >= self.options.rotate_rows)
            {
                self.rotate();
            }
        }
    }

    fn begin(&mut self, row: &Row<'_>) {
        let name = format!("{}-{:016}-{:012}", self.name, row.run, row.seq);
        let hour = time::hour(row.time_us);
        match FileWriter::create(
            &self.archive,
            Part::Events,
            hour,
            &name,
            self.options.compression,
        ) {
            Ok(writing) => {
                self.open = Some(OpenFile {
                    writing,
                    first_seq: row.seq,
                    since_us: row.time_us,
                    hour,
                    rows: 0,
                    end_us: self.monotonic_us + self.options.rotate.as_micros() as u64,
                });
            }
            Err(why) => self.fail(&why, 0, row.seq, row.time_us),
        }
    }

    /// Writes the collected rows to the file.
    fn flush(&mut self) {
        let rows = self.columns.len() as u64;
        if rows == 0 {
            return;
        }
        if let Some(dropped) = &mut self.dropped {
            dropped.rows += rows;
            return self.columns.clear();
        }
        let Some(open) = &mut self.open else {
            return self.columns.clear();
        };
        open.rows += rows;
        let written = open.writing.write(&mut self.columns);
        if let Err(why) = written {
            let (rows, seq, since_us) = (open.rows, open.first_seq, open.since_us);
            self.fail(&why, rows, seq, since_us);
        }
    }

    /// Ends the file.
    fn rotate(&mut self) {
        self.flush();
        self.columns.forget_sets();
        let Some(open) = self.open.take() else {
            return;
        };
        match open.writing.finish() {
            Ok(bytes) => {
                self.rows += open.rows;
                self.bytes += bytes;
                self.files += 1;
            }
            Err(why) => self.fail(&why, open.rows, open.first_seq, open.since_us),
        }
    }

    fn fail(&mut self, why: &WriteError, rows: u64, first_seq: u64, since_us: u64) {
        tracing::error!(
            "history: {why}; events are dropped until the disk accepts them again; BGP is not affected"
        );
        self.open = None;
        self.dropped = Some(DroppedRows {
            rows,
            first_seq,
            since_us,
            why: why.to_string().into(),
            retry_us: self.monotonic_us + self.options.retry.as_micros() as u64,
        });
    }
}

/// Writes the whole table as of `time_us`, with the events before `seq` of the run. Returns the number of
/// routes and bytes.
///
/// # Errors
/// If the file cannot be written. It is removed then.
pub fn write_snapshot(
    archive: &Archive,
    collector: &str,
    compression: Compression,
    snapshot: &Snapshot,
    (run, seq): (u64, u64),
    time_us: u64,
) -> Result<(u64, u64), WriteError> {
    let name = format!("{}-{run:016}-{seq:012}-{time_us:016}", file_name(collector));
    let mut writing = FileWriter::create(
        archive,
        Part::Snapshots,
        time::hour(time_us),
        &name,
        compression,
    )?;
    let peers = Peers::new(snapshot);
    // The snapshot owns the sets, so keeping them costs little.
    let mut columns = RowPage::new(collector, usize::MAX);
    let mut rows = 0;
    for page in 0..snapshot.pages() {
        snapshot.visit_page(page, |prefix, _, route| {
            let row = Row {
                run,
                seq,
                time_us,
                collector,
                peer: peers.get(route.peer),
                kind: Kind::State,
                prefix: Some(prefix),
                path_id: route.path_id,
                attrs: None,
                detail: route.reject.map_or("", |reason| reason.name()),
            };
            columns.push_stored(&row, route.attrs);
            rows += 1;
        });
        if columns.len() >= PAGE {
            writing.write(&mut columns)?;
        }
    }
    if columns.len() > 0 || rows == 0 {
        writing.write(&mut columns)?;
    }
    Ok((rows, writing.finish()?))
}

/// The peers of a snapshot, by their ids.
struct Peers(Vec<Option<Arc<Peer>>>);

impl Peers {
    fn new(snapshot: &Snapshot) -> Self {
        let mut peers = Vec::new();
        for peer in snapshot.peers() {
            peers.resize(peer.id.index() + 1, None);
            peers[peer.id.index()] = Some(Arc::new(peer.into()));
        }
        Self(peers)
    }

    fn get(&self, id: PeerId) -> Option<&Arc<Peer>> {
        self.0.get(id.index())?.as_ref()
    }
}

/// The number of attribute sets of events that are kept from page to page: those that recur. While sessions
/// start there are many sets with few rows each. Keeping them would cost more than looking up their strings
/// again.
const SETS: usize = 1 << 14;
