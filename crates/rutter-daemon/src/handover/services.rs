//! The services around a daemon, as a collector has them: they pass their own sockets and positions in a hand-over.

use std::net::{TcpListener, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// Services that another process can continue.
pub trait MovableServices: Send + Sync {
    /// Holds the services still, after the daemon's own neighbors. From then on no service reads, writes or changes the
    /// table, and its readers have read everything. They are busy if that takes longer than `patience`.
    fn hold(&self, patience: Duration) -> Result<Box<dyn HeldServices>, NotHeld>;
}

/// The reason why something is not held still. The text is for the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotHeld {
    /// It has other work: another moment is better.
    Busy(String),
    /// It cannot be held still until somebody does something.
    Refused(String),
}

/// Services that are held still. Dropping them lets them go on.
pub trait HeldServices {
    /// Everything with which another process can continue.
    fn records(&self) -> Vec<GivenService<'_>>;

    /// The number of connected BMP routers.
    fn routers(&self) -> usize;

    /// Another process goes on: nothing here ever does.
    fn give_up(self: Box<Self>);
}

/// A part of a service as a record, with its sockets.
pub struct GivenService<'a> {
    /// The name of the service, which both processes know.
    pub name: String,
    /// Its state.
    pub record: Vec<u8>,
    /// Its sockets.
    pub sockets: Vec<BorrowedFd<'a>>,
}

/// A part of a service that was taken over.
#[derive(Debug)]
pub struct TakenService {
    /// The name of the service.
    pub name: String,
    /// Its state.
    pub record: Vec<u8>,
    sockets: Vec<OwnedFd>,
}

impl TakenService {
    pub(super) fn new(name: &str, record: &[u8], sockets: Vec<OwnedFd>) -> Self {
        TakenService {
            name: name.to_owned(),
            record: record.to_vec(),
            sockets,
        }
    }

    /// The sockets, of a service that listens.
    pub fn into_listeners(self) -> Vec<TcpListener> {
        self.sockets.into_iter().map(TcpListener::from).collect()
    }

    /// The socket and the state, of a connection.
    pub fn into_connection(self) -> Option<(TcpStream, Vec<u8>)> {
        let socket = self.sockets.into_iter().next()?;
        Some((socket.into(), self.record))
    }
}
