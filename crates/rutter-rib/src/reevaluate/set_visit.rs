//! A visit of all attribute sets before their audiences change together. No commit waits for it, whatever the sets of a peer cost.
//! The change itself waits only for the sets that came last.

use parking_lot::RwLockWriteGuard;

use crate::Rib;
use crate::advertise::audiences::SeenSet;
use crate::topology::Topology;

/// After so many sets the new ones are visited, so that few of them wait.
const SETS_A_SLICE: usize = 64;
/// The bytes of sets that are visited while all wait, at most.
const MAX_ARRIVED: usize = 64 * 1024;
/// Peers that send new sets faster than they are visited cannot put the change off any more after so many attempts.
const MAX_ATTEMPTS: usize = 256;

/// Prepares a change of all audiences.
pub(crate) trait SetVisitor {
    /// Sees a set, with the audience that it has before the change. It must release the set. A set may come again, when its
    /// audience is known.
    fn visit(&mut self, rib: &Rib, seen: SeenSet);

    /// Called now and then while nobody waits.
    fn tidy(&mut self, rib: &Rib);
}

/// Visits all sets. The caller holds [`Rib::export_replacement`] until [`visit_last`] has returned.
pub(crate) fn visit_all(rib: &Rib, visitor: &mut impl SetVisitor) {
    rib.topology.write().audiences.watch_arrivals();
    let mut stripe = 0;
    while let Some(sets) = rib.store.sets_of(stripe) {
        let mut sets = sets.into_iter();
        while sets.len() > 0 {
            let slice: Vec<SeenSet> = {
                let audiences = &rib.topology.read().audiences;
                let sets = sets.by_ref().take(SETS_A_SLICE);
                sets.map(|set| audiences.look_at(set)).collect()
            };
            slice.into_iter().for_each(|seen| visitor.visit(rib, seen));
            visit_arrived(rib, visitor);
        }
        stripe += 1;
    }
}

/// Visits the sets whose audience was determined since the last call.
pub(crate) fn visit_arrived(rib: &Rib, visitor: &mut impl SetVisitor) {
    let arrived = rib.topology.read().audiences.take_arrived();
    arrived
        .into_iter()
        .for_each(|seen| visitor.visit(rib, seen));
    visitor.tidy(rib);
}

/// Visits the rest, few sets, and returns the lock under which no further one comes, with their number.
pub(crate) fn visit_last<'a>(
    rib: &'a Rib,
    visitor: &mut impl SetVisitor,
) -> (RwLockWriteGuard<'a, Topology>, usize) {
    let mut attempts = 0;
    let mut topology = loop {
        visit_arrived(rib, visitor);
        let topology = rib.topology.write();
        attempts += 1;
        if topology.audiences.arrived_bytes() <= MAX_ARRIVED || attempts >= MAX_ATTEMPTS {
            break topology;
        }
    };
    let last = topology.audiences.end_watch();
    let count = last.len();
    last.into_iter().for_each(|seen| visitor.visit(rib, seen));
    (topology, count)
}
