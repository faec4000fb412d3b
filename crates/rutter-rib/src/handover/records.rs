//! Records: items, gathered until it is worth sending them, with a checksum at the end.

use rapidhash::v3::rapidhash_v3;
use rutter_wire::handover::{BadRecord, Writer};

use super::Tag;

/// Records are gathered up to this size in bytes.
const RECORD: usize = 64 * 1024;

/// Gathers items into records and passes each to `send`.
pub(super) struct Records<S> {
    pub(super) out: Writer,
    send: S,
}

impl<E, S: FnMut(&[u8]) -> Result<(), E>> Records<S> {
    pub(super) fn new(send: S) -> Self {
        Records {
            out: Writer::default(),
            send,
        }
    }

    /// Begins an item, in a new record if the present one is long.
    pub(super) fn begin(&mut self, tag: Tag) -> Result<&mut Writer, E> {
        if self.out.bytes.len() >= RECORD {
            self.end()?;
        }
        self.out.u8(tag as u8);
        Ok(&mut self.out)
    }

    /// Ends the record.
    pub(super) fn end(&mut self) -> Result<(), E> {
        let checksum = rapidhash_v3(&self.out.bytes);
        self.out.bytes.extend_from_slice(&checksum.to_be_bytes());
        let sent = (self.send)(&self.out.bytes);
        self.out.bytes.clear();
        sent
    }
}

/// The items of a record whose checksum is right.
pub(super) fn items(record: &[u8]) -> Result<&[u8], BadRecord> {
    let (items, checksum) = record.split_last_chunk().ok_or(BadRecord("checksum"))?;
    match u64::from_be_bytes(*checksum) == rapidhash_v3(items) {
        true => Ok(items),
        false => Err(BadRecord("checksum")),
    }
}
