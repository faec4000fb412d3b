//! The listening sockets of the station.

mod handover;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_config::Bmp;

use super::connection::{Connection, Shared, Slot};
use super::names::Names;
use super::peer_shares::PeerShares;
use super::status::{RouterStatus, Routers};
use crate::keepalive::{self, keep_alive};
use crate::listen::listen;
use rutter_server::{
    ConnectionLimits, ConnectionSlot, LimitReached, LogRateLimit, START_PATIENCE, once_free,
};
use rutter_service::{Context, Service, ShutdownSignal};

pub use handover::{HeldStation, StationHandle, TakenStation};

/// The running station.
pub struct Station {
    addresses: Vec<SocketAddr>,
    thread: JoinHandle<()>,
    routers: Routers,
    accepting: Arc<Door>,
}

/// The place from which the accepting thread takes turns; empty while the station is held still.
type Door = Mutex<Option<Accepting>>;

/// The error at which the station does not start.
#[derive(Debug)]
pub struct StationError {
    address: SocketAddr,
    error: io::Error,
}

impl fmt::Display for StationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StationError { address, error } = self;
        write!(
            f,
            "bmp: cannot listen on {address}: {error}; change bmp.listen"
        )
    }
}

impl std::error::Error for StationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// The interval at which the thread accepts connections and checks for shutdown.
const ACCEPT_WAIT: Duration = Duration::from_millis(50);

/// At most one line about refused or useless connections in this time.
const LOG_PERIOD: Duration = Duration::from_secs(10);

/// The time for which a router waits for its name. TCP detects a dead older connection within it.
const NAME_WAIT: Duration = Duration::from_secs(2 + keepalive::IDLE.as_secs());

impl Station {
    /// Listens, and reads each router on its own thread.
    pub fn start(context: &Context, settings: &Bmp) -> Result<Self, StationError> {
        Self::with_name_wait(context, settings, NAME_WAIT)
    }

    /// Like [`Station::start`], with the time for which a router waits for a name that another connection owns.
    pub fn with_name_wait(
        context: &Context,
        settings: &Bmp,
        name_wait: Duration,
    ) -> Result<Self, StationError> {
        let listen = |&address| once_free(START_PATIENCE, || Self::listen(address));
        let listeners = settings.listen.iter().map(listen);
        let listeners = listeners.collect::<Result<_, _>>()?;
        Accepting::new(context, settings, listeners, name_wait).start()
    }

    fn listen(address: SocketAddr) -> Result<TcpListener, StationError> {
        listen(address).map_err(|error| StationError { address, error })
    }

    /// The listening addresses, with the ports that the kernel chose.
    pub fn listen_addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The connected routers.
    pub fn routers(&self) -> Vec<RouterStatus> {
        self.routers.all()
    }
}

impl Service for Station {
    fn name(&self) -> String {
        "bmp".into()
    }

    fn is_route_source(&self) -> bool {
        true
    }

    fn stop(self: Box<Self>) {
        // A panic was already reported.
        let _ = self.thread.join();
    }
}

/// The listening sockets, and the connections that were accepted.
struct Accepting {
    context: Context,
    settings: Bmp,
    limits: ConnectionLimits,
    shared: Shared,
    listeners: Vec<TcpListener>,
    connections: BTreeMap<u64, Open>,
    /// The number of the last connection.
    accepted: u64,
}

/// An open connection, or one whose thread ends.
struct Open {
    slot: Arc<Slot>,
    thread: JoinHandle<()>,
}

impl Accepting {
    fn new(
        context: &Context,
        settings: &Bmp,
        listeners: Vec<TcpListener>,
        name_wait: Duration,
    ) -> Self {
        Accepting {
            context: context.clone(),
            settings: settings.clone(),
            limits: ConnectionLimits::per_address(settings.max_routers, settings.max_per_address),
            shared: Shared {
                routers: Routers::default(),
                names: Names::new(name_wait),
                peer_shares: PeerShares::default(),
                invalid_connections: Arc::new(Mutex::new(LogRateLimit::new(1, LOG_PERIOD))),
            },
            listeners,
            connections: BTreeMap::new(),
            accepted: 0,
        }
    }

