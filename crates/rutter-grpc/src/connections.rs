//! The connections of clients, within limits.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use rutter_server::{ConnectionLimits, ConnectionSlot, LogRateLimit};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

/// The largest number of connections at a time, and of those from one network.
const CONNECTIONS: (usize, usize) = (256, 64);
/// A client that sends nothing for this time is closed. It has to answer pings more often than that.
const SILENCE: Duration = Duration::from_secs(60);
/// The bytes that the kernel keeps for a client that does not read, about: without a limit it takes megabytes.
const SEND_BUFFER: usize = 256 << 10;
/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(200);

/// Accepts connections within the limits.
pub(crate) struct Connections {
    listener: TcpListener,
    limits: ConnectionLimits,
    log: LogRateLimit,
    pause: Option<Pin<Box<Sleep>>>,
}

/// The address of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// A connection in its place.
pub(crate) struct Connection {
    stream: TcpStream,
    peer: Peer,
    silence: Pin<Box<Sleep>>,
    _place: ConnectionSlot,
}

impl Connections {
    pub(crate) fn new(listener: TcpListener) -> Self {
        let (total, of_network) = CONNECTIONS;
        Connections {
            listener,
            limits: ConnectionLimits::per_network(total, of_network),
            log: LogRateLimit::new(10, Duration::from_secs(60)),
            pause: None,
        }
    }

    /// Returns the connection if there is a place for it. Dropping a stream closes it.
    fn admit(&mut self, stream: TcpStream, address: SocketAddr) -> Option<Connection> {
        match self.limits.acquire(address.ip()) {
            Ok(place) => {
                let _ = stream.set_nodelay(true);
                let _ = SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
                Some(Connection {
                    stream,
                    peer: Peer(address),
                    silence: Box::pin(sleep(SILENCE)),
                    _place: place,
                })
            }
            Err(reached) => {
                self.note(format_args!("{address} was refused: {reached}"));
                None
            }
        }
    }

    fn note(&mut self, text: std::fmt::Arguments<'_>) {
        if let Some(not_logged) = self.log.allow(Instant::now()) {
            eprintln!("connections: {text} (not logged before: {not_logged})");
        }
    }
}

impl Stream for Connections {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match ready!(self.listener.poll_accept(cx)) {
                Ok((stream, address)) => {
                    if let Some(connection) = self.admit(stream, address) {
                        return Poll::Ready(Some(Ok(connection)));
                    }
                }
                Err(error) => {
                    self.note(format_args!("cannot accept one: {error}"));
                    self.pause = Some(Box::pin(sleep(PAUSE)));
                }
            }
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Ready(result) => {
                let next = tokio::time::Instant::now() + SILENCE;
                self.silence.as_mut().reset(next);
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(self.silence.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
