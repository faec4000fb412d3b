//! One TCP connection: reads up to the last whole message, writes at message boundaries.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};

use mio::Token;
use mio::net::TcpStream;
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;
use rutter_rib::{ClientStream, FileRange, Rib};
use rutter_session::ConnectionId;

use crate::peer::EndCause;
use crate::read_share::ReadShare;
use crate::transmitter::TurnShare;

/// Identifies a connection on its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionKey {
    /// The slot of the neighbor.
    pub(crate) slot: usize,
    /// One of the two connections that a neighbor may have at a time (RFC 4271 §6.8).
    pub(crate) id: ConnectionId,
}

impl ConnectionKey {
    /// The token of the socket's events.
    pub(crate) fn token(self) -> Token {
        Token(self.slot * 2 + self.id.index())
    }
}

impl From<Token> for ConnectionKey {
    fn from(token: Token) -> Self {
        ConnectionKey {
            slot: token.0 / 2,
            id: ConnectionId::ALL[token.0 % 2],
        }
    }
}

/// A socket with its unread and unsent bytes.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    /// Our attempt to connect is still undecided.
    pub(crate) connecting: bool,
    /// The kernel may have input.
    pub(crate) readable: bool,
    /// The kernel may accept output.
    pub(crate) writable: bool,
    /// The bytes that the neighbor sent lately.
    pub(crate) share: ReadShare,
    /// The neighbor has shut down its write side.
    pub(crate) read_closed: bool,
    /// Bytes wait, and the kernel accepts none.
    pub(crate) blocked: bool,
    /// The number of bytes that the kernel has accepted.
    pub(crate) written: usize,
    /// The stream stopped inside a message: no other message may be sent before its end.
    mid_message: bool,
    /// The kernel cannot send from a file on this socket.
    refuses_files: bool,
    /// Bytes that were read and not handled: the start of a message whose rest has not arrived, or more than the share of a
    /// turn.
    kept: Vec<u8>,
    /// `kept` has whole messages.
    has_messages: bool,
    /// The connection was lost, or the neighbor reads nothing from it. It ends when the routes that it brought are in the
    /// table.
    pub(crate) ending: Option<EndCause>,
    /// Whole messages of the session, to be sent before more of the stream.
    control: Vec<u8>,
    control_written: usize,
}

/// The bytes of a connection that another process continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UnsentBytes {
    /// Bytes that were read and not handled.
    pub(crate) received: Vec<u8>,
    /// Messages of the session, from the start of the first that is not written.
    pub(crate) control: Vec<u8>,
    /// The bytes of these that the kernel has accepted.
    pub(crate) control_written: usize,
}

/// The result of a read.
pub(crate) enum ReadOutcome {
    /// `total` bytes are at the start of the buffer: the rest of the last read and `new` bytes. The kernel may have
    /// more.
    Bytes { total: usize, new: usize },
    /// There are no new bytes.
    Nothing,
    /// The connection was closed or lost.
    Closed(Option<io::Error>),
}

/// The result of a write.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// The kernel has accepted all bytes.
    All,
    /// The kernel accepts no more bytes for now.
    Blocked,
    /// The client's share of this turn is used up.
    ShareUsed,
    /// The other clients have used up the share of this turn: the client comes in the next.
    Postponed,
    /// The connection was lost.
    Failed(io::Error),
}

