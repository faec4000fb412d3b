//! Cuts a client's bytes into messages and validates them before they are decoded. A malformed message ends the
//! connection.

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use pgwire::api::{ClientInfo as _, PgWireConnectionState};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireFrontendMessage;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::{Instant, timeout_at};
use tokio_util::bytes::{Buf as _, BytesMut};
use tokio_util::codec::Decoder as _;

use super::connection::Socket;
use super::session::fatal;

/// The unread bytes of a client.
pub struct Frames {
    read: BytesMut,
    /// The memory reservation, if they are many.
    held: MemoryReservation,
}

impl Frames {
    /// The bytes of a connection, of which `head` is read already.
    pub fn new(head: &[u8], memory: &Arc<dyn MemoryPool>) -> Self {
        Self {
            read: head.into(),
            held: MemoryConsumer::new("message").register(memory),
        }
    }

    /// Reads the next message; `None` at the end of the connection.
    pub async fn next<S>(
        &mut self,
        socket: &mut Socket<S>,
    ) -> PgWireResult<Option<PgWireFrontendMessage>>
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let begins = matches!(socket.state(), PgWireConnectionState::AwaitingStartup);
        let asks = !matches!(
            socket.state(),
            PgWireConnectionState::AuthenticationInProgress
        );
        let mut until = None;
        loop {
            let length = match begins {
                true => startup_length(&self.read)?,
                false => length(&self.read, asks)?,
            };
            if let Some(length) = length {
                self.held.resize(0);
                if length <= self.read.len() {
                    let message = self.cut(length, begins, socket)?;
                    if message.is_some() {
                        return Ok(message);
                    }
                    continue;
                }
            }
            // Charge the bytes that have arrived, not the announced length.
            self.read.reserve(PIECE);
            if self.read.capacity() > SMALL {
                let held = self.held.try_resize(self.read.capacity());
                held.map_err(|_| full())?;
            }
            if !self.read.is_empty() {
                until.get_or_insert_with(|| Instant::now() + MESSAGE_TIMEOUT);
            }
            let reading = socket.get_mut().read_buf(&mut self.read);
            let read = match until {
                Some(until) => timeout_at(until, reading).await.map_err(|_| late())??,
                None => reading.await?,
            };
            if read == 0 {
                return Ok(None);
            }
        }
    }

    fn cut<S>(
        &mut self,
        length: usize,
        begins: bool,
        socket: &mut Socket<S>,
    ) -> PgWireResult<Option<PgWireFrontendMessage>> {
        // Parts of a message may be kept for long. They must not keep the whole buffer alive.
        let mut message = BytesMut::from(&self.read[..length]);
        self.read.advance(length);
        if self.read.is_empty() && length > SMALL {
            self.read = BytesMut::new();
        }
        if !begins && !is_whole(message[0], &message[HEAD..]) {
            return Err(broken(format!(
                "a message {:?} without all its parts, or with a text that is not UTF-8",
                char::from(message[0])
            )));
        }
        socket.codec_mut().decode(&mut message)
    }
}

/// The length of the first message, if known.
fn startup_length(read: &[u8]) -> PgWireResult<Option<usize>> {
    let Some((length, rest)) = read.split_first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    let least = match rest.first_chunk() {
        Some(&CANCEL_CODE) => 16,
        _ => 9,
    };
    match (least..=MAX_STARTUP).contains(&length) {
        true => Ok(Some(length)),
        false => Err(broken(format!("a first message of {length} octets"))),
    }
}

/// The length of the next message, if known.
fn length(read: &[u8], logged_in: bool) -> PgWireResult<Option<usize>> {
    let Some((kind, rest)) = read.split_first() else {
        return Ok(None);
    };
    let most = match kind {
        b'p' | b'X' => MAX_STARTUP,
        _ if !logged_in => return Err(broken("a password must come first".to_owned())),
        b'Q' | b'P' => MAX_QUERY,
        b'B' => MAX_VALUES,
        b'C' | b'D' | b'E' | b'F' | b'H' | b'S' | b'c' | b'd' | b'f' => MAX_OTHER,
        kind => {
            let kind = char::from(*kind);
            return Err(broken(format!("there is no message {kind:?}")));
        }
    };
    let Some(length) = rest.first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    if length < HEAD - 1 {
        return Err(broken(format!("a message of {length} octets")));
    }
    if length > most {
        return Err(fatal(
            "54000",
            format!("a message of {length} octets: at most {most} are read of its kind"),
        ));
    }
    Ok(Some(1 + length))
}

