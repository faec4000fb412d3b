//! The table as of a time: the latest snapshot, then the events after it.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rutter_events::{Missing, utc};
use rutter_net::{Family, PerFamily, Prefix};

use crate::archive::{Archive, ArchiveFile, Part};
use crate::archive_rows::{Peers, Rows};
use crate::row_page::retained_of;
use crate::sequence_check::SequenceCheck;
use crate::time;

/// The routes of all collectors of an archive at a time.
#[derive(Debug, Default)]
pub struct AsOf {
    /// Rows with the columns of the archive, one for each route as last announced. `kind` is `state` for rows
    /// of the snapshot, else `announce`.
    pub routes: Vec<RecordBatch>,
    /// Notes for the user: gaps, and collectors whose history begins later.
    pub notes: Vec<String>,
}

/// The reason why there is no answer.
#[derive(Debug)]
pub enum AsOfError {
    /// The folder holds no history of that time.
    Nothing {
        /// An explanation.
        why: String,
    },
    /// A file or folder cannot be read.
    Unreadable {
        /// The file or folder, and the reason.
        why: String,
    },
}

impl fmt::Display for AsOfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (AsOfError::Nothing { why } | AsOfError::Unreadable { why }) = self;
        f.write_str(why)
    }
}

impl std::error::Error for AsOfError {}

impl Archive {
    /// The table after the last event that is not later than `time_us`, in the order in which the collector
    /// received the events.
    ///
    /// # Errors
    /// If the archive does not cover that time, or a file cannot be read.
    pub fn as_of(&self, time_us: u64) -> Result<AsOf, AsOfError> {
        let listed = |part| {
            self.files(part)
                .map_err(|why| unreadable(self.folder(), &why))
        };
        let (snapshots, events) = (listed(Part::Snapshots)?, listed(Part::Events)?);
        let mut collectors: Vec<&str> = snapshots
            .iter()
            .chain(&events)
            .map(|file| &*file.collector)
            .collect();
        collectors.sort_unstable();
        collectors.dedup();
        let (mut answer, mut known) = (AsOf::default(), 0);
        for collector in &collectors {
            let of = |files: &[ArchiveFile]| -> Vec<ArchiveFile> {
                files
                    .iter()
                    .filter(|file| file.collector == *collector)
                    .cloned()
                    .collect()
            };
            let plan = Plan::new(of(&snapshots), of(&events), time_us);
            if plan.map_or(Ok(false), |plan| plan.run(time_us, &mut answer))? {
                known += 1;
            } else {
                let time = utc(time_us);
                answer
                    .notes
                    .push(format!("{collector}: its history begins after {time}"));
            }
        }
        if known == 0 {
            let (folder, time) = (self.folder().display(), utc(time_us));
            let why = match collectors.is_empty() {
                true => format!(
                    "{folder} holds no history: it has no folders `events` and `snapshots` with files"
                ),
                false => format!("{folder} holds nothing of {time}: its first snapshot is later"),
            };
            return Err(AsOfError::Nothing { why });
        }
        Ok(answer)
    }
}

impl Archive {
    /// Reads all files and returns the first unreadable one with the reason.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn unreadable(&self) -> io::Result<Option<String>> {
        for part in [Part::Events, Part::Snapshots] {
            for file in self.files(part)? {
                let read = read(&file.path, None, &mut |batch| Rows::new(&batch).map(|_| ()));
                if let Err(why) = read {
                    return Ok(Some(why.to_string()));
                }
            }
        }
        Ok(None)
    }
}

/// The files that describe a time.
struct Plan {
    snapshot: Option<ArchiveFile>,
    events: Vec<ArchiveFile>,
    /// The file after those. Its first row shows whether the time is in a gap or between two runs.
    next: Option<ArchiveFile>,
}

impl Plan {
    fn new(snapshots: Vec<ArchiveFile>, events: Vec<ArchiveFile>, time_us: u64) -> Option<Self> {
        let is_before = |file: &ArchiveFile| file.time_us.is_some_and(|time| time <= time_us);
        let snapshot = snapshots.into_iter().rfind(is_before);
        // Without a snapshot, start at the beginning of the first run: the table was empty then.
        let from = match &snapshot {
            Some(snapshot) => (snapshot.run, snapshot.seq),
            None => events
                .first()
                .filter(|file| file.seq == 0)
                .map(|file| (file.run, 0))?,
        };
        let first = events.iter().rposition(|file| (file.run, file.seq) <= from);
        let events = events.into_iter().skip(first.unwrap_or(0));
        let (events, later): (Vec<_>, Vec<_>) =
            events.partition(|file| file.hour <= time::hour(time_us));
        (snapshot.is_some() || !events.is_empty()).then(|| Self {
            snapshot,
            events,
            next: later.into_iter().next(),
        })
    }

