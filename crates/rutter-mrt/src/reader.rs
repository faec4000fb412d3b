//! Reads files to their end and reports the records that could not be read.

use std::collections::BTreeMap;
use std::fmt;

use rutter_wire::mrt::Record;

use crate::{Finding, Input, Progress, ReadError, RecordOutcome, Stream};

/// Reads files one after the other. It reports records that cannot be read, and skips them.
pub struct Reader<'a> {
    progress: Progress,
    report: &'a dyn Fn(&str),
    should_stop: &'a dyn Fn() -> bool,
    files: u64,
    incomplete: u64,
    is_cut_off: bool,
}

/// The counts of one file.
#[derive(Default)]
struct Counts {
    records: u64,
    unreadable: Kinds,
    odd: Kinds,
    skipped: Kinds,
}

/// The numbers of records with one kind of finding, by its text.
#[derive(Default)]
struct Kinds {
    /// The records. One may have several findings.
    total: u64,
    by_text: BTreeMap<String, u64>,
}

/// The number of records of a file that are reported one by one: unreadable ones, and as many odd and skipped ones.
const REPORTED_RECORDS: u64 = 5;
/// The number of strings that the summary of a file names.
const NAMED_KINDS: usize = 32;
/// The number of strings that are kept apart. A file can hold any record type.
const MAX_KINDS: usize = 1_000;
/// The text of all further ones.
const OTHER: &str = "other";

impl Kinds {
    /// Counts a record with these findings. Returns whether it is one of the first.
    fn count(&mut self, findings: &[&Finding]) -> bool {
        self.total += 1;
        for finding in findings {
            let text = finding.summary();
            let is_full = self.by_text.len() >= MAX_KINDS && !self.by_text.contains_key(&text);
            let text = if is_full { OTHER.into() } else { text };
            *self.by_text.entry(text).or_default() += 1;
        }
        self.total <= REPORTED_RECORDS
    }
}

/// `3 × a fault; 1 × another`, the most frequent first.
impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: Vec<(&String, &u64)> = self.by_text.iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let (named, others) = kinds.split_at(kinds.len().min(NAMED_KINDS));
        let mut separator = "";
        for (text, count) in named {
            write!(f, "{separator}{count} × {text}")?;
            separator = "; ";
        }
        match others.iter().map(|(_, count)| **count).sum::<u64>() {
            0 => Ok(()),
            more => write!(f, "; {more} × {OTHER}"),
        }
    }
}

impl<'a> Reader<'a> {
    /// `report` is called with each line for the user.
    pub fn new(progress: &Progress, report: &'a dyn Fn(&str)) -> Self {
        Reader {
            progress: progress.clone(),
            report,
            should_stop: &|| false,
            files: 0,
            incomplete: 0,
            is_cut_off: false,
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
            self.count(input, stream.offset(), &outcome, counts);
        }
    }

    /// Counts an outcome, and reports it if it is one of the first.
    fn count(&self, input: &Input, offset: u64, outcome: &RecordOutcome, counts: &mut Counts) {
        if outcome.is_read() {
            return;
        }
        let (mut unreadable, mut odd, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for finding in outcome.findings() {
            match finding {
                Finding::Unreadable(_) => unreadable.push(finding),
                Finding::Odd(_) => odd.push(finding),
                Finding::Skipped(_) => skipped.push(finding),
            }
        }
        let count = |level: &str, kinds: &mut Kinds, findings: &[&Finding]| {
            if !findings.is_empty() && kinds.count(findings) {
                let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
                let texts = texts.join("; ");
                (self.report)(&format!(
                    "{level}: {input}: MRT record at octet {offset}: {texts}"
                ));
            }
        };
        count("error", &mut counts.unreadable, &unreadable);
        count("note", &mut counts.odd, &odd);
        count("note", &mut counts.skipped, &skipped);
    }

    fn report_counts(&mut self, input: &Input, counts: &Counts, error: Option<ReadError>) {
        let records = counts.records;
        let line = |level: &str, kinds: &Kinds, what: &str| {
            if kinds.total > 0 {
                let total = kinds.total;
                (self.report)(&format!(
                    "{level}: {input}: {total} of {records} records {what}: {kinds}"
                ));
            }
        };
        let unreadable = "could not be read, or not completely";
        line("error", &counts.unreadable, unreadable);
        let odd = "were read as they stand, although an RFC forbids it";
        line("note", &counts.odd, odd);
        let skipped = "hold other things than IPv4 and IPv6 unicast routes";
        line("note", &counts.skipped, skipped);
        if records == 0 && error.is_none() && !(self.should_stop)() {
            (self.report)(&format!("note: {input}: there are no records in it"));
        }
        if let Some(error) = &error {
            self.is_cut_off = true;
            (self.report)(&format!("error: {error}; {records} records were before"));
        }
        if counts.unreadable.total > 0 || error.is_some() {
            self.incomplete += 1;
        }
    }

    /// Returns whether a file could not be read up to its end.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Returns an error with the number of incomplete files, unless all were read completely. Reports that there was no
    /// file at all.
    pub fn verdict(&self) -> Result<(), String> {
        if self.files == 0 && !(self.should_stop)() {
            (self.report)("note: there is no file to read");
        }
        match (self.incomplete, self.files) {
            (0, _) => Ok(()),
            (1, 1) => Err("the file could not be read completely".into()),
            (incomplete, files) => Err(format!(
                "{incomplete} of {files} files could not be read completely"
            )),
        }
    }
}
