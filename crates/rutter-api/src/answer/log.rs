//! The log.

use std::time::Duration;

use super::{Failure, RowWriter};
use crate::{Backend, Line};

/// Lines kept in memory, then, with `follow`, new ones until the client goes away.
pub(super) fn log(
    backend: &dyn Backend,
    follow: bool,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let mut log = backend.log();
    loop {
        while let Some(line) = log.next_line(Duration::ZERO) {
            rows.send(&Line::Log(line))?;
        }
        if !follow {
            return Ok(());
        }
        rows.flush()?;
        if let Some(line) = log.next_line(PATIENCE) {
            rows.send(&Line::Log(line))?;
        } else if rows.client_is_gone() {
            return Ok(());
        }
    }
}

/// How long to wait for a line before looking whether the client is still there.
const PATIENCE: Duration = Duration::from_secs(1);
