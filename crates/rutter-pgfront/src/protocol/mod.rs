//! The PostgreSQL protocol, version 3, for queries that read.

mod access;
mod cancel;
mod connection;
mod copy;
mod cursor;
mod declare_cursor;
mod encode;
mod extended;
mod framing;
mod handler;
mod kept_statements;
mod login;
mod login_throttle;
mod parameter_types;
mod parameters;
mod planned_query;
mod prepared;
mod query_threads;
mod rejected_connections;
mod responses;
mod row_stream;
mod scram;
mod session;
mod settings;
mod statement;
mod values;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rutter_server::{CertificateFiles, ConnectionLimits, ServerCertificate, TlsFileError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

pub use access::Access;
pub(crate) use settings::SETTINGS;

use crate::Database;
use handler::{ConnectionHandler, HandlerFactory};
use rejected_connections::Refused;

/// Threads beyond the configured number: others are answered while one query computes for long.
const SPARE_THREADS: usize = 2;
/// The stack of a thread that plans or computes. Long expressions nest deeply ([`crate::Database::plan`] limits them).
/// Only the used part takes memory.
const STACK: usize = 512 * 1024 * 1024;
/// The most connections of one address, or of one IPv6 /64, that have not logged in.
const LOGINS_OF_NETWORK: usize = 32;
/// The most connections of all addresses that have not logged in.
const LOGINS: usize = 128;
/// The time in which clients receive the message that the server stops.
const GOODBYE: Duration = Duration::from_millis(300);

/// The limits of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionBounds {
    /// The most connections that are logged in.
    pub connections: usize,
    /// The time to log in.
    pub login: Duration,
    /// The longest time between queries.
    pub idle: Duration,
    /// The longest time of a query.
    pub query: Duration,
}

impl Default for ConnectionBounds {
    fn default() -> Self {
        Self {
            connections: 100,
            login: Duration::from_secs(10),
            idle: Duration::from_secs(3600),
            query: Duration::from_secs(300),
        }
    }
}

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The addresses where clients connect.
    pub listen: Vec<SocketAddr>,
    /// Which clients may connect.
    pub access: Access,
    /// The certificate. Without one, nothing is encrypted.
    pub tls: Option<CertificateFiles>,
    /// The threads that compute queries.
    pub threads: usize,
    /// The limits of connections.
    pub bounds: ConnectionBounds,
    /// Called by each thread when it starts, to lower its priority.
    pub step_back: fn(),
    /// Called when queries have released much memory, to return free pages to the kernel.
    pub release: fn(),
}

impl Settings {
    /// Checks that a server with these settings could start, if its sockets can be opened.
    ///
    /// # Errors
    /// If the certificate cannot be used.
    pub fn check(&self) -> Result<(), ServerError> {
        self.read_certificate().map(drop)
    }

    fn read_certificate(&self) -> Result<Option<ServerCertificate>, ServerError> {
        let read = |files| ServerCertificate::read("SQL", files);
        let certificate = self.tls.clone().map(read).transpose();
        certificate.map_err(ServerError::Tls)
    }
}

/// The reason why a server does not start.
#[derive(Debug)]
pub enum ServerError {
    /// An address cannot be listened on, or a thread cannot be started.
    Listen(SocketAddr, io::Error),
    /// The certificate cannot be used.
    Tls(TlsFileError),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(at, error) => write!(f, "SQL: cannot listen on {at}: {error}"),
            Self::Tls(error) => write!(f, "SQL: {error}"),
        }
    }
}

impl std::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen(_, error) => Some(error),
            Self::Tls(error) => Some(error),
        }
    }
}

/// A server that answers queries until it is dropped.
pub struct Server {
    sockets: Vec<std::net::TcpListener>,
    stop: watch::Sender<bool>,
    /// Closed when all connections have ended.
    served: std::sync::mpsc::Receiver<Infallible>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens, and answers queries on its own threads.
    ///
    /// # Errors
    /// If an address cannot be listened on, or the certificate cannot be used.
    pub fn start(database: Database, settings: Settings) -> Result<Self, ServerError> {
        let sockets = settings.listen.iter().map(|address| listen(*address));
        let sockets = sockets.collect::<Result<_, _>>()?;
        Self::start_on(sockets, database, settings)
    }