/// The list of slices for one `writev`, which all connections of a thread reuse.
pub(crate) struct GatherBuffer(Vec<IoSlice<'static>>);

impl Default for GatherBuffer {
    fn default() -> Self {
        GatherBuffer(Vec::with_capacity(1_024))
    }
}

/// The most bytes read at once, which are also the share of one connection in a turn.
pub(crate) const READ_SHARE: usize = 256 * 1024;
/// The same while other neighbors send single changes: these wait for it.
pub(crate) const SMALL_READ_SHARE: usize = 64 * 1024;
/// The buffer of a read: the start of a message, up to its largest length, comes first.
pub(crate) const INPUT_LEN: usize = READ_SHARE + 64 * 1024;
/// The largest buffer that a connection keeps when a turn has handled all that it received.
const MAX_IDLE_BUFFER: usize = 16 * 1024;
/// The bytes gathered from the stream for one `writev`.
const GATHER: usize = 128 * 1024;
/// The bytes gathered from the table in a turn for a client that catches up.
const CATCH_UP: usize = 16 * 1024;
/// The bytes that one client may receive in a turn.
const SHARE: usize = 512 * 1024;

impl Connection {
    pub(crate) fn new(socket: TcpStream, connecting: bool) -> Self {
        Connection {
            socket,
            connecting,
            readable: false,
            writable: false,
            share: ReadShare::default(),
            read_closed: false,
            blocked: false,
            written: 0,
            mid_message: false,
            refuses_files: false,
            kept: Vec::new(),
            has_messages: false,
            ending: None,
            control: Vec::new(),
            control_written: 0,
        }
    }

    /// A connection that another process began.
    pub(crate) fn continued(socket: TcpStream, bytes: UnsentBytes) -> Self {
        // The bytes may be whole messages, for which no event of the socket comes.
        let has_messages = !bytes.received.is_empty();
        Connection {
            readable: has_messages,
            has_messages,
            kept: bytes.received,
            control: bytes.control,
            control_written: bytes.control_written,
            ..Connection::new(socket, false)
        }
    }

    /// The bytes with which another process continues the connection.
    pub(crate) fn unsent_bytes(&self) -> UnsentBytes {
        UnsentBytes {
            received: self.kept.clone(),
            control: self.control.clone(),
            control_written: self.control_written,
        }
    }

    /// A stream that another process began may have stopped inside a message.
    pub(crate) fn continue_stream(&mut self, stream: &ClientStream) {
        self.mid_message = !stream.at_message_boundary();
    }

    /// Reads once, at most `share` bytes. The rest of the last read comes before the new bytes. While it has whole
    /// messages, nothing more is read.
    pub(crate) fn read(&mut self, input: &mut [u8], share: usize) -> ReadOutcome {
        let kept = self.kept.len();
        input[..kept].copy_from_slice(&self.kept);
        if std::mem::take(&mut self.has_messages) {
            self.kept.clear();
            let (total, new) = (kept, 0);
            return ReadOutcome::Bytes { total, new };
        }
        let room = &mut input[kept..][..share];
        loop {
            return match self.socket.read(room) {
                Ok(0) => ReadOutcome::Closed(None),
                Ok(n) => {
                    // A short read empties the socket; later input raises a new event.
                    self.readable = n == room.len() || self.read_closed;
                    self.kept.clear();
                    ReadOutcome::Bytes {
                        total: kept + n,
                        new: n,
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    ReadOutcome::Nothing
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => ReadOutcome::Closed(Some(e)),
            };
        }
    }

    /// Keeps the start of a message for the next read.
    pub(crate) fn keep(&mut self, rest: &[u8]) {
        if self.kept.capacity() > MAX_IDLE_BUFFER {
            // It held what a turn left over. There may be thousands of connections.
            self.kept = Vec::new();
        }
        self.kept.extend_from_slice(rest);
    }

    /// Keeps bytes with whole messages for the next turn.
    pub(crate) fn keep_messages(&mut self, rest: &[u8]) {
        self.kept.extend_from_slice(rest);
        self.has_messages = true;
        self.readable = true;
    }

    /// Queues a whole message.
    pub(crate) fn push_control(&mut self, message: &[u8]) {
        self.control.extend_from_slice(message);
    }

    /// Returns whether messages of the session wait.
    pub(crate) fn has_control(&self) -> bool {
        self.control_written < self.control.len()
    }

    /// Writes messages of the session, then of the stream, until the kernel accepts no more or the share of this turn
    /// is used up. `left` is the rest of what all clients share in this turn.
    pub(crate) fn write(
        &mut self,
        stream: Option<(&mut ClientStream, &Rib)>,
        buffer: &mut GatherBuffer,
        left: &mut TurnShare,
        now_ms: u64,
    ) -> WriteOutcome {
        match self.write_inner(stream, buffer, left, now_ms) {
            Ok(done) => done,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.writable = false;
                WriteOutcome::Blocked
            }
            Err(e) => WriteOutcome::Failed(e),
        }
    }

    fn write_inner(
        &mut self,
        stream: Option<(&mut ClientStream, &Rib)>,
        buffer: &mut GatherBuffer,
        left: &mut TurnShare,
        now_ms: u64,
    ) -> io::Result<WriteOutcome> {
        let Some((stream, rib)) = stream else {
            self.write_control()?;
            return Ok(WriteOutcome::All);
        };
        let share_ends = self.written + SHARE;
        let mut caught_up = false;
        loop {
            if !self.mid_message {
                self.write_control()?;
            }
            let needs_slice = stream.is_catching_up() || stream.is_discarding();
            if stream.is_drained() && needs_slice {
                // Reading the table costs time, so one slice a turn: the other clients of the thread come between.
                if std::mem::replace(&mut caught_up, true) {
                    return Ok(WriteOutcome::ShareUsed);
                }
                if !left.take_slice() {
                    return Ok(WriteOutcome::Postponed);
                }
                stream.fill(rib, CATCH_UP);
            } else if stream.is_drained() {
                stream.fill(rib, GATHER);
            }
            if stream.is_drained() {
                let more = stream.has_more();
                return Ok(if more {
                    WriteOutcome::ShareUsed
                } else {
                    WriteOutcome::All
                });
            }
            if self.written >= share_ends {
                return Ok(WriteOutcome::ShareUsed);
            }
            if left.bytes == 0 {
                return Ok(WriteOutcome::Postponed);
            }
            let before = self.written;
            let result = match self.send_file(stream, now_ms)? {
                true => Ok(()),
                false => self.write_stream(stream, buffer, now_ms),
            };
            left.bytes = left.bytes.saturating_sub(self.written - before);
            result?;
        }
    }

    /// Sends bytes of a memory file by one `sendfile`, so that the socket needs no copy. Returns `false` if the next
    /// bytes are not in a file, or the kernel cannot send from one: then they are copied.
    fn send_file(&mut self, stream: &mut ClientStream, now_ms: u64) -> io::Result<bool> {
        if self.refuses_files {
            return Ok(false);
        }
        let Some(FileRange { file, offset, len }) = stream.file_range() else {
            return Ok(false);
        };
        let send = || Ok(sendfile(&self.socket, file, Some(&mut { offset }), len)?);
        let accepted = match retry_interrupted(send) {
            Err(e) if is_unsupported(&e) => {
                self.refuses_files = true;
                return Ok(false);
            }
            accepted => accepted?,
        };
        if accepted == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.consume(accepted, stream, now_ms);
        Ok(true)
    }

    fn consume(&mut self, bytes: usize, stream: &mut ClientStream, now_ms: u64) {
        stream.consume(bytes, now_ms);
        self.written += bytes;
        self.mid_message = !stream.at_message_boundary();
    }

    /// Writes once with `writev`. If the kernel accepts less than offered, the socket's buffer is full.
    fn write_stream(
        &mut self,
        stream: &mut ClientStream,
        buffer: &mut GatherBuffer,
        now_ms: u64,
    ) -> io::Result<()> {
        let mut slices = recycle(std::mem::take(&mut buffer.0));
        stream.slices(&mut slices);
        let offered: usize = slices.iter().map(|s| s.len()).sum();
        let result = retry_interrupted(|| self.socket.write_vectored(&slices));
        buffer.0 = recycle(slices);
        let accepted = result?;
        if accepted == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.consume(accepted, stream, now_ms);
        if accepted < offered {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    }

    fn write_control(&mut self) -> io::Result<()> {
        while self.has_control() {
            let rest = &self.control[self.control_written..];
            let accepted = retry_interrupted(|| self.socket.write(rest))?;
            if accepted == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.control_written += accepted;
            self.written += accepted;
        }
        self.control.clear();
        self.control_written = 0;
        Ok(())
    }

    /// Writes the queued messages as far as they fit and shuts down the write side. Returns the socket and the number
    /// of bytes written. The socket should stay open for a moment (see [`discard_input`]): closing it with unread input
    /// resets the connection and may lose the NOTIFICATION.
    pub(crate) fn finish(mut self) -> (TcpStream, usize) {
        if !self.connecting && !self.mid_message {
            let _ = self.write_control();
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
        (self.socket, self.written)
    }
}

/// Creates an empty file without a name, in memory; see [`Rib::use_files`].
pub(crate) fn memory_file() -> io::Result<File> {
    let name = "rutter: encoded updates";
    let flags = MemfdFlags::CLOEXEC;
    // The content must not be executable; kernels before 6.3 do not know the flag.
    let file = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, flags)?,
        file => file?,
    };
    Ok(File::from(file))
}

/// Reads and discards input, so that closing the connection does not reset it. Returns whether the neighbor has closed
/// it too.
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

/// Returns whether this kernel, a filter of system calls or this kind of socket cannot send from a file.
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

/// Returns an empty vector of another lifetime with the same allocation.
fn recycle<'a>(mut slices: Vec<IoSlice<'_>>) -> Vec<IoSlice<'a>> {
    slices.clear();
    slices
        .into_iter()
        .map(|_| IoSlice::new(&[]))
        .collect::<Vec<_>>()
}

