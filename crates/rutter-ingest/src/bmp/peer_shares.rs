//! The shares of the routers in the peers that the table takes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_server::{LogRateLimit, network};

/// The number of peers that the table has for the routers of each source: an IPv4 address, or an IPv6 network of 64 bits.
///
/// A source gets another peer only while it has fewer than are still free. So it never has more than half of those that the
/// other sources leave, and a router that comes late finds free ones.
#[derive(Clone, Debug)]
pub(super) struct PeerShares(Arc<Mutex<Shares>>);

#[derive(Debug)]
struct Shares {
    by_source: BTreeMap<IpAddr, usize>,
    refusals: LogRateLimit,
}

/// At most one line about refused peers in this time.
const LOG_PERIOD: Duration = Duration::from_secs(10);

impl Default for PeerShares {
    fn default() -> Self {
        PeerShares(Arc::new(Mutex::new(Shares {
            by_source: BTreeMap::new(),
            refusals: LogRateLimit::new(1, LOG_PERIOD),
        })))
    }
}

impl PeerShares {
    /// The share of a router without peers.
    pub fn of(&self, address: IpAddr) -> PeerShare {
        PeerShare {
            all: self.clone(),
            source: network(address),
            peers: 0,
        }
    }
}

/// The peers of one router, which count for its source until this is dropped.
#[derive(Debug)]
pub(super) struct PeerShare {
    all: PeerShares,
    source: IpAddr,
    peers: usize,
}

impl PeerShare {
    /// The number of peers.
    pub fn peers(&self) -> usize {
        self.peers
    }

    /// Counts another peer. Returns `false` if the source has too many. `free` is the number of peers that the table can
    /// still take.
    pub fn grow(&mut self, free: usize) -> bool {
        let mut shares = self.all.0.lock();
        let of_source = shares.by_source.entry(self.source).or_default();
        let has_room = *of_source < free;
        if has_room {
            *of_source += 1;
            self.peers += 1;
        }
        has_room
    }

    /// Counts peers that the table has already.
    pub fn resume(&mut self, peers: usize) {
        *self.all.0.lock().by_source.entry(self.source).or_default() += peers;
        self.peers += peers;
    }

    /// Counts some peers no more.
    pub fn shrink(&mut self, peers: usize) {
        let mut shares = self.all.0.lock();
        self.peers -= peers;
        if let Some(of_source) = shares.by_source.get_mut(&self.source) {
            *of_source -= peers;
            if *of_source == 0 {
                shares.by_source.remove(&self.source);
            }
        }
    }

    /// Returns the number of lines about refused peers that were left out before this one, `None` if it is left out, too.
    pub fn admit_refusal(&self) -> Option<u64> {
        self.all.0.lock().refusals.allow(Instant::now())
    }
}

impl Drop for PeerShare {
    fn drop(&mut self) {
        self.shrink(self.peers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes peers until the source has its share. Returns how many it got.
    fn fill(share: &mut PeerShare, free: &mut usize) -> usize {
        let before = *free;
        while share.grow(*free) {
            *free -= 1;
        }
        before - *free
    }

    #[test]
    fn a_source_gets_half_of_what_the_others_leave() {
        let shares = PeerShares::default();
        let share = |address: &str| shares.of(address.parse().expect("an address"));
        let mut free = 61_439;
        let mut greedy = ["192.0.2.1", "192.0.2.1", "2001:db8::1", "2001:db8::2"].map(share);
        let got = greedy.each_mut().map(|one| fill(one, &mut free));
        assert_eq!(got, [30_720, 0, 15_360, 0]);
        let mut late = share("192.0.2.9");
        assert!((0..5_000).all(|_| late.grow(free)));
        // The peers of a connection that ends are free again.
        let [first, ..] = greedy;
        free += first.peers();
        drop(first);
        assert_eq!(fill(&mut share("192.0.2.1"), &mut free), 23_040);
    }
}
