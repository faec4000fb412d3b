//! A limit on the requests a second from one source.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::network;

/// Limits the requests of each source: an IPv4 address, or an IPv6 network of 64 bits.
pub struct RequestRate {
    per_second: AtomicU32,
    sources: Mutex<HashMap<IpAddr, Allowance>>,
}

/// The requests that a source may still make at once.
struct Allowance {
    requests: f64,
    at: Instant,
}

/// A source may make as many requests at once as it may make in this time.
const BURST: Duration = Duration::from_secs(5);
/// Beyond so many sources, those with a full allowance are forgotten.
const SOURCES: usize = 4_096;

impl RequestRate {
    /// A limit of so many requests a second.
    pub fn new(per_second: u32) -> Self {
        RequestRate {
            per_second: AtomicU32::new(per_second),
            sources: Mutex::default(),
        }
    }

    /// Changes the limit.
    pub fn set(&self, per_second: u32) {
        self.per_second.store(per_second, Ordering::Relaxed);
    }

    /// Counts a request. Returns false if the source makes too many.
    pub fn allows(&self, source: IpAddr, now: Instant) -> bool {
        let rate = f64::from(self.per_second.load(Ordering::Relaxed));
        let full = rate * BURST.as_secs_f64();
        let filled = |one: &Allowance| {
            let seconds = now.saturating_duration_since(one.at).as_secs_f64();
            (one.requests + seconds * rate).min(full)
        };
        let mut sources = self.sources.lock();
        if sources.len() >= SOURCES {
            sources.retain(|_, one| filled(one) < full);
        }
        let one = sources.entry(network(source)).or_insert(Allowance {
            requests: full,
            at: now,
        });
        one.requests = filled(one);
        one.at = now;
        let is_allowed = one.requests >= 1.0;
        if is_allowed {
            one.requests -= 1.0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_asks_too_often_waits_and_others_do_not() {
        let rate = RequestRate::new(2);
        let start = Instant::now();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let allowed = (0..100).filter(|_| rate.allows(one, start)).count();
        assert_eq!(allowed, 10);
        assert!(rate.allows(other, start));
        let later = start + Duration::from_secs(1);
        let allowed = (0..100).filter(|_| rate.allows(one, later)).count();
        assert_eq!(allowed, 2);
    }
}
