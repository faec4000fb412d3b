//! The load during a measurement of the latency.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::daemons::Kind;
use crate::daemons::control::{self, RELOAD, ask, configuration, show_bird};
use crate::policy::Policy;
use crate::rng::Rng;
use crate::scenario::Subject;
use crate::speaker::{Fleet, FleetError};

use super::postgres::QueryLoad;
use super::{Done, pause, visitors};

/// A kind of load besides routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scene {
    /// All routes are shown, repeatedly.
    Show,
    /// Four readers query sessions, memory and status, as a metrics endpoint does.
    Readers,
    /// 200 users of the looking glass and 10 clients of the REST interface ask as fast as they are answered.
    Visitors,
    /// SQL: all routes are counted by origin, repeatedly.
    Aggregate,
    /// SQL: longest matches of addresses, one after the other.
    LongestMatch,
    /// The table is dumped to MRT files, repeatedly.
    Dump,
    /// A changed policy for all clients is loaded twice a second.
    Reload,
    /// A peer crashes and reconnects, repeatedly, and another client reads slowly.
    Slow,
    /// A peer crashes and reconnects, repeatedly.
    Lost,
    /// All peers but the one of the timed prefix crash and reconnect with all their routes, repeatedly.
    Load,
}

impl Scene {
    /// All scenes, in the order in which they are played.
    pub const ALL: [Scene; 10] = [
        Scene::Show,
        Scene::Readers,
        Scene::Visitors,
        Scene::Aggregate,
        Scene::LongestMatch,
        Scene::Dump,
        Scene::Reload,
        Scene::Slow,
        Scene::Lost,
        Scene::Load,
    ];

    /// A description.
    pub fn words(self) -> &'static str {
        match self {
            Scene::Show => "all routes are shown",
            Scene::Readers => "4 readers of sessions and memory",
            Scene::Visitors => "200 looking-glass users, 10 API clients",
            Scene::Aggregate => "SQL: all routes by origin",
            Scene::LongestMatch => "SQL: longest matches",
            Scene::Dump => "MRT dumps of the table",
            Scene::Reload => "reloads of a changed policy",
            Scene::Slow => "a peer lost and back, a slow client",
            Scene::Lost => "a peer lost and back",
            Scene::Load => "all other peers lost and back",
        }
    }

    /// Returns whether the scene works with a daemon of this kind (`None`: not started by us) and this many clients.
    pub(crate) fn is_known_to(self, kind: Option<Kind>, clients: usize) -> bool {
        match self {
            Scene::Lost | Scene::Load => true,
            Scene::Slow => clients > SLOW,
            Scene::Show => kind
                .is_some_and(|kind| kind.is_rutter() || matches!(kind, Kind::Bird | Kind::Bird3)),
            Scene::Readers | Scene::Visitors | Scene::Dump | Scene::Reload => {
                kind.is_some_and(Kind::is_rutter)
            }
            Scene::Aggregate | Scene::LongestMatch => kind == Some(Kind::RutterCollect),
        }
    }

    /// Repeats the scene until `stop` is set.
    pub(crate) fn act(
        self,
        fleet: &Fleet,
        subject: &Subject,
        stop: &AtomicBool,
    ) -> io::Result<Done> {
        let in_words = |error: FleetError| io::Error::other(error.to_string());
        let lose = || lose(fleet, stop).map_err(in_words);
        match self {
            Scene::Lost => return lose().map(Done::from),
            Scene::Load => return load_again(fleet, stop).map_err(in_words).map(Done::from),
            Scene::Slow => {
                let slow = |octets| fleet.slow(SLOW, octets).map_err(in_words);
                slow(Some(4_096))?;
                let done = lose();
                slow(None)?;
                return done.map(Done::from);
            }
            _ => {}
        }
        let Some((kind, folder)) = subject.started() else {
            return Ok(Done::default());
        };
        let socket = control::socket(folder);
        if self == Scene::Visitors {
            let workload = &fleet.bench().workload;
            return visitors::act((folder, &socket), workload, stop).map(Done::from);
        }
        let times = match self {
            Scene::Show if kind.is_rutter() => repeat(stop, || ask(&socket, ROUTES)),
            Scene::Show => repeat(stop, || show_bird(&socket)),
            Scene::Readers => readers(&socket, stop),
            Scene::Aggregate => {
                let mut asker = QueryLoad::connect(control::sql_address(folder)?)?;
                repeat(stop, || asker.ask(BY_ORIGIN))
            }
            Scene::LongestMatch => {
                let mut asker = QueryLoad::connect(control::sql_address(folder)?)?;
                let mut rng = Rng::new(1);
                repeat(stop, || asker.ask(&longest_match(fleet, &mut rng)))
            }
            Scene::Dump => dump(folder, &socket, stop),
            _ => reload(folder, &socket, stop),
        };
        times.map(Done::from)
    }
}