    /// Starts the accepting thread.
    fn start(self) -> Result<Station, StationError> {
        let addresses: Vec<SocketAddr> = self
            .listeners
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect();
        let address = addresses.first().copied();
        let (context, routers) = (self.context.clone(), self.shared.routers.clone());
        let (shown, shutdown) = (routers.clone(), context.shutdown.clone());
        let accepting = Arc::new(Door::new(Some(self)));
        let accepted = Arc::clone(&accepting);
        let thread = thread::Builder::new()
            .name("bmp".into())
            .spawn(move || run(&accepted, &shutdown))
            .map_err(|error| StationError {
                address: address.unwrap_or(SocketAddr::from(([0; 4], 0))),
                error,
            })?;
        context.status.add_routers(move || shown.rows());
        tracing::info!(listen = ?addresses, "BMP station started");
        Ok(Station {
            addresses,
            thread,
            routers,
            accepting,
        })
    }

    fn accept_waiting(&mut self) {
        for listener in std::mem::take(&mut self.listeners) {
            self.accept_all(&listener);
            self.listeners.push(listener);
        }
        self.connections
            .retain(|_, open| !open.thread.is_finished());
    }

    fn accept_all(&mut self, listener: &TcpListener) {
        loop {
            match listener.accept() {
                Ok((socket, address)) => self.accept(socket, address),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    if let Some(left_out) =
                        self.shared.invalid_connections.lock().allow(Instant::now())
                    {
                        tracing::error!(%error, left_out, "no connection can be accepted");
                    }
                    return;
                }
            }
        }
    }

    fn accept(&mut self, socket: TcpStream, address: SocketAddr) {
        let from = address.ip().to_canonical();
        let slot = match self.admit(from) {
            Ok(slot) => slot,
            Err(why) => {
                if let Some(left_out) = self.shared.invalid_connections.lock().allow(Instant::now())
                {
                    tracing::warn!(router = %address, why, left_out, "BMP router refused");
                }
                return;
            }
        };
        self.accepted += 1;
        let number = self.accepted;
        let started = keep_alive(&socket)
            .and_then(|()| {
                let (settings, shared) = (&self.settings, self.shared.clone());
                Connection::new(&self.context, number, socket, address, settings, shared)
            })
            .and_then(|connection| self.open(connection, Some(slot)));
        match started {
            Ok(()) => tracing::debug!(router = %address, "BMP router connected"),
            Err(error) => tracing::error!(router = %address, %error, "BMP router refused"),
        }
    }

    /// Starts the thread of a connection.
    fn open(&mut self, connection: Connection, place: Option<ConnectionSlot>) -> io::Result<()> {
        let number = connection.number();
        let slot = Arc::new(Slot::new(connection));
        let shutdown = self.context.shutdown.clone();
        let own = Arc::clone(&slot);
        let run = move || {
            let _place = place;
            Connection::run(&own, &shutdown);
        };
        let thread = thread::Builder::new().name(format!("bmp-{number}"));
        let thread = thread.spawn(run)?;
        self.connections.insert(number, Open { slot, thread });
        Ok(())
    }

    fn admit(&self, address: IpAddr) -> Result<ConnectionSlot, &'static str> {
        let allow = &self.settings.allow;
        if !allow.is_empty() && !allow.iter().any(|prefix| prefix.contains(address)) {
            return Err("its address is not in bmp.allow");
        }
        self.limits.acquire(address).map_err(|limit| match limit {
            LimitReached::Total => "as many routers as bmp.max-routers allows are connected",
            LimitReached::Source => {
                "its address has as many connections as bmp.max-per-address allows"
            }
        })
    }
}

/// Accepts connections until the collector stops. Then it waits for their threads.
fn run(door: &Door, shutdown: &ShutdownSignal) {
    while !shutdown.wait(ACCEPT_WAIT) {
        if let Some(accepting) = &mut *door.lock() {
            accepting.accept_waiting();
        }
    }
    loop {
        let accepting = door.lock().take();
        if let Some(accepting) = accepting {
            for open in accepting.connections.into_values() {
                let _ = open.thread.join();
            }
            return;
        }
        thread::sleep(ACCEPT_WAIT);
    }
}
