//! `rutter bench hostile`: members that attack a route server, and the delay that honest members beside them notice.
//!
//! ```text
//! attackers ───────────────┐
//! announcer of each pair ──┼─► daemon under test ─► listener of each pair: when does it receive each change?
//! ```
//!
//! Pairs share the daemon's threads with the attackers: the worst pair is on the thread of the attackers, the best pair is
//! not. `placement` has the members of each.

mod attack;
mod pair;
mod placement;
mod report;
mod session;
mod turns;

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rutter_net::Asn;
use serde::Serialize;

use crate::cli;
use crate::daemons::{self, Daemon, Kind, Running, Setup, control};
use crate::process;
use crate::workload::{Named, Peer, Settings, Workload};

pub use attack::Attack;
use attack::Attacker;
pub use pair::Delays;
use pair::Pair;
use placement::Placement;
use session::Session;
pub use turns::TurnTimes;
use turns::Turns;

/// Let members attack a daemon, and measure the delay of honest members beside them
#[derive(Debug, Args)]
pub(crate) struct HostileArgs {
    /// The daemon to attack, as NAME or NAME=PROGRAM
    #[arg(long, value_name = "DAEMON", default_value = "rutter")]
    daemon: Daemon,

    /// Another daemon to attack in the same way; may be repeated
    #[arg(long, value_name = "DAEMON")]
    vs: Vec<Daemon>,

    /// Only this attack; may be repeated
    #[arg(long, value_name = "ATTACK")]
    attack: Vec<Attack>,

    /// Routes in the table before the attack begins
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    routes: usize,

    /// Seconds that each attack lasts
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,

    /// Members that attack at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    attackers: usize,

    /// I/O threads of the daemon, where it can have several
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,

    /// Write the report as JSON too (`-`: to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<std::path::PathBuf>,
}

/// The result of one attack on one daemon.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The daemon, as it was named.
    pub daemon: String,
    /// The attack during the measurement.
    pub attack: Attack,
    /// Delays of the pair with the largest 99th percentile, in milliseconds.
    pub worst: Delays,
    /// Delays of the pair with the smallest 99th percentile.
    pub best: Delays,
    /// Delays of all pairs before the attack.
    pub quiet: Delays,
    /// Honest sessions that the daemon closed, with the last error.
    pub lost: Vec<String>,
    /// Attackers' sessions that the daemon closed, with the error.
    pub closed: Vec<String>,
    /// Seconds that the attack lasted.
    pub seconds: f64,
    /// Bytes that the attackers sent.
    pub sent: u64,
    /// Resident bytes of the daemon before the attack.
    pub rss_before: u64,
    /// The largest number of resident bytes during the attack.
    pub rss_peak: u64,
    /// Resident bytes that the daemon may reach: those before the attack, and the `max-memory` of each attacker with what
    /// the allocator adds to it. `None`: the daemon has no such limit.
    pub rss_bound: Option<u64>,
    /// Bytes that the daemon logged during the attack.
    pub logged: u64,
    /// Processor seconds of the daemon during the attack.
    pub cpu_s: f64,
    /// The longest turns of the daemon's threads. `None`: it has no such metric.
    pub turns: Option<TurnTimes>,
    /// Seconds that the daemon's threads waited for a processor during the attack, added up.
    pub waited_s: f64,
    /// Seconds from SIGTERM, sent at the end of the attack, until the daemon had ended.
    pub stop_s: f64,
    /// The reason why the attack could not be completed.
    pub trouble: Option<String>,
}

/// Plays all attacks. `Ok(false)`: an attack could not be played, or an honest session was lost.
pub(crate) fn run(args: &HostileArgs) -> Result<bool, String> {
    if args.attackers == 0 || args.attackers > 100 {
        return Err("--attackers: write a number from 1 to 100".to_owned());
    }
    let placement = Placement::new(args.threads, args.attackers);
    let each = args.routes / (2 * PAIRS + args.attackers);
    let shape = format!("{}x{}", placement.members(), each.max(1));
    let named: Named = shape
        .parse()
        .map_err(|error| format!("--routes: {error}"))?;
    let workload = Workload::generate(named.shape, None, Settings::default());
    let attacks = if args.attack.is_empty() {
        Attack::ALL.to_vec()
    } else {
        args.attack.clone()
    };
    let mut outcomes = Vec::new();
    for attack in attacks {
        for daemon in std::iter::once(&args.daemon).chain(&args.vs) {
            cli::show_progress(format_args!("{attack} against {daemon}\n"));
            let outcome = play(daemon, attack, (&workload, placement), args);
            outcomes.push(outcome.map_err(|error| format!("{attack} against {daemon}: {error}"))?);
        }
    }
    print(args, &outcomes)?;
    Ok(outcomes
        .iter()
        .all(|outcome| outcome.lost.is_empty() && outcome.trouble.is_none()))
}

