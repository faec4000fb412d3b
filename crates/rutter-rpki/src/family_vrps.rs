//! The VRPs of one address family.

use rutter_lpm::{FrozenMap, Net, Place, prefetch};
use rutter_net::Prefix;

use crate::{Rov, Vrp};

/// A VRP of one family as the builder collects it: prefix, origin and maximum length. This is the order of sorting.
pub(crate) type RawVrp<N> = (N, u32, u8);

/// The VRPs of one address family.
#[derive(Debug)]
pub(crate) struct FamilyVrps<N: Net> {
    /// The position of each prefix's first VRP. The next prefix's is the end.
    prefixes: FrozenMap<N, u32>,
    /// The origin of each VRP.
    asns: Vec<u32>,
    /// The maximum length of each VRP.
    max_lens: Vec<u8>,
}

impl<N: Net + Into<Prefix>> FamilyVrps<N> {
    /// Builds the table. Equal VRPs count once.
    pub fn build(mut raw: Vec<RawVrp<N>>) -> Self {
        raw.sort_unstable();
        raw.dedup();
        let mut at = 0;
        let prefixes = raw.chunk_by(|one, next| one.0 == next.0).map(|of_prefix| {
            let start = at;
            at += of_prefix.len() as u32;
            (of_prefix[0].0, start)
        });
        FamilyVrps {
            prefixes: FrozenMap::from_sorted(prefixes),
            asns: raw.iter().map(|(_, asn, _)| *asn).collect(),
            max_lens: raw.iter().map(|(_, _, max_len)| *max_len).collect(),
        }
    }

    /// The number of VRPs.
    pub fn len(&self) -> usize {
        self.asns.len()
    }

    /// The bytes of the table.
    pub fn memory(&self) -> usize {
        self.prefixes.memory() + self.asns.capacity() * size_of::<u32>() + self.max_lens.capacity()
    }

    /// The VRPs that cover a prefix, those of the longest prefix first.
    #[inline]
    pub fn covering(&self, prefix: N) -> impl Iterator<Item = Vrp> {
        let covering = self.prefixes.covering(prefix);
        covering.flat_map(|(place, prefix)| self.vrps_at(place, prefix))
    }

    /// Finds the longest prefix with VRPs that covers `prefix`.
    #[inline]
    pub fn locate(&self, prefix: N) -> Place {
        self.prefixes.locate(prefix)
    }

    /// [`Self::locate`] for many prefixes side by side. Prefetches what [`Self::validate`] reads.
    pub fn locate_all(&self, prefixes: &[N], places: &mut [Place]) {
        self.prefixes.locate_all(prefixes, places);
        for start in places.iter().filter_map(|at| self.prefixes.value_at(*at)) {
            let start = *start as usize;
            self.asns.get(start).into_iter().for_each(prefetch);
            self.max_lens.get(start).into_iter().for_each(prefetch);
        }
    }

    /// Validates a route origin. `place` is that of the prefix.
    #[inline]
    pub fn validate(&self, place: Place, prefix: N, origin: Option<u32>) -> Rov {
        let mut state = Rov::NotFound;
        let len = prefix.prefix_len();
        // AS 0 matches no route (RFC 6483 §4), and no VRP has the number that stands for it here.
        let origin = origin.filter(|asn| *asn != 0);
        let origin = origin.map_or(u64::MAX, u64::from);
        for (place, _) in self.prefixes.covering_from(place) {
            let range = self.prefixes.rows_at(place, self.len());
            let (asns, max_lens) = (&self.asns[range.clone()], &self.max_lens[range]);
            for (asn, max_len) in asns.iter().zip(max_lens) {
                if origin == u64::from(*asn) && len <= *max_len {
                    return Rov::Valid;
                }
            }
            state = Rov::Invalid;
        }
        state
    }

    /// All VRPs in order of the prefix, origin and maximum length.
    pub fn iter(&self) -> impl Iterator<Item = Vrp> {
        let places = self.prefixes.places();
        places.flat_map(|(place, prefix)| self.vrps_at(place, prefix))
    }

    /// Calls `note` with each prefix whose VRPs differ between two tables.
    pub fn changed(old: &Self, new: &Self, mut note: impl FnMut(N)) {
        let differs = |(prefix, _): &(N, &u32)| !old.of(*prefix).eq(new.of(*prefix));
        old.prefixes
            .iter()
            .filter(differs)
            .for_each(|(prefix, _)| note(prefix));
        let is_new = |(prefix, _): &(N, &u32)| old.prefixes.find(*prefix).is_none();
        new.prefixes
            .iter()
            .filter(is_new)
            .for_each(|(prefix, _)| note(prefix));
    }

    /// The VRPs of exactly this prefix.
    fn of(&self, prefix: N) -> impl Iterator<Item = Vrp> {
        let place = self.prefixes.find(prefix).into_iter();
        place.flat_map(move |place| self.vrps_at(place, prefix))
    }

    #[inline]
    fn vrps_at(&self, place: Place, prefix: N) -> impl Iterator<Item = Vrp> + use<'_, N> {
        let vrp = move |at: usize| Vrp {
            prefix: prefix.into(),
            max_len: self.max_lens[at],
            asn: self.asns[at],
        };
        self.prefixes.rows_at(place, self.len()).map(vrp)
    }
}

impl<N: Net + Into<Prefix>> PartialEq for FamilyVrps<N> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}
