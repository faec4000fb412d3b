//! Rows through all cores, in order: one thread reads whole rows, some work, the caller's writes.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::rows::Chunk;
pub use crate::rows::{MARK, Rows};

/// What becomes of rows. Called from several threads at a time.
pub trait Work: Sync {
    /// What stands between fields, where line feeds in quoted fields do not end a row.
    fn delimiter(&self) -> Option<u8>;
    /// Appends to `out` what becomes of some whole rows; the first is of this line of the input.
    fn work(&self, rows: &[u8], first_line: u64, out: &mut Vec<u8>) -> Result<Counts, RowError>;
}

/// What was met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Rows without an address to look up: nothing is told of them.
    pub without: u64,
    /// The first of these: its line, and what stands there.
    pub first: Option<(u64, String)>,
}

/// A row that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowError {
    /// Its line in the input, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

/// Why a stream ended early.
#[derive(Debug)]
pub enum StreamError {
    /// Reading failed.
    Read(io::Error),
    /// Writing failed; the reader of the output may just be gone.
    Write(io::Error),
    /// A row cannot be read.
    Row(RowError),
}

impl Counts {
    /// Counts a row without an address.
    pub(crate) fn without(&mut self, line: u64, text: &[u8]) {
        self.without += 1;
        self.first
            .get_or_insert_with(|| (line, String::from_utf8_lossy(text).into_owned()));
    }

    fn add(&mut self, other: Counts) {
        self.rows += other.rows;
        self.without += other.without;
        if self.first.is_none() {
            self.first = other.first;
        }
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Read(error) => write!(f, "{error}"),
            StreamError::Write(error) => write!(f, "output: {error}"),
            StreamError::Row(RowError { line, what }) => write!(f, "line {line}: {what}"),
        }
    }
}

impl std::error::Error for StreamError {}

/// The address in a field, with space around it or not.
pub(crate) fn address(field: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

type Done = (u64, Result<(Vec<u8>, Counts), StreamError>);

/// Sends all rows through `work`, and writes what becomes of them in their order.
pub fn run<R: Read + Send + 'static>(
    rows: Rows<R>,
    work: &dyn Work,
    out: &mut impl Write,
) -> Result<Counts, StreamError> {
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(16);
    thread::scope(|scope| {
        let (jobs, waiting) = sync_channel::<(u64, Chunk)>(workers);
        let (done, results) = sync_channel::<Done>(workers);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..workers {
            let (waiting, done) = (Arc::clone(&waiting), done.clone());
            scope.spawn(move || work_on(&waiting, work, &done));
        }
        // Only workers may keep waiting work alive: when they are gone the reader must know.
        drop(waiting);
        let delimiter = work.delimiter();
        // Nobody waits for this one: after an error it may wait for input that never comes.
        thread::spawn(move || read_all(rows, delimiter, &jobs, &done));
        write_all(results, out)
    })
}

fn read_all<R: Read>(
    mut rows: Rows<R>,
    delimiter: Option<u8>,
    jobs: &SyncSender<(u64, Chunk)>,
    done: &SyncSender<Done>,
) {
    for number in 0.. {
        let sent = match rows.next(delimiter) {
            Ok(Some(chunk)) => jobs.send((number, chunk)).is_ok(),
            Ok(None) => false,
            Err(error) => return drop(done.send((number, Err(error)))),
        };
        if !sent {
            return;
        }
    }
}

fn work_on(waiting: &Mutex<Receiver<(u64, Chunk)>>, work: &dyn Work, done: &SyncSender<Done>) {
    loop {
        let next = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok((number, chunk)) = next else {
            return;
        };
        let mut out = Vec::with_capacity(2 * chunk.octets.len());
        let counts = work.work(&chunk.octets, chunk.first_line, &mut out);
        let result = counts.map(|counts| (out, counts)).map_err(StreamError::Row);
        if done.send((number, result)).is_err() {
            return;
        }
    }
}

fn write_all(results: Receiver<Done>, out: &mut impl Write) -> Result<Counts, StreamError> {
    let mut early = BTreeMap::new();
    let mut counts = Counts::default();
    let mut next = 0;
    for (number, result) in results {
        early.insert(number, result);
        while let Some(result) = early.remove(&next) {
            let (octets, met) = result?;
            out.write_all(&octets).map_err(StreamError::Write)?;
            counts.add(met);
            next += 1;
        }
    }
    out.flush().map_err(StreamError::Write)?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::row_end;

    /// Doubles each row.
    struct Twice;

    impl Work for Twice {
        fn delimiter(&self) -> Option<u8> {
            Some(b',')
        }

        fn work(&self, rows: &[u8], line: u64, out: &mut Vec<u8>) -> Result<Counts, RowError> {
            let mut rest = rows;
            let mut counts = Counts::default();
            while let Some(end) = row_end(rest, Some(b',')) {
                if rest.starts_with(b"bad") {
                    return Err(RowError {
                        line: line + counts.rows,
                        what: "bad".into(),
                    });
                }
                out.extend_from_slice(&rest[..=end]);
                out.extend_from_slice(&rest[..=end]);
                rest = &rest[end + 1..];
                counts.rows += 1;
            }
            Ok(counts)
        }
    }

    /// Gives a few octets at a time.
    struct Trickle(Vec<u8>, usize);

    impl Read for Trickle {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    #[test]
    fn rows_stay_whole_and_in_order() {
        let text: String = (0..2_000).map(|n| format!("{n},\"a\nb\",x\n")).collect();
        let expected: String = text
            .split_inclusive("x\n")
            .map(|row| row.repeat(2))
            .collect();
        for step in [7, 100, 1 << 20] {
            let rows = Rows::new(Trickle(text.clone().into(), step));
            let mut out = Vec::new();
            let counts = run(rows, &Twice, &mut out).unwrap();
            assert_eq!(counts.rows, 2_000);
            assert!(out == expected.as_bytes(), "in steps of {step}");
        }
    }

    #[test]
    fn an_error_comes_after_the_rows_before_it() {
        let rows = Rows::new(&b"1\n2\nbad\n4\n"[..]);
        let mut out = Vec::new();
        match run(rows, &Twice, &mut out) {
            Err(StreamError::Row(error)) => assert_eq!(error.line, 3),
            other => panic!("{other:?}"),
        }
        let mut rows = Rows::new(&b"\"a\nb\"\n1\nbad\n"[..]);
        assert_eq!(rows.head(Some(b',')).unwrap(), b"\"a\nb\"\n");
        match run(rows, &Twice, &mut out) {
            Err(StreamError::Row(error)) => assert_eq!(error.line, 4),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_quote_inside_a_field_is_a_part_of_it() {
        let mut rows = Rows::new(&b"1,\"x\""[..]);
        assert_eq!(rows.head(Some(b',')).unwrap(), b"1,\"x\"");
        let text = "1,24\" rack,x\n2,\"a\"\"\n\",y\n3,\"\"b,\"z\n\"\n";
        for step in [1, 2, 3, 1 << 20] {
            let rows = Rows::new(Trickle(text.into(), step));
            let mut out = Vec::new();
            assert_eq!(
                run(rows, &Twice, &mut out).unwrap().rows,
                3,
                "in steps of {step}"
            );
            assert_eq!(out.len(), 2 * text.len());
        }
    }

    #[test]
    fn a_row_that_does_not_end_is_told_by_its_line() {
        let rows = Rows::new(&b"1\n2,\"open\n3\n"[..]);
        match run(rows, &Twice, &mut Vec::new()) {
            Err(StreamError::Row(error)) => assert_eq!(error.line, 2),
            other => panic!("{other:?}"),
        }
    }
}
