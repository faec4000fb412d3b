//! The sources of outside data, and their data in the table.

use std::sync::Arc;

use parking_lot::Mutex;
use rutter_config::Config;
use rutter_policy::FilterData;
use rutter_rpki::Vrps;

use crate::shared::Shared;

/// The sources of outside data.
#[derive(Default)]
pub(crate) struct FilterSources {
    /// Locked while the data of the table are replaced: each replacement begins with the data of the one before.
    publishing: Mutex<()>,
}

impl Shared {
    /// Changes the outside data of the table. Routes that the change concerns are evaluated again, and clients receive
    /// the differences.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut FilterData)) {
        let _one_at_a_time = self.sources.publishing.lock();
        let mut data = FilterData::clone(&self.rib.filter_data());
        change(&mut data);
        self.rib
            .replace_filter_data(Arc::new(data), || self.flush());
        self.flush();
    }
}

/// Reads the configured file of VRPs, if there is one. The error is a message for the operator.
pub(crate) fn read_vrps(config: &Config) -> Result<Option<Arc<Vrps>>, String> {
    let Some(rpki) = &config.rpki else {
        return Ok(None);
    };
    let file = match rpki.vrps.as_slice() {
        [] => return Ok(None),
        [file] => file,
        _ => return Err("rpki.vrps: only one file can be read".into()),
    };
    let vrps = Vrps::read(file).map_err(|error| format!("rpki: {error}"))?;
    tracing::info!(file = %file.display(), count = vrps.len(), "VRPs read");
    Ok(Some(Arc::new(vrps)))
}

/// Reads the configured file at the start. An error is only logged: routes are served without validation.
pub(crate) fn vrps_at_start(config: &Config) -> Option<Arc<Vrps>> {
    read_vrps(config).unwrap_or_else(|error| {
        tracing::error!(%error, "origins are not validated until a reload finds the file");
        None
    })
}
