//! Limits on the number of connections: in all, and from one source.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Counts connections against a total limit and a limit for each source. Clones share the same counts.
///
/// A server with a handshake holds two: one for connections in their handshake, with a limit for each network, and one
/// for established clients.
#[derive(Clone)]
pub struct ConnectionLimits(Arc<Shared>);

struct Shared {
    total: usize,
    /// `None`: no limit for each source.
    per_source: Option<PerSource>,
    counts: Mutex<Counts>,
}

#[derive(Clone, Copy)]
struct PerSource {
    limit: usize,
    source: fn(IpAddr) -> IpAddr,
}

#[derive(Default)]
struct Counts {
    total: usize,
    by_source: HashMap<IpAddr, usize>,
}

/// The place of one connection. Dropping it frees the place.
pub struct ConnectionSlot {
    limits: ConnectionLimits,
    source: Option<IpAddr>,
}

/// The limit that a connection would exceed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitReached {
    /// The limit on all connections.
    Total,
    /// The limit on connections from one source.
    Source,
}

impl ConnectionLimits {
    /// A limit of `total` connections.
    pub fn new(total: usize) -> Self {
        ConnectionLimits::with(total, None)
    }

    /// A limit of `total` connections, and of `limit` from each address.
    pub fn per_address(total: usize, limit: usize) -> Self {
        let source = |address: IpAddr| address.to_canonical();
        ConnectionLimits::with(total, Some(PerSource { limit, source }))
    }

    /// A limit of `total` connections, and of `limit` from each [`network`].
    pub fn per_network(total: usize, limit: usize) -> Self {
        let source = network;
        ConnectionLimits::with(total, Some(PerSource { limit, source }))
    }

    fn with(total: usize, per_source: Option<PerSource>) -> Self {
        ConnectionLimits(Arc::new(Shared {
            total,
            per_source,
            counts: Mutex::default(),
        }))
    }

    /// Takes a place for a connection from `address`.
    pub fn acquire(&self, address: IpAddr) -> Result<ConnectionSlot, LimitReached> {
        let mut counts = self.0.counts.lock();
        if counts.total >= self.0.total {
            return Err(LimitReached::Total);
        }
        let mut source = None;
        if let Some(per_source) = self.0.per_source {
            let address = (per_source.source)(address);
            let count = counts.by_source.entry(address).or_default();
            if *count >= per_source.limit {
                // A limit of 0 must leave no entry.
                counts.by_source.retain(|_, count| *count > 0);
                return Err(LimitReached::Source);
            }
            *count += 1;
            source = Some(address);
        }
        counts.total += 1;
        let limits = self.clone();
        Ok(ConnectionSlot { limits, source })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut counts = self.limits.0.counts.lock();
        counts.total -= 1;
        let Some(source) = self.source else {
            return;
        };
        let left = counts.by_source.get_mut(&source).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            counts.by_source.remove(&source);
        }
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitReached::Total => "too many connections",
            LimitReached::Source => "too many connections from its address",
        })
    }
}

impl std::error::Error for LimitReached {}

/// The addresses that one host can choose from: an IPv4 address, or an IPv6 network of 64 bits.
pub fn network(address: IpAddr) -> IpAddr {
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

    const PER_SOURCE: usize = 32;
    const TOTAL: usize = 128;

    fn from(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_has_its_limit_and_all_networks_have_one() {
        let limits = ConnectionLimits::per_network(TOTAL, PER_SOURCE);
        let mut held: Vec<ConnectionSlot> = (0..PER_SOURCE)
            .map(|_| limits.acquire(from("2001:db8::1")).unwrap())
            .collect();
        assert_eq!(
            limits.acquire(from("2001:db8::2")).err(),
            Some(LimitReached::Source)
        );
        for host in 0..(TOTAL - PER_SOURCE) as u32 {
            held.push(limits.acquire(IpAddr::V4(host.into())).unwrap());
        }
        assert_eq!(
            limits.acquire(from("192.0.2.1")).err(),
            Some(LimitReached::Total)
        );
        held.remove(0);
        held.push(limits.acquire(from("192.0.2.1")).unwrap());
        held.clear();
        let counts = limits.0.counts.lock();
        assert!(counts.total == 0 && counts.by_source.is_empty());
    }

    #[test]
    fn addresses_of_one_network_are_counted_apart() {
        let limits = ConnectionLimits::per_address(9, 1);
        let _held = limits.acquire(from("2001:db8::1")).unwrap();
        assert!(limits.acquire(from("2001:db8::1")).is_err());
        assert!(limits.acquire(from("2001:db8::2")).is_ok());
    }
}