fn print(args: &HostileArgs, outcomes: &[Outcome]) -> Result<(), String> {
    let json = serde_json::to_string_pretty(outcomes).map_err(|error| error.to_string());
    let is_standard_output = args
        .json
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    if is_standard_output {
        cli::show(format_args!("{}\n", json?));
        return Ok(());
    }
    cli::show(report::table(outcomes));
    match &args.json {
        Some(path) => {
            fs::write(path, json?).map_err(|error| format!("--json {}: {error}", path.display()))
        }
        None => Ok(()),
    }
}

/// Starts the daemon, loads the table, measures the quiet, attacks, and stops the daemon.
fn play(
    daemon: &Daemon,
    attack: Attack,
    (workload, placement): (&Workload, Placement),
    args: &HostileArgs,
) -> io::Result<Outcome> {
    let setup = Setup {
        threads: args.threads,
        add_path: attack.needs_add_path(),
        logs_all: true,
        member_memory: Some(MEMBER_MEMORY),
        has_actions: true,
        has_metrics: true,
        ..Setup::default()
    };
    let mut running = daemons::start(daemon, &workload.peers, setup)?;
    let attacking = (0..attack.members(args.attackers)).map(|number| placement.attacker(number));
    let attacking: Vec<&Peer> = attacking.map(|at| &workload.peers[at]).collect();
    let members: Vec<Asn> = workload.peers.iter().map(|peer| peer.asn).collect();
    let attacking_asns: Vec<Asn> = attacking.iter().map(|peer| peer.asn).collect();
    let stop = AtomicBool::new(false);
    let sent = AtomicU64::new(0);
    let sessions = Sessions::default();
    let mut pairs = Vec::new();
    for number in 0..PAIRS {
        let [announcer, listener] = placement.pair(number).map(|at| &workload.peers[at]);
        pairs.push(Pair::establish(running.target, announcer, listener)?);
    }
    let mut outcome = Outcome::new(daemon.to_string(), attack);
    thread::scope(|threads| -> io::Result<()> {
        // Wakes the threads that read and write, whichever way this ends.
        let _guard = End {
            stop: &stop,
            pairs: &pairs,
            sessions: &sessions,
        };
        for pair in &pairs {
            pair.run(threads, &stop);
        }
        let (mut attackers, mut running_attackers) = (Vec::new(), Vec::new());
        for member in attacking.iter().copied().enumerate() {
            attackers.push(Attacker::prepare(
                running.target,
                member,
                (attack, &members, &attacking_asns),
                (&stop, &sessions, &sent),
                threads,
            )?);
        }
        settle(&pairs, &running)?;
        outcome.quiet = measure(&pairs, QUIET).merged();
        let before = process::usage_of_tree(running.pid());
        let waited = process::waited_for_processor(running.pid());
        let turns = turns_of(&running)?;
        process::reset_peak(running.pid());
        let logged = log_size(&running);
        for attacker in attackers {
            let (stop, sessions, sent) = (&stop, &sessions, &sent);
            running_attackers.push(threads.spawn(move || attacker.run(stop, sessions, sent)));
        }
        let delays = measure(&pairs, Duration::from_secs(args.seconds));
        outcome.worst = delays.worst();
        outcome.best = delays.best();
        let after = process::usage_of_tree(running.pid());
        let waited_after = process::waited_for_processor(running.pid());
        outcome.waited_s = waited_after.saturating_sub(waited).as_secs_f64();
        if let Some((before, after)) = turns.zip(turns_of(&running)?) {
            outcome.turns = after.since(&before);
        }
        outcome.seconds = args.seconds as f64;
        outcome.rss_before = before.rss;
        outcome.rss_peak = after.peak_rss;
        let attackers = args.attackers as u64;
        outcome.rss_bound = matches!(daemon.kind, Kind::Rutter | Kind::RutterCollect)
            .then_some(before.rss + attackers * MEMBER_MEMORY / 100 * (100 + ALLOCATOR_PERCENT));
        outcome.cpu_s = after.cpu.saturating_sub(before.cpu).as_secs_f64();
        outcome.logged = log_size(&running).saturating_sub(logged);
        outcome.sent = sent.load(Ordering::Relaxed);
        outcome.lost = pairs.iter().flat_map(Pair::lost).collect();
        outcome.trouble = running.ended();
        // An attacker that ended before the attack was over has an error.
        let ended = running_attackers
            .into_iter()
            .filter(|attacker| attacker.is_finished());
        outcome.closed = ended
            .flat_map(|attacker| attacker.join().ok().flatten())
            .map(|e| e.to_string())
            .collect();
        for pair in &pairs {
            pair.expect_the_end();
        }
        outcome.stop_s = running.terminate(STOP_TIMEOUT)?.as_secs_f64();
        Ok(())
    })?;
    Ok(outcome)
}

