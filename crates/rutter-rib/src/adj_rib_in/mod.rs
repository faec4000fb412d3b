//! The received routes: from the body of an UPDATE to the ordered routes of each destination, under one lock a shard.

pub(crate) mod attr_set;
pub(crate) mod batch;
pub(crate) mod charges;
pub(crate) mod class_table;
pub(crate) mod edit;
pub(crate) mod epochs;
pub(crate) mod freed_sets;
pub(crate) mod index_growth;
pub(crate) mod later_checks;
pub(crate) mod leftovers;
pub(crate) mod message;
pub(crate) mod multi_route_edit;
mod next_hop_octets;
pub(crate) mod one_pass_edit;
pub(crate) mod path_limits;
pub(crate) mod prefix_lengths;
pub(crate) mod route;
pub(crate) mod routes;
pub(crate) mod shard;
pub(crate) mod sweeper;
pub(crate) mod table;
pub(crate) mod tally;
pub(crate) mod verdict;
