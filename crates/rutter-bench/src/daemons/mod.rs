//! The daemons that a workload can run against: their configuration, how they start, which routes they advertise.

mod bird;
mod bird_checks;
pub mod control;
pub(crate) mod end_with_parent;
mod frr;
mod gobgp;
mod openbgpd;
mod orphans;
mod rustbgpd;
mod rustybgp;
mod rutter;
mod rutter_checks;

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use orphans::end_daemons_with_us;
pub use rutter::config as rutter_config;

use rustix::process::{Pid, Signal, kill_process};

use crate::oracle::Visibility;
use crate::process;
use crate::registry::Registry;
use crate::workload::{Peer, ROUTE_SERVER_ASN, Workload};

/// A kind of daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Rutter.
    Rutter,
    /// Rutter's collector with SQL, configured as the same route server as `Rutter`.
    RutterCollect,
    /// BIRD 2, one table.
    Bird,
    /// BIRD 2 with a table for each client and pipes between all of them, so that no path is hidden. For up to about
    /// 100 clients.
    BirdTables,
    /// BIRD 3, one table.
    Bird3,
    /// GoBGP in route-server mode.
    GoBgp,
    /// OpenBGPD.
    OpenBgpd,
    /// FRR's bgpd.
    Frr,
    /// RustyBGP.
    RustyBgp,
    /// rustbgpd.
    RustBgpd,
}

const NAMES: [(Kind, &str, &str); 10] = [
    (Kind::Rutter, "rutter", "rutter"),
    (Kind::RutterCollect, "rutter-collect", "rutter-collect"),
    (Kind::Bird, "bird", "/usr/sbin/bird"),
    (Kind::BirdTables, "bird-tables", "/usr/sbin/bird"),
    (Kind::Bird3, "bird3", "bird3"),
    (Kind::GoBgp, "gobgp", "gobgpd"),
    (Kind::OpenBgpd, "openbgpd", "/usr/sbin/bgpd"),
    (Kind::Frr, "frr", "/usr/lib/frr/bgpd"),
    (Kind::RustyBgp, "rustybgp", "rustybgpd"),
    (Kind::RustBgpd, "rustbgpd", "rustbgpd"),
];

impl Kind {
    /// Returns whether it is Rutter, with or without a collector's services.
    pub fn is_rutter(self) -> bool {
        matches!(self, Kind::Rutter | Kind::RutterCollect)
    }

    /// Which clients receive the best route.
    pub fn visibility(self) -> Visibility {
        match self {
            Kind::Rutter | Kind::RutterCollect | Kind::BirdTables | Kind::GoBgp => {
                Visibility::PerClient
            }
            Kind::Frr => Visibility::BestToAll,
            _ => Visibility::BestOnly,
        }
    }
}

/// A daemon to run: its kind and its program. Written as `bird` or `bird=/opt/bird/sbin/bird`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Daemon {
    /// The kind, which decides configuration and arguments.
    pub kind: Kind,
    /// The path of the program.
    pub program: PathBuf,
}

impl FromStr for Daemon {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, program) = match text.split_once('=') {
            Some((name, program)) => (name, Some(program)),
            None => (text, None),
        };
        let known = NAMES.iter().find(|(_, known, _)| *known == name);
        let &(kind, _, usual) = known.ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(_, name, _)| *name).collect();
            format!(
                "`{name}` is not a known daemon: write one of {}, or NAME=PROGRAM",
                names.join(", ")
            )
        })?;
        let program = match (program, kind) {
            // It is started in its own folder.
            (Some(program), _) if program.contains('/') => {
                std::path::absolute(program).map_err(|error| format!("{program}: {error}"))?
            }
            (Some(program), _) => PathBuf::from(program),
            (None, kind) if kind.is_rutter() => ours(kind, usual).unwrap_or(usual.into()),
            (None, _) => usual.into(),
        };
        Ok(Daemon { kind, program })
    }
}

/// The kind of daemon that this program is, if any.
static OWN_KIND: OnceLock<Kind> = OnceLock::new();

/// Declares that this program is a daemon of this kind, whatever the name of its file.
pub fn set_own_kind(kind: Kind) {
    // The kind is set once and does not change.
    let _ = OWN_KIND.set(kind);
}

/// Our own program, or the program of this name in the same folder.
fn ours(kind: Kind, name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = match OWN_KIND.get() == Some(&kind) {
        true => own,
        false => own.with_file_name(name),
    };
    program.is_file().then_some(program)
}

impl Daemon {
    /// Returns whether its program exists. A plain name is searched in the folders of PATH.
    pub fn program_exists(&self) -> bool {
        let is_program = |path: &Path| {
            fs::metadata(path).is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
        };
        if self.program.components().count() > 1 {
            return is_program(&self.program);
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| is_program(&folder.join(&self.program)))
    }

    /// The daemon as a command-line argument.
    pub fn argument(&self) -> OsString {
        let mut argument = OsString::from(format!("{self}="));
        argument.push(&self.program);
        argument
    }
}

