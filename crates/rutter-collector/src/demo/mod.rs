//! `rutter collect --demo`: a collector and built-in speakers in one process, without any setup.

mod feed;
mod table;

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rutter_config::Config;
use rutter_daemon::{Hangup, Signals};
use rutter_rib::Rib;
use rutter_service::ShutdownSignal;

use crate::cli::CollectArgs;
use crate::collect::Running;
use crate::failure::Failure;
pub(crate) use table::Table;

/// Collects from built-in speakers, reports, and stays up.
pub(crate) fn demo(args: &CollectArgs) -> Result<(), Failure> {
    let signals = Signals::install(Hangup::Ends)?;
    let folder = folder()?;
    let socket = args
        .socket
        .clone()
        .unwrap_or_else(|| folder.join("rutter.sock"));
    let listeners = DemoListeners::open()?;
    let mut config = configuration(&socket, &listeners)?;
    let address = address_near(0)?;
    config.daemon.listen = vec![address];
    let collector = Running::start(config, None)?;
    collector.daemon.handle_signals(&signals);
    let shutdown = ShutdownSignal::new();
    let mut feeds = Vec::new();
    let result = print_addresses(&listeners)
        .map_err(Failure::from)
        .and_then(|()| collect(args, &collector, address, &shutdown, &mut feeds));
    let result = match result {
        Ok(()) if !args.once && !collector.is_to_end() => {
            wait_for_signal(&socket, &listeners).map_err(Failure::from)
        }
        result => result,
    };
    if result.is_ok() && !args.once {
        collector.daemon.wait_for_stop();
    }
    collector.stop("the demonstration is over");
    shutdown.trigger();
    for feed in feeds {
        let _ = feed.join();
    }
    let _ = fs::remove_file(&socket);
    result
}

/// Collects from built-in speakers until the table has all routes, then reports the duration. A stop request ends it
/// early.
fn collect(
    args: &CollectArgs,
    collector: &Running,
    address: SocketAddr,
    shutdown: &ShutdownSignal,
    feeds: &mut Vec<SpeakerThread>,
) -> Result<(), Failure> {
    // The collector already answers while the table is generated or read.
    let table = Arc::new(Table::of(args)?);
    let begun = Instant::now();
    let (sent, _) = mpsc::channel();
    *feeds = start_feeds(args.feeds, address, &table, shutdown, &sent)?;
    let routes = table.routes(args.feeds);
    let to_end = || collector.is_to_end();
    match wait_for(&collector.context.rib, routes, feeds, &to_end)? {
        true => Ok(report(collector, routes, begun.elapsed())?),
        false => Ok(()),
    }
}

/// The thread of a speaker.
pub(crate) type SpeakerThread = JoinHandle<Result<(), String>>;

/// Returns a folder of this user. The other commands look there for the socket of a demonstration.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let user = fs::metadata("/proc/self").map_or(0, |meta| meta.uid());
    let folder = std::env::temp_dir().join(format!("rutter-demo-{user}"));
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e.into()),
        _ => {}
    }
    let owner = fs::symlink_metadata(&folder)?;
    match owner.is_dir() && owner.uid() == user {
        true => Ok(folder),
        false => {
            let folder = folder.display();
            Err(Failure::text(format!(
                "{folder} is somebody else's: use --socket"
            )))
        }
    }
}

fn configuration(socket: &Path, listeners: &DemoListeners) -> Result<Config, Failure> {
    let (socket, DemoListeners { bmp, stream, sql }) = (socket.display(), listeners);
    let text = format!(
        "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n\
         [daemon]\ncontrol-socket = \"{socket}\"\nlog = \"error\"\n\
         [collector]\nname = \"demo\"\n\
         [[dynamic-neighbor]]\nprefix = \"127.1.0.0/16\"\nmode = \"collector\"\nlimit = 1000\n\
         [bmp]\nlisten = [\"{bmp}\"]\n[stream]\nlisten = \"{stream}\"\n[sql]\nlisten = [\"{sql}\"]\n"
    );
    let loaded = Config::parse(&text, Path::new("demo.toml"));
    loaded.map(|loaded| loaded.config).map_err(|errors| {
        let words: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::text(words.join("\n"))
    })
}

/// The port where routers may report to the demonstration, if it is free.
const BMP: u16 = 11_019;
/// The port of its stream, if it is free.
const STREAM: u16 = 8_180;

/// The port of its SQL, if it is free.
const SQL: u16 = 5_439;

