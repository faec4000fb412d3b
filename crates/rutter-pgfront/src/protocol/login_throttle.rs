//! Slows down guessing: after several wrong passwords, an address waits longer and longer before its next try.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rutter_server::network;

/// Wrong passwords without a wait: people mistype.
const FREE: u32 = 3;
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(60);
/// An address without further tries is forgotten after this time.
const FORGET_AFTER: Duration = Duration::from_secs(600);
/// The most addresses that are remembered. Beyond it the oldest is forgotten.
const MAX_ADDRESSES: usize = 4096;

#[derive(Clone, Copy)]
struct Attempts {
    failed: u32,
    last: Instant,
    not_before: Instant,
}

/// All addresses.
#[derive(Clone, Default)]
pub struct LoginThrottle(Arc<Mutex<HashMap<IpAddr, Attempts>>>);

impl LoginThrottle {
    /// Returns an error with the wait if an address must wait. This is no try: clients first connect without a password
    /// to learn whether one is needed.
    pub fn check(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match recent(&mut all, network(address), now) {
            Some(attempts) if now < attempts.not_before => Err(attempts.not_before - now),
            _ => Ok(()),
        }
    }

    /// Records a try. An address that must wait between tries waits after this one, whatever its outcome.
    pub fn attempt(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        self.check(address, now)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempts) = all.get_mut(&network(address)) {
            attempts.not_before = now + wait(attempts.failed);
        }
        Ok(())
    }

    /// A password was wrong.
    pub fn failed(&self, address: IpAddr, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent(&mut all, network(address), now);
        if all.len() >= MAX_ADDRESSES {
            all.retain(|_, attempts| now.duration_since(attempts.last) < FORGET_AFTER);
        }
        if all.len() >= MAX_ADDRESSES {
            let oldest = all.iter().min_by_key(|(_, attempts)| attempts.last);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                all.remove(&oldest);
            }
        }
        let attempts = all.entry(network(address)).or_insert(Attempts {
            failed: 0,
            last: now,
            not_before: now,
        });
        attempts.failed += 1;
        (attempts.last, attempts.not_before) = (now, now + wait(attempts.failed));
    }

    /// A password was right.
    pub fn passed(&self, address: IpAddr) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&network(address));
    }
}

/// The record of an address, unless it is old.
fn recent(
    all: &mut HashMap<IpAddr, Attempts>,
    address: IpAddr,
    now: Instant,
) -> Option<&mut Attempts> {
    let is_old = |attempts: &Attempts| now.duration_since(attempts.last) >= FORGET_AFTER;
    if all.get(&address).is_some_and(is_old) {
        all.remove(&address);
    }
    all.get_mut(&address)
}

fn wait(failed: u32) -> Duration {
    match failed.checked_sub(FREE) {
        None => Duration::ZERO,
        Some(more) => Duration::from_secs(1 << more.min(6)).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_delays_grow_and_expire() {
        let (throttle, mut now) = (LoginThrottle::default(), Instant::now());
        let address: IpAddr = "2001:db8::1".parse().unwrap();
        for _ in 0..3 {
            assert_eq!(throttle.attempt(address, now), Ok(()));
            throttle.failed(address, now);
        }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let wait = Duration::from_secs(seconds);
            let neighbor = "2001:db8::2".parse().unwrap();
            assert_eq!(throttle.check(neighbor, now), Err(wait));
            assert_eq!(throttle.check("192.0.2.1".parse().unwrap(), now), Ok(()));
            now += wait;
            for _ in 0..9 {
                assert_eq!(throttle.check(address, now), Ok(()), "to ask is no try");
            }
            assert_eq!(throttle.attempt(address, now), Ok(()));
            assert!(throttle.attempt(address, now).is_err(), "one at a time");
            throttle.failed(address, now);
        }
        now += FORGET_AFTER;
        assert_eq!(throttle.attempt(address, now), Ok(()));
        assert_eq!(throttle.attempt(address, now), Ok(()), "forgotten");
        throttle.failed(address, now);
        assert_eq!(throttle.check(address, now), Ok(()));
        throttle.passed(address);
        assert!(throttle.0.lock().unwrap().is_empty());
        for number in 0..2 * MAX_ADDRESSES as u32 {
            throttle.failed(IpAddr::V4(number.into()), now);
        }
        assert_eq!(throttle.0.lock().unwrap().len(), MAX_ADDRESSES);
    }
}
