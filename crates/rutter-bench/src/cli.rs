//! The command line of `rutter bench`.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};

use crate::arguments::{Bench, BenchArgs, Special};
use crate::baseline_writer;
use crate::daemons::{end_daemons_with_us, end_with_parent};
use crate::disturbance::Disturbance;
use crate::hostile;
use crate::plan::{Phase, Plan, Target};
use crate::preflight;
use crate::process;
use crate::progress_line::ProgressLine;
use crate::readme;
use crate::registry::{Registry, RegistrySize};
use crate::report::{Column, Report};
use crate::scenario;
use crate::speaker::{Counters, Offer};
use crate::under_load::{self, Scene};
use crate::workload::{Named, Settings, Workload, read_prefix_file};

/// The command with its options and subcommands, for its help pages.
pub fn command() -> clap::Command {
    BenchArgs::command()
}

/// Runs `rutter bench` with the arguments after `bench`. `Ok(false)`: a run failed or was not exact.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Result<bool, String> {
    let name = std::iter::once("rutter bench".into());
    let args = match BenchArgs::try_parse_from(name.chain(arguments)) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    match args.special {
        Some(Special::BaselineWriter { target, count }) => {
            baseline_writer::write(target, count).map_err(|error| error.to_string())?;
            Ok(true)
        }
        Some(Special::Hold {
            benchmark,
            program,
            arguments,
        }) => Err(end_with_parent::become_daemon(
            benchmark, &program, &arguments,
        )),
        Some(Special::Readme(readme)) => with_signals(|| readme::run(&readme)),
        Some(Special::Hostile(hostile)) => with_signals(|| hostile::run(&hostile)),
        Some(Special::Policy { arguments }) => {
            let begin = ["rutter bench", "20x250000/100000", "--checks"].map(OsString::from);
            match BenchArgs::try_parse_from(begin.into_iter().chain(arguments)) {
                Ok(args) => with_signals(|| bench(&args.bench)),
                Err(error) => error.exit(),
            }
        }
        None => with_signals(|| bench(&args.bench)),
    }
}

fn with_signals(run: impl FnOnce() -> Result<bool, String>) -> Result<bool, String> {
    end_daemons_with_us().map_err(|error| error.to_string())?;
    end_with_parent::enable();
    run()
}

/// Runs one comparison; the caller shows the report.
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
    preflight::check(args, workload.peers.len())?;
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
        baseline: None,
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
                show_progress(format_args!(
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
    let mut workload = Workload::generate(named.shape, table, settings);
    if args.checks {
        let size = RegistrySize {
            members: args.members,
            entries: args.entries.unwrap_or(workload.total_routes() * 6 / 5),
            vrps: args.vrps,
        };
        let registry = Registry::draw(&mut workload, size, args.seed);
        show_progress(format_args!(
            "{} registered prefixes of {} members, {} VRPs\n",
            registry.entries,
            workload.peers.len() + registry.idle.len(),
            registry.roas.len()
        ));
        workload.registry = Some(registry);
    }
    Ok((workload, dropped))
}

/// The daemons, and whether each has the whole policy.
fn targets(args: &Bench) -> Vec<(String, Target, bool)> {
    if let Some(address) = args.attach {
        let target = Target::Attach {
            address,
            pid: args.pid,
            visibility: args.visibility,
        };
        return vec![(address.to_string(), target, false)];
    }
    std::iter::once(&args.daemon)
        .chain(&args.vs)
        .flat_map(|daemon| {
            let target = Target::Start(daemon.clone());
            let plain = (daemon.to_string(), target.clone(), false);
            let checked = (format!("{daemon}, checks"), target, true);
            std::iter::once(plain).chain(args.checks.then_some(checked))
        })
        .collect()
}

fn plan(args: &Bench) -> Plan {
    let mut disturbances = Vec::new();
    disturbances.extend(args.slow.map(Disturbance::Slow));
    disturbances.extend(args.late_monitor.then_some(Disturbance::LateMonitor));
    disturbances.extend(args.reload.then_some(Disturbance::Reload));
    disturbances.extend(args.checks.then_some(Disturbance::Registry));
    disturbances.extend(args.lose_biggest.then_some(Disturbance::LoseBiggest));
    disturbances.extend(args.kill.map(Disturbance::Kill));
    disturbances.extend(
        args.churn
            .map(|millions| Disturbance::Churn(millions * 1_000_000)),
    );
    disturbances.extend(args.upgrade.map(Disturbance::Upgrade));
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
        checks: false,
    }
}

fn run_all(args: &Bench, workload: &Arc<Workload>, report: &mut Report) -> Result<(), String> {
    let (targets, plan) = (targets(args), plan(args));
    report.columns = targets
        .iter()
        .map(|(name, ..)| Column {
            name: name.clone(),
            runs: Vec::new(),
            failures: Vec::new(),
        })
        .collect();
    for round in 0..args.runs.get() {
        for (column, (name, target, checks)) in report.columns.iter_mut().zip(&targets) {
            let plan = Plan {
                checks: *checks,
                ..plan.clone()
            };
            let label = format!("{name} {}/{}", round + 1, args.runs.get());
            let line = ProgressLine::new(label);
            match scenario::run(workload, target, &plan, |phase, counters| {
                show_phase(&line, workload.peers.len(), phase, counters)
            }) {
                Ok(measured) => column.runs.push(measured),
                Err(error) => column.failures.push(error.to_string()),
            }
        }
    }
    if args.baseline {
        let baseline =
            baseline_writer::measure(workload).map_err(|error| format!("baseline: {error}"))?;
        report.baseline = Some(baseline);
    }
    Ok(())
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

/// Writes to standard output. An error is ignored if the reader is gone: the exit status still shows the result.
pub(crate) fn show(text: impl Display) {
    let _ = write!(io::stdout().lock(), "{text}");
}

/// On standard error, likewise.
pub(crate) fn show_progress(text: impl Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// Shows the clients that have reached the end of a phase.
fn show_phase(line: &ProgressLine, clients: usize, phase: Phase, counters: &Counters) {
    let done = match phase {
        Phase::Connecting => counters.established,
        _ => counters.exact,
    };
    let state = match phase {
        Phase::Connecting => "sessions".to_owned(),
        Phase::Loading => format!("exact, {} prefixes", counters.prefixes),
        Phase::Settling => "settling".to_owned(),
        Phase::Probing => "latency".to_owned(),
        Phase::Disturbing => "disturbed".to_owned(),
    };
    let text = format_args!("{done}/{clients} {state}");
    line.show(done as u64, clients as u64, text);
}
