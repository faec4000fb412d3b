//! One TCP connection: bytes in up to the last whole message, bytes out at message boundaries.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};

use mio::net::TcpStream;
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;
use rutter_rib::{ClientStream, FileRange, Rib};

/// A socket and what is on its way through it.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    /// The connect that we started is not decided yet.
    pub(crate) connecting: bool,
    /// The kernel may have bytes for us.
    pub(crate) readable: bool,
    /// The kernel may take bytes from us.
    pub(crate) writable: bool,
    /// The other side said that it sends no more.
    pub(crate) read_closed: bool,
    /// Something waits and the kernel took none of it.
    pub(crate) blocked: bool,
    /// Octets that the kernel took so far.
    pub(crate) written: usize,
    /// The stream stopped inside a message: nothing else may be sent before its end.
    mid_message: bool,
    /// The kernel refused to send from a file here: it is not asked again.
    refuses_files: bool,
    /// The start of a message whose rest has not come.
    partial: Vec<u8>,
    /// Whole messages to be sent before more of the stream.
    control: Vec<u8>,
    control_written: usize,
}

/// What a read brought.
pub(crate) enum Taken {
    /// `total` bytes are at the start of the buffer, the left-over of the last read and `new` ones; more may
    /// wait in the kernel.
    Bytes { total: usize, new: usize },
    /// Nothing new.
    Nothing,
    /// The connection is gone.
    Closed(Option<io::Error>),
}

/// What a write left.
#[derive(Debug)]
pub(crate) enum Wrote {
    /// Everything is in the kernel.
    All,
    /// The kernel takes no more for now.
    Blocked,
    /// This turn's share is used up.
    ShareUsed,
    /// The connection is gone.
    Failed(io::Error),
}

/// Buffers of a thread, reused by all its connections.
pub(crate) struct Buffers {
    /// Bytes read.
    pub(crate) input: Box<[u8]>,
    slices: Vec<IoSlice<'static>>,
}

impl Default for Buffers {
    fn default() -> Self {
        Buffers {
            input: vec![0; INPUT_LEN].into(),
            slices: Vec::with_capacity(1_024),
        }
    }
}

/// Read at once, octets; also the share of one connection in a turn.
const INPUT_LEN: usize = 256 * 1024;
/// Gathered from the stream for one `writev`.
const GATHER: usize = 128 * 1024;
/// Gathered from the table in a turn for a client that catches up.
const CATCH_UP: usize = 16 * 1024;
/// Octets that one client may get in a turn.
const SHARE: usize = 512 * 1024;

impl Connection {
    pub(crate) fn new(socket: TcpStream, connecting: bool) -> Self {
        Connection {
            socket,
            connecting,
            readable: false,
            writable: false,
            read_closed: false,
            blocked: false,
            written: 0,
            mid_message: false,
            refuses_files: false,
            partial: Vec::new(),
            control: Vec::new(),
            control_written: 0,
        }
    }

