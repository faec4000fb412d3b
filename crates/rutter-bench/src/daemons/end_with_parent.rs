//! Ends a daemon with the benchmark, even if the benchmark is killed and cannot stop it.
//!
//! The kernel kills a process with its parent only if that process requests it. A daemon does not, so this program is
//! started instead: it makes the request and becomes the daemon with `exec`. The kernel watches the thread that started
//! the process, so this thread must not end before the benchmark.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// `true` if this program has the hidden command.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// Declares that this program calls [`become_daemon`] when it is started with `bench` and [`COMMAND`].
pub(crate) fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Wraps the daemon's command in this program's hidden command, if this program has it.
pub(super) fn command(daemon: Command) -> io::Result<Command> {
    if !ENABLED.load(Ordering::Relaxed) {
        return Ok(daemon);
    }
    let mut wrapper = Command::new(std::env::current_exe()?);
    wrapper
        .args(["bench", COMMAND, &std::process::id().to_string()])
        .arg(daemon.get_program())
        .args(daemon.get_args());
    Ok(wrapper)
}

/// Becomes the daemon, which ends when the process `benchmark` ends. Returns only on failure.
pub(crate) fn become_daemon(benchmark: u32, program: &OsString, arguments: &[OsString]) -> String {
    if let Err(why) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!("cannot end with the benchmark: {}", io::Error::from(why));
    }
    // The benchmark may have ended before the request.
    if getppid().map(Pid::as_raw_pid) != i32::try_from(benchmark).ok() {
        return "the benchmark has ended".to_owned();
    }
    let why = Command::new(program).args(arguments).exec();
    format!("{}: {why}", Path::new(program).display())
}

/// The hidden command of `rutter bench`.
pub(crate) const COMMAND: &str = "hold";
