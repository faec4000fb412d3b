//! A walk over the table: the initial routes of sessions that a station has just learned of, or everything that a policy
//! changes.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rutter_net::Family;
use rutter_rib::{DestinationPlace, PeerId, StationView};

use super::tables::Tables;

/// The purpose of a walk.
pub(super) enum Purpose {
    /// The routes of these sessions, and of the Loc-RIB if the station has just learned of it. End-of-RIB follows.
    Initial {
        sessions: HashSet<PeerId>,
        loc_rib: bool,
    },
    /// Policies changed.
    Policy,
}

/// A walk in slices.
pub(super) struct Walk {
    pub(super) purpose: Purpose,
    family: Family,
    place: DestinationPlace,
}

/// A slice ends after so many steps, because sessions that begin or end wait for it.
const MOST_STEPS: usize = 2_048;

impl Walk {
    pub(super) fn new(purpose: Purpose) -> Self {
        Walk {
            purpose,
            family: Family::Ipv4Unicast,
            place: DestinationPlace::default(),
        }
    }

    /// Ends the walk for a session: no End-of-RIB follows for it.
    pub(super) fn leave_out(&mut self, peer: PeerId) {
        if let Purpose::Initial { sessions, .. } = &mut self.purpose {
            sessions.remove(&peer);
        }
    }

    /// Writes the next slice. Returns whether the walk has ended.
    pub(super) fn step(&mut self, monitor: &mut StationView, tables: &mut Tables<'_>) -> bool {
        let purpose = &self.purpose;
        let mut steps = 0;
        let next = monitor.visit(self.family, self.place, |destination| {
            match purpose {
                Purpose::Initial { sessions, loc_rib } => {
                    tables.initial(destination, |peer| sessions.contains(&peer), *loc_rib);
                }
                Purpose::Policy => tables.policy_changed(destination),
            }
            steps += tables.steps();
            match steps >= MOST_STEPS {
                true => ControlFlow::Break(()),
                false => tables.updates.fill(),
            }
        });
        if let Some(next) = next {
            self.place = next;
            return false;
        }
        self.place = DestinationPlace::default();
        match self.family {
            Family::Ipv4Unicast => self.family = Family::Ipv6Unicast,
            Family::Ipv6Unicast => return true,
        }
        false
    }
}
