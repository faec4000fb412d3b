//! Reads whole rows, as many at a time as have arrived.

use std::io::{self, Read};

use crate::stream::{RowError, StreamError};

/// Octets read at once.
const READ: usize = 1 << 20;
/// The byte order mark at the beginning of some UTF-8 files.
pub const MARK: &[u8] = b"\xef\xbb\xbf";
/// The maximum length of a row, in bytes.
const LONGEST_ROW: usize = 64 << 20;

/// Whole rows of an input.
pub struct Rows<R> {
    input: R,
    /// The bytes of an incomplete row.
    rest: Vec<u8>,
    /// The state of the search for row ends in `rest`.
    searched: Search,
    line: u64,
    ended: bool,
}

/// Some whole rows.
pub(crate) struct Chunk {
    pub octets: Vec<u8>,
    pub first_line: u64,
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

    /// Removes the byte order mark, and returns whether it was present. Waits for the first bytes.
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
        // The rest is read again at the beginning of the next chunk.
        let mut rest = chunk.octets.split_off(end);
        rest.append(&mut self.rest);
        self.rest = rest;
        self.searched = Search::default();
        self.line = chunk.first_line + lines(&chunk.octets);
        Ok(chunk.octets)
    }

    /// Returns all whole rows that have arrived; waits until there is one.
    pub(crate) fn next(&mut self, delimiter: Option<u8>) -> Result<Option<Chunk>, StreamError> {
        loop {
            self.searched.go_on(&self.rest, delimiter);
            if self.searched.end > 0 {
                let rest = self.rest.split_off(self.searched.end);
                return Ok(Some(self.chunk(rest)));
            }
            let Search { at, is_quoted, .. } = self.searched;
            // A quote as the last byte closes its field.
            let is_open = self.ended && is_quoted && at == self.rest.len();
            let is_too_long = self.rest.len() > LONGEST_ROW;
            if is_open || is_too_long {
                let what = match is_quoted {
                    true => "the row does not end: a field begins with a double quote and does not end with one".into(),
                    false => format!("the row has more than {} MiB", LONGEST_ROW >> 20),
                };
                let line = self.line;
                return Err(StreamError::Row(RowError { line, what }));
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

/// The end of the first row: its line feed.
pub(crate) fn row_end(octets: &[u8], delimiter: Option<u8>) -> Option<usize> {
    match delimiter {
        None => memchr::memchr(b'\n', octets),
        Some(delimiter) => RowEnds::new(octets, delimiter).next(),
    }
}

/// The state of the search for row ends.
#[derive(Default)]
struct Search {
    /// The end of the last whole row; 0 if there is none.
    end: usize,
    /// Octets looked at.
    at: usize,
    is_quoted: bool,
}

impl Search {
    /// Searches the bytes that arrived since.
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
/// A double quote opens a field only at the beginning of a field. Inside a field without quotes it is an ordinary byte,
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
                    // Two quotes represent one quote in the field.
                    Some(b'"') => {
                        self.at = at + 2;
                        continue;
                    }
                    Some(_) => self.is_quoted = false,
                    // The next byte decides whether this quote closes the field.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_order_mark_is_no_part_of_the_first_row() {
        let mut rows = Rows::new(&b"\xef\xbb\xbf\"ip\"\n1\n"[..]);
        assert!(rows.take_mark().unwrap());
        assert_eq!(rows.head(Some(b',')).unwrap(), b"\"ip\"\n");
        assert!(!Rows::new(&b"ip"[..]).take_mark().unwrap());
        assert!(!Rows::new(&b""[..]).take_mark().unwrap());
    }

    #[test]
    fn a_row_that_is_too_long_is_an_error() {
        for delimiter in [None, Some(b',')] {
            let mut rows = Rows::new(io::repeat(b'x'));
            match rows.next(delimiter) {
                Err(StreamError::Row(error)) => {
                    assert_eq!(error.what, "the row has more than 64 MiB")
                }
                other => panic!("{:?}", other.map(|_| "a row")),
            }
        }
        let mut rows = Rows::new(io::Read::chain(&b"\""[..], io::repeat(b'x')));
        match rows.next(Some(b',')) {
            Err(StreamError::Row(error)) => assert!(error.what.contains("double quote")),
            other => panic!("{:?}", other.map(|_| "a row")),
        }
    }
}
