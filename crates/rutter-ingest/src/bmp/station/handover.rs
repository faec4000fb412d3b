//! A station passes its sockets to that of another process: held still between two messages, as records, and taken over.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use parking_lot::{ArcMutexGuard, RawMutex};
use rutter_config::Bmp;
use rutter_service::Context;
use rutter_wire::handover::Writer;

use super::{Accepting, NAME_WAIT, Station, StationError};
use crate::bmp::connection::Connection;
use crate::listen::listen;

/// A station that is held still: it accepts no connection, and reads no message. All messages that it has read are in the
/// table. Dropping it lets the station go on.
pub struct HeldStation {
    accepting: ArcMutexGuard<RawMutex, Accepting>,
    connections: Vec<ArcMutexGuard<RawMutex, Option<Connection>>>,
}

/// A station with the sockets of another process, before it reads them.
pub struct TakenStation {
    accepting: Accepting,
    connections: Vec<Connection>,
}

impl Station {
    /// Holds the station still. `None` if that takes longer than `patience`.
    pub fn hold(&self, patience: Duration) -> Option<HeldStation> {
        let until = Instant::now() + patience;
        let accepting = self.accepting.try_lock_arc_until(until)?;
        let slots = accepting.connections.values().map(|open| &open.slot);
        let held: Option<Vec<_>> = slots.map(|slot| slot.try_lock_arc_until(until)).collect();
        let mut connections = held?;
        // The others are closed: their threads end.
        connections.retain(|connection| connection.is_some());
        Some(HeldStation {
            accepting,
            connections,
        })
    }

    /// Takes the sockets and the records of another process's station. The peers of its routers must be in the table.
    /// The error is for the operator.
    pub fn take(
        context: &Context,
        settings: &Bmp,
        listeners: Vec<TcpListener>,
        connections: Vec<(TcpStream, Vec<u8>)>,
    ) -> Result<TakenStation, String> {
        let listeners = inherit(&settings.listen, listeners).map_err(|error| error.to_string())?;
        let mut accepting = Accepting::new(context, settings, listeners, NAME_WAIT);
        let mut taken: Vec<Connection> = Vec::new();
        for (socket, record) in connections {
            let shared = accepting.shared.clone();
            let connection = Connection::from_state(context, socket, settings, shared, &record);
            let connection = connection.map_err(|error| format!("a BMP router: {error}"))?;
            accepting.accepted = accepting.accepted.max(connection.number());
            taken.push(connection);
        }
        let mut numbers: Vec<u64> = taken.iter().map(Connection::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        match numbers.len() == taken.len() {
            true => Ok(TakenStation {
                accepting,
                connections: taken,
            }),
            false => Err("two BMP routers have the same number".to_owned()),
        }
    }
}

impl HeldStation {
    /// The listening sockets.
    pub fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        self.accepting.listeners.iter().map(AsFd::as_fd).collect()
    }

    /// Each connection with its record.
    pub fn connections(&self) -> impl Iterator<Item = (BorrowedFd<'_>, Vec<u8>)> {
        let connections = self.connections.iter();
        connections
            .filter_map(|held| held.as_ref())
            .map(|connection| {
                let mut record = Writer::default();
                connection.write_state(&mut record);
                (connection.as_fd(), record.bytes)
            })
    }

    /// Gives all sockets up: another process has them. The threads end.
    pub fn give_up(mut self) {
        self.accepting.listeners.clear();
        self.connections
            .iter_mut()
            .for_each(|held| drop(held.take()));
    }
}

impl TakenStation {
    /// Goes on to read and to accept.
    pub fn start(self) -> Result<Station, StationError> {
        let TakenStation {
            mut accepting,
            connections,
        } = self;
        for connection in connections {
            let address = connection.address();
            // A lower limit than before closes no connection.
            let place = accepting.limits.acquire(address.ip().to_canonical()).ok();
            if let Err(error) = accepting.open(connection, place) {
                return Err(StationError { address, error });
            }
        }
        accepting.start()
    }
}

/// Keeps the sockets for these addresses, and opens those that are missing.
fn inherit(
    addresses: &[SocketAddr],
    mut sockets: Vec<TcpListener>,
) -> Result<Vec<TcpListener>, StationError> {
    let mut kept = Vec::new();
    for &address in addresses {
        let serves = |socket: &TcpListener| {
            let own = socket.local_addr().ok();
            own.is_some_and(|own| own == address || address.port() == 0 && own.ip() == address.ip())
        };
        let failed = |error: io::Error| StationError { address, error };
        kept.push(match sockets.iter().position(serves) {
            Some(place) => sockets.remove(place),
            None => listen(address).map_err(failed)?,
        });
    }
    Ok(kept)
}
