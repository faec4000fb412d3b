//! Re-evaluation after a change of outside data: of the routes that a changed entry concerns.

use std::sync::Arc;

use rutter_net::{Family, Prefix};
use rutter_policy::{FilterChanges, FilterData};

use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::route::Route;
use crate::reevaluate::import::{Editor, Verdicts, place_of};
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;
use crate::{AttrSet, PeerId, Rib};

impl Rib {
    /// Replaces the outside data. Only routes that the change concerns are evaluated again, and clients are sent only
    /// differences. No route refresh is requested (RFC 9324). O(destinations), in slices; updates of peers pass in
    /// between. `notify` is as in [`Rib::replace_neighbors`].
    pub fn replace_filter_data(&self, data: Arc<FilterData>, mut notify: impl FnMut()) {
        let mut topology = self.topology.write();
        let former = std::mem::replace(&mut topology.filter_data, Arc::clone(&data));
        drop(topology);
        self.changed();
        let changes = FilterChanges::between(&former, &data);
        if changes.is_empty() {
            return;
        }
        let peers: Vec<PeerId> = self.topology.read().iter().map(|(id, _)| id).collect();
        let mut progress = WalkProgress::new(self, &mut notify);
        for family in Family::ALL {
            let mut editor = FilterDataEditor {
                changes: &changes,
                destination: None,
                paths: ConcernedPaths::default(),
                verdicts: Verdicts::default(),
            };
            self.edit_routes(family, &peers, &mut progress, &mut editor);
        }
    }

    /// The present outside data.
    pub fn filter_data(&self) -> Arc<FilterData> {
        Arc::clone(&self.topology.read().filter_data)
    }
}

/// Evaluates the routes again that a change of outside data concerns.
struct FilterDataEditor<'a> {
    changes: &'a FilterChanges,
    /// The answer of [`FilterChanges::concern_prefix`] for the last destination: its routes follow each other.
    destination: Option<(Prefix, bool)>,
    paths: ConcernedPaths,
    verdicts: Verdicts,
}

impl Editor for FilterDataEditor<'_> {
    fn begin_slice(&mut self) {
        self.paths = ConcernedPaths::default();
        self.verdicts = Verdicts::default();
    }

    fn edit(&mut self, topology: &Topology, prefix: Prefix, route: &Route) -> Edited {
        match self.concerns_destination(prefix) || self.concerns_sender(topology, route) {
            true => self.verdicts.edit(topology, prefix, route),
            false => Edited::Keep,
        }
    }
}

impl FilterDataEditor<'_> {
    fn concerns_sender(&mut self, topology: &Topology, route: &Route) -> bool {
        let changes = self.changes;
        if changes.concern_no_paths() {
            return false;
        }
        topology.peer(route.peer).is_some_and(|peer| {
            let policy = &peer.neighbor.import;
            changes.concern_member(policy, || route.attrs.origin_as())
                || changes.concern_paths_of(policy) && self.paths.concern(changes, &route.attrs)
        })
    }

    fn concerns_destination(&mut self, prefix: Prefix) -> bool {
        match self.destination {
            Some((last, is_concerned)) if last == prefix => is_concerned,
            _ => {
                let is_concerned = self.changes.concern_prefix(prefix);
                self.destination = Some((prefix, is_concerned));
                is_concerned
            }
        }
    }
}

/// The answers of [`FilterChanges::concern_path`] in a slice of the table, by the address of the attribute set, as in
/// [`Verdicts`].
struct ConcernedPaths([(usize, bool); 64]);

impl Default for ConcernedPaths {
    fn default() -> Self {
        ConcernedPaths([(0, false); 64])
    }
}

impl ConcernedPaths {
    fn concern(&mut self, changes: &FilterChanges, attrs: &AttrSet) -> bool {
        let address = attrs.address();
        let place = &mut self.0[place_of(address)];
        if place.0 != address {
            let path = attrs.attributes().as_path();
            *place = (address, path.is_some_and(|path| changes.concern_path(path)));
        }
        place.1
    }
}