/// Waits until the honest members have announced their routes, and the daemon's processor time stands still.
fn settle(pairs: &[Pair], running: &Running) -> io::Result<()> {
    let until = Instant::now() + SETTLE_TIMEOUT;
    let mut last = process::usage_of_tree(running.pid()).cpu;
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(500));
        let now = process::usage_of_tree(running.pid()).cpu;
        if pairs.iter().all(Pair::has_announced)
            && now.saturating_sub(last) < Duration::from_millis(50)
        {
            return Ok(());
        }
        last = now;
    }
    Err(io::Error::other(
        "the table did not settle within two minutes",
    ))
}

/// The delays of each pair, in one measurement.
struct Measurement(Vec<Vec<Duration>>);

impl Measurement {
    fn merged(&self) -> Delays {
        Delays::of(self.0.concat())
    }

    fn each(&self) -> impl Iterator<Item = Delays> {
        self.0.iter().map(|delays| Delays::of(delays.clone()))
    }

    fn worst(&self) -> Delays {
        self.each()
            .max_by(|a, b| a.p99_ms.total_cmp(&b.p99_ms))
            .unwrap_or_default()
    }

    fn best(&self) -> Delays {
        self.each()
            .min_by(|a, b| a.p99_ms.total_cmp(&b.p99_ms))
            .unwrap_or_default()
    }
}

fn measure(pairs: &[Pair], time: Duration) -> Measurement {
    for pair in pairs {
        pair.begin();
    }
    thread::sleep(time);
    Measurement(pairs.iter().map(Pair::end).collect())
}

fn turns_of(running: &Running) -> io::Result<Option<Turns>> {
    match control::metrics_address(running.folder()) {
        Some(address) => Turns::read(address),
        None => Ok(None),
    }
}

fn log_size(running: &Running) -> u64 {
    fs::metadata(running.folder().join("log")).map_or(0, |file| file.len())
}

impl Outcome {
    fn new(daemon: String, attack: Attack) -> Self {
        Outcome {
            daemon,
            attack,
            worst: Delays::default(),
            best: Delays::default(),
            quiet: Delays::default(),
            lost: Vec::new(),
            closed: Vec::new(),
            seconds: 0.0,
            sent: 0,
            rss_before: 0,
            rss_peak: 0,
            rss_bound: None,
            logged: 0,
            cpu_s: 0.0,
            turns: None,
            waited_s: 0.0,
            stop_s: 0.0,
            trouble: None,
        }
    }
}

/// Handles of the attackers' sessions, to close them at the end.
#[derive(Debug, Default)]
struct Sessions(Mutex<Vec<Session>>);

impl Sessions {
    fn add(&self, session: Session) {
        self.lock().push(session);
    }

    /// Drops the handles of sessions that are closed.
    fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the threads of a run when it is dropped: threads that wait for a socket return when the socket is closed.
struct End<'a> {
    stop: &'a AtomicBool,
    pairs: &'a [Pair],
    sessions: &'a Sessions,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.pairs.iter().for_each(Pair::close);
        self.sessions.lock().iter().for_each(Session::close);
    }
}

/// Pairs of honest members.
const PAIRS: usize = 4;
/// `max-memory` of each member, in bytes: Rutter's default.
const MEMBER_MEMORY: u64 = 1 << 30;
/// `max-memory` counts allocations. The allocator also holds free memory between them, and unsent messages come and
/// goes: together 2 to 3 % of the routes' memory.
const ALLOCATOR_PERCENT: u64 = 4;
const QUIET: Duration = Duration::from_secs(3);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(120);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