    /// Builds the table. Returns whether there was any data.
    fn run(self, time_us: u64, answer: &mut AsOf) -> Result<bool, AsOfError> {
        let mut table = Table::default();
        let first = self.events.first();
        let mut from = first.map_or((0, 0), |file| (file.run, file.seq));
        if let Some(snapshot) = &self.snapshot {
            from = (snapshot.run, snapshot.seq);
            read(&snapshot.path, None, &mut |batch| table.load(batch))?;
        }
        table.sequence = SequenceCheck::from(from);
        let mut applied = 0;
        for file in &self.events {
            read(&file.path, None, &mut |batch| {
                let until = table.apply(batch, from, time_us)?;
                applied += until;
                Ok(())
            })?;
        }
        if let Some(next) = self.next.as_ref().filter(|_| table.later_rows.is_empty()) {
            read(&next.path, Some(1), &mut |batch| {
                table.apply(batch, from, time_us).map(|_| ())
            })?;
        }
        let snapshot_us = self.snapshot.as_ref().and_then(|file| file.time_us);
        answer.notes.append(&mut table.notes);
        answer.notes.extend(table.time_note(snapshot_us, time_us)?);
        let finished = table.finish(&mut answer.routes);
        finished.map_err(|why| AsOfError::Unreadable { why })?;
        Ok(self.snapshot.is_some() || applied > 0)
    }
}

fn read(
    path: &Path,
    most: Option<usize>,
    visit: &mut dyn FnMut(RecordBatch) -> Result<(), String>,
) -> Result<(), AsOfError> {
    let failed = |why: &dyn fmt::Display| unreadable(path, why);
    let file = File::open(path).map_err(|why: io::Error| failed(&why))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|why| failed(&why))?;
    let reader = match most {
        Some(most) => reader.with_limit(most),
        None => reader,
    };
    let reader = reader
        .with_batch_size(BATCH)
        .build()
        .map_err(|why| failed(&why))?;
    for batch in reader {
        let batch = batch.map_err(|why| failed(&why))?;
        visit(batch).map_err(|why| failed(&why))?;
    }
    Ok(())
}

fn unreadable(path: &Path, why: &dyn fmt::Display) -> AsOfError {
    let why = format!("cannot read {}: {why}", path.display());
    AsOfError::Unreadable { why }
}

/// The place of a row: its batch, and its index in the batch.
type RowRef = (u32, u32);
/// The key of a route of a peer.
type Key = (Prefix, u32);

/// The routes of one collector.
#[derive(Default)]
struct Table {
    batches: Vec<RecordBatch>,
    peers: Peers,
    /// By peer and family.
    routes: Vec<PerFamily<HashMap<Key, RowRef>>>,
    /// Rows later than the requested time. They are applied if an earlier row follows.
    later_rows: Vec<RowRef>,
    sequence: SequenceCheck,
    /// The numbers missing between these rows.
    missing: Vec<String>,
    last: Option<Last>,
    notes: Vec<String>,
}

/// The last row that was applied.
struct Last {
    time_us: u64,
    collector: String,
    stopped: bool,
}

impl Last {
    fn of(rows: &Rows<'_>, row: usize) -> Self {
        Self {
            time_us: rows.time_us(row),
            collector: rows.collector(row).to_owned(),
            stopped: rows.kind(row) == "stop",
        }
    }
}

impl Table {
    fn load(&mut self, batch: RecordBatch) -> Result<(), String> {
        let rows = Rows::new(&batch)?;
        let number = self.batches.len() as u32;
        for row in 0..batch.num_rows() {
            self.put(&rows, row, (number, row as u32));
        }
        if batch.num_rows() > 0 {
            self.last = Some(Last::of(&rows, 0));
        }
        self.batches.push(batch);
        Ok(())
    }

    /// Applies the rows from a position on, up to the last one that is not later than a time. Returns their
    /// number.
    fn apply(
        &mut self,
        batch: RecordBatch,
        from: (u64, u64),
        time_us: u64,
    ) -> Result<usize, String> {
        let number = self.batches.len() as u32;
        let rows = Rows::new(&batch)?;
        let mut applied = 0;
        let last = (0..batch.num_rows()).rfind(|row| rows.time_us(*row) <= time_us);
        let end = last.map_or(0, |last| last + 1);
        if end > 0 {
            for (number, row) in std::mem::take(&mut self.later_rows) {
                let batch = self.batches[number as usize].clone();
                self.apply_row(&Rows::new(&batch)?, row as usize, (number, row));
            }
            self.notes.append(&mut self.missing);
        }
        if let Some(last) = last {
            self.last = Some(Last::of(&rows, last));
        }
        for row in 0..batch.num_rows() {
            if rows.position(row) < from {
                continue;
            }
            self.check_sequence(&rows, row, row < end);
            match row < end {
                true => {
                    applied += 1;
                    self.apply_row(&rows, row, (number, row as u32));
                }
                false => self.later_rows.push((number, row as u32)),
            }
        }
        self.batches.push(batch);
        Ok(applied)
    }

