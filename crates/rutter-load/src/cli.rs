//! The command line of `rutter bench`.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use crate::daemons::{Daemon, control, end_daemons_with_us, held};
use crate::floor;
use crate::oracle::Visibility;
use crate::plan::{Phase, Plan, Target};
use crate::process;
use crate::readme::{self, ReadmeArgs};
use crate::report::{Column, Report};
use crate::robust::Disturbance;
use crate::scenario;
use crate::speaker::{Counters, Offer};
use crate::under_load::{self, Scene};
use crate::workload::{Named, Settings, Workload, read_prefix_file};

/// Measure a BGP daemon under load, and verify what each of its clients receives
#[derive(Debug, Parser)]
#[command(
    name = "rutter bench",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = EXAMPLES
)]
pub struct BenchArgs {
    #[command(subcommand)]
    special: Option<Special>,

    #[command(flatten)]
    bench: Bench,
}

#[derive(Debug, Subcommand)]
enum Special {
    /// Write octets to sockets and nothing else (started by --floor).
    #[command(hide = true)]
    FloorWriter { target: SocketAddr, count: usize },

    /// Become a daemon that ends with the benchmark (started for every daemon).
    #[command(hide = true, name = held::WORD)]
    Hold {
        benchmark: u32,
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },

    /// Measure the table of the README: S3 to S7 beside other daemons; prints it as Markdown
    Readme(ReadmeArgs),
}

#[derive(Debug, Args)]
struct Bench {
    /// S1 to S10, S10b, or a size of your own: 10x5000 (unique prefixes), 20x50000/20000 (routes/destinations)
    #[arg(required = true)]
    workload: Option<Named>,

    /// The daemon to measure, as NAME or NAME=PROGRAM
    #[arg(long, value_name = "DAEMON", default_value = DEFAULT_DAEMON)]
    daemon: Daemon,

    /// Another daemon to measure side by side; may be repeated. Names: rutter, rutter-collect, bird, bird-tables, bird3, gobgp, openbgpd, frr, rustybgp, rustbgpd
    #[arg(long, value_name = "DAEMON")]
    vs: Vec<Daemon>,

    /// Measure a daemon that runs already; it must know the clients (see --print-clients)
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["daemon", "vs"])]
    attach: Option<SocketAddr>,

    /// The process of --attach, to measure what it costs
    #[arg(long, requires = "attach")]
    pid: Option<u32>,

    /// Who gets the best route from --attach
    #[arg(long, requires = "attach", default_value = "per-client")]
    visibility: Visibility,

    /// Repetitions, alternating between the daemons
    #[arg(long, default_value_t = ONE)]
    runs: NonZeroUsize,

    /// Threads of the daemon, where it can have several [default: one per core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,

    /// Threads of the load
    #[arg(long, default_value_t = ONE)]
    load_threads: NonZeroUsize,

    /// Destinations for S4 and S6 (or any workload): one prefix a line, plain or .gz
    #[arg(long, value_name = "FILE")]
    prefixes: Option<PathBuf>,

    /// Keep prefixes of --prefixes that an exchange's filters reject
    #[arg(long)]
    keep_all_prefixes: bool,

    /// Everything generated is drawn from this number
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// So many peers share an AS number, so that MED counts between them
    #[arg(long, default_value_t = ONE, value_name = "N")]
    peers_per_asn: NonZeroUsize,

    /// Verify the set of prefixes only, not attributes and best path
    #[arg(long)]
    shallow: bool,

    /// Afterwards announce one prefix N times and time it to the monitor
    #[arg(long, value_name = "N", default_value_t = 0, num_args = 0..=1, default_missing_value = "2000")]
    latency: u32,

    /// Afterwards time it while routes are shown, dumped, reloaded, and peers are lost or slow, N times each; of rutter-collect while SQL is asked, too
    #[arg(long, value_name = "N", default_value_t = 0, num_args = 0..=1, default_missing_value = "2000")]
    under_load: u32,

    /// Of what --under-load does, only this; may be repeated
    #[arg(long, value_name = "SCENE", requires = "under_load")]
    scene: Vec<Scene>,

    /// Afterwards lose the peer with the most routes, and let it come back
    #[arg(long)]
    lose_biggest: bool,

    /// Afterwards lose N random peers at once, and let them come back
    #[arg(long, value_name = "N")]
    kill: Option<usize>,

    /// Afterwards lose half of the peers and let them come back until N million routes have come and gone
    #[arg(long, value_name = "N")]
    churn: Option<u64>,

    /// Afterwards load a policy that rejects the longer paths of everybody, and the old one again; then one that announces some
    /// routes to nobody, and the old one again
    #[arg(long, conflicts_with = "attach")]
    reload: bool,

    /// The monitor connects when all others are served
    #[arg(long)]
    late_monitor: bool,

    /// N peers read slowly until the others are served
    #[arg(long, value_name = "N")]
    slow: Option<usize>,

    /// Offer messages of up to 65,535 octets (RFC 8654)
    #[arg(long)]
    extended_messages: bool,

    /// Also measure a program that only writes the same octets to the same number of sockets
    #[arg(long)]
    floor: bool,

    /// Seconds to wait for a phase
    #[arg(long, default_value_t = 900)]
    timeout: u64,

    /// Seconds to look on afterwards
    #[arg(long, default_value_t = 2)]
    settle: u64,

    /// Write the report as JSON too (`-`: to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Print the clients (address, AS, BGP Identifier) that --attach must know, and end
    #[arg(long)]
    print_clients: bool,
}

