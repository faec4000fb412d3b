//! Rows through all cores, in order: one thread reads whole rows, some work, the caller's writes.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

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

/// Octets read at once.
const READ: usize = 1 << 20;
/// The mark that some programs begin UTF-8 text with.
pub const MARK: &[u8] = b"\xef\xbb\xbf";
/// Most octets of one row.
const LONGEST_ROW: usize = 64 << 20;

/// Whole rows of an input.
pub struct Rows<R> {
    input: R,
    /// Octets of a row whose end is yet to come.
    rest: Vec<u8>,
    /// Where in it the next search for row ends begins.
    searched: Search,
    line: u64,
    ended: bool,
}

/// Some whole rows.
struct Chunk {
    octets: Vec<u8>,
    first_line: u64,
}

impl<R: Read> Rows<R> {
    /// The rows of an input.
    pub fn new(input: R) -> Self {
        Rows {
            input,
            rest: Vec::new(),
            searched: Search::default(),
            line: 1,
            ended: false,
        }
    }

    /// Takes the mark off that some programs begin UTF-8 text with, and says whether it was there. Waits for the beginning.
    pub fn take_mark(&mut self) -> Result<bool, StreamError> {
        while self.rest.len() < MARK.len() && !self.ended {
            self.fill()?;
        }
        let has_mark = self.rest.starts_with(MARK);
        if has_mark {
            self.rest.drain(..MARK.len());
        }
        Ok(has_mark)
    }

    /// The first row, with its line feed; empty at the end.
    pub fn head(&mut self, delimiter: Option<u8>) -> Result<Vec<u8>, StreamError> {
        let Some(mut chunk) = self.next(delimiter)? else {
            return Ok(Vec::new());
        };
        let end = row_end(&chunk.octets, delimiter).map_or(chunk.octets.len(), |at| at + 1);
        // What follows is read again as the beginning of the next chunk.
        let mut rest = chunk.octets.split_off(end);
        rest.append(&mut self.rest);
        self.rest = rest;
        self.searched = Search::default();
        self.line = chunk.first_line + lines(&chunk.octets);
        Ok(chunk.octets)
    }

    /// As many whole rows as have arrived; waits for one.
    fn next(&mut self, delimiter: Option<u8>) -> Result<Option<Chunk>, StreamError> {
        loop {
            self.searched.go_on(&self.rest, delimiter);
            if self.searched.end > 0 {
                let rest = self.rest.split_off(self.searched.end);
                return Ok(Some(self.chunk(rest)));
            }
            let Search { at, is_quoted, .. } = self.searched;
            // A quote that is the very last octet closes.
            let is_open = self.ended && is_quoted && at == self.rest.len();
            if is_open || self.rest.len() > LONGEST_ROW {
                return Err(StreamError::Row(RowError {
                    line: self.line,
                    what: "the row does not end: a field in it begins with a double quote and has no other".into(),
                }));
            }
            if self.ended {
                return Ok((!self.rest.is_empty()).then(|| self.chunk(Vec::new())));
            }
            self.fill()?;
        }
    }

    fn chunk(&mut self, rest: Vec<u8>) -> Chunk {
        let octets = std::mem::replace(&mut self.rest, rest);
        self.searched = Search::default();
        let first_line = self.line;
        self.line += lines(&octets);
        Chunk { octets, first_line }
    }

    fn fill(&mut self) -> Result<(), StreamError> {
        let start = self.rest.len();
        self.rest.resize(start + READ, 0);
        let count = loop {
            match self.input.read(&mut self.rest[start..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.rest.truncate(start + *count.as_ref().unwrap_or(&0));
        self.ended = count.map_err(StreamError::Read)? == 0;
        Ok(())
    }
}

fn lines(octets: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', octets).count() as u64
}

/// Where the first row ends: at its line feed.
pub(crate) fn row_end(octets: &[u8], delimiter: Option<u8>) -> Option<usize> {
    match delimiter {
        None => memchr::memchr(b'\n', octets),
        Some(delimiter) => RowEnds::new(octets, delimiter).next(),
    }
}

/// How far the ends of rows were looked for.
#[derive(Default)]
struct Search {
    /// Behind the last row that is whole; 0 where none is.
    end: usize,
    /// Octets looked at.
    at: usize,
    is_quoted: bool,
}

impl Search {
    /// Looks at what came since.
    fn go_on(&mut self, octets: &[u8], delimiter: Option<u8>) {
        let Some(delimiter) = delimiter else {
            let last = memchr::memrchr(b'\n', &octets[self.at..]);
            self.end = last.map_or(self.end, |last| self.at + last + 1);
            self.at = octets.len();
            return;
        };
        let mut ends = RowEnds {
            octets,
            delimiter,
            at: self.at,
            is_quoted: self.is_quoted,
        };
        if let Some(last) = ends.by_ref().last() {
            self.end = last + 1;
        }
        (self.at, self.is_quoted) = (ends.at, ends.is_quoted);
    }
}

/// The line feeds that end rows.
///
/// A double quote opens a field only where a field begins. Elsewhere in a field without quotes it is an octet like any other,
/// as in `24" rack`.
struct RowEnds<'o> {
    octets: &'o [u8],
    delimiter: u8,
    at: usize,
    is_quoted: bool,
}

impl<'o> RowEnds<'o> {
    fn new(octets: &'o [u8], delimiter: u8) -> Self {
        RowEnds {
            octets,
            delimiter,
            at: 0,
            is_quoted: false,
        }
    }

    fn opens(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|before| self.octets[before]);
        before.is_none_or(|octet| octet == b'\n' || octet == self.delimiter)
    }
}

impl Iterator for RowEnds<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let found = memchr::memchr2(b'\n', b'"', self.octets.get(self.at..)?);
            let Some(found) = found else {
                self.at = self.octets.len();
                return None;
            };
            let at = self.at + found;
            match self.octets[at] {
                b'\n' if !self.is_quoted => {
                    self.at = at + 1;
                    return Some(at);
                }
                b'\n' => {}
                _ if !self.is_quoted => self.is_quoted = self.opens(at),
                _ => match self.octets.get(at + 1) {
                    // Two are one in the text of the field.
                    Some(b'"') => {
                        self.at = at + 2;
                        continue;
                    }
                    Some(_) => self.is_quoted = false,
                    // Whether this closes the field the next octet tells.
                    None => {
                        self.at = at;
                        return None;
                    }
                },
            }
            self.at = at + 1;
        }
    }
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

    #[test]
    fn the_mark_of_utf_8_is_no_part_of_the_first_row() {
        let mut rows = Rows::new(Trickle(b"\xef\xbb\xbf\"ip\"\n1\n".into(), 2));
        assert!(rows.take_mark().unwrap());
        assert_eq!(rows.head(Some(b',')).unwrap(), b"\"ip\"\n");
        assert!(!Rows::new(&b"ip"[..]).take_mark().unwrap());
        assert!(!Rows::new(&b""[..]).take_mark().unwrap());
    }
}