    /// Numbers missing before the first later row may have been early enough.
    fn check_sequence(&mut self, rows: &Rows<'_>, row: usize, is_applied: bool) {
        let missing = self.sequence.follow(rows.position(row), rows.kind(row));
        let Some(missing) = missing else {
            return;
        };
        let note = format!("{}: {missing}", rows.collector(row));
        match is_applied || self.later_rows.is_empty() {
            true => self.notes.push(note),
            false => self.missing.push(note),
        }
    }

    fn apply_row(&mut self, rows: &Rows<'_>, row: usize, place: RowRef) {
        match rows.kind(row) {
            "announce" | "state" => self.put(rows, row, place),
            "withdraw" => {
                if let (Some(peer), Some((prefix, path_id))) =
                    (rows.peer(row, &mut self.peers), rows.route(row))
                {
                    self.of_peer(peer)[prefix.family()].remove(&(prefix, path_id));
                }
            }
            "peer-down" => {
                let retained = retained_of(rows.detail(row));
                if let Some(peer) = rows.peer(row, &mut self.peers) {
                    for family in Family::ALL.into_iter().filter(|family| !retained[*family]) {
                        self.of_peer(peer)[family].clear();
                    }
                }
            }
            "start" => {
                self.routes.clear();
                // Gaps before the start of a run do not matter any more.
                self.notes.clear();
            }
            // The table begins empty with each run.
            "gap" if is_of_a_run_before(rows, row) => {}
            "gap" => self.notes.push(format!(
                "{}: gap: {}",
                rows.collector(row),
                rows.detail(row)
            )),
            _ => {}
        }
    }

    fn put(&mut self, rows: &Rows<'_>, row: usize, place: RowRef) {
        if let (Some(peer), Some((prefix, path_id))) =
            (rows.peer(row, &mut self.peers), rows.route(row))
        {
            self.of_peer(peer)[prefix.family()].insert((prefix, path_id), place);
        }
    }

    fn of_peer(&mut self, peer: usize) -> &mut PerFamily<HashMap<Key, RowRef>> {
        if self.routes.len() <= peer {
            self.routes.resize_with(peer + 1, Default::default);
        }
        &mut self.routes[peer]
    }

    /// A note for a time that is not among the events of a run.
    fn time_note(
        &self,
        snapshot_us: Option<u64>,
        time_us: u64,
    ) -> Result<Option<String>, AsOfError> {
        let failed = |why| AsOfError::Unreadable { why };
        let last_us = self.last.as_ref().map(|last| last.time_us).max(snapshot_us);
        let (asked, last) = (utc(time_us), utc(last_us.unwrap_or(0)));
        let of = |collector: &str| format!("{collector}: the table is that of {last}");
        let Some((number, row)) = self.later_rows.first() else {
            let name = self.last.as_ref().map_or("", |last| &*last.collector);
            let why = match self.last.as_ref().is_some_and(|last| last.stopped) {
                true => "then the collector was stopped",
                false => "where the archive ends; the file that is being written is not read",
            };
            return Ok((last_us < Some(time_us)).then(|| format!("{}, {why}", of(name))));
        };
        let batch = &self.batches[*number as usize];
        let rows = Rows::new(batch).map_err(failed)?;
        let row = *row as usize;
        let name = rows.collector(row);
        Ok(match rows.kind(row) {
            "gap" => Some(format!(
                "{}: {asked} is in a gap: {}",
                of(name),
                rows.detail(row)
            )),
            "start" => Some(format!(
                "{}: at {asked} the collector did not run, or lost its events; its next run began at {}",
                of(name),
                utc(rows.time_us(row))
            )),
            _ => None,
        })
    }

    /// The rows of all routes, in the order of the files.
    fn finish(self, out: &mut Vec<RecordBatch>) -> Result<(), String> {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.batches.len()];
        for (batch, row) in self.routes.iter().flatten().flat_map(HashMap::values) {
            rows[*batch as usize].push(*row);
        }
        for (batch, mut rows) in self
            .batches
            .iter()
            .zip(rows)
            .filter(|(_, rows)| !rows.is_empty())
        {
            rows.sort_unstable();
            let remaining = match rows.len() == batch.num_rows() {
                true => Ok(batch.clone()),
                false => take_record_batch(batch, &UInt32Array::from(rows)),
            };
            out.push(remaining.map_err(|why| why.to_string())?);
        }
        Ok(())
    }
}

/// Returns whether a gap concerns a run that had ended when the gap's own run began.
fn is_of_a_run_before(rows: &Rows<'_>, row: usize) -> bool {
    let (own, _) = rows.position(row);
    Missing::run_named(rows.detail(row)).is_some_and(|run| run != own)
}

/// The number of rows that are read at once.
const BATCH: usize = 1 << 16;
