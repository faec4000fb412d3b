//! The records of one file, while it is unpacked.

use std::fmt;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rutter_wire::mrt::{MrtError, MrtFault, Record, next_record};

use crate::unpack::{BytesRead, unpack};
use crate::{Input, Progress};

/// Reads the records of one file. A separate thread unpacks the file ahead of the reader.
pub struct Stream {
    input: Input,
    blocks: Receiver<io::Result<Block>>,
    buffer: Vec<u8>,
    /// The bytes of received blocks that are not yet counted as progress: unpacked, and on disk.
    uncounted: (u64, u64),
    /// The position in the buffer of the next record.
    at: usize,
    /// The bytes of the unpacked file before the buffer.
    before: u64,
    /// The offset of the latest record in the unpacked file.
    record: u64,
    progress: Progress,
}

/// Unpacked bytes, and their size on disk.
struct Block {
    bytes: Vec<u8>,
    packed: u64,
}

/// The error at which a file cannot be read further.
#[derive(Debug)]
pub struct ReadError {
    /// The file.
    pub input: Input,
    /// The offset in the unpacked file.
    pub offset: u64,
    /// The cause.
    pub fault: ReadFault,
}

/// The cause of a [`ReadError`].
#[derive(Debug)]
pub enum ReadFault {
    /// The file cannot be read or unpacked.
    Io(io::Error),
    /// The file is not in MRT format, or is truncated.
    Mrt(MrtError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadError {
            input,
            offset,
            fault,
        } = self;
        match fault {
            ReadFault::Io(error) => write!(f, "{input}: {error}"),
            ReadFault::Mrt(error) if *offset == 0 && error.fault == MrtFault::RecordTooLong => {
                write!(f, "{input}: this is not an MRT file")
            }
            ReadFault::Mrt(error) => {
                let error = MrtError {
                    offset: usize::try_from(*offset).unwrap_or(usize::MAX),
                    ..*error
                };
                write!(f, "{input}: {error}")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// The unpacked size of a block in bytes.
const BLOCK: usize = 1 << 20;
/// The number of blocks that are unpacked ahead.
const AHEAD: usize = 4;
/// The interval at which a thread that waits for a block checks whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

impl Stream {
    /// Opens the input and starts to unpack it.
    pub fn open(input: &Input, progress: &Progress) -> Result<Self, ReadError> {
        let failed = |error| ReadError {
            input: input.clone(),
            offset: 0,
            fault: ReadFault::Io(error),
        };
        let packed = input.open().map_err(failed)?;
        let (sender, blocks) = sync_channel(AHEAD);
        thread::Builder::new()
            .name("mrt-unpack".into())
            .spawn(move || read_ahead(packed, &sender))
            .map_err(failed)?;
        Ok(Stream {
            input: input.clone(),
            blocks,
            buffer: Vec::new(),
            uncounted: (0, 0),
            at: 0,
            before: 0,
            record: 0,
            progress: progress.clone(),
        })
    }

    /// Returns the next record, or `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        self.next_record_until(&|| false)
    }

    /// Like [`Stream::next_record`], but also returns `None` if it must wait for data and `should_stop` returns `true`.
    pub(crate) fn next_record_until(
        &mut self,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<Record<'_>>, ReadError> {
        loop {
            match next_record(&self.buffer[self.at..]) {
                Ok(Some(_)) => break,
                Ok(None) => {
                    if !self.fill(should_stop)? {
                        if should_stop() {
                            return Ok(None);
                        }
                        self.count_progress(self.uncounted.0);
                        return match self.at == self.buffer.len() {
                            true => Ok(None),
                            false => Err(self.fault(MrtFault::RecordTruncated)),
                        };
                    }
                }
                Err(error) => return Err(self.fault(error.fault)),
            }
        }
        let start = self.at;
        let len = next_record(&self.buffer[start..]).ok().flatten();
        let len = len.map_or(0, |record| record.len);
        self.count_progress(len as u64);
        self.record = self.before + start as u64;
        self.at += len;
        self.progress.add_record();
        Ok(next_record(&self.buffer[start..]).ok().flatten())
    }

    /// Counts unpacked bytes as read, and the same share of the bytes on disk.
    fn count_progress(&mut self, bytes: u64) {
        let (unpacked, packed) = self.uncounted;
        let share = match bytes >= unpacked {
            true => packed,
            false => packed.saturating_mul(bytes) / unpacked,
        };
        self.uncounted = (unpacked.saturating_sub(bytes), packed - share);
        self.progress.add_bytes(share);
    }

    /// The offset of the latest record in the unpacked file.
    pub fn offset(&self) -> u64 {
        self.record
    }

    /// Receives the next block. Returns `false` at the end or if `should_stop` returns `true`: standard input may block
    /// for long.
    fn fill(&mut self, should_stop: &dyn Fn() -> bool) -> Result<bool, ReadError> {
        let block = loop {
            if should_stop() {
                return Ok(false);
            }
            match self.blocks.recv_timeout(STOP_INTERVAL) {
                Ok(block) => break block,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        };
        let block = block.map_err(|error| ReadError {
            input: self.input.clone(),
            offset: self.before + self.at as u64,
            fault: ReadFault::Io(error),
        })?;
        let (unpacked, packed) = self.uncounted;
        self.uncounted = (unpacked + block.bytes.len() as u64, packed + block.packed);
        self.before += self.at as u64;
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.is_empty() {
            self.buffer = block.bytes;
        } else {
            self.buffer.extend_from_slice(&block.bytes);
        }
        Ok(true)
    }

    fn fault(&self, fault: MrtFault) -> ReadError {
        ReadError {
            input: self.input.clone(),
            offset: self.before + self.at as u64,
            fault: ReadFault::Mrt(MrtError { offset: 0, fault }),
        }
    }
}

/// Unpacks until the end, an error, or until the receiver is gone.
fn read_ahead(packed: Box<dyn Read + Send>, sender: &SyncSender<io::Result<Block>>) {
    let bytes_read = BytesRead::default();
    let mut reader = match unpack(packed, bytes_read.clone()) {
        Ok(reader) => reader,
        Err(error) => return drop(sender.send(Err(error))),
    };
    let mut before = 0;
    loop {
        let mut bytes = Vec::with_capacity(BLOCK);
        let read = reader.by_ref().take(BLOCK as u64).read_to_end(&mut bytes);
        let end = !matches!(read, Ok(count) if count == BLOCK);
        let packed = bytes_read.get() - std::mem::replace(&mut before, bytes_read.get());
        let block = Block { bytes, packed };
        if (!block.bytes.is_empty() || end) && sender.send(Ok(block)).is_err() {
            return;
        }
        if let Err(error) = read {
            return drop(sender.send(Err(error)));
        }
        if end {
            return;
        }
    }
}
