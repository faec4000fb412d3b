//! The records of one file as they are unpacked.

use std::fmt;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rutter_wire::mrt::{MrtError, MrtFault, Record, next_record};

use crate::unpack::{BytesRead, unpack};
use crate::{Input, Progress};

/// Reads one file, unpacking ahead on a thread of its own.
pub struct Stream {
    input: Input,
    blocks: Receiver<io::Result<Block>>,
    buffer: Vec<u8>,
    /// What of the blocks that were taken has not been shown as progress yet: unpacked octets, and octets on disk.
    unshown: (u64, u64),
    at: usize,
    /// Octets of the unpacked file before the buffer.
    before: u64,
    /// Where the latest record begins.
    record: u64,
    progress: Progress,
}

/// Unpacked octets, and how many on disk they were.
struct Block {
    octets: Vec<u8>,
    packed: u64,
}

/// Why a file cannot be read further.
#[derive(Debug)]
pub struct ReadError {
    /// Which file.
    pub input: Input,
    /// Where in it, once unpacked.
    pub offset: u64,
    /// What is wrong.
    pub fault: ReadFault,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum ReadFault {
    /// It cannot be read or unpacked.
    Io(io::Error),
    /// It is not MRT, or cut off.
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

/// Octets handed over at once.
const BLOCK: usize = 1 << 20;
/// Blocks that wait.
const AHEAD: usize = 4;
/// Who waits for a block looks this often whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(100);

impl Stream {
    /// Begins to read.
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
            unshown: (0, 0),
            at: 0,
            before: 0,
            record: 0,
            progress: progress.clone(),
        })
    }

    /// The next record; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        self.next_record_until(&|| false)
    }

    /// As [`Stream::next_record`]; `None`, too, where more octets would be needed and `to_end` says that none are wanted.
    pub(crate) fn next_record_until(
        &mut self,
        to_end: &dyn Fn() -> bool,
    ) -> Result<Option<Record<'_>>, ReadError> {
        loop {
            match next_record(&self.buffer[self.at..]) {
                Ok(Some(_)) => break,
                Ok(None) => {
                    if !self.fill(to_end)? {
                        if to_end() {
                            return Ok(None);
                        }
                        self.show(self.unshown.0);
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
        self.show(len as u64);
        self.record = self.before + start as u64;
        self.at += len;
        self.progress.took_record();
        Ok(next_record(&self.buffer[start..]).ok().flatten())
    }

    /// So many unpacked octets are done with.
    fn show(&mut self, octets: u64) {
        let (unpacked, packed) = self.unshown;
        let share = match octets >= unpacked {
            true => packed,
            false => packed.saturating_mul(octets) / unpacked,
        };
        self.unshown = (unpacked.saturating_sub(octets), packed - share);
        self.progress.read(share);
    }

    /// Where the latest record begins in the unpacked file.
    pub fn offset(&self) -> u64 {
        self.record
    }

    /// Takes the next block; `false` at the end, or where no more is wanted: who writes to standard input may take its
    /// time.
    fn fill(&mut self, to_end: &dyn Fn() -> bool) -> Result<bool, ReadError> {
        let block = loop {
            if to_end() {
                return Ok(false);
            }
            match self.blocks.recv_timeout(PATIENCE) {
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
        let (unpacked, packed) = self.unshown;
        self.unshown = (unpacked + block.octets.len() as u64, packed + block.packed);
        self.before += self.at as u64;
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.is_empty() {
            self.buffer = block.octets;
        } else {
            self.buffer.extend_from_slice(&block.octets);
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

/// Unpacks until the end, an error, or until nobody wants more.
fn read_ahead(packed: Box<dyn Read + Send>, sender: &SyncSender<io::Result<Block>>) {
    let bytes_read = BytesRead::default();
    let mut reader = match unpack(packed, bytes_read.clone()) {
        Ok(reader) => reader,
        Err(error) => return drop(sender.send(Err(error))),
    };
    let mut before = 0;
    loop {
        let mut octets = Vec::with_capacity(BLOCK);
        let read = reader.by_ref().take(BLOCK as u64).read_to_end(&mut octets);
        let end = !matches!(read, Ok(count) if count == BLOCK);
        let packed = bytes_read.get() - std::mem::replace(&mut before, bytes_read.get());
        let block = Block { octets, packed };
        if (!block.octets.is_empty() || end) && sender.send(Ok(block)).is_err() {
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
