//! Who is let in: so many clients, and before they have said that they are some, so many of an address and of all.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::seldom::Seldom;

/// Connections of one address, or of one IPv6 network of 64 bits, that do not speak WebSocket yet.
pub(super) const OF_ADDRESS: usize = 32;
/// Connections of all addresses that do not speak WebSocket yet.
pub(super) const OF_ALL: usize = 128;

/// The doors of a server.
#[derive(Clone)]
pub(super) struct Doors(Arc<Shared>);

struct Shared {
    most_clients: usize,
    inside: Mutex<Inside>,
    refused: Mutex<Seldom>,
}

#[derive(Default)]
struct Inside {
    clients: usize,
    waiting: usize,
    waiting_of: HashMap<IpAddr, usize>,
}

/// A connection's place, until it is dropped.
pub(super) struct Place {
    doors: Doors,
    address: SocketAddr,
    is_client: bool,
}

impl Doors {
    /// For at most so many clients.
    pub fn new(most_clients: usize) -> Self {
        Doors(Arc::new(Shared {
            most_clients,
            inside: Mutex::default(),
            refused: Mutex::default(),
        }))
    }

    /// A connection begins, if there may be one more.
    pub fn enter(&self, address: SocketAddr) -> Option<Place> {
        let mut inside = self.0.inside.lock();
        let of = inside.waiting_of.entry(network(address.ip())).or_default();
        if *of >= OF_ADDRESS {
            drop(inside);
            self.refuse(
                address,
                "too many connections of its address say nothing yet",
            );
            return None;
        }
        *of += 1;
        inside.waiting += 1;
        let place = Place {
            doors: self.clone(),
            address,
            is_client: false,
        };
        let room = inside.waiting <= OF_ALL;
        drop(inside);
        if !room {
            self.refuse(address, "too many connections say nothing yet");
        }
        room.then_some(place)
    }

    fn refuse(&self, address: SocketAddr, why: &str) {
        if let Some(left_out) = self.0.refused.lock().may() {
            tracing::warn!(%address, why, left_out, "stream client refused");
        }
    }
}

impl Place {
    /// It is a client, if there may be one more.
    pub fn sit(&mut self) -> bool {
        let mut inside = self.doors.0.inside.lock();
        if inside.clients >= self.doors.0.most_clients {
            drop(inside);
            let why = "there are as many clients as stream.max-clients allows";
            self.doors.refuse(self.address, why);
            return false;
        }
        inside.clients += 1;
        inside.leave(self.address);
        self.is_client = true;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.doors.0.inside.lock();
        match self.is_client {
            true => inside.clients -= 1,
            false => inside.leave(self.address),
        }
    }
}

impl Inside {
    /// One that waited does not any more.
    fn leave(&mut self, address: SocketAddr) {
        self.waiting -= 1;
        let network = network(address.ip());
        let left = self.waiting_of.get_mut(&network).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            self.waiting_of.remove(&network);
        }
    }
}

/// What one person has: an IPv4 address, or an IPv6 network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> SocketAddr {
        SocketAddr::new(text.parse().unwrap(), 1)
    }

    #[test]
    fn an_address_has_its_share_and_all_have_an_end() {
        let doors = Doors::new(1);
        let mut held: Vec<Place> = (0..OF_ADDRESS)
            .map(|_| doors.enter(from("2001:db8::1")).unwrap())
            .collect();
        assert!(doors.enter(from("2001:db8::2")).is_none());
        for host in 0..(OF_ALL - OF_ADDRESS) as u32 {
            let address = SocketAddr::new(IpAddr::V4(host.into()), 1);
            held.push(doors.enter(address).unwrap());
        }
        assert!(doors.enter(from("192.0.2.1")).is_none());
        held.remove(0);
        held.push(doors.enter(from("192.0.2.1")).unwrap());
        held.clear();
        let inside = doors.0.inside.lock();
        assert!(inside.waiting == 0 && inside.waiting_of.is_empty());
    }

    #[test]
    fn who_says_nothing_takes_no_clients_place() {
        let doors = Doors::new(1);
        let _silent: Vec<Place> = (0..OF_ADDRESS)
            .map(|_| doors.enter(from("192.0.2.1")).unwrap())
            .collect();
        let mut client = doors.enter(from("192.0.2.2")).unwrap();
        assert!(client.sit());
        let mut other = doors.enter(from("192.0.2.2")).unwrap();
        assert!(!other.sit());
        drop(client);
        assert!(other.sit());
    }
}
