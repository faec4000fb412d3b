//! A BGP session that sends given messages only.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::io_timeout::is_timeout;
use parking_lot::Mutex;
use rutter_net::{AfiSafi, Asn, PerFamily};
use rutter_wire::capability::{AddPathFamily, AddPathMode, Capability};
use rutter_wire::frame::{self, Frame, KEEPALIVE, MAX_LEN, MessageType, next_frame};
use rutter_wire::notification::Notification;
use rutter_wire::open::Open;
use socket2::{Domain, Protocol, Socket, Type};

/// An established session. Dropping it closes the session.
pub struct Speaker {
    socket: Arc<Mutex<TcpStream>>,
    closer: TcpStream,
    ended: Arc<Mutex<Option<String>>>,
    listening: Option<JoinHandle<()>>,
    /// Path identifiers are agreed on, per family.
    pub add_path: PerFamily<bool>,
    /// The bytes that are not yet written.
    pub out: Vec<u8>,
}

/// Hold Time that is offered, seconds.
const HOLD_TIME_S: u16 = 180;
/// The interval at which a waiting thread checks whether to continue.
const SHUTDOWN_CHECK: Duration = Duration::from_millis(100);
/// The interval of KEEPALIVE messages.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(30);
/// The time that the peer has for an answer.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);
/// The error after that time.
const NO_ANSWER: &str = "the session does not come up: no answer";

/// The delays of retries in seconds. After a session ends, some daemons close new connections of the same neighbor for
/// a while.
const PAUSES_S: [u64; 4] = [1, 2, 4, 8];

/// The reason why there is no session.
enum Refusal {
    /// The peer closed the connection without a NOTIFICATION.
    Closed(String),
    /// Any other reason.
    Other(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Refusal::Other(why)
    }
}

impl Speaker {
    /// Connects and waits until the session is established.
    pub fn connect(
        to: SocketAddr,
        from: Option<IpAddr>,
        asn: Asn,
        bgp_id: u32,
    ) -> Result<Self, String> {
        let speaker = Self::try_to_connect(to, from, asn, bgp_id);
        speaker.map_err(|refusal| match refusal {
            Refusal::Closed(why) | Refusal::Other(why) => why,
        })
    }

    /// Like [`Speaker::connect`], but retries while the peer refuses a session too soon after the last one. Stops as
    /// soon as `to_end` returns `true`.
    pub fn connect_with_retries(
        to: SocketAddr,
        from: Option<IpAddr>,
        asn: Asn,
        bgp_id: u32,
        to_end: &dyn Fn() -> bool,
    ) -> Result<Self, String> {
        for pause_s in PAUSES_S {
            match Self::try_to_connect(to, from, asn, bgp_id) {
                Err(Refusal::Closed(why)) => {
                    let until = Instant::now() + Duration::from_secs(pause_s);
                    while Instant::now() < until {
                        if to_end() {
                            return Err(why);
                        }
                        thread::sleep(SHUTDOWN_CHECK);
                    }
                }
                Err(Refusal::Other(why)) => return Err(why),
                Ok(speaker) => return Ok(speaker),
            }
        }
        Self::connect(to, from, asn, bgp_id)
    }

    fn try_to_connect(
        to: SocketAddr,
        from: Option<IpAddr>,
        asn: Asn,
        bgp_id: u32,
    ) -> Result<Self, Refusal> {
        let mut socket = open_socket(to, from).map_err(|e| format!("cannot connect: {e}"))?;
        let context = |e: io::Error| format!("the session does not come up: {e}");
        socket
            .set_read_timeout(Some(SESSION_TIMEOUT))
            .map_err(context)?;
        let mut message = Vec::new();
        Open::new(asn, HOLD_TIME_S, bgp_id, capabilities(asn)).encode(&mut message);
        let closed = |why: String| {
            Refusal::Closed(format!("{why}; no neighbor here, or not so soon again?"))
        };
        let sent = socket.write_all(&message);
        sent.map_err(|e| closed(context(e)))?;
        let mut reader = Reader::default();
        let received_open = loop {
            match reader.poll(&mut socket).map_err(closed)? {
                Some((MessageType::Open, body)) => {
                    break Open::parse(&body).map_err(|e| e.to_string())?;
                }
                Some((MessageType::Notification, body)) => return Err(refused(&body).into()),
                Some(_) => {}
                None => return Err(NO_ANSWER.to_owned().into()),
            }
        };
        let four_octet = |c: &Capability| matches!(c, Capability::FourOctetAs(_));
        if !received_open.capabilities.iter().any(four_octet) {
            let why = "it has no four-octet AS numbers, but the files have".to_owned();
            return Err(why.into());
        }
        socket.write_all(&KEEPALIVE).map_err(context)?;
        loop {
            match reader.next(&mut socket)? {
                (MessageType::Keepalive, _) => break,
                (MessageType::Notification, body) => return Err(refused(&body).into()),
                _ => {}
            }
        }
        let established = Self::established(socket, reader, agreed(&received_open));
        established.map_err(|e| context(e).into())
    }

