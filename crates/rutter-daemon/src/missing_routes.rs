//! Routes that a limit on prefixes kept out, once there is room for them: they are requested again, or accepted if they were
//! kept.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rutter_api::SessionState;
use rutter_net::Family;

use crate::mailbox::Command;
use crate::privileges;
use crate::shared::Shared;
use crate::status::PeerStatus;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The shortest time between two requests to a neighbor: it sends its whole table each time.
const REQUEST_EVERY: Duration = Duration::from_secs(300);
/// The shortest time between two evaluations of a neighbor's kept routes, each of which is a walk over the table with a line of
/// the log. A neighbor can exceed its limit and return below it at any rate.
const EVALUATE_EVERY: Duration = Duration::from_secs(10);

/// Requests the routes of neighbors that lack some for which there is room. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    let mut requests = Recent::new(REQUEST_EVERY);
    let mut evaluations = Recent::new(EVALUATE_EVERY);
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let now = Instant::now();
        requests.expire(now);
        evaluations.expire(now);
        let all = shared.peers.all();
        for status in { all.iter() }.filter(|status| status.has_room.load(Ordering::Relaxed)) {
            let address = status.with(|details| details.config.address);
            if evaluations.may_begin(address, now) {
                status.has_room.store(false, Ordering::Relaxed);
                accept_kept(shared, status);
            }
        }
        for (neighbor, family) in shared.peers.all().iter().flat_map(|p| missing(shared, p)) {
            if requests.may_begin((neighbor, family), now) {
                request(shared, neighbor, family);
            }
        }
    }
}

/// Evaluates the routes of a neighbor again: none of them is above the limit any more.
fn accept_kept(shared: &Shared, status: &PeerStatus) {
    let (name, peer) = status.with(|details| (details.config.name.clone(), details.peer));
    if let Some(peer) = peer {
        tracing::info!(
            peer = name,
            "blocked routes are evaluated again: there is room for them"
        );
        shared.rib.reevaluate_import(peer);
        shared.flush();
    }
}

/// The families of an established neighbor in which routes are missing that have room.
fn missing(shared: &Shared, status: &PeerStatus) -> Vec<(IpAddr, Family)> {
    let (address, peer) = status.with(|details| {
        let established = details.state == SessionState::Established;
        (details.config.address, details.peer.filter(|_| established))
    });
    let intake = peer.map(|peer| shared.rib.intake(peer)).unwrap_or_default();
    let families = intake.to_request();
    families.map(|family| (address, family)).collect()
}

fn request(shared: &Shared, neighbor: IpAddr, family: Family) {
    let command = Command::RequestRefresh { neighbor, family };
    if let Err(error) = shared.post_to_peer(neighbor, command) {
        tracing::error!(peer = %neighbor, %error, "routes were not requested");
    }
}

/// The work that began lately, for each key once in `every`.
struct Recent<K> {
    every: Duration,
    begun: HashMap<K, Instant>,
}

impl<K: Eq + Hash> Recent<K> {
    fn new(every: Duration) -> Self {
        Recent {
            every,
            begun: HashMap::new(),
        }
    }

    fn expire(&mut self, now: Instant) {
        self.begun
            .retain(|_, at| now.duration_since(*at) < self.every);
    }

    /// Returns whether it may begin again, and counts it.
    fn may_begin(&mut self, key: K, now: Instant) -> bool {
        match self.begun.entry(key) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(now);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbor_is_asked_once_in_a_while() {
        let mut requests = Recent::new(REQUEST_EVERY);
        let (start, one) = (Instant::now(), IpAddr::from([192, 0, 2, 1]));
        let mut asks = |family, after: Duration| {
            requests.expire(start + after);
            requests.may_begin((one, family), start + after)
        };
        assert!(asks(Family::Ipv4Unicast, Duration::ZERO));
        assert!(!asks(Family::Ipv4Unicast, LOOK_EVERY));
        assert!(asks(Family::Ipv6Unicast, LOOK_EVERY));
        assert!(asks(Family::Ipv4Unicast, REQUEST_EVERY));
    }

    #[test]
    fn kept_routes_of_a_neighbor_are_evaluated_once_in_a_while() {
        let mut evaluations = Recent::new(EVALUATE_EVERY);
        let start = Instant::now();
        let mut count = 0;
        for second in 0..60 {
            let now = start + LOOK_EVERY * second;
            evaluations.expire(now);
            count += u32::from(evaluations.may_begin("a neighbor that flaps", now));
        }
        assert_eq!(count, 6);
        assert!(evaluations.may_begin("another", start));
    }
}
