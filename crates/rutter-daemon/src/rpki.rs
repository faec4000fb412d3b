//! The VRPs by which look-ups validate origins: read at the start and at each reload.

use std::sync::Arc;

use rutter_config::Config;
use rutter_rpki::Vrps;

/// Reads the configured file, if any; the error is for a person.
pub(crate) fn read(config: &Config) -> Result<Option<Arc<Vrps>>, String> {
    let Some(rpki) = &config.rpki else {
        return Ok(None);
    };
    let vrps = Vrps::read(&rpki.vrps).map_err(|why| format!("rpki: {why}"))?;
    tracing::info!(file = %rpki.vrps.display(), count = vrps.len(), "VRPs read");
    Ok(Some(Arc::new(vrps)))
}

/// As [`read`]; a validator that has not run yet keeps no route from being served.
pub(crate) fn at_start(config: &Config) -> Option<Arc<Vrps>> {
    read(config).unwrap_or_else(|error| {
        tracing::error!(%error, "origins are not validated before a reload finds the file");
        None
    })
}
