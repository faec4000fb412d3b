//! The VRPs with which look-ups validate origins: read at the start and at each reload.

use std::sync::Arc;

use rutter_config::Config;
use rutter_rpki::Vrps;

/// Reads the configured file, if there is one. The error is a message for the operator.
pub(crate) fn read(config: &Config) -> Result<Option<Arc<Vrps>>, String> {
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
pub(crate) fn at_start(config: &Config) -> Option<Arc<Vrps>> {
    read(config).unwrap_or_else(|error| {
        tracing::error!(%error, "origins are not validated until a reload finds the file");
        None
    })
}
