//! Re-evaluation after a change of outside data: of the routes that a changed entry concerns.

use std::sync::Arc;

use rutter_net::{Family, Prefix};
use rutter_policy::{OutsideData, OutsideDataChanges};

use crate::adj_rib_in::attr_set::AttrStore;
use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::route::Route;
use crate::advertise::octet_count::OctetCount;
use crate::reevaluate::import::{Editor, Verdicts, place_of};
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;
use crate::{AttrSet, PeerId, Rib};

impl Rib {
    /// Replaces the outside data. Only routes that the change concerns are evaluated again, and clients are sent only
    /// differences. No route refresh is requested (RFC 9324). O(destinations), in slices; updates of peers pass in
    /// between. `notify` is as in [`Rib::replace_neighbors`].
    pub fn replace_outside_data(&self, data: Arc<OutsideData>, mut notify: impl FnMut()) {
        let mut topology = self.topology.write();
        let former = std::mem::replace(&mut topology.outside_data, Arc::clone(&data));
        drop(topology);
        self.changed();
        let changes = OutsideDataChanges::between(&former, &data);
        if changes.is_empty() {
            return;
        }
        let peers: Vec<PeerId> = self.topology.read().iter().map(|(id, _)| id).collect();
        let mut progress = WalkProgress::new(self, &mut notify);
        let suspects = Suspects::find(&self.store, &changes);
        for family in Family::ALL {
            let mut editor = OutsideDataEditor {
                changes: &changes,
                suspects: suspects.as_ref(),
                destination: None,
                paths: ConcernedPaths::default(),
                verdicts: Verdicts::default(),
            };
            self.edit_routes(family, &peers, &mut progress, &mut editor);
        }
    }

    /// The present outside data.
    pub fn outside_data(&self) -> Arc<OutsideData> {
        Arc::clone(&self.topology.read().outside_data)
    }
}

/// Evaluates the routes again that a change of outside data concerns.
struct OutsideDataEditor<'a> {
    changes: &'a OutsideDataChanges,
    /// `None` if any attributes may be concerned.
    suspects: Option<&'a Suspects>,
    /// The answer of [`OutsideDataChanges::concern_prefix`] for the last destination: its routes follow each other.
    destination: Option<(Prefix, bool)>,
    paths: ConcernedPaths,
    verdicts: Verdicts,
}

impl Editor for OutsideDataEditor<'_> {
    fn begin_slice(&mut self) {
        self.paths = ConcernedPaths::default();
        self.verdicts = Verdicts::default();
    }

    fn octets(&self) -> usize {
        self.verdicts.octets.octets()
    }

    fn edit(&mut self, topology: &Topology, prefix: Prefix, route: &Route) -> Edited {
        match self.concerns_destination(prefix) || self.concerns_sender(topology, route) {
            true => self.verdicts.edit(topology, prefix, route),
            false => Edited::Keep,
        }
    }
}

impl OutsideDataEditor<'_> {
    fn concerns_sender(&mut self, topology: &Topology, route: &Route) -> bool {
        let changes = self.changes;
        if changes.concern_no_paths() || self.suspects.is_some_and(|all| !all.contain(&route.attrs))
        {
            return false;
        }
        topology.peer(route.peer).is_some_and(|peer| {
            let policy = &peer.neighbor.import;
            changes.concern_member(policy, || route.attrs.origin_as())
                || changes.concern_paths_of(policy)
                    && self
                        .paths
                        .concern(changes, &route.attrs, &mut self.verdicts.octets)
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

/// The attribute sets that a change may concern for their origin or path.
///
/// They are few, and are found before the walk: so it need not read the attributes of each route from memory. A set that
/// comes later belongs to routes that were evaluated under the new data. One that takes the address of another only costs a
/// second look.
struct Suspects {
    /// A bit for each remainder of an address, which answers for nearly all routes.
    bits: Box<[u64; SUSPECT_WORDS]>,
    /// In order.
    addresses: Vec<usize>,
}

/// 64 Ki bits.
const SUSPECT_WORDS: usize = 1024;

impl Suspects {
    /// `None` if a change may concern any attributes. O(attribute sets).
    fn find(store: &AttrStore, changes: &OutsideDataChanges) -> Option<Self> {
        let origins = changes.concerned_origins()?;
        let mut suspects = Suspects {
            bits: Box::new([0; SUSPECT_WORDS]),
            addresses: Vec::new(),
        };
        if changes.concern_no_paths() {
            return Some(suspects);
        }
        let has_path = |set: &AttrSet| {
            let path = set.attributes().as_path();
            path.is_some_and(|path| changes.concern_path(path))
        };
        store.for_each(|set| {
            let origin = set.origin_as();
            let has_origin = origin.is_some_and(|asn| origins.binary_search(&asn.0).is_ok());
            if has_origin || changes.concern_some_path() && has_path(set) {
                suspects.add(set.address());
            }
        });
        suspects.addresses.sort_unstable();
        Some(suspects)
    }

    fn add(&mut self, address: usize) {
        let (word, bit) = Self::place(address);
        self.bits[word] |= bit;
        self.addresses.push(address);
    }

    #[inline]
    fn contain(&self, set: &AttrSet) -> bool {
        let address = set.address();
        let (word, bit) = Self::place(address);
        self.bits[word] & bit != 0 && self.addresses.binary_search(&address).is_ok()
    }

    /// Addresses are multiples of four or more.
    #[inline]
    fn place(address: usize) -> (usize, u64) {
        let mixed = (address as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        ((mixed >> 6) as usize, 1 << (mixed & 63))
    }
}

/// The answers of [`OutsideDataChanges::concern_path`] in a slice of the table, by the address of the attribute set, as in
/// [`Verdicts`].
struct ConcernedPaths([(usize, bool); 64]);

impl Default for ConcernedPaths {
    fn default() -> Self {
        ConcernedPaths([(0, false); 64])
    }
}

impl ConcernedPaths {
    fn concern(
        &mut self,
        changes: &OutsideDataChanges,
        attrs: &AttrSet,
        octets: &mut OctetCount,
    ) -> bool {
        let address = attrs.address();
        let place = &mut self.0[place_of(address)];
        if place.0 != address {
            octets.add(attrs);
            let path = attrs.attributes().as_path();
            *place = (address, path.is_some_and(|path| changes.concern_path(path)));
        }
        place.1
    }
}
