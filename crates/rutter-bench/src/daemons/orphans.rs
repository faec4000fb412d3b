//! Stops daemons when the benchmark is stopped. They would otherwise use processor time during the next one.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The started processes and their folders.
static STARTED: Mutex<Vec<(Pid, PathBuf)>> = Mutex::new(Vec::new());

fn started() -> MutexGuard<'static, Vec<(Pid, PathBuf)>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a started process.
pub(super) fn remember(pid: Pid, folder: PathBuf) {
    started().push((pid, folder));
}

/// Removes the record of a process that is about to be stopped.
pub(super) fn forget(pid: Pid) {
    started().retain(|(known, _)| *known != pid);
}

/// From now on HUP, INT and TERM end this program together with the daemons that it started. See `end_with_parent` for
/// KILL.
pub fn end_daemons_with_us() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let Some(signal) = signals.forever().next() else {
                return;
            };
            for (pid, folder) in started().drain(..) {
                // An error cannot be handled here: the process may be gone already.
                let _ = kill_process(pid, Signal::KILL);
                let _ = fs::remove_dir_all(folder);
            }
            std::process::exit(128 + signal);
        })?;
    Ok(())
}