impl fmt::Display for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(kind, ..)| *kind == self.kind);
        f.write_str(name.map_or("", |(_, name, _)| name))
    }
}

/// The values for a configuration file.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// All clients.
    pub peers: &'a [Peer],
    /// Where the daemon listens.
    pub listen: SocketAddrV4,
    /// A folder for its files.
    pub folder: &'a Path,
    /// Its threads, reloads, paths and log.
    pub setup: Setup<'a>,
}

/// How a daemon is set up, beside its clients.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// I/O threads, for daemons that can have several.
    pub threads: usize,
    /// `true` if its policy will be changed while it runs.
    pub reloads: bool,
    /// Members may send and receive several paths per prefix (RFC 7911).
    pub add_path: bool,
    /// `true` if it logs as much as an operator's daemon does, instead of warnings only.
    pub logs_all: bool,
    /// The bytes that the routes of each member may take, where the daemon limits them.
    pub member_memory: Option<u64>,
    /// `true` if members may choose by communities who receives a route; for Rutter only.
    pub has_actions: bool,
    /// `true` if it serves metrics; for Rutter only.
    pub has_metrics: bool,
    /// The workload with the registry that its routes are checked against, where the daemon has a whole policy.
    pub checks: Option<&'a Workload>,
    /// How long it may take to read its configuration and its registrations. BIRD parses the filters of a large exchange for
    /// minutes.
    pub start_timeout: Duration,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Setup {
            threads: 0,
            reloads: false,
            add_path: false,
            logs_all: false,
            member_memory: None,
            has_actions: false,
            has_metrics: false,
            checks: None,
            start_timeout: Duration::from_secs(300),
        }
    }
}

