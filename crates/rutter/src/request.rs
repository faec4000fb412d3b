//! Sends a request to the daemon and prints the answer as text or JSON.

use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rutter_api::{Answer, Client, Done, Line, Request};

use crate::cli::CommonOptions;
use crate::failure::Failure;
use crate::paint::Paint;
use crate::render::{self, View};

/// Sends a request and prints the answer.
pub(crate) fn send(options: &CommonOptions, request: Request) -> Result<(), Failure> {
    let view = render::view_of(&request, Paint::stdout(options.color));
    let client = connect(options)?;
    if let Some(patience) = patience(&request) {
        client.set_patience(patience)?;
    }
    let answer = client
        .call(request)
        .map_err(|e| Failure::text(format!("{}: {e}", socket(options).display())))?;
    let out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    match options.json {
        true => forward(answer, out),
        false => show(answer, view, out),
    }
}

/// The longest wait for the next bytes of an answer. A log that is followed, and work that lasts as long as it lasts, have
/// no limit.
fn patience(request: &Request) -> Option<Duration> {
    match request {
        Request::Status
        | Request::Peers
        | Request::Peer { .. }
        | Request::Memory
        | Request::Sinks
        | Request::Sources
        | Request::Stations
        | Request::Routers
        | Request::History => Some(PATIENCE),
        Request::Routes(_)
        | Request::Route { .. }
        | Request::Rejected(_)
        | Request::Advertised(_)
        | Request::Attributes { .. }
        | Request::Explain { .. } => Some(PATIENCE_WITH_ROUTES),
        _ => None,
    }
}

/// The wait for counters, which the daemon has at hand.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The wait for routes: the daemon may search the whole table before it finds the first one.
const PATIENCE_WITH_ROUTES: Duration = Duration::from_secs(60);

/// Asks the daemon for its status, so that a command which needs it fails early with help.
pub(crate) fn check_answers(options: &CommonOptions) -> Result<(), Failure> {
    let client = connect(options)?;
    client.set_patience(PATIENCE)?;
    match client.call(Request::Status)?.next() {
        Some(Err(error)) => Err(daemon_gone(error)),
        _ => Ok(()),
    }
}

/// Connects to the daemon.
pub(crate) fn connect(options: &CommonOptions) -> Result<Client, Failure> {
    let path = socket(options);
    Client::connect(&path).map_err(|e| unreachable_text(&path, &e))
}

/// Returns the socket: from the option, else the packaged one, else that of a running demo.
pub(crate) fn socket(options: &CommonOptions) -> PathBuf {
    let packaged = PathBuf::from(DEFAULT_SOCKET);
    match &options.socket {
        Some(path) => path.clone(),
        None if packaged.exists() => packaged,
        None => Some(demo_folder())
            .filter(|folder| is_ours(folder))
            .map(|folder| folder.join("rutter.sock"))
            .filter(|demo| demo.exists())
            .unwrap_or(packaged),
    }
}

/// Returns the folder of this user's demo. It is fixed, so that other commands find it.
pub(crate) fn demo_folder() -> PathBuf {
    std::env::temp_dir().join(format!("rutter-demo-{}", user().unwrap_or(0)))
}

/// Returns whether this user owns a folder, because anybody can create folders for temporary files.
pub(crate) fn is_ours(folder: &Path) -> bool {
    let owner = std::fs::symlink_metadata(folder).map(|meta| (meta.is_dir(), meta.uid()));
    matches!((owner, user()), (Ok((true, owner)), Some(user)) if owner == user)
}

fn user() -> Option<u32> {
    std::fs::metadata("/proc/self").ok().map(|meta| meta.uid())
}

/// Forwards the rows unchanged. The last line sets the exit status, and is printed if it has a message.
fn forward(mut answer: Answer, mut out: impl Write) -> Result<(), Failure> {
    let mut buffer = Vec::new();
    while let Some(raw) = answer.next_raw(&mut buffer) {
        let raw = raw.map_err(daemon_gone)?;
        if raw.is_last {
            out.flush()?;
            match serde_json::from_slice(raw.line).map_err(|e| daemon_gone(e.into()))? {
                Line::Error { message, .. } => return Err(Failure::Text(message)),
                Line::Done(Done { message: None, .. }) => return Ok(()),
                _ => {}
            }
        }
        out.write_all(raw.line)?;
        out.write_all(b"\n")?;
        if !answer.has_more_waiting() {
            out.flush()?;
        }
    }
    Ok(out.flush()?)
}

fn show(mut answer: Answer, mut view: Box<dyn View>, mut out: impl Write) -> Result<(), Failure> {
    let mut has_rows = false;
    while let Some(line) = answer.next() {
        match line.map_err(daemon_gone)? {
            Line::Done(done) => view.end(&done, &mut out)?,
            Line::Error { message, .. } => {
                // Without rows there is no list that would need an end such as `0 sinks`.
                if has_rows {
                    view.end(&Done::default(), &mut out)?;
                }
                out.flush()?;
                return Err(Failure::Text(message));
            }
            row => {
                has_rows = true;
                view.row(row, &mut out)?;
            }
        }
        if !answer.has_more_waiting() {
            out.flush()?;
        }
    }
    Ok(())
}

fn daemon_gone(error: io::Error) -> Failure {
    if matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    ) {
        return Failure::text(
            "the daemon accepts connections but does not answer\n\
             Is its process stopped (state T in `ps -C rutter -o pid,stat,args`), or the machine overloaded?",
        );
    }
    Failure::text(format!("the daemon's answer ended early: {error}"))
}

fn unreachable_text(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    Failure::text(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "no daemon: {path} does not exist\n\
             Start one with `rutter run FILE` (or `systemctl start rutter`), try `rutter demo`,\n\
             or name its socket with --socket PATH or RUTTER_SOCKET."
        ),
        io::ErrorKind::ConnectionRefused => format!(
            "no daemon: {path} has no listener\n\
             Start it again with `rutter run FILE` (or `systemctl start rutter`)."
        ),
        io::ErrorKind::PermissionDenied => format!(
            "{path}: permission denied\n\
             The socket is for root and the daemon's group: use sudo, or join the group."
        ),
        _ => format!("{path}: {error}"),
    })
}

/// The socket of a packaged installation.
pub(crate) const DEFAULT_SOCKET: &str = "/run/rutter/rutter.sock";
