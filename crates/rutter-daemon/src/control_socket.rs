//! The control socket. Each connection has its own thread with a low priority.

use std::fmt::Display;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::Shutdown;
use rustix::net::sockopt::socket_peercred;
use rutter_api::{Access, Caller};
use rutter_server::LogRateLimit;

use crate::audit;
use crate::control_clients::{Admission, ControlClients, ControlPlace};
use crate::management::Management;
use crate::privileges;
use crate::shared::Shared;

/// The control socket, with a thread that accepts connections.
pub(crate) struct ControlSocket {
    path: PathBuf,
    stopping: Arc<AtomicBool>,
    /// The listener of the thread, to wake it.
    listener: UnixListener,
    clients: ControlClients,
    thread: JoinHandle<()>,
}

impl ControlSocket {
    /// Listens at a path for clients with this access.
    pub(crate) fn open(shared: &Arc<Shared>, path: &Path, access: Access) -> io::Result<Self> {
        let listener = match access {
            Access::Control => rutter_api::listen(path)?,
            Access::ReadOnly => rutter_api::listen_for_everybody(path)?,
        };
        let shared = Arc::clone(shared);
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let clients = ControlClients::default();
        let (accepting, admitting) = (listener.try_clone()?, clients.clone());
        let thread = thread::Builder::new()
            .name("control".into())
            .spawn(move || accept_loop(&stop, &accepting, &admitting, &shared, access))?;
        Ok(ControlSocket {
            path: path.to_owned(),
            stopping,
            listener,
            clients,
            thread,
        })
    }

    /// Ends the accepting thread, and gives the connected clients [`ANSWER_TIME`] to take their answers: one of them may
    /// have asked for this stop.
    pub(crate) fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        // `accept` blocks, and the file may be gone: the end of the listener wakes the thread.
        let _ = rustix::net::shutdown(&self.listener, Shutdown::Both);
        let _ = fs::remove_file(&self.path);
        let _ = self.thread.join();
        self.clients.finish(ANSWER_TIME);
    }
}

/// The time in which clients may take the rest of their answers when the daemon stops.
const ANSWER_TIME: Duration = Duration::from_millis(300);

fn accept_loop(
    stopping: &AtomicBool,
    listener: &UnixListener,
    clients: &ControlClients,
    shared: &Arc<Shared>,
    access: Access,
) {
    let mut error_lines = LogRateLimit::new(10, Duration::from_secs(60));
    let mut log_error = move |text: &dyn Display| {
        if let Some(not_logged) = error_lines.allow(Instant::now()) {
            tracing::warn!(not_logged, "control connections: {text}");
        }
    };
    loop {
        let accepted = listener.accept();
        if stopping.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((stream, _)) => {
                if let Err(error) = begin(stream, clients, shared, access, &mut log_error) {
                    log_error(&format_args!("cannot serve one: {error}"));
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                log_error(&format_args!("cannot accept one: {error}"));
                thread::sleep(Duration::from_millis(200));
            }
        }
    }
}

/// Serves a client on a thread of its own, if there is a place for it.
fn begin(
    stream: UnixStream,
    clients: &ControlClients,
    shared: &Arc<Shared>,
    access: Access,
    log_error: &mut dyn FnMut(&dyn Display),
) -> io::Result<()> {
    let now_ms = shared.clock.now_ms();
    let place = match clients.admit(stream.try_clone()?, is_owner(&stream), now_ms) {
        Admission::Admitted { place, closed } => {
            if closed {
                log_error(&"too many, the slowest was closed");
            }
            place
        }
        Admission::Refused => {
            log_error(&"too many, and all are busy: one was refused");
            return Ok(());
        }
    };
    let shared = Arc::clone(shared);
    let serve = move || serve(stream, &shared, access, &place);
    let thread = thread::Builder::new().name("control".into());
    thread.spawn(serve).map(drop)
}

fn serve(stream: UnixStream, shared: &Arc<Shared>, access: Access, place: &ControlPlace) {
    privileges::yield_to_routing();
    let on_progress = || place.has_progress(shared.clock.now_ms());
    let who = audit::peer_of(&stream);
    let backend = Management::new(shared, who.clone());
    let caller = Caller { access, who };
    let _ = rutter_api::serve_connection(stream, &backend, &caller, &on_progress);
    shared.upgrades.note_answer();
}

/// Returns whether a client runs as root or as the user of this daemon.
fn is_owner(stream: &UnixStream) -> bool {
    let Ok(client) = socket_peercred(stream) else {
        return false;
    };
    let uid = client.uid.as_raw();
    // The owner of this file is the user of the process.
    let own = fs::metadata("/proc/self").map(|own| own.uid());
    uid == 0 || own.is_ok_and(|own| own == uid)
}