/// The addresses of the demonstration.
struct DemoListeners {
    bmp: SocketAddr,
    stream: SocketAddr,
    sql: SocketAddr,
}

impl DemoListeners {
    fn open() -> io::Result<Self> {
        Ok(DemoListeners {
            bmp: address_near(BMP)?,
            stream: address_near(STREAM)?,
            sql: address_near(SQL)?,
        })
    }
}

/// Returns this port of 127.0.0.1. If it is in use, returns one that was free a moment ago.
pub(crate) fn address_near(port: u16) -> io::Result<SocketAddr> {
    let bind = |port| TcpListener::bind(("127.0.0.1", port));
    bind(port).or_else(|_| bind(0))?.local_addr()
}

/// Starts the speakers. Each sends the time at which it has sent everything.
pub(crate) fn start_feeds(
    count: u16,
    to: SocketAddr,
    table: &Arc<Table>,
    shutdown: &ShutdownSignal,
    sent: &mpsc::Sender<Instant>,
) -> Result<Vec<SpeakerThread>, Failure> {
    let mut feeds = Vec::new();
    for number in 0..count {
        let (table, shutdown, sent) = (Arc::clone(table), shutdown.clone(), sent.clone());
        let [high, low] = (number + 1).to_be_bytes();
        let from = IpAddr::from([127, 1, high, low]);
        let feed = thread::Builder::new()
            .name(format!("feed-{number}"))
            .spawn(move || feed::run(number, from, to, &table, &shutdown, &sent))?;
        feeds.push(feed);
    }
    Ok(feeds)
}

/// Waits until the table holds `routes` routes. Returns `false` if a stop was requested first.
pub(crate) fn wait_for(
    rib: &Rib,
    routes: u64,
    feeds: &[SpeakerThread],
    to_end: &dyn Fn() -> bool,
) -> Result<bool, Failure> {
    while held(rib) < routes {
        if to_end() {
            return Ok(false);
        }
        if feeds.iter().any(JoinHandle::is_finished) {
            return Err(Failure::text("a built-in speaker has ended early"));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(true)
}

/// Returns the number of routes in the table.
pub(crate) fn held(rib: &Rib) -> u64 {
    let of_peer = |peer: rutter_rib::PeerSummary| {
        let counts = peer.counts.iter().map(|count| u64::from(count.received));
        counts.sum::<u64>()
    };
    rib.peers().into_iter().map(of_peer).sum()
}

fn report(collector: &Running, routes: u64, took: Duration) -> io::Result<()> {
    let rib = &collector.context.rib;
    let memory: u64 = rib.memory().iter().map(|row| row.bytes).sum();
    let (peers, seconds) = (rib.peers().len(), took.as_secs_f64());
    writeln!(
        io::stdout(),
        "Collected {routes} routes of {peers} peers in {seconds:.2} s, {:.1} million a second.\n\
         The table takes {} MiB: {:.0} bytes a route.",
        routes as f64 / seconds / 1e6,
        memory >> 20,
        memory as f64 / routes as f64,
    )
}

/// Prints the commands that work from the first moment on.
fn print_addresses(listeners: &DemoListeners) -> io::Result<()> {
    let DemoListeners { bmp, stream, sql } = listeners;
    let (program, mut out) = (rutter()?, io::stdout().lock());
    writeln!(
        out,
        "Collecting. The table answers from now on; in another terminal:\n\n  \
           psql -h {} -p {} -U anybody rutter\n  \
           {} sql --server {sql} \"SELECT peer_name, count(*) FROM routes GROUP BY 1\"\n\n\
         Routers may report to {bmp} by BMP; what happens is at ws://{stream} in RIS Live's messages.\n",
        sql.ip(),
        sql.port(),
        program.display(),
    )?;
    out.flush()
}

fn wait_for_signal(socket: &Path, listeners: &DemoListeners) -> io::Result<()> {
    let (program, mut out) = (rutter()?, io::stdout().lock());
    writeln!(out, "\nThe collector stays up. Also:\n")?;
    for command in ["show routes --limit 20", "show peers", "show memory"] {
        let (program, socket) = (program.display(), socket.display());
        writeln!(out, "  {program} {command} --socket {socket}")?;
    }
    writeln!(
        out,
        "\npsql still answers on port {}. Ctrl-C ends it.",
        listeners.sql.port()
    )?;
    out.flush()
}

/// Returns the path of the program that has these commands.
fn rutter() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("rutter"))
}