impl<'a> Site<'a> {
    /// The workload and its registry, if routes are checked against it.
    fn registry(&self) -> Option<(&'a Workload, &'a Registry)> {
        let workload = self.setup.checks?;
        Some((workload, workload.registry.as_ref()?))
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A started daemon. Dropping it stops the daemon and removes its folder.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// The process that took over from the child, if there was an upgrade.
    successor: Option<Pid>,
    helpers: Vec<Child>,
    folder: PathBuf,
    /// The kind of the daemon.
    pub kind: Kind,
    /// The address at which it listens.
    pub target: SocketAddr,
    /// Which clients receive the best route.
    pub visibility: Visibility,
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> u32 {
        let successor = self.successor.map(Pid::as_raw_pid);
        let successor = successor.and_then(|pid| u32::try_from(pid).ok());
        successor.unwrap_or_else(|| self.child.id())
    }

    /// From now on the daemon is this process, which took over from the one before. That one ends by itself.
    pub fn follow(&mut self, successor: Pid) {
        orphans::forget(self.process());
        orphans::remember(successor, self.folder.clone());
        if self.successor.replace(successor).is_none() {
            let _ = self.child.wait();
        }
    }

    fn process(&self) -> Pid {
        self.successor
            .unwrap_or_else(|| Pid::from_child(&self.child))
    }

    /// Returns whether the daemon's process has not ended.
    fn is_running(&mut self) -> bool {
        match self.successor {
            Some(pid) => process::is_running(pid),
            None => matches!(self.child.try_wait(), Ok(None)),
        }
    }

    /// Its folder: configuration, log, control socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sends SIGTERM and waits until the process has ended.
    pub fn terminate(&mut self, timeout: Duration) -> io::Result<Duration> {
        let begin = Instant::now();
        kill_process(self.process(), Signal::TERM)?;
        while begin.elapsed() < timeout && self.is_running() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(begin.elapsed())
    }

    /// Its state, when it has ended by itself, with the end of its log.
    pub fn ended(&mut self) -> Option<String> {
        let status = match self.successor {
            None => self.child.try_wait().ok().flatten()?.to_string(),
            Some(pid) if process::is_running(pid) => return None,
            Some(_) => "after an upgrade".to_owned(),
        };
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n    ");
        Some(format!("the daemon ended: {status}\n    {tail}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        orphans::forget(self.process());
        if self.successor.is_some() {
            let _ = self.terminate(Duration::from_secs(5));
            let _ = kill_process(self.process(), Signal::KILL);
        }
        for child in std::iter::once(&mut self.child).chain(&mut self.helpers) {
            stop(child);
        }
        // The folder is no longer needed. Files that cannot be removed stay in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Sends TERM, waits a few seconds, then sends KILL.
fn stop(child: &mut Child) {
    let asked = kill_process(Pid::from_child(child), Signal::TERM);
    let until = Instant::now() + Duration::from_secs(5);
    while asked.is_ok() && Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Writes the configuration, starts the daemon in the foreground with a folder and a port of its own, and waits until
/// it accepts connections.
pub fn start(daemon: &Daemon, peers: &[Peer], setup: Setup<'_>) -> io::Result<Running> {
    let folder = own_folder()?;
    let listen = SocketAddrV4::new(LISTEN, free_port()?);
    let site = Site {
        peers,
        listen,
        folder: &folder,
        setup,
    };
    let command = match daemon.kind {
        Kind::Rutter => rutter::command(&daemon.program, &site)?,
        Kind::RutterCollect => rutter::collector(&daemon.program, &site)?,
        Kind::Bird => bird::command(&daemon.program, &site, bird::Style::OneTable)?,
        Kind::BirdTables => bird::command(&daemon.program, &site, bird::Style::TablePerClient)?,
        Kind::Bird3 => bird::command(&daemon.program, &site, bird::Style::Threads)?,
        Kind::GoBgp => gobgp::command(&daemon.program, &site)?,
        Kind::OpenBgpd => openbgpd::command(&daemon.program, &site)?,
        Kind::Frr => frr::command(&daemon.program, &site)?,
        Kind::RustyBgp => rustybgp::command(&daemon.program, &site)?,
        Kind::RustBgpd => rustbgpd::command(&daemon.program, &site)?,
    };
    let mut running = spawn(daemon, command, folder, SocketAddr::V4(listen))?;
    wait_listening(&mut running, setup.start_timeout)?;
    if setup.checks.is_some() && daemon.kind.is_rutter() {
        wait_for_data(&mut running, setup.start_timeout)?;
    }
    Ok(running)
}

/// Waits until the registrations are in force: Rutter then writes its copy of them.
fn wait_for_data(running: &mut Running, timeout: Duration) -> io::Result<()> {
    let until = Instant::now() + timeout;
    let copy = running.folder.join(rutter::STATE).join("irr");
    while !copy.exists() {
        if let Some(text) = running.ended() {
            return Err(io::Error::other(text));
        }
        if Instant::now() > until {
            let why = format!("no registrations after {} s", timeout.as_secs());
            return Err(io::Error::other(why));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn spawn(
    daemon: &Daemon,
    command: Command,
    folder: PathBuf,
    target: SocketAddr,
) -> io::Result<Running> {
    let log = File::create(folder.join("log"))?;
    let mut command = end_with_parent::command(command)?;
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .current_dir(&folder);
    let child = command.spawn().map_err(|error| {
        // The folder explains nothing that the error does not.
        let _ = fs::remove_dir_all(&folder);
        io::Error::new(
            error.kind(),
            format!("{}: {error}", daemon.program.display()),
        )
    })?;
    orphans::remember(Pid::from_child(&child), folder.clone());
    Ok(Running {
        child,
        successor: None,
        helpers: Vec::new(),
        folder,
        kind: daemon.kind,
        target,
        visibility: daemon.kind.visibility(),
    })
}

/// Reads the kernel's list of listening sockets, because a connection would disturb the daemon.
fn wait_listening(running: &mut Running, timeout: Duration) -> io::Result<()> {
    let until = Instant::now() + timeout;
    let port = format!(":{:04X}", running.target.port());
    while Instant::now() < until {
        if let Some(text) = running.ended() {
            return Err(io::Error::other(text));
        }
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
        let listens = tables.iter().any(|table| {
            let text = fs::read_to_string(table).unwrap_or_default();
            text.lines().any(|line| {
                let mut fields = line.split_whitespace().skip(1);
                fields.next().is_some_and(|local| local.ends_with(&port))
                    && fields.nth(1) == Some("0A")
            })
        });
        if listens {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let why = format!("the daemon does not listen after {} s", timeout.as_secs());
    Err(io::Error::other(why))
}

/// The name is short because paths of Unix sockets are limited to 107 bytes.
fn own_folder() -> io::Result<PathBuf> {
    let base = std::env::temp_dir();
    for number in 0..1_000 {
        let folder = base.join(format!("rl{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no free folder name"))
}

pub(crate) fn free_port() -> io::Result<u16> {
    let socket = std::net::TcpListener::bind((LISTEN, 0))?;
    Ok(socket.local_addr()?.port())
}

fn in_folder(program: &Path) -> Command {
    Command::new(program)
}
pub(crate) const LISTEN: Ipv4Addr = Ipv4Addr::LOCALHOST;
const ROUTER_ID: Ipv4Addr = Ipv4Addr::new(10, 99, 255, 254);

fn local_asn() -> u32 {
    ROUTE_SERVER_ASN.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program of this test has another name.
    #[test]
    fn a_program_that_is_the_daemon_needs_no_other_of_its_name() {
        set_own_kind(Kind::Rutter);
        let daemon: Daemon = "rutter".parse().unwrap();
        assert_eq!(daemon.program, std::env::current_exe().unwrap());
        let named: Daemon = "rutter=/opt/rutter".parse().unwrap();
        assert_eq!(named.program, Path::new("/opt/rutter"));
    }

    #[test]
    fn a_program_path_is_relative_to_the_current_folder() {
        let here = std::env::current_dir().unwrap();
        let daemon: Daemon = "bird=sbin/bird".parse().unwrap();
        assert_eq!(daemon.program, here.join("sbin/bird"));
        let daemon: Daemon = "bird=bird".parse().unwrap();
        assert_eq!(daemon.program, Path::new("bird"));
    }
}
