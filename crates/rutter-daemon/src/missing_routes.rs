//! Routes that a limit on prefixes kept out, once there is room for them: they are requested again, or accepted if they were
//! kept.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

/// Requests the routes of neighbors that lack some for which there is room. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    let mut requests = Requests::default();
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let now = Instant::now();
        requests.expire(now);
        for status in shared.peers.all() {
            if status.has_room.swap(false, Ordering::Relaxed) {
                accept_kept(shared, &status);
            }
        }
        for (neighbor, family) in shared.peers.all().iter().flat_map(|p| missing(shared, p)) {
            if requests.may_begin(neighbor, family, now) {
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

/// The requests of the last [`REQUEST_EVERY`].
#[derive(Default)]
struct Requests(HashMap<(IpAddr, Family), Instant>);

impl Requests {
    fn expire(&mut self, now: Instant) {
        self.0
            .retain(|_, at| now.duration_since(*at) < REQUEST_EVERY);
    }

    /// Returns whether a request may be sent, and counts it.
    fn may_begin(&mut self, neighbor: IpAddr, family: Family, now: Instant) -> bool {
        match self.0.entry((neighbor, family)) {
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
        let mut requests = Requests::default();
        let (start, one) = (Instant::now(), IpAddr::from([192, 0, 2, 1]));
        let mut asks = |family, after: Duration| {
            requests.expire(start + after);
            requests.may_begin(one, family, start + after)
        };
        assert!(asks(Family::Ipv4Unicast, Duration::ZERO));
        assert!(!asks(Family::Ipv4Unicast, LOOK_EVERY));
        assert!(asks(Family::Ipv6Unicast, LOOK_EVERY));
        assert!(asks(Family::Ipv4Unicast, REQUEST_EVERY));
    }
}
