//! Two routes and the decision between them, for benchmarks.

use std::cmp::Ordering;

use rutter_wire::attr::Attributes;

use crate::adj_rib_in::attr_set::{AttrStore, Summary};
use crate::adj_rib_in::charges::NOBODY;
use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::verdict::Verdict;
use crate::decision::{Decision, PeerRank, Process};
use crate::{PeerId, Step};

/// Two accepted routes of the external peers 0 and 1.
#[doc(hidden)]
pub struct RoutePair {
    ranks: [PeerRank; 2],
    classes: ClassTable,
    routes: [Route; 2],
}

impl RoutePair {
    /// The routes of two canonical attribute blocks.
    pub fn new(blocks: [&[u8]; 2]) -> Self {
        let store = AttrStore::new(7);
        let rank = |peer: u32| PeerRank {
            external: true,
            bgp_id: peer + 1,
            address: u128::from(peer) + 1,
            default_local_pref: 100,
        };
        let route = |peer: u16| {
            let block = blocks[usize::from(peer)];
            Route {
                attrs: store.intern(NOBODY, block, &[], || {
                    Summary::of(&Attributes::from_canonical(block))
                }),
                path_id: 0,
                peer: PeerId(peer),
                state: State::default(),
                verdict: Verdict::PLAIN,
            }
        };
        RoutePair {
            ranks: [rank(0), rank(1)],
            classes: ClassTable::new(),
            routes: [route(0), route(1)],
        }
    }

    /// Returns which route is better (`Less`: the first), and at which step.
    #[inline(never)]
    pub fn decide(&self) -> (Ordering, Step) {
        let decision = Decision {
            ranks: &self.ranks,
            classes: &self.classes,
            always_compare_med: false,
        };
        decision.compare(&self.routes[0], &self.routes[1])
    }
}
