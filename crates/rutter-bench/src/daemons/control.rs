//! Requests to a running daemon over its control socket.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use rustix::process::Pid;

use crate::daemons::{Kind, bird, bird_checks, rutter, rutter_checks};
use crate::policy::Policy;
use crate::registry::Edition;
use crate::workload::Workload;

/// The configuration of a Rutter in this folder.
pub fn configuration(folder: &Path) -> PathBuf {
    folder.join(rutter::FILE)
}

/// The control socket of a daemon in this folder.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("s")
}

/// The address of the collector's SQL service.
pub fn sql_address(folder: &Path) -> io::Result<SocketAddr> {
    rutter::sql_address(folder)
}

/// The address of the daemon's metrics, if it serves them.
pub fn metrics_address(folder: &Path) -> Option<SocketAddr> {
    rutter::metrics_address(folder)
}

/// Sends a request to Rutter and reads the whole answer; `request` is JSON.
pub fn ask(socket: &Path, request: &str) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, r#"{{"version":1,"request":{request}}}"#)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut end = Vec::new();
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        end.extend_from_slice(&buffer[read.saturating_sub(LAST_LINE)..read]);
        end.drain(..end.len().saturating_sub(LAST_LINE));
    }
    let text = String::from_utf8_lossy(&end);
    match text.lines().last() {
        Some(line) if line.contains(r#""kind":"error""#) => Err(io::Error::other(line.to_owned())),
        Some(_) => Ok(()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Lets the installed version take over, and returns its process.
pub fn upgrade(socket: &Path, before: u32) -> io::Result<Pid> {
    ask(socket, r#""upgrade""#)?;
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let owner = UnixStream::connect(socket).and_then(|stream| Ok(socket_peercred(stream)?.pid));
        match owner {
            Ok(pid) if u32::try_from(pid.as_raw_pid()) != Ok(before) => return Ok(pid),
            _ if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(_) => return Err(io::Error::other("the old process still answers")),
            Err(error) => return Err(error),
        }
    }
}

const LAST_LINE: usize = 4_096;
/// The request to reload the configuration.
pub const RELOAD: &str = r#""reload""#;

/// Requests all routes from BIRD; an answer ends with a line of code 0000.
pub fn show_bird(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "show route all")?;
    stream.shutdown(Shutdown::Write).ok();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 || buffer[..read].ends_with(b"0000 \n") {
            return Ok(());
        }
    }
}

/// Returns whether [`set_policy`] supports the daemon.
pub fn reloads(kind: Kind) -> bool {
    matches!(kind, Kind::Rutter | Kind::Bird | Kind::Bird3)
}

/// Sets the daemon's policy without resetting sessions. Returns `ErrorKind::Unsupported` for kinds of daemons without a
/// known way.
pub fn set_policy(kind: Kind, folder: &Path, policy: Policy) -> io::Result<()> {
    match kind {
        Kind::Rutter | Kind::RutterCollect => {
            let file = configuration(folder);
            fs::write(
                &file,
                rutter::with_policy(&fs::read_to_string(&file)?, policy),
            )?;
            ask(&socket(folder), RELOAD)
        }
        Kind::Bird | Kind::Bird3 => {
            let file = folder.join(bird::FILE);
            fs::write(
                &file,
                bird::with_policy(&fs::read_to_string(&file)?, policy),
            )?;
            configure_bird(&socket(folder))
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Writes the second edition of the registry for the daemon. [`refresh_registry`] puts it in force.
pub fn prepare_registry(kind: Kind, folder: &Path, workload: &Workload) -> io::Result<()> {
    let Some(registry) = &workload.registry else {
        return Ok(());
    };
    match kind {
        Kind::Rutter | Kind::RutterCollect => {
            rutter_checks::write_lists(workload, registry, Edition::Second, folder)
        }
        Kind::Bird | Kind::Bird3 => {
            bird_checks::write_sets(workload, registry, Edition::Second, folder)
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Makes the daemon read the registry again.
pub fn refresh_registry(kind: Kind, folder: &Path) -> io::Result<()> {
    match kind {
        Kind::Bird | Kind::Bird3 => configure_bird(&socket(folder)),
        _ => ask(&socket(folder), REFRESH),
    }
}

/// The request to read the registrations again.
const REFRESH: &str = r#"{"source":{"name":"irr","action":"refresh"}}"#;

/// Sends `configure`. Returns when BIRD has accepted the configuration, which it may still be applying.
fn configure_bird(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "configure")?;
    let (mut answer, mut buffer) = (String::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut buffer)?;
        answer.push_str(&String::from_utf8_lossy(&buffer[..read]));
        // Codes of birdc: 0003 reconfigured, 0004 in progress; 8 and 9 are errors.
        let is = |codes: &[&str]| {
            answer
                .lines()
                .any(|line| codes.iter().any(|code| line.starts_with(code)))
        };
        if is(&["0003 ", "0004 "]) {
            return Ok(());
        }
        if read == 0 || is(&["8", "9"]) {
            return Err(io::Error::other(format!("birdc configure: {answer}")));
        }
    }
}
