//! Daemons must not outlive a benchmark that is stopped: they would go on taking processor time beside the next one.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Processes that were started and their folders.
static STARTED: Mutex<Vec<(Pid, PathBuf)>> = Mutex::new(Vec::new());

fn started() -> MutexGuard<'static, Vec<(Pid, PathBuf)>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a process that was started.
pub(super) fn remember(pid: Pid, folder: PathBuf) {
    started().push((pid, folder));
}

/// Forgets one that is about to be stopped.
pub(super) fn forget(pid: Pid) {
    started().retain(|(known, _)| *known != pid);
}

/// Ending at once goes its own way: see `held`. From now on HUP, INT and TERM end this program together with the daemons that it has started.
pub fn end_daemons_with_us() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let Some(signal) = signals.forever().next() else {
                return;
            };
            for (pid, folder) in started().drain(..) {
                // Nothing more can be done about what is gone, or stays.
                let _ = kill_process(pid, Signal::KILL);
                let _ = fs::remove_dir_all(folder);
            }
            std::process::exit(128 + signal);
        })?;
    Ok(())
}