/// Returns whether a message has all its parts and nothing else.
fn is_whole(kind: u8, body: &[u8]) -> bool {
    let mut rest = Parts(body);
    let read = match kind {
        b'Q' => rest.text(),
        b'P' => rest.text().and_then(|()| rest.text()).and_then(|()| {
            let types = rest.count()?;
            rest.skip(4 * types)
        }),
        b'B' => rest.bound(),
        b'C' | b'D' => rest.skip(1).and_then(|()| rest.text()),
        b'E' => rest.text().and_then(|()| rest.skip(4)),
        b'H' | b'S' | b'X' | b'c' => Some(()),
        // Its reader validates it.
        _ => return true,
    };
    read.is_some() && rest.0.is_empty()
}

/// The unread rest of a message.
struct Parts<'a>(&'a [u8]);

impl Parts<'_> {
    fn skip(&mut self, octets: usize) -> Option<()> {
        self.0 = self.0.get(octets..)?;
        Some(())
    }

    /// Reads a string and its terminating NUL.
    fn text(&mut self) -> Option<()> {
        let end = self.0.iter().position(|octet| *octet == 0)?;
        std::str::from_utf8(&self.0[..end]).ok()?;
        self.skip(end + 1)
    }

    fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*count).into())
    }

    /// Reads a Bind: two names, formats, values, formats.
    fn bound(&mut self) -> Option<()> {
        self.text()?;
        self.text()?;
        let formats = self.count()?;
        self.skip(2 * formats)?;
        for _ in 0..self.count()? {
            let (length, rest) = self.0.split_first_chunk()?;
            self.0 = rest;
            match i32::from_be_bytes(*length) {
                -1 => {}
                length => self.skip(usize::try_from(length).ok()?)?,
            }
        }
        let formats = self.count()?;
        self.skip(2 * formats)
    }
}

fn broken(what: String) -> PgWireError {
    fatal("08P01", format!("not the protocol of PostgreSQL: {what}"))
}

fn late() -> PgWireError {
    let why = format!("a message that has begun has not come whole within {MESSAGE_TIMEOUT:?}");
    fatal("08P01", why)
}

fn full() -> PgWireError {
    let why = "queries need all memory that they may have (the setting `memory`): try again later";
    fatal("53200", why.to_owned())
}

/// The longest time from the first to the last byte of a message.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// The bytes of kind and length.
const HEAD: usize = 5;
/// The bytes of one read.
const PIECE: usize = 8 * 1024;
/// The bytes of a connection that are not charged.
const SMALL: usize = 64 * 1024;
/// The longest message before and during the login.
const MAX_STARTUP: usize = 10_000;
/// The longest `Query` and `Parse`: far more than the planner accepts, so that its error names the limit.
const MAX_QUERY: usize = 4 << 20;
/// The longest `Bind`.
const MAX_VALUES: usize = 4 << 20;
/// The longest message that only has a name.
const MAX_OTHER: usize = 10_000;
/// The code after the length of a `CancelRequest`.
const CANCEL_CODE: [u8; 4] = [4, 210, 22, 46];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_message_lengths_are_refused() {
        assert_eq!(length(b"Q\0\0", true).unwrap(), None);
        assert_eq!(length(b"S\0\0\0\x04", true).unwrap(), Some(5));
        for wrong in [
            &b"Q\x7f\xff\xff\xff"[..],
            b"Q\xff\xff\xff\xfb",
            b"Q\0\0\0\x03",
            b"z",
            b"B\0\x80\0\0",
        ] {
            assert!(length(wrong, true).is_err(), "{wrong:?}");
        }
        assert!(length(b"Q", false).is_err());
        assert_eq!(length(b"p\0\0\0\x08", false).unwrap(), Some(9));
        assert_eq!(startup_length(b"\0\0").unwrap(), None);
        assert_eq!(startup_length(&[0, 0, 0, 16]).unwrap(), Some(16));
        assert!(startup_length(&[0, 0, 0, 8, 0, 3, 0, 0]).is_err());
        assert!(startup_length(&[0, 0, 0, 12, 4, 210, 22, 46]).is_err());
        assert!(startup_length(&[0x7f, 0, 0, 0]).is_err());
    }

    #[test]
    fn inconsistent_message_bodies_are_refused() {
        for (kind, body) in [
            (b'Q', &b"SELECT 1\0"[..]),
            (b'P', b"\0SELECT 1\0\0\x01\0\0\0\x17"),
            (
                b'B',
                b"\0\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0",
            ),
            (b'D', b"S\0"),
            (b'E', b"\0\0\0\0\0"),
            (b'S', b""),
        ] {
            assert!(is_whole(kind, body), "{body:?}");
            for cut in 0..body.len() {
                assert!(!is_whole(kind, &body[..cut]), "{body:?} {cut}");
            }
            assert!(!is_whole(kind, &[body, b"x"].concat()), "{body:?}");
        }
        assert!(!is_whole(b'Q', b"SELECT '\xff'\0"));
        assert!(!is_whole(b'B', b"\0\0\0\0\x7f\xff\0\0"));
        assert!(!is_whole(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"));
    }
}
