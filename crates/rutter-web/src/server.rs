//! Listens and serves connections.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rutter_api::{Backend, TableCounts};
use rutter_config::access::AccessRules;
use rutter_server::{
    CertificateFiles, ConnectionLimits, ConnectionSlot, LimitReached, LogRateLimit, RequestRate,
    ServerCertificate,
};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::answer_threads::{AnswerThreads, THREADS};
use crate::birdwatcher::BirdwatcherSettings;
use crate::byte_budget::ByteBudget;
use crate::event_stream;
use crate::history::{self, History};
use crate::open_connections::{OpenConnection, OpenConnections};
use crate::responder::{From, Responder};
use crate::roles::Rules;
use crate::shared_answers::SharedAnswers;

/// What a server shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    /// The looking glass and the REST interface.
    LookingGlass,
    /// `/metrics` alone.
    Metrics,
}

/// How a server runs.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// What it shows.
    pub site: Site,
    /// The requests a second that one address may make: after a pause, five times as many at once.
    pub requests_per_second: u32,
    /// The tokens and their roles.
    pub access: AccessRules,
    /// Serve HTTPS with this certificate, and no plain HTTP.
    pub tls: Option<CertificateFiles>,
    /// Also serve the interface of birdwatcher.
    pub birdwatcher: Option<BirdwatcherSettings>,
    /// Called by each thread of the server when it starts, to lower its priority.
    pub on_thread_start: fn(),
}

/// A running server.
pub struct WebServer {
    address: SocketAddr,
    responder: Arc<Responder>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// The largest number of connections, and of those from one network.
pub(crate) const CONNECTIONS: (usize, usize) = (512, 64);
/// The longest time for a request head, also between two requests.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// A connection ends after this time. A client that reads nothing holds its answer no longer.
const CONNECTION_TIME: Duration = Duration::from_secs(120);
/// The time for the answer that is being sent at that moment, or for its next part.
const LAST_ANSWER_TIME: Duration = Duration::from_secs(10);
/// The time between two looks whether anybody reads the log of changes.
const LOOK_FOR_READERS_EVERY: Duration = Duration::from_secs(10);
/// The history takes its samples on a thread of its own.
const SAMPLE_THREADS: usize = 1;
/// The bytes of all answers in memory.
const WAITING_BYTES: usize = 64 << 20;
/// The bytes that the kernel keeps for a client that does not read, about: without a limit it takes megabytes.
const SEND_BUFFER: usize = 256 << 10;
/// The largest request head, bytes.
const LONGEST_HEAD: usize = 16 << 10;

impl WebServer {
    /// Listens on an address and serves it on threads of its own.
    ///
    /// # Errors
    ///
    /// The address or the certificate cannot be used, or a thread cannot be started.
    pub fn start(
        address: SocketAddr,
        backend: Arc<dyn Backend>,
        settings: WebSettings,
    ) -> io::Result<Self> {
        let read = |files| ServerCertificate::read("web", files).map_err(io::Error::other);
        let certificate = settings.tls.map(read).transpose()?;
        let listener = listen(address)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS + SAMPLE_THREADS)
            .thread_name("web-answer")
            .on_thread_start(settings.on_thread_start)
            .build()?;
        let responder = Arc::new(Responder {
            backend,
            site: settings.site,
            rate: RequestRate::new(settings.requests_per_second),
            waiting: ByteBudget::new(WAITING_BYTES),
            threads: AnswerThreads::new(),
            shared: SharedAnswers::default(),
            table_counts: TableCounts::default(),
            on_thread_start: settings.on_thread_start,
            rules: Rules::new(settings.access),
            event_clients: event_stream::places(),
            history: History::new(),
            birdwatcher: settings.birdwatcher.into(),
        });
        let shared = Arc::clone(&responder);
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            (settings.on_thread_start)();
            runtime.block_on(async {
                match TcpListener::from_std(listener) {
                    Ok(listener) => {
                        tokio::spawn(end_unread(Arc::clone(&shared)));
                        if shared.site == Site::LookingGlass {
                            tokio::spawn(history::take_samples(Arc::clone(&shared)));
                        }
                        accept(listener, certificate, shared, stopped).await;
                    }
                    Err(error) => tracing::error!("web: cannot listen on {address}: {error}"),
                }
            });
            // An answer that is being computed reads a snapshot only. Nobody waits for it.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("web".into()).spawn(serve)?;
        Ok(WebServer {
            address,
            responder,
            stop,
            thread,
        })
    }

    /// The address, with the port that the kernel chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the requests a second that one address may make.
    pub fn set_requests_per_second(&self, requests: u32) {
        self.responder.rate.set(requests);
    }

    /// Changes who may read what, from the next request on.
    pub fn set_access(&self, access: AccessRules) {
        self.responder.rules.set(access);
    }

