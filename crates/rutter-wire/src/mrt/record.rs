//! The records of a file (RFC 6396 §2, §3).

use std::fmt;

use super::{
    Message, OldUpdate, PeerIndexTable, Rib, StateChange, TableDump, bgp_read, bgp4mp_read, kind,
    table_dump_read, table_dump_v1,
};
use crate::cursor::Cursor;

/// One record, borrowed from the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Time, in microseconds since 1970. Whole seconds unless the record has an extended type.
    pub unix_us: u64,
    /// The type.
    pub kind: u16,
    /// The subtype; its meaning depends on the type.
    pub subtype: u16,
    /// The bytes after the header and the microseconds of extended types.
    pub body: &'a [u8],
    /// The length of the whole record, in octets.
    pub len: usize,
}

/// A decoded record.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// The peers of the RIB records that follow.
    PeerIndexTable(PeerIndexTable<'a>),
    /// The routes of one prefix.
    Rib(Rib<'a>),
    /// One route, in the older format.
    TableDump(TableDump<'a>),
    /// A BGP message.
    Message(Message<'a>),
    /// An UPDATE of the oldest type of log.
    OldUpdate(OldUpdate<'a>),
    /// A session changed state.
    StateChange(StateChange),
    /// A type or subtype that is ignored.
    Other,
}

/// A fault of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MrtFault {
    /// The file ends inside a record.
    RecordTruncated,
    /// The length exceeds the limit.
    RecordTooLong,
    /// The body ends too early.
    BodyTruncated,
    /// The address family is neither IPv4 nor IPv6.
    AddressFamily,
    /// The prefix is longer than its family allows.
    PrefixLength,
}

/// A fault and its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MrtError {
    /// Offset of the record in the input.
    pub offset: usize,
    /// The kind of fault.
    pub fault: MrtFault,
}

impl fmt::Display for MrtFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MrtFault::RecordTruncated => "the file ends inside the record",
            MrtFault::RecordTooLong => "the record length exceeds the limit",
            MrtFault::BodyTruncated => "the record ends too early",
            MrtFault::AddressFamily => "unknown address family",
            MrtFault::PrefixLength => "prefix length out of range",
        })
    }
}

impl fmt::Display for MrtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MrtError { offset, fault } = self;
        write!(f, "MRT record at octet {offset}: {fault}")
    }
}

impl std::error::Error for MrtError {}

/// Reads the first record. `Ok(None)`: more bytes are needed.
pub fn next_record(bytes: &[u8]) -> Result<Option<Record<'_>>, MrtError> {
    let error = |fault| MrtError { offset: 0, fault };
    let Some((unix_s, kind, subtype, len)) = header(bytes) else {
        return Ok(None);
    };
    if len > LONGEST {
        return Err(error(MrtFault::RecordTooLong));
    }
    let Some(body) = bytes.get(HEADER_LEN..HEADER_LEN + len) else {
        return Ok(None);
    };
    let mut body = Cursor::new(body);
    let unix_us = match kind {
        // Without microseconds the body is empty, and `decode` reports that it ends too early.
        kind::BGP4MP_ET => body.u32().unwrap_or_else(|| {
            body = Cursor::new(&[]);
            0
        }),
        _ => 0,
    };
    Ok(Some(Record {
        unix_us: u64::from(unix_s) * 1_000_000 + u64::from(unix_us),
        kind,
        subtype,
        body: body.rest(),
        len: HEADER_LEN + len,
    }))
}

/// Time, type, subtype and length.
fn header(bytes: &[u8]) -> Option<(u32, u16, u16, usize)> {
    let mut header = Cursor::new(bytes);
    let (unix_s, kind, subtype) = (header.u32()?, header.u16()?, header.u16()?);
    let len = usize::try_from(header.u32()?).unwrap_or(usize::MAX);
    Some((unix_s, kind, subtype, len))
}

impl<'a> Record<'a> {
    /// Decodes the record. The error's offset is 0, the start of the record.
    pub fn decode(&self) -> Result<Content<'a>, MrtError> {
        let content = match self.kind {
            kind::BGP => bgp_read::decode(self.subtype, self.body),
            kind::TABLE_DUMP => table_dump_v1::decode(self.subtype, self.body),
            kind::TABLE_DUMP_V2 => table_dump_read::decode(self.subtype, self.body),
            kind::BGP4MP | kind::BGP4MP_ET => bgp4mp_read::decode(self.subtype, self.body),
            _ => Ok(Content::Other),
        };
        content.map_err(|fault| MrtError { offset: 0, fault })
    }
}

/// The records of a file in memory. The iterator ends after an error.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// Iterates over a whole, uncompressed file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Records { bytes, at: 0 }
    }

    /// The offset of the next record.
    pub fn offset(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, MrtError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (offset, rest) = (self.at, &self.bytes[self.at..]);
        if rest.is_empty() {
            return None;
        }
        let fault = match next_record(rest) {
            Ok(Some(record)) => {
                self.at += record.len;
                return Some(Ok(record));
            }
            Ok(None) => MrtFault::RecordTruncated,
            Err(error) => error.fault,
        };
        self.at = self.bytes.len();
        Some(Err(MrtError { offset, fault }))
    }
}

const HEADER_LEN: usize = 12;

/// A record of 65,535 routes with long attributes is far smaller.
const LONGEST: usize = 1 << 28;