const ONE: NonZeroUsize = NonZeroUsize::MIN;
const DEFAULT_DAEMON: &str = "rutter";

const EXAMPLES: &str = "\
All clients speak real BGP over loopback TCP from 127.1.0.1 and on; the daemon gets a folder and a
port of its own. The clock runs from the first UPDATE octet until every client holds exactly what
it must: prefixes, attributes and the best path it may see. Processor seconds are those of the
daemon's whole process tree.

Examples:
  rutter bench S3
  rutter bench S3 --vs bird --runs 3 --json s3.json
  rutter bench S6 --prefixes prefixes.txt.gz --vs bird=/opt/bird-2.19/sbin/bird --runs 3
  rutter bench S5 --floor
  rutter bench S3 --latency
  rutter bench S6 --under-load
  rutter bench 20x20000 --churn 10
  rutter bench 100x50000/20000 --reload --vs bird
  rutter bench readme --prefixes prefixes.txt.gz --vs bird --svg chart.svg
  rutter bench 50x20000/8000 --lose-biggest --kill 5 --late-monitor
  rutter bench S3 --attach 192.0.2.1:179 --pid 4711 --visibility best-only";

/// Runs `rutter bench` with the arguments after that word. `Ok(false)`: a run failed or was not exact.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Result<bool, String> {
    let name = std::iter::once("rutter bench".into());
    let args = match BenchArgs::try_parse_from(name.chain(arguments)) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    match args.special {
        Some(Special::FloorWriter { target, count }) => {
            floor::write(target, count).map_err(|error| error.to_string())?;
            Ok(true)
        }
        Some(Special::Hold {
            benchmark,
            program,
            arguments,
        }) => Err(held::become_daemon(benchmark, &program, &arguments)),
        Some(Special::Readme(readme)) => with_signals(|| readme::run(&readme)),
        None => with_signals(|| bench(&args.bench)),
    }
}

fn with_signals(run: impl FnOnce() -> Result<bool, String>) -> Result<bool, String> {
    end_daemons_with_us().map_err(|error| error.to_string())?;
    held::may_hold();
    run()
}

/// One comparison, for those who show it in their own way.
pub(crate) fn measure(arguments: Vec<OsString>) -> Result<Report, String> {
    let name = std::iter::once("rutter bench".into());
    let args = BenchArgs::try_parse_from(name.chain(arguments)).map_err(|e| e.to_string())?;
    let named = args.bench.workload.ok_or("a workload is missing")?;
    let (workload, dropped) = generate(&args.bench, &named)?;
    report(&args.bench, &named, workload, dropped)
}

