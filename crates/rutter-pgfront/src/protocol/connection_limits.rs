//! Limits on connections that have not logged in, in all and for each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::login_throttle::network;

/// The most connections of one address, or of one IPv6 /64, that have not logged in.
pub const OF_ADDRESS: usize = 32;
/// The most connections of all addresses that have not logged in.
pub const OF_ALL: usize = 128;

/// The connections of a server that have not logged in.
#[derive(Clone, Default)]
pub struct Doors(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    all: usize,
    of: HashMap<IpAddr, usize>,
}

/// A place among the connections that have not logged in.
pub struct Door {
    doors: Doors,
    address: IpAddr,
}

impl Doors {
    /// Takes a place for a new connection, if one is free.
    pub fn enter(&self, address: IpAddr) -> Option<Door> {
        let address = network(address);
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.all >= OF_ALL {
            return None;
        }
        let of_address = waiting.of.entry(address).or_default();
        if *of_address >= OF_ADDRESS {
            return None;
        }
        *of_address += 1;
        waiting.all += 1;
        let doors = self.clone();
        Some(Door { doors, address })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let mut waiting = self.doors.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.all -= 1;
        let left = waiting.of.get_mut(&self.address).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            waiting.of.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_all_have_an_end() {
        let doors = Doors::default();
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut held: Vec<Door> = (0..OF_ADDRESS)
            .map(|_| doors.enter(address("2001:db8::1")).unwrap())
            .collect();
        assert!(doors.enter(address("2001:db8::2")).is_none());
        for host in 0..(OF_ALL - OF_ADDRESS) as u32 {
            held.push(doors.enter(IpAddr::V4(host.into())).unwrap());
        }
        assert!(doors.enter(address("192.0.2.1")).is_none());
        held.remove(0);
        held.push(doors.enter(address("192.0.2.1")).unwrap());
        held.clear();
        let waiting = doors.0.lock().unwrap();
        assert!(waiting.all == 0 && waiting.of.is_empty());
    }
}
