//! Processes rows on all cores and keeps their order: one thread reads whole rows, several process them, the caller's
//! thread writes.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::rows::Chunk;
pub use crate::rows::{MARK, Rows};

/// Processes rows. It is called from several threads at a time.
pub trait Work: Sync {
    /// The delimiter of fields, if quoted fields may contain line feeds.
    fn delimiter(&self) -> Option<u8>;
    /// Appends the result for some whole rows to `out`; `first_line` is the line of the first. After an error, `out`
    /// has the results of the rows before it, and they are written.
    fn work(&self, rows: &[u8], first_line: u64, out: &mut Vec<u8>) -> Result<Counts, RowError>;
}

/// Counts of processed rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Rows without an address to look up; they get no answer.
    pub without: u64,
    /// The rows among them that also lack the field for it.
    pub lacking: u64,
    /// The line of the first row without an address, and the content of its field if it has one.
    pub first: Option<(u64, Option<String>)>,
}

/// A row that is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowError {
    /// Its line in the input; the first line is 1.
    pub line: u64,
    /// A description of the fault.
    pub what: String,
}

/// Why a stream ended early.
#[derive(Debug)]
pub enum StreamError {
    /// Reading failed.
    Read(io::Error),
    /// Writing failed; the reader of the output may have ended.
    Write(io::Error),
    /// A row is invalid.
    Row(RowError),
}

impl Counts {
    /// Counts a row with an invalid address.
    pub(crate) fn without(&mut self, line: u64, text: &[u8]) {
        self.without += 1;
        self.first.get_or_insert_with(|| (line, Some(shown(text))));
    }

    /// Counts a row without a field for an address.
    pub(crate) fn lacking(&mut self, line: u64) {
        self.without += 1;
        self.lacking += 1;
        self.first.get_or_insert((line, None));
    }

