//! The table of a configuration without sockets, threads and sources that run: for commands that ask what Rutter would do.

use std::borrow::Cow;
use std::sync::Arc;

use rutter_api::SourceRow;
use rutter_config::{Config, Neighbor};
use rutter_policy::OutsideData;
use rutter_rib::{PeerId, Rib, TooManyNeighbors};
use rutter_sources::irr::{IrrSource, prefix_limits_in};
use rutter_sources::rpki::RpkiSource;
use rutter_sources::unix_seconds;

use crate::daemon::table_config;
use crate::neighbor_settings::NeighborSettings;
use crate::outside_sources;
use crate::source_slot;

/// The table that a daemon with a configuration would have, before the first session.
///
/// Neighbors, policies and limits are those of the daemon. Outside data are those that a start has: files and last good
/// copies.
pub struct OfflineTable {
    /// The table.
    pub rib: Rib,
    /// The configured neighbors, in the order of the configuration.
    pub neighbors: Vec<OfflineNeighbor>,
    /// The sources of outside data: what they have, and what is wrong with them.
    pub sources: Vec<SourceRow>,
}

/// A configured neighbor and its place in the table.
pub struct OfflineNeighbor {
    /// Its id in the table.
    pub peer: PeerId,
    /// Its configuration, with the prefix limits in force.
    pub config: Neighbor,
}

impl OfflineTable {
    /// Makes the table. Reads the files of the outside data.
    ///
    /// # Errors
    /// If the configuration has more neighbors than a table can hold.
    pub fn new(config: &Config) -> Result<Self, TooManyNeighbors> {
        let rib = Rib::new(table_config(config, 1));
        let mut data = OutsideData::default();
        let mut status = source_slot::read::<RpkiSource>(config, &mut data);
        status.extend(source_slot::read::<IrrSource>(config, &mut data));
        rib.replace_outside_data(Arc::new(data), || {});
        let config = &with_limits(config);
        let add = |neighbor: &Neighbor| {
            let settings = NeighborSettings::new(config, neighbor);
            Ok(OfflineNeighbor {
                config: Neighbor::clone(&settings.config),
                peer: rib.add_neighbor(settings.table)?,
            })
        };
        let neighbors = config.neighbors.iter().map(add);
        let neighbors = neighbors.collect::<Result<Vec<_>, TooManyNeighbors>>()?;
        let now = unix_seconds();
        let rows = status.into_iter();
        Ok(OfflineTable {
            neighbors,
            sources: rows
                .map(|status| outside_sources::row(status, now))
                .collect(),
            rib,
        })
    }
}

/// The configuration with the limits of PeeringDB's dump. If it cannot be read, its row has the error.
fn with_limits(config: &Config) -> Cow<'_, Config> {
    let irr = config
        .irr
        .as_ref()
        .filter(|_| config.follows_prefix_limits());
    let Some(dump) = irr.and_then(|irr| irr.peeringdb.as_ref()) else {
        return Cow::Borrowed(config);
    };
    let limits = prefix_limits_in(dump).unwrap_or_default();
    Cow::Owned(config.with_prefix_limits(Some(Arc::new(limits))))
}
