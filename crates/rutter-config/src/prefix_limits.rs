//! The prefix limits of neighbors, some of which come from PeeringDB's data.

use std::sync::Arc;

use rutter_irr::PrefixLimits;
use rutter_net::PerFamily;

use crate::{Config, MaxPrefix, Neighbor};

impl Config {
    /// The limits of PeeringDB that are in force; `None` if they are not known yet.
    pub fn prefix_limits(&self) -> Option<&Arc<PrefixLimits>> {
        self.prefix_limits.as_ref()
    }

    /// This configuration while PeeringDB has these limits.
    pub fn with_prefix_limits(&self, limits: Option<Arc<PrefixLimits>>) -> Config {
        Config {
            prefix_limits: limits,
            ..self.clone()
        }
    }

    /// Returns whether any limit follows PeeringDB.
    pub fn follows_prefix_limits(&self) -> bool {
        let dynamic = self.dynamic_neighbors.iter();
        let dynamic = dynamic.map(|section| &section.template);
        let mut neighbors = self.neighbors.iter().chain(dynamic);
        neighbors.any(|neighbor| {
            let limits = neighbor.session.max_prefix.iter().flatten();
            limits.into_iter().any(|limit| limit.headroom.is_some())
        })
    }

    /// The limits of a neighbor that are in force now. Before PeeringDB's data were read, a limit that follows them is
    /// absent: a smaller one would end the session.
    ///
    /// A dynamic neighbor whose AS no section names has the limits of its section: anybody may claim a number, and would
    /// choose the limit.
    pub fn max_prefix(&self, neighbor: &Neighbor) -> PerFamily<Option<MaxPrefix>> {
        let configured = neighbor.session.max_prefix;
        let recommended = match &self.prefix_limits {
            _ if neighbor.is_unnamed => Some(PerFamily::both(None)),
            Some(limits) => Some(limits.of(neighbor.asn.0)),
            None => None,
        };
        PerFamily::from_fn(|family| {
            let limit = configured[family]?;
            match recommended {
                Some(recommended) => Some(limit.in_force(recommended[family])),
                None => Some(limit).filter(|limit| limit.headroom.is_none()),
            }
        })
    }
}