/// The client that crashes. It is on the fleet's second thread; the timed prefix uses the first.
const VICTIM: usize = 1;
/// The client that reads slowly.
const SLOW: usize = 3;
const ROUTES: &str = r#"{"routes":{}}"#;
const BY_ORIGIN: &str = "SELECT origin_as, count(*) FROM routes GROUP BY origin_as";

/// A query for the routes to an address of a random prefix of the table.
fn longest_match(fleet: &Fleet, rng: &mut Rng) -> String {
    let all = &fleet.bench().workload.destinations;
    let prefix = all.get(rng.below(all.len() as u64) as usize);
    let address = prefix.map_or([192, 0, 2, 1].into(), |prefix| prefix.addr());
    format!("SELECT prefix, peer_name, as_path, next_hop, best FROM lookup('{address}')")
}

fn repeat(stop: &AtomicBool, mut act: impl FnMut() -> io::Result<()>) -> io::Result<u64> {
    let mut times = 0;
    while !stop.load(Ordering::Acquire) {
        act()?;
        times += 1;
    }
    Ok(times)
}

fn readers(socket: &Path, stop: &AtomicBool) -> io::Result<u64> {
    let times = AtomicU64::new(0);
    thread::scope(|threads| {
        let reading: Vec<_> = ["\"peers\"", "\"memory\"", "\"status\"", "\"memory\""]
            .into_iter()
            .map(|request| {
                let times = &times;
                threads.spawn(move || {
                    repeat(stop, || {
                        ask(socket, request)?;
                        times.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(20));
                        Ok(())
                    })
                })
            })
            .collect();
        let ended = reading.into_iter().map(|thread| thread.join());
        ended
            .map(|result| result.map_err(|_| io::Error::other("a reader panicked"))?)
            .try_for_each(|result| result.map(drop))
    })?;
    Ok(times.into_inner())
}

fn dump(folder: &Path, socket: &Path, stop: &AtomicBool) -> io::Result<u64> {
    let (file, archive) = (configuration(folder), folder.join("mrt"));
    let before = fs::read_to_string(&file)?;
    let section = format!(
        "\n[mrt]\ndirectory = \"{}\"\ntable-interval = 1\nupdates-interval = 0\ncompress = \"none\"\n",
        archive.display()
    );
    fs::write(&file, format!("{before}{section}"))?;
    ask(socket, RELOAD)?;
    let mut times = 0;
    while !stop.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(100));
        times += remove_finished(&archive)?;
    }
    fs::write(&file, before)?;
    ask(socket, RELOAD)?;
    Ok(times + remove_finished(&archive)?)
}

/// Removes complete dumps at once, because they are large.
fn remove_finished(archive: &Path) -> io::Result<u64> {
    let mut removed = 0;
    for entry in fs::read_dir(archive)? {
        let path = entry?.path();
        // The name of an incomplete file begins with a dot.
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with("rib.")) {
            fs::remove_file(&path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn reload(folder: &Path, socket: &Path, stop: &AtomicBool) -> io::Result<u64> {
    let file = configuration(folder);
    let before = fs::read_to_string(&file)?;
    let mut times = 0;
    repeat(stop, || {
        let policy = Policy {
            longest_path: 50 + (times % 2) as u8,
            ..Policy::default()
        };
        times += 1;
        control::set_policy(Kind::Rutter, folder, policy)?;
        pause(stop, Duration::from_millis(500));
        Ok(())
    })?;
    fs::write(&file, before)?;
    ask(socket, RELOAD)?;
    Ok(times)
}

/// The victim closes its connection without a NOTIFICATION and reconnects, each time until all clients are up to date.
fn lose(fleet: &Fleet, stop: &AtomicBool) -> Result<u64, FleetError> {
    let clients = fleet.bench().workload.peers.len();
    let mut times = 0;
    while !stop.load(Ordering::Acquire) {
        fleet.kill(&[VICTIM])?;
        pause(stop, Duration::from_millis(400));
        fleet.connect(&[VICTIM])?;
        fleet.wait_established(clients, Duration::from_secs(60), |_| {})?;
        pause(stop, Duration::from_millis(800));
        times += 1;
    }
    Ok(times)
}

/// All announcers but the first are lost and reconnect. The next round begins when all clients are exact.
fn load_again(fleet: &Fleet, stop: &AtomicBool) -> Result<u64, FleetError> {
    let workload = &fleet.bench().workload;
    let (clients, announcers) = (workload.peers.len(), workload.announcers());
    let others: Vec<usize> = (1..announcers).collect();
    let mut times = 0;
    while !stop.load(Ordering::Acquire) {
        fleet.kill(&others)?;
        pause(stop, Duration::from_millis(400));
        fleet.connect(&others)?;
        fleet.wait_established(clients, PATIENCE, |_| {})?;
        fleet.wait_exact(clients, announcers, PATIENCE, |_| {})?;
        times += 1;
    }
    Ok(times)
}

/// The slowest daemon takes minutes for a load.
const PATIENCE: Duration = Duration::from_secs(900);