fn bench(args: &Bench) -> Result<bool, String> {
    let named = args
        .workload
        .ok_or("a workload is missing: write S1 to S10")?;
    let (workload, dropped) = generate(args, &named)?;
    if args.print_clients {
        for peer in &workload.peers {
            show(format_args!(
                "{} AS{} {}\n",
                peer.address, peer.asn, peer.router_id
            ));
        }
        return Ok(true);
    }
    check(args)?;
    let report = report(args, &named, workload, dropped)?;
    print(args, &report)?;
    Ok(report.is_exact())
}

fn report(
    args: &Bench,
    named: &Named,
    workload: Workload,
    dropped: usize,
) -> Result<Report, String> {
    let mut report = Report {
        workload: named.to_string(),
        peers: workload.announcers(),
        destinations: workload.destinations.len(),
        routes: workload.total_routes(),
        dropped_prefixes: dropped,
        seed: args.seed,
        cores: process::cores(),
        columns: Vec::new(),
        floor: None,
    };
    run_all(args, &Arc::new(workload), &mut report)?;
    Ok(report)
}

fn generate(args: &Bench, named: &Named) -> Result<(Workload, usize), String> {
    let mut dropped = 0;
    let table = match &args.prefixes {
        Some(path) => {
            let file = read_prefix_file(path, args.keep_all_prefixes).map_err(|e| e.to_string())?;
            dropped = file.dropped;
            if dropped + file.duplicates > 0 {
                tell(format_args!(
                    "{}: {} prefixes taken, {dropped} left out that an exchange's filters reject, {} repeated\n",
                    path.display(),
                    file.prefixes.len(),
                    file.duplicates
                ));
            }
            if file.prefixes.is_empty() {
                return Err(format!("{}: no prefixes are left", path.display()));
            }
            Some(file.prefixes)
        }
        None => None,
    };
    let settings = Settings {
        seed: args.seed,
        peers_per_asn: args.peers_per_asn.get(),
    };
    Ok((Workload::generate(named.shape, table, settings), dropped))
}

fn targets(args: &Bench) -> Vec<(String, Target)> {
    if let Some(address) = args.attach {
        let target = Target::Attach {
            address,
            pid: args.pid,
            visibility: args.visibility,
        };
        return vec![(address.to_string(), target)];
    }
    std::iter::once(&args.daemon)
        .chain(&args.vs)
        .map(|daemon| (daemon.to_string(), Target::Start(daemon.clone())))
        .collect()
}

fn plan(args: &Bench) -> Plan {
    let mut disturbances = Vec::new();
    disturbances.extend(args.slow.map(Disturbance::Slow));
    disturbances.extend(args.late_monitor.then_some(Disturbance::LateMonitor));
    disturbances.extend(args.reload.then_some(Disturbance::Reload));
    disturbances.extend(args.lose_biggest.then_some(Disturbance::LoseBiggest));
    disturbances.extend(args.kill.map(Disturbance::Kill));
    disturbances.extend(
        args.churn
            .map(|millions| Disturbance::Churn(millions * 1_000_000)),
    );
    Plan {
        threads: args.threads.map_or_else(process::cores, NonZeroUsize::get),
        load_threads: match args.under_load {
            0 => args.load_threads.get(),
            _ => args.load_threads.get().max(under_load::THREADS),
        },
        deep: !args.shallow,
        latency_rounds: args.latency,
        under_load_rounds: args.under_load,
        scenes: match args.scene.is_empty() {
            true => Scene::ALL.to_vec(),
            false => args.scene.clone(),
        },
        disturbances,
        timeout: Duration::from_secs(args.timeout),
        settle: Duration::from_secs(args.settle),
        offer: Offer {
            extended_message: args.extended_messages,
            ..Offer::default()
        },
    }
}

