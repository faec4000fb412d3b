//! Answers `log`.

use std::time::Duration;

use super::{Failure, RowWriter};
use crate::{Backend, Line};

/// Sends the lines in memory. With `follow`, sends new lines until the client disconnects.
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
        if let Some(line) = log.next_line(POLL_INTERVAL) {
            rows.send(&Line::Log(line))?;
        } else if rows.client_has_disconnected() {
            return Ok(());
        }
    }
}

/// The time to wait for a line before checking the connection.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