    /// Reads once. The left-over of the last read stands before the new bytes.
    pub(crate) fn read(&mut self, input: &mut [u8]) -> Taken {
        let kept = self.partial.len();
        input[..kept].copy_from_slice(&self.partial);
        loop {
            return match self.socket.read(&mut input[kept..]) {
                Ok(0) => Taken::Closed(None),
                Ok(n) => {
                    // A short read empties the socket; what comes later raises a new event.
                    self.readable = kept + n == input.len() || self.read_closed;
                    self.partial.clear();
                    Taken::Bytes {
                        total: kept + n,
                        new: n,
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    Taken::Nothing
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => Taken::Closed(Some(e)),
            };
        }
    }

    /// Keeps the start of a message for the next read.
    pub(crate) fn keep(&mut self, rest: &[u8]) {
        self.partial.extend_from_slice(rest);
    }

    /// Queues a whole message.
    pub(crate) fn push_control(&mut self, message: &[u8]) {
        self.control.extend_from_slice(message);
    }

    /// Whether messages of ours wait, apart from the stream.
    pub(crate) fn has_control(&self) -> bool {
        self.control_written < self.control.len()
    }

    /// Writes control messages, then of the stream until the kernel takes no more or this turn's share is used.
    pub(crate) fn write(
        &mut self,
        stream: Option<(&mut ClientStream, &Rib)>,
        buffers: &mut Buffers,
        now_ms: u64,
    ) -> Wrote {
        match self.write_inner(stream, buffers, now_ms) {
            Ok(done) => done,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.writable = false;
                Wrote::Blocked
            }
            Err(e) => Wrote::Failed(e),
        }
    }

    fn write_inner(
        &mut self,
        stream: Option<(&mut ClientStream, &Rib)>,
        buffers: &mut Buffers,
        now_ms: u64,
    ) -> io::Result<Wrote> {
        let Some((stream, rib)) = stream else {
            self.write_control()?;
            return Ok(Wrote::All);
        };
        let share_ends = self.written + SHARE;
        let mut caught_up = false;
        loop {
            if !self.mid_message {
                self.write_control()?;
            }
            if stream.is_drained() && stream.is_catching_up() {
                // From the table it is work, not only octets: the others of the thread come in between.
                if std::mem::replace(&mut caught_up, true) {
                    return Ok(Wrote::ShareUsed);
                }
                stream.fill(rib, CATCH_UP);
            } else if stream.is_drained() {
                stream.fill(rib, GATHER);
            }
            if stream.is_drained() {
                let more = stream.has_more();
                return Ok(if more { Wrote::ShareUsed } else { Wrote::All });
            }
            if self.written >= share_ends {
                return Ok(Wrote::ShareUsed);
            }
            if !self.send_file(stream, now_ms)? {
                self.write_stream(stream, buffers, now_ms)?;
            }
        }
    }

    /// One `sendfile` of what lies in a file, so that no copy of it waits in the socket. `false` where there is nothing to
    /// be sent in this way, or the kernel cannot: then it is copied.
    fn send_file(&mut self, stream: &mut ClientStream, now_ms: u64) -> io::Result<bool> {
        if self.refuses_files {
            return Ok(false);
        }
        let Some(FileRange { file, offset, len }) = stream.file_range() else {
            return Ok(false);
        };
        let send = || Ok(sendfile(&self.socket, file, Some(&mut { offset }), len)?);
        let taken = match retry_interrupted(send) {
            Err(e) if is_unsupported(&e) => {
                self.refuses_files = true;
                return Ok(false);
            }
            taken => taken?,
        };
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.took(taken, stream, now_ms);
        Ok(true)
    }

    fn took(&mut self, octets: usize, stream: &mut ClientStream, now_ms: u64) {
        stream.consume(octets, now_ms);
        self.written += octets;
        self.mid_message = !stream.at_message_boundary();
    }

    /// One `writev`. Taking less than offered means that the socket's buffer is full.
    fn write_stream(
        &mut self,
        stream: &mut ClientStream,
        buffers: &mut Buffers,
        now_ms: u64,
    ) -> io::Result<()> {
        let mut slices = recycle(std::mem::take(&mut buffers.slices));
        stream.slices(&mut slices);
        let offered: usize = slices.iter().map(|s| s.len()).sum();
        let result = retry_interrupted(|| self.socket.write_vectored(&slices));
        buffers.slices = recycle(slices);
        let taken = result?;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.took(taken, stream, now_ms);
        if taken < offered {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    }

    fn write_control(&mut self) -> io::Result<()> {
        while self.has_control() {
            let rest = &self.control[self.control_written..];
            let taken = retry_interrupted(|| self.socket.write(rest))?;
            if taken == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.control_written += taken;
            self.written += taken;
        }
        self.control.clear();
        self.control_written = 0;
        Ok(())
    }

    /// Says goodbye: what is queued goes out if it fits, then no more is sent. The socket should be kept for a
    /// moment (see [`discard_input`]), because closing it with unread input resets the connection and may take
    /// the NOTIFICATION with it.
    pub(crate) fn finish(mut self) -> (TcpStream, usize) {
        if !self.connecting && !self.mid_message {
            let _ = self.write_control();
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
        (self.socket, self.written)
    }
}

/// An empty file without a name, in memory; see [`Rib::use_files`].
pub(crate) fn memory_file() -> io::Result<File> {
    let name = "rutter: encoded updates";
    let flags = MemfdFlags::CLOEXEC;
    // Nobody shall run what peers sent; kernels before 6.3 do not know the flag.
    let file = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, flags)?,
        file => file?,
    };
    Ok(File::from(file))
}

/// Reads and forgets what a connection still brings, so that closing it does not reset it; `true` when the
/// other side has closed it too.
pub(crate) fn discard_input(socket: &mut TcpStream, input: &mut [u8]) -> bool {
    for _ in 0..16 {
        match socket.read(input) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) => return e.kind() != io::ErrorKind::WouldBlock,
        }
    }
    false
}

/// Whether this kernel, a filter of its calls or this kind of socket takes no pages of a file.
fn is_unsupported(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    let refusals = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::PERM];
    errno.is_some_and(|errno| refusals.contains(&errno))
}

fn retry_interrupted<T>(mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match action() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// An empty vector of another lifetime with the same allocation.
fn recycle<'a>(mut slices: Vec<IoSlice<'_>>) -> Vec<IoSlice<'a>> {
    slices.clear();
    slices
        .into_iter()
        .map(|_| IoSlice::new(&[]))
        .collect::<Vec<_>>()
}
