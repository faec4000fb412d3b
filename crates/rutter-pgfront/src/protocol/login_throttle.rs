//! Slows down guessing: after several wrong passwords, an address waits longer and longer before its next try.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rutter_limits::network;

/// Wrong passwords without a wait: people mistype.
const FREE: u32 = 3;
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(60);
/// An address without further tries is forgotten after this time.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// The most addresses that are remembered. Beyond it the oldest is forgotten.
const MOST: usize = 4096;

#[derive(Clone, Copy)]
struct Tries {
    failed: u32,
    last: Instant,
    not_before: Instant,
}

/// All addresses.
#[derive(Clone, Default)]
pub struct Gate(Arc<Mutex<HashMap<IpAddr, Tries>>>);

impl Gate {
    /// Returns an error with the wait if an address must wait. This is no try: clients first connect without a password
    /// to learn whether one is needed.
    pub fn open(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match remembered(&mut all, network(address), now) {
            Some(tries) if now < tries.not_before => Err(tries.not_before - now),
            _ => Ok(()),
        }
    }

    /// Records a try. An address that must wait between tries waits after this one, whatever its outcome.
    pub fn attempt(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        self.open(address, now)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tries) = all.get_mut(&network(address)) {
            tries.not_before = now + wait(tries.failed);
        }
        Ok(())
    }

    /// A password was wrong.
    pub fn failed(&self, address: IpAddr, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered(&mut all, network(address), now);
        if all.len() >= MOST {
            all.retain(|_, tries| now.duration_since(tries.last) < FORGOTTEN);
        }
        if all.len() >= MOST {
            let oldest = all.iter().min_by_key(|(_, tries)| tries.last);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                all.remove(&oldest);
            }
        }
        let tries = all.entry(network(address)).or_insert(Tries {
            failed: 0,
            last: now,
            not_before: now,
        });
        tries.failed += 1;
        (tries.last, tries.not_before) = (now, now + wait(tries.failed));
    }

    /// A password was right.
    pub fn passed(&self, address: IpAddr) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&network(address));
    }
}

/// The record of an address, unless it is old.
fn remembered(
    all: &mut HashMap<IpAddr, Tries>,
    address: IpAddr,
    now: Instant,
) -> Option<&mut Tries> {
    let forgotten = |tries: &Tries| now.duration_since(tries.last) >= FORGOTTEN;
    if all.get(&address).is_some_and(forgotten) {
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
    fn waits_grow_and_end() {
        let (gate, mut now) = (Gate::default(), Instant::now());
        let address: IpAddr = "2001:db8::1".parse().unwrap();
        for _ in 0..3 {
            assert_eq!(gate.attempt(address, now), Ok(()));
            gate.failed(address, now);
        }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let wait = Duration::from_secs(seconds);
            let neighbor = "2001:db8::2".parse().unwrap();
            assert_eq!(gate.open(neighbor, now), Err(wait));
            assert_eq!(gate.open("192.0.2.1".parse().unwrap(), now), Ok(()));
            now += wait;
            for _ in 0..9 {
                assert_eq!(gate.open(address, now), Ok(()), "to ask is no try");
            }
            assert_eq!(gate.attempt(address, now), Ok(()));
            assert!(gate.attempt(address, now).is_err(), "one at a time");
            gate.failed(address, now);
        }
        now += FORGOTTEN;
        assert_eq!(gate.attempt(address, now), Ok(()));
        assert_eq!(gate.attempt(address, now), Ok(()), "forgotten");
        gate.failed(address, now);
        assert_eq!(gate.open(address, now), Ok(()));
        gate.passed(address);
        assert!(gate.0.lock().unwrap().is_empty());
        for number in 0..2 * MOST as u32 {
            gate.failed(IpAddr::V4(number.into()), now);
        }
        assert_eq!(gate.0.lock().unwrap().len(), MOST);
    }
}
