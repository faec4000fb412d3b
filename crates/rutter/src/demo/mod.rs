//! `rutter demo`: a route server under a full table, on this machine, verified.

mod config;
mod interrupt;
mod mrt;
mod report;
mod server;
mod source;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use rutter_load::oracle::{Oracle, PrefixIndex, Visibility};
use rutter_load::speaker::{Fleet, FleetError, FleetSettings, Offer};
use rutter_load::tracker::Bench;
use rutter_load::workload::{Settings, Shape, Workload};

use crate::ask::{DEFAULT_SOCKET, demo_folder};
use crate::cli::{Ask, DemoArgs};
use crate::failure::Failure;
use report::Outcome;
use server::Server;
use watch::Watch;

/// Builds the table, starts the route server and the speakers, verifies, reports, and stays up.
pub(crate) fn demo(args: &DemoArgs, how: &Ask) -> Result<(), Failure> {
    let folder = match how.socket {
        Some(_) => demo_folder().with_extension(std::process::id().to_string()),
        None => demo_folder(),
    };
    let socket = how.socket.clone().unwrap_or(folder.join("rutter.sock"));
    server::refuse_if_running(&socket)?;
    let watch = Watch::new(how);
    let bench = watch.during("preparing the table", || prepare(args))?;
    let target = server::free_address()?;
    let text = config::text(&bench.workload, args.threads, target, &socket);
    let server = Server::start(folder, &socket, &text)?;
    interrupt::end_on_signal(server.clone())?;
    let fleet = Fleet::start(
        bench.clone(),
        FleetSettings {
            target,
            threads: load_threads(),
            offer: Offer::default(),
        },
    )
    .map_err(in_words)?;
    let result = converge(&fleet, &watch);
    watch.clear();
    let reports = fleet.report().map_err(in_words)?;
    if let Err(error) = result {
        report::differences(&reports)?;
        server.end();
        return Err(in_words(error));
    }
    let status = server.status()?;
    let outcome = Outcome::new(&bench, &reports, fleet.progress(), status);
    match how.json {
        true => outcome.print_json()?,
        false => outcome.print()?,
    }
    if !args.once {
        report::invitation(&bench, how.socket.as_deref(), &socket, DEFAULT_SOCKET)?;
        server.wait();
    }
    drop(fleet);
    server.end();
    Ok(())
}

/// Everything that is announced and expected.
fn prepare(args: &DemoArgs) -> Result<Arc<Bench>, Failure> {
    let table = source::destinations(args)?;
    let count = table.as_ref().map_or(args.destinations as usize, Vec::len);
    let speakers = usize::from(args.speakers);
    let routes = (count as f64 * args.routes_per_destination.clamp(1.0, speakers as f64)) as usize;
    let settings = Settings {
        seed: args.seed,
        ..Settings::default()
    };
    let workload = Workload::generate(Shape::shared(speakers, routes, count), table, settings);
    let oracle = Oracle::new(&workload, Visibility::PerClient);
    let index = PrefixIndex::new(&workload.destinations);
    Ok(Arc::new(Bench {
        workload: Arc::new(workload),
        index: Arc::new(index),
        oracle: Arc::new(oracle),
        deep: true,
        probe: None,
    }))
}

/// Sessions first, then all speakers announce at once.
fn converge(fleet: &Fleet, watch: &Watch) -> Result<(), FleetError> {
    let workload = &fleet.bench().workload;
    let everybody: Vec<usize> = (0..workload.peers.len()).collect();
    fleet.connect(&everybody)?;
    watch.sessions(everybody.len(), |tick| {
        fleet.wait_established(everybody.len(), PATIENCE, tick)
    })?;
    let announcers = workload.announcers();
    let expected = fleet.bench().oracle.expected(workload);
    let expected = expected.iter().copied().map(u64::from).sum();
    fleet.feed(&everybody[..announcers])?;
    watch.routes(workload.total_octets() as u64, expected, |tick| {
        fleet.wait_exact(everybody.len(), announcers, PATIENCE, tick)
    })?;
    Ok(())
}

/// The speakers must not take the cores from the route server.
fn load_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| if n.get() > 2 { 2 } else { 1 })
}

fn in_words(error: FleetError) -> Failure {
    Failure::text(error.to_string())
}

/// How long anything may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(600);
