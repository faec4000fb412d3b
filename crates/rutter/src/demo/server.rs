//! The route server of the demo: `rutter run` as a process of its own, so that its figures are its own.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rutter_api::{Client, Line, Request, StatusRow};

use crate::failure::Failure;
use crate::request::is_ours;

/// The running route server; clones mean the same one.
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
        // Its own process group, so that Ctrl-C is ours; it ends by itself should we be killed.
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
            if self.has_ended() || begun.elapsed() > START_PATIENCE {
                let log = fs::read_to_string(self.folder.join("rutter.log")).unwrap_or_default();
                self.end();
                return Err(Failure::text(format!(
                    "the route server does not start:\n{log}"
                )));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Its own figures.
    pub(super) fn status(&self) -> Result<StatusRow, Failure> {
        let answer = Client::connect(&self.socket)?.call(Request::Status)?;
        for line in answer {
            if let Line::Status(status) = line? {
                return Ok(*status);
            }
        }
        Err(Failure::text("the route server says nothing of itself"))
    }

    /// Waits until it has ended (`rutter stop`).
    pub(super) fn wait(&self) {
        while !self.has_ended() {
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Ends it and removes its files. Harmless where it has ended already.
    pub(super) fn end(&self) {
        let text = Some("the demonstration is over".to_owned());
        if let Ok(answer) =
            Client::connect(&self.socket).and_then(|c| c.call(Request::Shutdown { text }))
        {
            answer.for_each(drop);
        }
        let begun = Instant::now();
        while !self.has_ended() && begun.elapsed() < END_PATIENCE {
            thread::sleep(Duration::from_millis(20));
        }
        let mut child = self.child();
        // Both fail only where there is nothing left to end.
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

/// A folder that only this user can look into; one that is there already must be this user's.
fn make_private(folder: &Path) -> Result<(), Failure> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_ours(folder) => Ok(()),
        Err(e) => Err(Failure::text(format!("{}: {e}", folder.display()))),
    }
}

/// A second demo at the same place would take the first one's socket away.
pub(super) fn refuse_if_running(socket: &Path) -> Result<(), Failure> {
    match Client::connect(socket) {
        Ok(_) => Err(Failure::text(format!(
            "a daemon answers at {} already: end it with `rutter stop --socket {0}`, or choose another --socket",
            socket.display()
        ))),
        Err(_) => Ok(()),
    }
}

/// A port of 127.0.0.1 that was free a moment ago.
pub(super) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

const START_PATIENCE: Duration = Duration::from_secs(10);
const END_PATIENCE: Duration = Duration::from_secs(5);
