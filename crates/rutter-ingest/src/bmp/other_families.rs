//! The UPDATEs with routes of families that the table does not keep, counted by family.

use rutter_net::AfiSafi;

use super::oddities::reported;

/// The UPDATEs of a family that the table does not keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FamilyCount {
    /// The family; `None` for all families that are not counted one by one, because the router reports too many.
    pub afi_safi: Option<AfiSafi>,
    /// The number of UPDATEs with its routes.
    pub updates: u64,
}

/// The most families of a router that are counted one by one. Routers have about twenty, and a hostile one has millions.
pub(super) const MOST: usize = 32;

/// The families of an UPDATE that are not kept. An End-of-RIB has no routes.
pub(super) fn in_update(body: &[u8]) -> impl Iterator<Item = AfiSafi> {
    let attributes = reported(body);
    let reach = attributes.mp_reach();
    let reach = reach.filter(|reach| !reach.nlri.is_empty());
    let announced = reach.map(|reach| reach.afi_safi);
    let unreach = attributes.mp_unreach();
    let unreach = unreach.filter(|unreach| !unreach.withdrawn.is_empty());
    let withdrawn = unreach.map(|unreach| unreach.afi_safi);
    let families = [announced, withdrawn.filter(|_| withdrawn != announced)];
    let is_other = |family: &AfiSafi| family.family().is_none();
    families.into_iter().flatten().filter(is_other)
}

/// Counts an UPDATE. Returns whether it is the first of its family that is counted.
pub(super) fn count(counts: &mut Vec<FamilyCount>, family: AfiSafi) -> bool {
    let known = |of: Option<AfiSafi>| move |one: &&mut FamilyCount| one.afi_safi == of;
    if let Some(one) = counts.iter_mut().find(known(Some(family))) {
        one.updates += 1;
        return false;
    }
    let afi_safi = Some(family).filter(|_| counts.len() < MOST);
    if let Some(rest) = counts.iter_mut().find(known(afi_safi)) {
        rest.updates += 1;
        return false;
    }
    counts.push(FamilyCount {
        afi_safi,
        updates: 1,
    });
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_families_is_limited() {
        let mut counts = Vec::new();
        let family = |safi| AfiSafi { afi: 9, safi };
        let new = (0..100).filter(|safi| count(&mut counts, family(*safi)));
        assert_eq!(new.count(), MOST + 1);
        assert!(!count(&mut counts, family(0)));
        assert_eq!(counts.len(), MOST + 1);
        let (first, rest) = (counts[0], counts[MOST]);
        assert_eq!((first.afi_safi, first.updates), (Some(family(0)), 2));
        assert_eq!((rest.afi_safi, rest.updates), (None, 100 - MOST as u64));
    }
}