#[cfg(test)]
mod tests {
    use rutter_wire::frame::KEEPALIVE;

    use super::*;

    /// The other process gets no event for bytes that were read already.
    #[test]
    fn messages_that_a_turn_left_over_are_read_by_another_process_without_an_event() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let _client = std::net::TcpStream::connect(address).expect("connect");
        let (socket, _) = listener.accept().expect("accept");
        socket.set_nonblocking(true).expect("a socket");
        let mut connection = Connection::new(TcpStream::from_std(socket), false);
        let messages = KEEPALIVE.repeat(4_096);
        connection.keep_messages(&messages);
        let bytes = connection.unsent_bytes();
        let mut connection = Connection::continued(connection.socket, bytes);
        assert!(connection.readable);
        let mut input = vec![0; INPUT_LEN];
        let outcome = connection.read(&mut input, SMALL_READ_SHARE);
        assert!(matches!(outcome, ReadOutcome::Bytes { total, new: 0 } if total == messages.len()));
        assert_eq!(input[..messages.len()], messages);
        connection.keep(&KEEPALIVE[..7]);
        assert!(connection.kept.capacity() <= MAX_IDLE_BUFFER);
        assert!(matches!(
            connection.read(&mut input, SMALL_READ_SHARE),
            ReadOutcome::Nothing
        ));
        assert_eq!(connection.unsent_bytes().received, KEEPALIVE[..7]);
    }
}
