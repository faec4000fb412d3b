//! `rutter run`: the daemon in the foreground.

use std::path::Path;

use rutter_daemon::Daemon;

use crate::check::load;
use crate::cli::Ask;
use crate::failure::Failure;

/// Runs the daemon until it is told to end.
pub(crate) fn run(file: &Path, how: &Ask) -> Result<(), Failure> {
    let mut config = load(file, how)?.config;
    if let Some(socket) = &how.socket {
        config.daemon.control_socket = socket.clone();
    }
    let source = std::path::absolute(file)?;
    let daemon = Daemon::start(config, Some(source))
        .map_err(|e| Failure::text(format!("cannot start: {e}")))?;
    Ok(daemon.run_until_signal()?)
}
