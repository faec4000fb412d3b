//! The decision process over routes that were read from a file.

use std::net::IpAddr;

use rutter_wire::attr::Attributes;

use super::PeerRank;
use super::process::Process;
use crate::adj_rib_in::attr_set::Summary;

/// The attributes of a route of a table dump: the facts that the decision process compares.
#[derive(Clone, Copy, Default, Debug)]
pub struct FileAttributes {
    summary: Summary,
    originator_id: Option<u32>,
}

impl FileAttributes {
    /// Decodes the facts.
    pub fn of(attributes: &Attributes<'_>) -> Self {
        FileAttributes {
            summary: Summary::of(attributes),
            originator_id: attributes.originator_id(),
        }
    }
}

/// A route of a table dump.
#[derive(Clone, Copy, Debug)]
pub struct FileRoute {
    attributes: FileAttributes,
    rank: PeerRank,
    peer: u32,
}

impl FileRoute {
    /// The route of a peer, which has a number. A dump does not say which sessions are internal, so all count as
    /// external.
    pub fn new(attributes: FileAttributes, peer: u32, bgp_id: u32, address: IpAddr) -> Self {
        FileRoute {
            attributes,
            rank: PeerRank {
                external: true,
                bgp_id,
                address: match address {
                    IpAddr::V4(addr) => u128::from(addr.to_bits()),
                    IpAddr::V6(addr) => addr.to_bits(),
                },
                default_local_pref: 100,
            },
            peer,
        }
    }
}

/// Returns the index of the best of a prefix's routes; `None` where there are none.
pub fn best_file_route(routes: &[FileRoute]) -> Option<usize> {
    FileDecision.best(routes)
}

struct FileDecision;

impl Process for FileDecision {
    type Route = FileRoute;

    fn always_compare_med(&self) -> bool {
        false
    }

    fn summary<'r>(&self, route: &'r FileRoute) -> &'r Summary {
        &route.attributes.summary
    }

    fn rank(&self, route: &FileRoute) -> PeerRank {
        route.rank
    }

    fn is_long_lived_stale(&self, _: &FileRoute) -> bool {
        false
    }

    fn local_pref(&self, route: &FileRoute) -> u32 {
        let given = route.attributes.summary.local_pref();
        given.unwrap_or(route.rank.default_local_pref)
    }

    fn originator_id(&self, route: &FileRoute) -> Option<u32> {
        route.attributes.originator_id
    }

    fn path(&self, route: &FileRoute) -> (u16, u32) {
        ((route.peer >> 16) as u16, route.peer)
    }
}
