//! Reading files to their end, and telling what of them could not be read.

use crate::{Input, Progress, ReadError, RecordOutcome, Stream, Unreadable};
use rutter_wire::mrt::Record;

/// Reads files one after the other. What cannot be read is said, and passed over.
pub struct Reader<'a> {
    progress: Progress,
    say: &'a dyn Fn(&str),
    to_end: &'a dyn Fn() -> bool,
    files: u64,
    broken: u64,
}

/// What is counted of one file.
#[derive(Default)]
struct Counts {
    records: u64,
    passed_over: u64,
    unreadable: u64,
}

/// Unreadable records of a file that are named one by one.
const LINES: u64 = 5;

impl<'a> Reader<'a> {
    /// `say` is given what a person should know, a line at a time.
    pub fn new(progress: &Progress, say: &'a dyn Fn(&str)) -> Self {
        Reader {
            progress: progress.clone(),
            say,
            to_end: &|| false,
            files: 0,
            broken: 0,
        }
    }

    /// Asked again and again: once it is so, nothing more is read, and what was not read is not called broken.
    pub fn until(self, to_end: &'a dyn Fn() -> bool) -> Self {
        Reader { to_end, ..self }
    }

    /// Gives all records of a file to `take`, whose own error ends everything.
    pub fn read<E>(
        &mut self,
        input: &Input,
        mut take: impl FnMut(&Record<'_>) -> Result<RecordOutcome, E>,
    ) -> Result<(), E> {
        if (self.to_end)() {
            return Ok(());
        }
        self.files += 1;
        let mut counts = Counts::default();
        let ended = match Stream::open(input, &self.progress) {
            Ok(mut stream) => self.all(input, &mut stream, &mut counts, &mut take)?,
            Err(error) => Some(error),
        };
        self.sum_up(input, &counts, ended);
        Ok(())
    }

    /// Records until the end; `Some`: it came too early.
    fn all<E>(
        &self,
        input: &Input,
        stream: &mut Stream,
        counts: &mut Counts,
        take: &mut impl FnMut(&Record<'_>) -> Result<RecordOutcome, E>,
    ) -> Result<Option<ReadError>, E> {
        loop {
            let taken = match stream.next_record_until(self.to_end) {
                Ok(Some(record)) => take(&record)?,
                Ok(None) => return Ok(None),
                Err(error) => return Ok(Some(error)),
            };
            counts.records += 1;
            match taken {
                RecordOutcome::Read => {}
                RecordOutcome::Skipped => counts.passed_over += 1,
                RecordOutcome::Unreadable(why) => {
                    counts.unreadable += 1;
                    self.name(input, stream.offset(), why, counts.unreadable);
                }
            }
        }
    }

    fn name(&self, input: &Input, offset: u64, why: Unreadable, number: u64) {
        if number <= LINES {
            (self.say)(&format!(
                "error: {input}: MRT record at octet {offset}: {why}"
            ));
        }
    }

    fn sum_up(&mut self, input: &Input, counts: &Counts, ended: Option<ReadError>) {
        let Counts {
            records,
            passed_over,
            unreadable,
        } = counts;
        if *unreadable > 0 {
            (self.say)(&format!(
                "error: {input}: {unreadable} of {records} records could not be read"
            ));
        }
        if *passed_over > 0 {
            (self.say)(&format!(
                "note: {input}: {passed_over} of {records} records are of types without IPv4 or IPv6 unicast routes"
            ));
        }
        if let Some(error) = &ended {
            (self.say)(&format!("error: {error}; {records} records were before"));
        }
        if *unreadable > 0 || ended.is_some() {
            self.broken += 1;
        }
    }

    /// Whether all files could be read completely; else, how many could not.
    pub fn verdict(&self) -> Result<(), String> {
        match (self.broken, self.files) {
            (0, _) => Ok(()),
            (1, 1) => Err("the file could not be read completely".into()),
            (broken, files) => Err(format!(
                "{broken} of {files} files could not be read completely"
            )),
        }
    }
}