    /// As [`Server::start`], on these sockets ([`listen`]) in place of [`Settings::listen`].
    ///
    /// # Errors
    /// If the certificate cannot be used, or a thread cannot be started.
    pub fn start_on(
        sockets: Vec<std::net::TcpListener>,
        database: Database,
        settings: Settings,
    ) -> Result<Self, ServerError> {
        let certificate = settings.read_certificate()?;
        let Settings {
            listen,
            access,
            threads,
            bounds,
            step_back,
            release,
            ..
        } = settings;
        let (stop, stopped) = watch::channel(false);
        let fail = |error| {
            let first = listen.first().copied();
            ServerError::Listen(first.unwrap_or_else(|| ([127, 0, 0, 1], 0).into()), error)
        };
        let queries = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.max(1) + SPARE_THREADS)
            .thread_name("sql")
            .thread_stack_size(STACK)
            .on_thread_start(step_back)
            .enable_all()
            .build()
            .map_err(fail)?;
        let protocol = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(fail)?;
        let own = sockets.iter().map(std::net::TcpListener::try_clone);
        let own = own.collect::<io::Result<_>>().map_err(fail)?;
        let kept_small = return_free_memory(database.clone(), release);
        let shared =
            HandlerFactory::new(database, &access, queries.handle().clone(), bounds, stopped);
        let (serving, served) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sql-main".into())
            .stack_size(STACK)
            .spawn(move || {
                step_back();
                protocol.spawn(kept_small);
                protocol.block_on(serve(sockets, shared, certificate));
                drop::<std::sync::mpsc::Sender<Infallible>>(serving);
                protocol.shutdown_timeout(Duration::from_secs(1));
                queries.shutdown_timeout(Duration::from_secs(1));
            });
        Ok(Self {
            sockets: own,
            stop,
            served,
            thread: Some(thread.map_err(fail)?),
        })
    }

    /// The addresses of its sockets.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.sockets.iter().map(|socket| socket.local_addr());
        addresses.filter_map(Result::ok).collect()
    }

    /// Its sockets, which another process can serve when this one does no more ([`Server::leave`]).
    pub fn sockets(&self) -> &[std::net::TcpListener] {
        &self.sockets
    }

    /// Ends all connections with SQLSTATE 57P01 and accepts no more, in a process that ends next: queries may still compute.
    pub fn leave(mut self) {
        let _ = self.stop.send(true);
        let _ = self.served.recv();
        self.thread = None;
    }
}

/// Opens a socket for a server.
///
/// # Errors
/// If the address cannot be listened on.
pub fn listen(address: SocketAddr) -> Result<std::net::TcpListener, ServerError> {
    let opened = std::net::TcpListener::bind(address).and_then(|socket| {
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    opened.map_err(|error| ServerError::Listen(address, error))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns free memory to the kernel each time after queries held much. The allocator does not return pages between used
/// ones by itself.
async fn return_free_memory(database: Database, release: fn()) {
    let mut checks = tokio::time::interval(Duration::from_millis(500));
    loop {
        checks.tick().await;
        if database.has_shrunk() {
            release();
        }
    }
}

/// Serves until the server stops and its connections have ended.
async fn serve(
    sockets: Vec<std::net::TcpListener>,
    shared: HandlerFactory,
    certificate: Option<ServerCertificate>,
) {
    let (open, mut all_ended) = mpsc::channel(1);
    let logins = ConnectionLimits::per_network(LOGINS, LOGINS_OF_NETWORK);
    let refused = Refused::default();
    for socket in sockets {
        match TcpListener::from_std(socket) {
            Ok(socket) => {
                let accepting = Accepting {
                    shared: shared.clone(),
                    certificate: certificate.clone(),
                    logins: logins.clone(),
                    refused: refused.clone(),
                    open: open.clone(),
                };
                tokio::spawn(accepting.accept(socket));
            }
            Err(error) => tracing::error!(%error, "SQL is not served"),
        }
    }
    drop(open);
    shared.stopped().await;
    let _ = timeout(GOODBYE, all_ended.recv()).await;
}

/// Accepts connections on a socket.
struct Accepting {
    shared: HandlerFactory,
    certificate: Option<ServerCertificate>,
    /// Counts the connections that have not logged in.
    logins: ConnectionLimits,
    refused: Refused,
    /// Held by each connection until it ends.
    open: mpsc::Sender<Infallible>,
}

impl Accepting {
    async fn accept(self, socket: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = self.shared.stopped() => return,
            };
            match accepted {
                Ok((connection, peer)) => self.take(connection, peer),
                Err(error) => {
                    tracing::warn!(%error, "a SQL connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn take(&self, connection: TcpStream, peer: SocketAddr) {
        let slot = self.logins.acquire(peer.ip()).ok();
        let is_refused = slot.is_none();
        let connection_handler = Arc::new(self.shared.connection_handler(peer.ip(), slot));
        let certificate = self.certificate.clone();
        let open = self.open.clone();
        let answering = tokio::spawn(async move {
            let _open = open;
            answer(connection, peer, certificate, connection_handler).await;
        });
        if is_refused {
            self.refused.add(answering.abort_handle());
        }
    }
}

/// Serves a connection until it ends or times out.
async fn answer(
    connection: TcpStream,
    peer: SocketAddr,
    certificate: Option<ServerCertificate>,
    connection_handler: Arc<ConnectionHandler>,
) {
    let session = connection_handler.session().clone();
    let left = connection::left(&connection);
    tokio::select! {
        ended = connection::serve(connection, peer, certificate.as_ref(), connection_handler) => {
            if let Err(error) = ended {
                tracing::debug!(%peer, %error, "a SQL connection ended");
            }
        }
        () = left => tracing::debug!(%peer, "a SQL client disconnected before its answer"),
        why = session.timed_out() => tracing::info!(%peer, why, "a SQL connection is closed"),
    }
}