    fn add(&mut self, other: Counts) {
        self.rows += other.rows;
        self.without += other.without;
        self.lacking += other.lacking;
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

/// A string of the input for a message: shortened, and without control characters.
pub(crate) fn shown(text: &[u8]) -> String {
    // No character has more bytes.
    let head = &text[..text.len().min(4 * MOST_SHOWN)];
    let head = String::from_utf8_lossy(head);
    let mut shown = String::new();
    for character in head.chars().take(MOST_SHOWN) {
        match character.is_control() {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    if head.len() < text.len() || head.chars().count() > MOST_SHOWN {
        shown.push('…');
    }
    shown
}

/// The maximum number of characters of the input in a message.
const MOST_SHOWN: usize = 80;

/// The address in a field, and its string without white space.
pub(crate) fn address(field: &[u8]) -> Option<(&str, IpAddr)> {
    let text = std::str::from_utf8(field).ok()?.trim();
    Some((text, text.parse().ok()?))
}

/// The result of a chunk: its number, the output, and the counts.
type Done = (u64, Vec<u8>, Result<Counts, StreamError>);

/// Work for one thread: a chunk and its number. `None` stops the thread.
type Job = Option<(u64, Chunk)>;

/// Passes all rows through `work`, and writes the results in order. Results are written at the latest before it waits
/// for more input.
pub fn run<R: Read + Send + 'static>(
    rows: Rows<R>,
    work: &dyn Work,
    out: &mut impl Write,
) -> Result<Counts, StreamError> {
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(16);
    thread::scope(|scope| {
        let (jobs, waiting) = sync_channel::<Job>(workers);
        let (done, results) = sync_channel::<Done>(workers);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..workers {
            let (waiting, done) = (Arc::clone(&waiting), done.clone());
            scope.spawn(move || work_on(&waiting, work, &done));
        }
        // Only the workers may keep the channel open: when they have ended, the reader must notice.
        drop(waiting);
        let jobs = Arc::new(jobs);
        let stopping = Arc::downgrade(&jobs);
        let delimiter = work.delimiter();
        // This thread is not joined: after an error it may wait for input that never arrives.
        thread::spawn(move || read_all(rows, delimiter, &jobs, &done));
        let written = write_all(results, out);
        // The workers may wait for that input, too, so each gets a stop job. The channel has room for one job per
        // worker. A worker that takes another job ends as well, since its result has no receiver.
        if let (Err(_), Some(jobs)) = (&written, stopping.upgrade()) {
            (0..workers).for_each(|_| drop(jobs.try_send(None)));
        }
        written
    })
}

fn read_all<R: Read>(
    mut rows: Rows<R>,
    delimiter: Option<u8>,
    jobs: &SyncSender<Job>,
    done: &SyncSender<Done>,
) {
    for number in 0.. {
        let sent = match rows.next(delimiter) {
            Ok(Some(chunk)) => jobs.send(Some((number, chunk))).is_ok(),
            Ok(None) => false,
            Err(error) => return drop(done.send((number, Vec::new(), Err(error)))),
        };
        if !sent {
            return;
        }
    }
}

fn work_on(waiting: &Mutex<Receiver<Job>>, work: &dyn Work, done: &SyncSender<Done>) {
    loop {
        let next = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(Some((number, chunk))) = next else {
            return;
        };
        let mut out = Vec::with_capacity(2 * chunk.octets.len());
        let met = work.work(&chunk.octets, chunk.first_line, &mut out);
        let met = met.map_err(StreamError::Row);
        if done.send((number, out, met)).is_err() {
            return;
        }
    }
}

fn write_all(results: Receiver<Done>, out: &mut impl Write) -> Result<Counts, StreamError> {
    let mut early = BTreeMap::new();
    let mut counts = Counts::default();
    let mut next = 0;
    while let Some((number, octets, met)) = next_done(&results, out)? {
        early.insert(number, (octets, met));
        while let Some((octets, met)) = early.remove(&next) {
            out.write_all(&octets).map_err(StreamError::Write)?;
            match met {
                Ok(met) => counts.add(met),
                Err(error) => {
                    out.flush().map_err(StreamError::Write)?;
                    return Err(error);
                }
            }
            next += 1;
        }
    }
    out.flush().map_err(StreamError::Write)?;
    Ok(counts)
}

/// The next result; `None` at the end. Flushes the output before it waits.
fn next_done(results: &Receiver<Done>, out: &mut impl Write) -> Result<Option<Done>, StreamError> {
    match results.try_recv() {
        Ok(done) => Ok(Some(done)),
        Err(TryRecvError::Empty) => {
            out.flush().map_err(StreamError::Write)?;
            Ok(results.recv().ok())
        }
        Err(TryRecvError::Disconnected) => Ok(None),
    }
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

    /// Returns a few bytes at a time.
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
        let ends = |rows: Rows<_>, line: u64, before: &[u8]| {
            let mut out = Vec::new();
            match run(rows, &Twice, &mut out) {
                Err(StreamError::Row(error)) => assert_eq!(error.line, line),
                other => panic!("{other:?}"),
            }
            assert_eq!(
                String::from_utf8_lossy(&out),
                String::from_utf8_lossy(before)
            );
        };
        ends(Rows::new(&b"1\n2\nbad\n4\n"[..]), 3, b"1\n1\n2\n2\n");
        ends(Rows::new(&b"1\n2\n3,\"open\n4\n"[..]), 3, b"1\n1\n2\n2\n");
        let mut rows = Rows::new(&b"\"a\nb\"\n1\nbad\n"[..]);
        assert_eq!(rows.head(Some(b',')).unwrap(), b"\"a\nb\"\n");
        ends(rows, 4, b"1\n1\n");
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
    fn a_row_that_does_not_end_is_reported_with_its_line() {
        let rows = Rows::new(&b"1\n2,\"open\n3\n"[..]);
        match run(rows, &Twice, &mut Vec::new()) {
            Err(StreamError::Row(error)) => assert_eq!(error.line, 2),
            other => panic!("{other:?}"),
        }
    }

    /// Returns one piece for each message on the channel.
    struct Pieces(std::sync::mpsc::Receiver<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.recv().unwrap_or_default();
            into[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    /// Sends everything that was flushed to the channel.
    struct Flushed(Vec<u8>, std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Flushed {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            if !self.0.is_empty() {
                drop(self.1.send(std::mem::take(&mut self.0)));
            }
            Ok(())
        }
    }

    #[test]
    fn output_is_flushed_before_waiting_for_input() {
        let (input, pieces) = std::sync::mpsc::channel();
        let (flushed, output) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                run(
                    Rows::new(Pieces(pieces)),
                    &Twice,
                    &mut Flushed(Vec::new(), flushed),
                )
            });
            input.send(&b"1\n2"[..]).unwrap();
            assert_eq!(output.recv().unwrap(), b"1\n1\n");
            input.send(&b"\n"[..]).unwrap();
            assert_eq!(output.recv().unwrap(), b"2\n2\n");
            drop(input);
        });
    }

    #[test]
    fn an_error_does_not_wait_for_input() {
        let (input, pieces) = std::sync::mpsc::channel();
        input.send(&b"bad\n"[..]).unwrap();
        let ended = run(Rows::new(Pieces(pieces)), &Twice, &mut Vec::new());
        assert!(matches!(ended, Err(StreamError::Row(_))));
        drop(input);
    }

    #[test]
    fn strings_of_the_input_are_shortened() {
        assert_eq!(shown(b"a\x0b\xff\n"), "a\\u{b}\u{fffd}\\n");
        assert_eq!(shown("ü".repeat(80).as_bytes()), "ü".repeat(80));
        assert_eq!(shown("ü".repeat(81).as_bytes()), "ü".repeat(80) + "…");
        assert_eq!(shown(&vec![b'x'; 3 << 20]), "x".repeat(80) + "…");
    }
}
