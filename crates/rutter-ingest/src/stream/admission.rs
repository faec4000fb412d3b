//! Admission of clients: limits on connections before and after their WebSocket handshake.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_server::{ConnectionLimits, ConnectionSlot, LimitReached, LogRateLimit};

/// Connections of one network in their handshake.
const HANDSHAKES_OF_NETWORK: usize = 32;
/// All connections in their handshake.
const HANDSHAKES: usize = 128;
/// At most one line about refused connections in this time.
const LOG_PERIOD: Duration = Duration::from_secs(10);

/// The limits of a server. Clones share the same counts.
#[derive(Clone)]
pub(super) struct Admission {
    handshakes: ConnectionLimits,
    clients: ConnectionLimits,
    refusals: Arc<Mutex<LogRateLimit>>,
}

/// The place of one connection, first as a handshake, then as a client. Dropping it frees the place.
pub(super) struct Place {
    admission: Admission,
    address: SocketAddr,
    slot: ConnectionSlot,
}

impl Admission {
    /// Admits at most `max_clients` clients.
    pub fn new(max_clients: usize) -> Self {
        Admission {
            handshakes: ConnectionLimits::per_network(HANDSHAKES, HANDSHAKES_OF_NETWORK),
            clients: ConnectionLimits::new(max_clients),
            refusals: Arc::new(Mutex::new(LogRateLimit::new(1, LOG_PERIOD))),
        }
    }

    /// Admits a new connection to the handshake, unless a limit is reached.
    pub fn admit_handshake(&self, address: SocketAddr) -> Option<Place> {
        let admission = self.clone();
        match self.handshakes.acquire(address.ip()) {
            Ok(slot) => Some(Place {
                admission,
                address,
                slot,
            }),
            Err(LimitReached::Total) => {
                self.log_refusal(address, "too many connections say nothing yet");
                None
            }
            Err(LimitReached::Source) => {
                let why = "too many connections of its address say nothing yet";
                self.log_refusal(address, why);
                None
            }
        }
    }

    fn log_refusal(&self, address: SocketAddr, why: &str) {
        if let Some(left_out) = self.refusals.lock().allow(Instant::now()) {
            tracing::warn!(%address, why, left_out, "stream client refused");
        }
    }
}

impl Place {
    /// Admits the connection as a client after its handshake. Returns `false` if there are too many clients.
    pub fn admit_client(&mut self) -> bool {
        match self.admission.clients.acquire(self.address.ip()) {
            Ok(slot) => {
                self.slot = slot;
                true
            }
            Err(_) => {
                let why = "there are as many clients as stream.max-clients allows";
                self.admission.log_refusal(self.address, why);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> SocketAddr {
        SocketAddr::new(text.parse().unwrap(), 1)
    }

    #[test]
    fn handshakes_take_no_clients_place() {
        let admission = Admission::new(1);
        let _silent: Vec<Place> = (0..HANDSHAKES_OF_NETWORK)
            .map(|_| admission.admit_handshake(from("192.0.2.1")).unwrap())
            .collect();
        assert!(admission.admit_handshake(from("192.0.2.1")).is_none());
        let mut client = admission.admit_handshake(from("192.0.2.2")).unwrap();
        assert!(client.admit_client());
        let mut other = admission.admit_handshake(from("192.0.2.2")).unwrap();
        assert!(!other.admit_client());
        drop(client);
        assert!(other.admit_client());
    }
}
