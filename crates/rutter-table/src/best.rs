//! The best route of a prefix in a table dump, by the decision process of `rutter-rib`.

use std::net::IpAddr;
use std::rc::Rc;

use rutter_mrt::UpdateRoutes;
use rutter_rib::{FileAttributes, FileRoute, best_file_route};
use rutter_wire::attr::Attributes;
use rutter_wire::mrt::PeerEntry;

/// The attributes of routes in a dump.
#[derive(PartialEq, Eq, Hash, Default)]
pub(crate) struct Block {
    /// In canonical form, with four-octet AS numbers.
    pub octets: Box<[u8]>,
    pub next_hop: Option<IpAddr>,
}

impl Block {
    pub fn view(&self) -> Attributes<'_> {
        Attributes::from_canonical(&self.octets)
    }
}

/// Attributes, and what the decision process compares of them.
#[derive(Clone, Default)]
pub(crate) struct Read {
    pub block: Rc<Block>,
    facts: FileAttributes,
}

impl Read {
    pub fn of(update: &UpdateRoutes<'_>) -> Self {
        let block = Block {
            octets: update.attributes.block().into(),
            next_hop: update.entry_next_hop(),
        };
        Read {
            block: Rc::new(block),
            facts: FileAttributes::of(&update.attributes),
        }
    }
}

/// A route of a prefix.
#[derive(Clone)]
pub(crate) struct Candidate {
    /// The number of its peer.
    pub peer: u32,
    pub path_id: u32,
    pub read: Read,
}

/// Returns the best of the candidates.
pub(crate) fn best(
    mut candidates: Vec<Candidate>,
    peer: impl Fn(u32) -> PeerEntry,
) -> Option<Candidate> {
    let route = |candidate: &Candidate| {
        let PeerEntry {
            bgp_id, address, ..
        } = peer(candidate.peer);
        FileRoute::new(candidate.read.facts, candidate.peer, bgp_id, address)
    };
    let best = match candidates.len() {
        1 => 0,
        _ => best_file_route(&candidates.iter().map(route).collect::<Vec<_>>())?,
    };
    Some(candidates.swap_remove(best))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use rutter_net::Asn;
    use rutter_wire::attr::{self, code};

    use super::*;

    fn block(path: &[u32], more: &[(u8, u8, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        attr::write_attr(&mut out, 0x40, code::ORIGIN, &[0]);
        let mut value = vec![2, path.len() as u8];
        value.extend(path.iter().flat_map(|asn| asn.to_be_bytes()));
        attr::write_attr(&mut out, 0x40, code::AS_PATH, &value);
        for (flags, code, value) in more {
            attr::write_attr(&mut out, *flags, *code, value);
        }
        out
    }

    /// The number of the peer of the best of these blocks; peers have ascending BGP Identifiers.
    fn best_of(blocks: &[Vec<u8>]) -> Option<u32> {
        let candidate = |(peer, octets): (u32, &Vec<u8>)| Candidate {
            peer,
            path_id: 0,
            read: Read {
                block: Rc::default(),
                facts: FileAttributes::of(&Attributes::from_canonical(octets)),
            },
        };
        let candidates = (0..).zip(blocks).map(candidate).collect();
        let peer = |number: u32| PeerEntry {
            bgp_id: number + 1,
            address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, number as u8)),
            asn: Asn(100),
        };
        best(candidates, peer).map(|best| best.peer)
    }

    #[test]
    fn the_steps_are_those_of_rfc_4271() {
        let med = |med: u8| [0, 0, 0, med];
        let with_med =
            |path: &[u32], value: [u8; 4]| block(path, &[(0x80, code::MULTI_EXIT_DISC, &value)]);
        assert_eq!(best_of(&[]), None);
        assert_eq!(best_of(&[block(&[1, 2], &[])]), Some(0));
        assert_eq!(best_of(&[block(&[1, 2], &[]), block(&[1], &[])]), Some(1));
        let preferred = block(&[1, 2], &[(0x40, code::LOCAL_PREF, &[0, 0, 0, 200])]);
        assert_eq!(best_of(&[block(&[1], &[]), preferred]), Some(1));
        let one_as = [with_med(&[1, 2], med(9)), with_med(&[1, 3], med(5))];
        assert_eq!(best_of(&one_as), Some(1));
        let two_ases = [with_med(&[1, 2], med(9)), with_med(&[2, 3], med(5))];
        assert_eq!(best_of(&two_ases), Some(0));
        let three = [&two_ases[..], &[with_med(&[1, 3], med(5))]].concat();
        assert_eq!(
            best_of(&three),
            Some(1),
            "the first loses to the third by MED"
        );
    }

    /// Routes without a path are the shortest. A path that cannot be read is no such path.
    #[test]
    fn a_path_that_cannot_be_read_is_the_longest() {
        let broken = block(&[], &[]);
        let path = broken.len() - 2;
        let mut broken = [&broken[..path], &[9, 1, 0, 0, 0xfb, 0xf6]].concat();
        broken[path - 1] = 6;
        assert_eq!(best_of(&[broken.clone(), block(&[1, 2], &[])]), Some(1));
        assert_eq!(best_of(&[broken]), Some(0));
        assert_eq!(best_of(&[block(&[1], &[]), block(&[], &[])]), Some(1));
    }
}
