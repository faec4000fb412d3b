//! Limits on the paths of one prefix from one neighbor (RFC 7911 sets none).

use crate::PeerId;
use crate::adj_rib_in::route::Route;
use crate::advertise::recorder::sent_path_id;

/// The paths of one prefix that a neighbor may have in the decision. Further ones are rejected.
pub(crate) const MAX_PATHS: usize = 256;
/// The paths of one prefix that are kept from a neighbor, rejected ones included. Further ones are not kept.
pub(crate) const MAX_HELD_PATHS: usize = 1_024;

/// Returns whether a neighbor's further path of a prefix is rejected: it has too many, or one that is sent on under
/// the same identifier.
pub(crate) fn exceeds_path_limit(accepted: &[Route], new: &Route) -> bool {
    let others = accepted
        .iter()
        .filter(|held| held.peer == new.peer && held.path_id != new.path_id);
    let mut count = 0;
    for held in others {
        count += 1;
        if count == MAX_PATHS || sent_path_id(held) == sent_path_id(new) {
            return true;
        }
    }
    false
}

/// Returns whether a neighbor has so many paths of a prefix that another is not kept.
pub(crate) fn is_full(routes: &[Route], peer: PeerId) -> bool {
    routes.len() >= MAX_HELD_PATHS
        && routes.iter().filter(|route| route.peer == peer).count() >= MAX_HELD_PATHS
}

/// The accepted paths of some neighbors: as [`exceeds_path_limit`], for many new paths.
#[derive(Default)]
pub(crate) struct AcceptedPaths {
    /// Sender, identifier as sent, and identifier as received.
    paths: Vec<(PeerId, u32, u32)>,
}

impl AcceptedPaths {
    /// Adds a held route. Call [`AcceptedPaths::sort`] after the last.
    pub fn expect(&mut self, route: &Route) {
        self.paths.push(key(route));
    }

    pub fn sort(&mut self) {
        self.paths.sort_unstable();
    }

    /// Adds a new path unless it exceeds the limit. It may take the place of a held route of the same path.
    pub fn admit(&mut self, new: &Route) -> bool {
        let key = key(new);
        match self.paths.binary_search(&key) {
            Ok(_) => true,
            Err(place) => {
                let start = self.paths.partition_point(|path| path.0 < new.peer);
                let end = self.paths.partition_point(|path| path.0 <= new.peer);
                let is_taken = |at: &usize| {
                    let path = self.paths.get(*at);
                    path.is_some_and(|path| (path.0, path.1) == (key.0, key.1))
                };
                let taken = [Some(place), place.checked_sub(1)]
                    .iter()
                    .flatten()
                    .any(is_taken);
                if taken || end - start >= MAX_PATHS {
                    return false;
                }
                self.paths.insert(place, key);
                true
            }
        }
    }

    /// Removes the held route of a path whose new route was rejected.
    pub fn forget(&mut self, new: &Route) {
        if let Ok(place) = self.paths.binary_search(&key(new)) {
            self.paths.remove(place);
        }
    }
}

fn key(route: &Route) -> (PeerId, u32, u32) {
    (route.peer, sent_path_id(route), route.path_id)
}
