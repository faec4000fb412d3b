//! Reads files to their end and reports the records that could not be read.

use rutter_wire::mrt::Record;

use crate::{Input, Progress, ReadError, RecordOutcome, Stream, Unreadable};

/// Reads files one after the other. It reports records that cannot be read, and skips them.
pub struct Reader<'a> {
    progress: Progress,
    report: &'a dyn Fn(&str),
    should_stop: &'a dyn Fn() -> bool,
    files: u64,
    incomplete: u64,
}

/// The counts of one file.
#[derive(Default)]
struct Counts {
    records: u64,
    skipped: u64,
    unreadable: u64,
}

/// The number of unreadable records of a file that are reported one by one.
const REPORTED_RECORDS: u64 = 5;

impl<'a> Reader<'a> {
    /// `report` is called with each line for the user.
    pub fn new(progress: &Progress, report: &'a dyn Fn(&str)) -> Self {
        Reader {
            progress: progress.clone(),
            report,
            should_stop: &|| false,
            files: 0,
            incomplete: 0,
        }
    }

    /// Stops reading as soon as `should_stop` returns `true`. Files that were not read then do not count as
    /// incomplete.
    pub fn until(self, should_stop: &'a dyn Fn() -> bool) -> Self {
        Reader {
            should_stop,
            ..self
        }
    }

    /// Calls `process` with each record of a file. Returns the first error of `process`.
    pub fn read<E>(
        &mut self,
        input: &Input,
        mut process: impl FnMut(&Record<'_>) -> Result<RecordOutcome, E>,
    ) -> Result<(), E> {
        if (self.should_stop)() {
            return Ok(());
        }
        self.files += 1;
        let mut counts = Counts::default();
        let error = match Stream::open(input, &self.progress) {
            Ok(mut stream) => self.read_all(input, &mut stream, &mut counts, &mut process)?,
            Err(error) => Some(error),
        };
        self.report_counts(input, &counts, error);
        Ok(())
    }

    /// Processes the records up to the end. Returns the error at which the file could not be read further.
    fn read_all<E>(
        &self,
        input: &Input,
        stream: &mut Stream,
        counts: &mut Counts,
        process: &mut impl FnMut(&Record<'_>) -> Result<RecordOutcome, E>,
    ) -> Result<Option<ReadError>, E> {
        loop {
            let outcome = match stream.next_record_until(self.should_stop) {
                Ok(Some(record)) => process(&record)?,
                Ok(None) => return Ok(None),
                Err(error) => return Ok(Some(error)),
            };
            counts.records += 1;
            match outcome {
                RecordOutcome::Read => {}
                RecordOutcome::Skipped => counts.skipped += 1,
                RecordOutcome::Unreadable(why) => {
                    counts.unreadable += 1;
                    self.report_unreadable(input, stream.offset(), why, counts.unreadable);
                }
            }
        }
    }

    fn report_unreadable(&self, input: &Input, offset: u64, why: Unreadable, number: u64) {
        if number <= REPORTED_RECORDS {
            (self.report)(&format!(
                "error: {input}: MRT record at octet {offset}: {why}"
            ));
        }
    }

    fn report_counts(&mut self, input: &Input, counts: &Counts, error: Option<ReadError>) {
        let Counts {
            records,
            skipped,
            unreadable,
        } = counts;
        if *unreadable > 0 {
            (self.report)(&format!(
                "error: {input}: {unreadable} of {records} records could not be read"
            ));
        }
        if *skipped > 0 {
            (self.report)(&format!(
                "note: {input}: {skipped} of {records} records are of types without IPv4 or IPv6 unicast routes"
            ));
        }
        if let Some(error) = &error {
            (self.report)(&format!("error: {error}; {records} records were before"));
        }
        if *unreadable > 0 || error.is_some() {
            self.incomplete += 1;
        }
    }

    /// Returns an error with the number of incomplete files, unless all were read completely.
    pub fn verdict(&self) -> Result<(), String> {
        match (self.incomplete, self.files) {
            (0, _) => Ok(()),
            (1, 1) => Err("the file could not be read completely".into()),
            (incomplete, files) => Err(format!(
                "{incomplete} of {files} files could not be read completely"
            )),
        }
    }
}
