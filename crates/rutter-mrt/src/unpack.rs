//! Decompression, chosen by the first bytes of a file.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// Counts the bytes that were read from disk. Clones share the same counter.
#[derive(Clone, Default)]
pub(crate) struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// The number of bytes read so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns a reader of the unpacked data of `packed`.
pub(crate) fn unpack(
    packed: Box<dyn Read + Send>,
    bytes_read: BytesRead,
) -> io::Result<Box<dyn Read + Send>> {
    let mut packed = Counted { packed, bytes_read };
    let mut magic = [0; 4];
    let mut len = 0;
    while len < magic.len() {
        match packed.read(&mut magic[len..])? {
            0 => break,
            count => len += count,
        }
    }
    let whole = io::Cursor::new(magic[..len].to_vec()).chain(packed);
    Ok(match &magic[..len] {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
        [b'B', b'Z', b'h', _] => Box::new(MultiBzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(Zstd::new(whole)?),
        _ => Box::new(whole),
    })
}

/// Counts the bytes that are read.
struct Counted {
    packed: Box<dyn Read + Send>,
    bytes_read: BytesRead,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.packed.read(into)?;
        self.bytes_read.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The library's own messages are for programmers.
fn malformed() -> io::Error {
    let why = "its zstd data are malformed or cut off";
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads all frames of a zstd file.
enum Zstd<R: Read> {
    Frame(Box<StreamingDecoder<io::BufReader<R>, ruzstd::decoding::FrameDecoder>>),
    Ended,
}

impl<R: Read> Zstd<R> {
    fn new(packed: R) -> io::Result<Self> {
        Self::frame(io::BufReader::with_capacity(128 * 1024, packed))
    }

    fn frame(packed: io::BufReader<R>) -> io::Result<Self> {
        let decoder = StreamingDecoder::new(packed).map_err(|_| malformed())?;
        Ok(Zstd::Frame(Box::new(decoder)))
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Zstd::Frame(decoder) = self else {
                return Ok(0);
            };
            let count = decoder.read(into).map_err(|_| malformed())?;
            if count > 0 || into.is_empty() {
                return Ok(count);
            }
            let Zstd::Frame(ended) = std::mem::replace(self, Zstd::Ended) else {
                return Ok(0);
            };
            let mut rest = ended.into_inner();
            if !io::BufRead::fill_buf(&mut rest)?.is_empty() {
                *self = Self::frame(rest)?;
            }
        }
    }
}
