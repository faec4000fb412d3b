//! Answers `sinks` and `routers`.

use super::{Failure, RowWriter};
use crate::{Backend, CollectorServices, Line};

/// Sends the state of the sinks.
pub(super) fn sinks(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<(), Failure> {
    for sink in of(backend)?.sinks() {
        rows.send(&Line::Sink(Box::new(sink)))?;
    }
    Ok(())
}

/// Sends the monitored routers.
pub(super) fn routers(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<(), Failure> {
    for router in of(backend)?.routers() {
        rows.send(&Line::Router(Box::new(router)))?;
    }
    Ok(())
}

fn of(backend: &dyn Backend) -> Result<&dyn CollectorServices, Failure> {
    backend.collector_services().ok_or_else(|| {
        let text = "only a collector has sinks and receives BMP from routers: `rutter collect` starts one. \
                    `rutter show stations` lists the stations to which this daemon reports";
        Failure::NotFound(text.to_owned())
    })
}
