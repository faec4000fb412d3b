//! `rutter demo`: a route server with a full table on this machine, with verified results.

mod config;
mod destinations;
mod interrupt;
mod progress;
mod report;
mod server;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use rutter_bench::demo::{Demo, DemoSettings, Speakers};
use rutter_bench::speaker::FleetError;

use crate::cli::{CommonOptions, DemoArgs};
use crate::failure::Failure;
use crate::request::demo_folder;
use config::Checks;
use progress::Progress;
use report::Outcome;
use server::Server;

/// Generates the table, starts the route server and the speakers, verifies the results and reports them.
pub(crate) fn demo(args: &DemoArgs, options: &CommonOptions) -> Result<(), Failure> {
    let (folder, socket) = places(options);
    server::refuse_if_running(&socket)?;
    let progress = Progress::new(options);
    let demo = progress.during("preparing the table", || prepare(args))?;
    let addresses = server::free_addresses()?;
    let target = addresses.bgp;
    let checks = match args.prefixes {
        Some(_) => Checks::AnyPrefix,
        None => Checks::Exchange,
    };
    let text = config::text(demo.workload(), args.threads, addresses, &socket, checks);
    let server = Server::start(folder, &socket, &text)?;
    interrupt::end_on_signal(server.clone())?;
    let result = announce(&demo, target, &server, &progress, options);
    let speakers = match result {
        Ok(speakers) => speakers,
        Err(failure) => {
            server.end();
            return Err(failure);
        }
    };
    if !args.once {
        report::invitation(demo.workload(), options.socket.as_deref(), addresses.web)?;
        server.wait();
    }
    // Stop the route server first, so that sessions end with a Cease.
    server.end();
    drop(speakers);
    Ok(())
}

/// Returns the folder and the socket. A demo with its own socket does not use the common folder.
fn places(options: &CommonOptions) -> (PathBuf, PathBuf) {
    match &options.socket {
        Some(socket) => {
            let own = demo_folder().with_extension(std::process::id().to_string());
            (own, socket.clone())
        }
        None => (demo_folder(), demo_folder().join("rutter.sock")),
    }
}

/// Prepares the announcements and the expected results.
fn prepare(args: &DemoArgs) -> Result<Demo, Failure> {
    Ok(Demo::prepare(DemoSettings {
        speakers: usize::from(args.speakers),
        destinations: args.destinations as usize,
        routes_per_destination: args.routes_per_destination,
        table: destinations::read(args)?,
        seed: args.seed,
        threads: load_threads(),
        ..DemoSettings::default()
    }))
}

/// Establishes all sessions, lets all speakers announce at once, and reports the result.
fn announce(
    demo: &Demo,
    target: std::net::SocketAddr,
    server: &Server,
    progress: &Progress,
    options: &CommonOptions,
) -> Result<Speakers, Failure> {
    let clients = demo.workload().peers.len();
    let mut speakers = progress
        .sessions(clients, |tick| demo.connect(target, tick))
        .map_err(failure_of)?;
    let octets = demo.workload().total_octets() as u64;
    let report = progress
        .routes(octets, |tick| speakers.load(tick))
        .map_err(failure_of)?;
    if !report.exact {
        report::differences(&report)?;
        return Err(Failure::text(
            "some clients did not receive the expected routes",
        ));
    }
    let outcome = Outcome::new(demo.workload(), &report, server.status()?);
    match options.json {
        true => outcome.print_json()?,
        false => outcome.print()?,
    }
    Ok(speakers)
}

/// Returns the number of threads of the speakers, which leaves cores to the route server.
fn load_threads() -> usize {
    match available_parallelism().map_or(1, NonZero::get) {
        0..=2 => 1,
        _ => 2,
    }
}

fn failure_of(error: FleetError) -> Failure {
    Failure::text(error.to_string())
}

/// Returns whether other commands need the option `--socket` for this demo.
fn needs_socket_option(asked_for: Option<&Path>) -> bool {
    asked_for.is_some() || Path::new(crate::request::DEFAULT_SOCKET).exists()
}
