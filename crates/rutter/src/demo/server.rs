//! The route server of the demo: `rutter run` as a separate process, so that its figures count it alone.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rutter_api::{Client, Line, Request, StatusRow};

use super::config::Addresses;
use crate::failure::Failure;
use crate::request::is_ours;

/// The running route server; clones share it.
#[derive(Clone)]
pub(super) struct Server {
    child: Arc<Mutex<Child>>,
    folder: PathBuf,
    socket: PathBuf,
}

impl Server {
    /// Writes the configuration, starts the process and waits until it answers.
    pub(super) fn start(folder: PathBuf, socket: &Path, config: &str) -> Result<Self, Failure> {
        make_private(&folder)?;
        let file = folder.join("rutter.toml");
        fs::write(&file, config)?;
        let log = fs::File::create(folder.join("rutter.log"))?;
        // A separate process group, so that it does not receive Ctrl-C. It ends when its standard input closes.
        let child = Command::new(std::env::current_exe()?)
            .args(["run", "--end-with-stdin"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()?;
        let server = Server {
            child: Arc::new(Mutex::new(child)),
            folder,
            socket: socket.to_owned(),
        };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    fn wait_until_it_answers(&self) -> Result<(), Failure> {
        let begun = Instant::now();
        while self.status().is_err() {
            if self.has_ended() || begun.elapsed() > START_TIMEOUT {
                let log = fs::read_to_string(self.folder.join("rutter.log")).unwrap_or_default();
                self.end();
                return Err(Failure::text(format!(
                    "the route server did not start:\n{log}"
                )));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Returns the status of the route server.
    pub(super) fn status(&self) -> Result<StatusRow, Failure> {
        let answer = Client::connect(&self.socket)?.call(Request::Status)?;
        for line in answer {
            if let Line::Status(status) = line? {
                return Ok(*status);
            }
        }
        Err(Failure::text("the route server returned no status"))
    }

    /// Waits until the process has ended (`rutter stop`).
    pub(super) fn wait(&self) {
        while !self.has_ended() {
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Stops the process and removes its files. Does nothing more if it has ended already.
    pub(super) fn end(&self) {
        let text = Some("the demonstration is over".to_owned());
        if let Ok(answer) =
            Client::connect(&self.socket).and_then(|c| c.call(Request::Shutdown { text }))
        {
            answer.for_each(drop);
        }
        let begun = Instant::now();
        while !self.has_ended() && begun.elapsed() < END_TIMEOUT {
            thread::sleep(Duration::from_millis(20));
        }
        let mut child = self.child();
        // Both fail only if the process has ended.
        let _ = child.kill();
        let _ = child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn has_ended(&self) -> bool {
        !matches!(self.child().try_wait(), Ok(None))
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a folder that only this user can access. An existing folder must belong to this user.
fn make_private(folder: &Path) -> Result<(), Failure> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_ours(folder) => Ok(()),
        Err(e) => Err(Failure::text(format!("{}: {e}", folder.display()))),
    }
}

/// Refuses to start if a daemon listens on the socket already.
pub(super) fn refuse_if_running(socket: &Path) -> Result<(), Failure> {
    match Client::connect(socket) {
        Ok(_) => Err(Failure::text(format!(
            "a daemon already listens at {}: stop it with `rutter stop --socket {0}`, or choose another --socket",
            socket.display()
        ))),
        Err(_) => Ok(()),
    }
}

/// Returns two addresses that are free now.
pub(super) fn free_addresses() -> io::Result<Addresses> {
    let any = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // Both are held until both are known, so that they differ.
    let (bgp, web) = (any()?, any()?);
    Ok(Addresses {
        bgp: bgp.local_addr()?,
        web: web.local_addr()?,
    })
}

const START_TIMEOUT: Duration = Duration::from_secs(10);
const END_TIMEOUT: Duration = Duration::from_secs(5);
