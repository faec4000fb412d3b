//! A daemon's process: started in the foreground, stopped by its id.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running daemon. Dropping it stops it; while a test panics, its log is printed first.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a daemon whose output goes to a file in its folder.
    pub fn start(name: &str, folder: &Path, command: &mut Command) -> Process {
        let log = folder.join("log");
        let file = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()));
        let second = file.try_clone().expect("a file can be shared");
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(second)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} did not start ({command:?}): {error}"));
        Process {
            name: name.to_owned(),
            child,
            log,
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its whole output.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Returns an error if it has ended.
    pub fn check_alive(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!(
                "{} has ended ({status}):\n{}",
                self.name,
                self.log()
            )),
            Err(error) => Err(format!("{}: {error}", self.name)),
        }
    }

    /// Kills it, like a crash: no NOTIFICATION, no clean-up.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends TERM and waits; after three seconds it sends KILL.
    pub fn stop(&mut self) {
        self.signal("TERM");
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill();
    }

    /// Suspends it and its children: connections stay open, but get no answer.
    pub fn freeze(&mut self) {
        self.signal("STOP");
        self.signal_children("STOP");
    }

    /// Resumes it.
    pub fn thaw(&mut self) {
        self.signal_children("CONT");
        self.signal("CONT");
    }

    fn signal_children(&self, name: &str) {
        let list = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = fs::read_to_string(&list).unwrap_or_else(|why| panic!("{list}: {why}"));
        for child in children.split_whitespace() {
            let _ = Command::new("/bin/sh")
                .args(["-c", &format!("kill -{name} {child}")])
                .status();
        }
    }

    /// Sends a signal by name (`TERM`, `HUP`, `STOP`, `CONT`), unless it has ended.
    pub fn signal(&mut self, name: &str) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = Command::new("/bin/sh")
                .args(["-c", &format!("kill -{name} {}", self.child.id())])
                .status();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let tail = log.len().saturating_sub(LOG_TAIL);
            let tail = (tail..=log.len())
                .find(|&at| log.is_char_boundary(at))
                .unwrap_or(log.len());
            eprintln!("--- log of {}\n{}\n---", self.name, &log[tail..]);
        }
        self.stop();
    }
}

/// The path of a daemon's program; panics with the name of its package if it is not installed.
pub fn program(name: &str) -> PathBuf {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let path = if name.contains('/') {
        Some(PathBuf::from(name)).filter(|path| path.exists())
    } else {
        folders
            .iter()
            .map(|folder| Path::new(folder).join(name))
            .find(|path| path.exists())
    };
    path.unwrap_or_else(|| panic!("{name} is not installed: run tools/install-test-deps"))
}

/// Runs a daemon's client. Returns its output, or an error with both its outputs.
pub fn output_of(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(stdout)
    } else {
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("{command:?}: {}\n{stdout}{stderr}", output.status))
    }
}

/// The number of bytes of a log that a failing test prints.
const LOG_TAIL: usize = 6_000;

/// A process that a thread of this one started.
pub fn child_of(pid: u64) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let children = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: String = children.collect();
    children.split_whitespace().next()?.parse().ok()
}

/// Returns whether a thread of a process still runs. The first may have ended before others close the sockets.
pub fn process_runs(pid: u64) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let mut threads = threads.into_iter().flatten().flatten();
    threads.any(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        !state.is_empty() && !state.starts_with(['Z', 'X'])
    })
}

/// Kills a process, like a crash.
pub fn kill_process(pid: u64) {
    let kill = format!("kill -9 {pid} 2>/dev/null");
    let _ = Command::new("/bin/sh").args(["-c", &kill]).status();
}