    /// Changes how the interface of birdwatcher is served.
    pub fn set_birdwatcher(&self, settings: Option<BirdwatcherSettings>) {
        let held = self.responder.birdwatcher.write();
        *held.unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// Closes the listening socket and all connections.
    pub fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// Listens. The kernel keeps as many new connections as may be open: it would drop others, and their clients would try again
/// after a second.
fn listen(address: SocketAddr) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(CONNECTIONS.0 as i32)?;
    Ok(socket.into())
}

/// Ends the log of changes some time after its last reader has left, so that routing does not write it for nobody. Drops
/// answers that nobody asked for again.
async fn end_unread(responder: Arc<Responder>) {
    loop {
        sleep(LOOK_FOR_READERS_EVERY).await;
        responder.shared.drop_old();
        rutter_api::end_unread_changes(responder.backend.rib(), event_stream::unix_us());
    }
}

async fn accept(
    listener: TcpListener,
    certificate: Option<ServerCertificate>,
    responder: Arc<Responder>,
    mut stopped: oneshot::Receiver<()>,
) {
    let (total, per_network) = CONNECTIONS;
    let limits = ConnectionLimits::per_network(total, per_network);
    let open = Arc::new(OpenConnections::default());
    let mut lines = LogRateLimit::new(10, Duration::from_secs(60));
    let mut log = move |text: String| {
        if let Some(not_logged) = lines.allow(Instant::now()) {
            tracing::warn!(not_logged, "web connections: {text}");
        }
    };
    loop {
        let Some(accepted) = unless(&mut stopped, listener.accept()).await else {
            return;
        };
        match accepted {
            Ok((stream, from)) => match acquire(&limits, &open, from.ip()).await {
                Ok(slot) => {
                    let _ = SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
                    let place = Place {
                        connection: open.add(from.ip()),
                        open: Arc::clone(&open),
                        _slot: slot,
                    };
                    let responder = Arc::clone(&responder);
                    match certificate.as_ref().map(ServerCertificate::acceptor) {
                        None => tokio::spawn(serve(stream, from, responder, place)),
                        Some(tls) => tokio::spawn(serve_tls(tls, stream, from, responder, place)),
                    };
                }
                Err(reached) => log(format!("{}: {reached}", from.ip())),
            },
            Err(error) => {
                log(error.to_string());
                // Without free file descriptors, another attempt at once would fail too.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Takes a place for a connection. If all are taken, one that has long waited for a request gives way.
async fn acquire(
    limits: &ConnectionLimits,
    open: &OpenConnections,
    from: IpAddr,
) -> Result<ConnectionSlot, LimitReached> {
    let reached = match limits.acquire(from) {
        Ok(slot) => return Ok(slot),
        Err(reached) => reached,
    };
    if open.make_room(from, reached) {
        // The task of the other connection runs on this thread. It ends before this one goes on.
        for _ in 0..4 {
            tokio::task::yield_now().await;
            if let Ok(slot) = limits.acquire(from) {
                return Ok(slot);
            }
        }
    }
    Err(reached)
}

/// The place of a connection among the open ones.
struct Place {
    connection: Arc<OpenConnection>,
    open: Arc<OpenConnections>,
    _slot: ConnectionSlot,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.remove(&self.connection);
    }
}

/// Serves one connection over TLS.
async fn serve_tls(
    tls: TlsAcceptor,
    stream: TcpStream,
    from: SocketAddr,
    responder: Arc<Responder>,
    place: Place,
) {
    let handshake = timeout(HEAD_TIME, tls.accept(stream));
    let accepted = unless(place.connection.must_give_way(), handshake).await;
    // An error here is a client without TLS, or one that does not trust the certificate: it knows.
    if let Some(Ok(Ok(stream))) = accepted {
        serve(stream, from, responder, place).await;
    }
}

/// Serves one connection until it ends, must give way or its time is over. An answer that is made while it is sent may take
/// longer while the client reads it.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    from: SocketAddr,
    responder: Arc<Responder>,
    place: Place,
) {
    let own = Arc::clone(&place.connection);
    let service = service_fn(move |request| {
        let (responder, own) = (Arc::clone(&responder), Arc::clone(&own));
        let from = From {
            source: from.ip(),
            progress: Arc::clone(&own),
        };
        async move {
            own.begin_answer();
            let answer = responder.respond(request, from).await;
            own.end_answer();
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // An error here is a client that left or sent no HTTP: nobody needs to know.
    let served = timeout(CONNECTION_TIME, connection.as_mut());
    match unless(place.connection.must_give_way(), served).await {
        Some(Err(_)) => connection.as_mut().graceful_shutdown(),
        Some(Ok(_)) | None => return,
    }
    loop {
        let before = place.connection.parts();
        let served = timeout(LAST_ANSWER_TIME, connection.as_mut());
        match unless(place.connection.must_give_way(), served).await {
            Some(Err(_)) if place.connection.parts() != before => {}
            _ => return,
        }
    }
}

/// Waits for the result of some work. Returns `None` if the other future is ready before.
pub(crate) async fn unless<T>(stopped: impl Future, work: impl Future<Output = T>) -> Option<T> {
    let (mut stopped, mut work) = (pin!(stopped), pin!(work));
    poll_fn(|context| match stopped.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => work.as_mut().poll(context).map(Some),
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream as StdStream};

    use super::*;

    /// With the backlog of `TcpListener::bind`, the 130th connection would wait for a second.
    #[test]
    fn new_connections_wait_in_the_kernel() {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || StdStream::connect_timeout(&address, Duration::from_millis(900));
        let waiting: io::Result<Vec<_>> = (0..300).map(|_| connect()).collect();
        assert_eq!(waiting.unwrap().len(), 300);
    }
}