fn run_all(args: &Bench, workload: &Arc<Workload>, report: &mut Report) -> Result<(), String> {
    let (targets, plan) = (targets(args), plan(args));
    report.columns = targets
        .iter()
        .map(|(name, _)| Column {
            name: name.clone(),
            runs: Vec::new(),
            failures: Vec::new(),
        })
        .collect();
    for round in 0..args.runs.get() {
        for (column, (name, target)) in report.columns.iter_mut().zip(&targets) {
            let bar = Bar::new(
                &format!("{name} {}/{}", round + 1, args.runs.get()),
                workload.peers.len(),
            );
            match scenario::run(workload, target, &plan, |phase, counters| {
                bar.show(phase, counters)
            }) {
                Ok(measured) => column.runs.push(measured),
                Err(error) => column.failures.push(error.to_string()),
            }
        }
    }
    if args.floor {
        let floor = floor::measure(workload).map_err(|error| format!("floor: {error}"))?;
        report.floor = Some(floor);
    }
    Ok(())
}

/// What would be found out too late.
fn check(args: &Bench) -> Result<(), String> {
    let gone = |pid: &u32| !Path::new("/proc").join(pid.to_string()).exists();
    if let Some(pid) = args.pid.filter(gone) {
        return Err(format!("--pid {pid}: there is no such process"));
    }
    let mut daemons = std::iter::once(&args.daemon).chain(&args.vs);
    if let Some(daemon) = daemons.find(|daemon| args.reload && !control::reloads(daemon.kind)) {
        return Err(format!(
            "--reload: the benchmark does not know how to reload the policy of {daemon}; it does for rutter, bird and bird3"
        ));
    }
    match &args.json {
        Some(path) if path.as_os_str() != "-" => can_write("--json", path),
        _ => Ok(()),
    }
}

/// Makes the file, so that what is measured for long does not get lost in the end.
pub(crate) fn can_write(option: &str, path: &Path) -> Result<(), String> {
    fs::write(path, "").map_err(|error| format!("{option} {}: {error}", path.display()))
}

fn print(args: &Bench, report: &Report) -> Result<(), String> {
    let json = || serde_json::to_string_pretty(report).map_err(|error| error.to_string());
    match &args.json {
        Some(path) if path.as_os_str() == "-" => {
            show(format_args!("{}\n", json()?));
            Ok(())
        }
        Some(path) => {
            show(report);
            fs::write(path, json()?).map_err(|error| format!("--json {}: {error}", path.display()))
        }
        None => {
            show(report);
            Ok(())
        }
    }
}

/// On standard output. Whoever read it may have gone; the exit status tells how it went all the same.
pub(crate) fn show(text: impl Display) {
    let _ = write!(io::stdout().lock(), "{text}");
}

/// On standard error, likewise.
pub(crate) fn tell(text: impl Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// A progress bar on a terminal, nothing elsewhere.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(name: &str, clients: usize) -> Self {
        if !io::stderr().is_terminal() {
            return Bar(None);
        }
        let bar = ProgressBar::new(clients as u64);
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(name.to_owned());
        Bar(Some(bar))
    }

    fn show(&self, phase: Phase, counters: &Counters) {
        let Some(bar) = &self.0 else {
            return;
        };
        let position = if phase == Phase::Connecting {
            counters.established
        } else {
            counters.exact
        };
        bar.set_position(position as u64);
        bar.set_message(match phase {
            Phase::Connecting => "sessions".to_owned(),
            Phase::Loading => format!("exact, {} prefixes", counters.prefixes),
            Phase::Settling => "settling".to_owned(),
            Phase::Probing => "latency".to_owned(),
            Phase::Disturbing => "disturbed".to_owned(),
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        BenchArgs::command().debug_assert();
        let args = BenchArgs::try_parse_from(["bench", "S3", "--vs", "bird", "--latency"]).unwrap();
        assert_eq!(args.bench.latency, 2000);
        assert!(BenchArgs::try_parse_from(["bench"]).is_err());
        let hold = ["bench", held::WORD, "7", "bird", "-f", "--", "-c"];
        let Some(Special::Hold { arguments, .. }) =
            BenchArgs::try_parse_from(hold).unwrap().special
        else {
            panic!("another command");
        };
        assert_eq!(arguments, ["-f", "--", "-c"]);
        assert!(BenchArgs::try_parse_from(["bench", "S3", "--vs", "quagga"]).is_err());
    }
}
