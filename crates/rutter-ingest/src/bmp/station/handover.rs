//! A station passes its sockets to that of another process: held still between two messages, as records, and taken over.

use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_config::Bmp;
use rutter_server::inherit;
use rutter_service::Context;
use rutter_wire::handover::Writer;

use super::{Accepting, Door, NAME_WAIT, Station, StationError};
use crate::bmp::connection::{Connection, Slot};

/// A station that is held still: it accepts no connection, and reads no message. All messages that it has read are in the
/// table. Dropping it lets the station go on.
pub struct HeldStation {
    door: Arc<Door>,
    /// `None` when it was given back.
    accepting: Option<Accepting>,
    connections: Vec<(Arc<Slot>, Box<Connection>)>,
}

/// Holds a station still. Clones are for the same one.
#[derive(Clone)]
pub struct StationHandle(Arc<Door>);

/// A station with the sockets of another process, before it reads them.
pub struct TakenStation {
    accepting: Accepting,
    connections: Vec<Connection>,
}

impl StationHandle {
    /// Holds the station still. `None` if that takes longer than `patience`.
    pub fn hold(&self, patience: Duration) -> Option<HeldStation> {
        let until = Instant::now() + patience;
        let accepting = self.0.try_lock_until(until)?.take()?;
        let slots = accepting.connections.values();
        let slots: Vec<Arc<Slot>> = slots.map(|open| Arc::clone(&open.slot)).collect();
        let mut held = HeldStation {
            door: Arc::clone(&self.0),
            accepting: Some(accepting),
            connections: Vec::new(),
        };
        for slot in slots {
            let connection = slot.hold(until)?;
            held.connections
                .extend(connection.map(|connection| (slot, connection)));
        }
        Some(held)
    }
}

impl Station {
    /// The handle with which the station is held still.
    pub fn handle(&self) -> StationHandle {
        StationHandle(Arc::clone(&self.accepting))
    }

    /// Takes the sockets and the records of another process's station. The peers of its routers must be in the table.
    /// The error is for the operator.
    pub fn take(
        context: &Context,
        settings: &Bmp,
        listeners: Vec<TcpListener>,
        connections: Vec<(TcpStream, Vec<u8>)>,
    ) -> Result<TakenStation, String> {
        let listeners = inherit(&settings.listen, listeners, Station::listen);
        let listeners = listeners.map_err(|error| error.to_string())?;
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
        let accepting = self.accepting.iter();
        let sockets = accepting.flat_map(|accepting| &accepting.listeners);
        sockets.map(AsFd::as_fd).collect()
    }

    /// The number of connections.
    pub fn routers(&self) -> usize {
        self.connections.len()
    }

    /// Each connection with its record.
    pub fn connections(&self) -> impl Iterator<Item = (BorrowedFd<'_>, Vec<u8>)> {
        self.connections.iter().map(|(_, connection)| {
            let mut record = Writer::default();
            connection.write_state(&mut record);
            (connection.as_fd(), record.bytes)
        })
    }

    /// Closes all sockets: another process has them. The threads end.
    pub fn give_up(mut self) {
        let connections = self.connections.drain(..);
        connections.for_each(|(slot, _)| slot.leave_empty());
        if let Some(accepting) = &mut self.accepting {
            accepting.listeners.clear();
        }
    }
}

impl Drop for HeldStation {
    fn drop(&mut self) {
        let connections = self.connections.drain(..);
        connections.for_each(|(slot, connection)| slot.put_back(connection));
        *self.door.lock() = self.accepting.take();
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
