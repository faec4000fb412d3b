//! The best route of a prefix in a table dump, by the decision process of `rutter-rib`.

use rutter_rib::{FileRoute, best_file_route};
use rutter_wire::attr::Attributes;
use rutter_wire::mrt::PeerEntry;

/// A route of a prefix.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub peer: (u16, PeerEntry),
    pub octets: &'a [u8],
    pub next_hop: Option<&'a [u8]>,
}

impl Candidate<'_> {
    fn route(&self) -> FileRoute {
        let (index, peer) = self.peer;
        let attributes = Attributes::from_canonical(self.octets);
        FileRoute::new(&attributes, index, peer.bgp_id, peer.address)
    }
}

/// Returns the best of the candidates.
pub(crate) fn best<'a>(candidates: &[Candidate<'a>]) -> Option<Candidate<'a>> {
    if let [only] = candidates {
        return Some(*only);
    }
    let routes: Vec<FileRoute> = candidates.iter().map(Candidate::route).collect();
    best_file_route(&routes).map(|index| candidates[index])
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

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

    /// The peer index of the best of these blocks; peers have ascending BGP Identifiers.
    fn best_of(blocks: &[Vec<u8>]) -> Option<u16> {
        let candidates: Vec<Candidate<'_>> = (0..)
            .zip(blocks)
            .map(|(index, octets)| Candidate {
                peer: (
                    index,
                    PeerEntry {
                        bgp_id: u32::from(index) + 1,
                        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, index as u8)),
                        asn: Asn(100),
                    },
                ),
                octets,
                next_hop: None,
            })
            .collect();
        best(&candidates).map(|best| best.peer.0)
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
}
