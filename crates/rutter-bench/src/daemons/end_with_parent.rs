//! A daemon ends with the benchmark, also where that is killed and can end nothing any more.
//!
//! The kernel does that for a process that asks for it. A daemon does not, so this program is started in its place, asks, and
//! becomes the daemon. (The kernel looks at the thread that started the daemon: it must be one that stays.)

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Whether this program knows the word.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// This program calls [`become_daemon`] when it is started with `bench` and [`COMMAND`].
pub(crate) fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// The daemon by way of this program, where this program can.
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

/// Becomes the daemon that this process was started for, and ends when `benchmark` does. Returns only where that fails.
pub(crate) fn become_daemon(benchmark: u32, program: &OsString, arguments: &[OsString]) -> String {
    if let Err(why) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!("cannot end with the benchmark: {}", io::Error::from(why));
    }
    // It may have ended before that.
    if getppid().map(Pid::as_raw_pid) != i32::try_from(benchmark).ok() {
        return "the benchmark has ended".to_owned();
    }
    let why = Command::new(program).args(arguments).exec();
    format!("{}: {why}", Path::new(program).display())
}

/// The hidden command of `rutter bench`.
pub(crate) const COMMAND: &str = "hold";