    fn established(
        socket: TcpStream,
        reader: Reader,
        add_path: PerFamily<bool>,
    ) -> io::Result<Self> {
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.set_write_timeout(Some(SHUTDOWN_CHECK))?;
        let (incoming, closer) = (socket.try_clone()?, socket.try_clone()?);
        let socket = Arc::new(Mutex::new(socket));
        let ended = Arc::new(Mutex::new(None));
        let listening = {
            let (socket, ended) = (Arc::clone(&socket), Arc::clone(&ended));
            thread::Builder::new()
                .name("replay".into())
                .spawn(move || *ended.lock() = Some(listen(incoming, reader, &socket)))?
        };
        Ok(Speaker {
            socket,
            closer,
            ended,
            listening: Some(listening),
            add_path,
            out: Vec::new(),
        })
    }

    /// Writes all unsent bytes.
    pub fn flush(&mut self) -> Result<(), String> {
        self.flush_until(&|| false)
    }

    /// Like [`Speaker::flush`], but stops if the peer accepts no data and `to_end` returns `true`.
    pub fn flush_until(&mut self, to_end: &dyn Fn() -> bool) -> Result<(), String> {
        let written = write_whole(&self.socket, &self.out, to_end);
        self.out.clear();
        match (self.ended(), written) {
            (Some(why), _) => Err(why),
            (None, Err(error)) => Err(error.to_string()),
            (None, Ok(())) => Ok(()),
        }
    }

    /// The reason why the session ended, if it did.
    pub fn ended(&self) -> Option<String> {
        self.ended.lock().clone()
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        let mut cease = Vec::new();
        Notification::new(6, 2, Vec::new()).encode(&mut cease);
        // The peer may have disconnected already.
        let _ = self.socket.lock().write_all(&cease);
        let _ = self.closer.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.listening.take() {
            let _ = thread.join();
        }
    }
}

fn open_socket(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(from) = from {
        socket.bind(&SocketAddr::new(from, 0).into())?;
    }
    socket.connect_timeout(&to.into(), SESSION_TIMEOUT)?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

fn capabilities(asn: Asn) -> Vec<Capability> {
    let send = |afi_safi| AddPathFamily {
        afi_safi,
        mode: AddPathMode::Send,
    };
    let families = [AfiSafi::IPV4_UNICAST, AfiSafi::IPV6_UNICAST];
    vec![
        Capability::MultiProtocol(families[0]),
        Capability::MultiProtocol(families[1]),
        Capability::FourOctetAs(asn),
        Capability::AddPath(families.map(send).to_vec()),
    ]
}

/// The families for which the peer receives several paths.
fn agreed(received_open: &Open) -> PerFamily<bool> {
    let mut agreed = PerFamily::both(false);
    for capability in &received_open.capabilities {
        if let Capability::AddPath(families) = capability {
            for one in families.iter().filter(|one| one.mode.receives()) {
                if let Some(family) = one.afi_safi.family() {
                    agreed[family] = true;
                }
            }
        }
    }
    agreed
}

/// Writes all bytes, or as many as the peer accepts before `to_end` returns `true`.
fn write_whole(
    socket: &Mutex<TcpStream>,
    octets: &[u8],
    to_end: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut socket = loop {
        match socket.try_lock_for(SHUTDOWN_CHECK) {
            Some(socket) => break socket,
            None if to_end() => return Ok(()),
            None => {}
        }
    };
    let mut rest = octets;
    while !rest.is_empty() {
        match socket.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if is_timeout(&error) && to_end() => break,
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn refused(body: &[u8]) -> String {
    format!("it refuses the session: {}", Notification::parse(body))
}

/// Sends KEEPALIVE messages until the session ends. Returns the reason of its end.
fn listen(mut incoming: TcpStream, mut reader: Reader, outgoing: &Mutex<TcpStream>) -> String {
    let mut sent = Instant::now();
    loop {
        match reader.poll(&mut incoming) {
            Ok(Some((MessageType::Notification, body))) => {
                return format!("the session ended: {}", Notification::parse(&body));
            }
            Ok(_) => {}
            Err(why) => return why,
        }
        if sent.elapsed() >= KEEPALIVE_EVERY {
            sent = Instant::now();
            if let Err(error) = write_whole(outgoing, &KEEPALIVE, &|| false) {
                return error.to_string();
            }
        }
    }
}

/// The messages received from a socket.
#[derive(Default)]
struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// Returns the next message, or an error after the socket's timeout.
    fn next(&mut self, socket: &mut TcpStream) -> Result<(MessageType, Vec<u8>), String> {
        match self.poll(socket)? {
            Some(message) => Ok(message),
            None => Err(NO_ANSWER.into()),
        }
    }

    /// Returns the next message, or `None` after the socket's timeout.
    fn poll(&mut self, socket: &mut TcpStream) -> Result<Option<(MessageType, Vec<u8>)>, String> {
        loop {
            let broken = |e: Notification| e.to_string();
            if let Some(Frame { kind, body, wire }) =
                next_frame(&self.buffer, MAX_LEN).map_err(broken)?
            {
                let (message, len) = ((kind, body.to_vec()), wire.len());
                self.buffer.drain(..len);
                return Ok(Some(message));
            }
            let mut piece = [0; 16 * frame::MAX_LEN];
            match socket.read(&mut piece) {
                Ok(0) => return Err("the other side closed the connection".into()),
                Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if is_timeout(&e) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
