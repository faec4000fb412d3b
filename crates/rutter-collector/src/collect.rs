//! `rutter collect`: the daemon with the services of a collector around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rutter_config::{Config, ConfigSource, Severity};
use rutter_daemon::{Daemon, Handle, Hangup, Program, Signals, StopOrder};
use rutter_ingest::MrtLoader;
use rutter_mrt::{Input, Progress, Reader, find_files};
use rutter_rib::{Rib, TooManyNeighbors};
use rutter_service::{Context, ShutdownSignal, StatusRegistry};

use crate::bar::{Bar, Lines};
use crate::cli::CollectArgs;
use crate::failure::Failure;
use crate::handover::Taken;
use crate::services::Services;

/// Runs the collector until a signal or the control socket stops it, or another process takes over.
pub(crate) fn collect(args: &CollectArgs) -> Result<(), Failure> {
    // Now: a package may replace the file later.
    let program = Program::this()?;
    let signals = Signals::install(Hangup::Reloads)?;
    let mut config = load(&args.file)?;
    if let Some(socket) = &args.socket {
        config.daemon.control_socket = socket.clone();
    }
    // The table of the process before has the routes of the files.
    let files: &[PathBuf] = if args.take_over { &[] } else { &args.mrt };
    let inputs = find_files(files)?;
    let source = std::path::absolute(&args.file)?;
    if signals.stop_requested() {
        return Ok(());
    }
    let collector = match args.take_over {
        true => Running::take_over(config, source.into(), program)?,
        false => Running::start(config, Some((source.into(), program)))?,
    };
    collector.daemon.handle_signals(&signals);
    let loaded = match files.is_empty() {
        true => Ok(Ok(())),
        false => load_mrt(&collector, &inputs, &args.mrt_router),
    };
    let complete = match loaded {
        Ok(complete) => complete,
        Err(failure) => {
            collector.stop("the collector cannot start");
            return Err(failure);
        }
    };
    let movable = collector.services.movable();
    collector.daemon.move_services(Arc::new(movable));
    let order = collector.daemon.wait_for_stop();
    collector.stop_with_process(&order);
    // An incomplete load sets the exit status, as in all commands that read MRT files.
    complete.map_err(|why| Failure::text(format!("--mrt: {why}")))
}

/// A daemon with its services.
pub(crate) struct Running {
    pub(crate) daemon: Handle,
    pub(crate) context: Context,
    services: Services,
}

impl Running {
    /// Starts the services, then the daemon around the same table. A reload reads the source again, and the program takes over
    /// in an upgrade. Without them there is neither.
    pub(crate) fn start(
        config: Config,
        origin: Option<(ConfigSource, Program)>,
    ) -> Result<Self, Failure> {
        let cannot = |e| Failure::text(format!("cannot start: {e}"));
        let (source, program) = origin.unzip();
        let daemon = Daemon::prepare(config.clone(), source).map_err(cannot)?;
        let context = Context {
            rib: daemon.rib(),
            collector: name(&config).into(),
            shutdown: ShutdownSignal::new(),
            status: StatusRegistry::default(),
        };
        daemon.attach(Arc::new(context.status.clone()));
        if let Some(program) = program {
            daemon.allow_upgrades(program);
        }
        // The services start before the first route arrives: their history begins with an empty table.
        let services = Services::start(&context, &config)?;
        let daemon = match daemon.start() {
            Ok(daemon) => daemon,
            Err(why) => {
                services.stop(&context);
                return Err(cannot(why));
            }
        };
        Ok(Running {
            daemon,
            context,
            services,
        })
    }

    /// Takes over from the collector that started this process: its table, its BGP sessions and its services.
    fn take_over(config: Config, source: ConfigSource, program: Program) -> Result<Self, Failure> {
        let (shutdown, status) = (ShutdownSignal::new(), StatusRegistry::default());
        let mut taken = None;
        let take = |rib: &Arc<Rib>, services| {
            let context = Context {
                rib: Arc::clone(rib),
                collector: name(&config).into(),
                shutdown: shutdown.clone(),
                status: status.clone(),
            };
            let services = Taken::take(&context, &config, services)?;
            taken = Some((context, services));
            Ok(())
        };
        let collected = Arc::new(status.clone());
        let started = Daemon::take_over_collector(config.clone(), source, program, collected, take);
        let daemon = started.map_err(|e| Failure::text(format!("cannot start: {e}")))?;
        let taken = taken.ok_or_else(|| Failure::text("nothing was taken over".to_owned()));
        let (context, taken) = taken?;
        let services = Services::go_on(&context, &config, taken);
        Ok(Running {
            daemon,
            context,
            services,
        })
    }

    /// Returns whether a signal or the control socket requested the stop.
    pub(crate) fn is_to_end(&self) -> bool {
        self.daemon.stop_requested(Duration::ZERO)
    }

    /// Stops the services and the daemon. The neighbors receive `text`.
    pub(crate) fn stop(self, text: &str) {
        self.stop_services().stop(text);
    }

    /// Stops the services and the daemon as ordered, in a process that ends next.
    fn stop_with_process(self, order: &StopOrder) {
        if *order == StopOrder::HandOver {
            // The services are another process's: they stand still.
            self.services.leave();
            return self.daemon.stop_with_process(order);
        }
        self.stop_services().stop_with_process(order);
    }

    /// Stops the services, and returns the daemon. The services stop first: otherwise they would record the end of our
    /// own sessions as an action of the peers.
    fn stop_services(self) -> Handle {
        self.services.stop(&self.context);
        self.daemon
    }
}

/// Loads files into the table. The function logs and skips unreadable parts, and returns the reason in the inner
/// result. It fails if no route can be read.
fn load_mrt(
    collector: &Running,
    inputs: &[Input],
    router: &str,
) -> Result<Result<(), String>, Failure> {
    let progress = Progress::new();
    let bar = Bar::of_files(inputs, &progress, Lines::None);
    let mut loader = MrtLoader::new(&collector.context.rib, router);
    let report = |line: &str| bar.report(line);
    let to_end = || collector.is_to_end();
    let mut reader = Reader::new(&progress, &report).until(&to_end);
    let mut load = || -> Result<(), TooManyNeighbors> {
        inputs.iter().try_for_each(|input| {
            reader.read(input, |record| {
                let before = loader.loaded();
                let outcome = loader.take(record)?;
                let now = loader.loaded();
                let routes = now.announced + now.withdrawn - before.announced - before.withdrawn;
                progress.add_routes(routes);
                Ok(outcome)
            })
        })
    };
    let room = load();
    let verdict = reader.verdict();
    let loaded = loader.finish();
    bar.end();
    room.map_err(|error| Failure::text(format!("--mrt: {error}")))?;
    if collector.is_to_end() {
        tracing::warn!("stopped while MRT files were loaded: the rest of them is missing");
    } else if let Err(why) = &verdict {
        if loaded.announced + loaded.withdrawn == 0 {
            return Err(Failure::text(format!("--mrt: {why}, and no route was")));
        }
        tracing::error!(why, "MRT files are missing routes");
    } else if loaded.announced + loaded.withdrawn == 0 {
        tracing::warn!("the MRT files have no routes");
    }
    tracing::info!(
        peers = loaded.peers,
        announced = loaded.announced,
        withdrawn = loaded.withdrawn,
        malformed = loaded.malformed,
        "MRT files loaded"
    );
    Ok(verdict)
}

fn name(config: &Config) -> String {
    let named = config.collector.name.clone();
    named.unwrap_or_else(|| config.router_id.to_string())
}

/// Reads a configuration. Prints its warnings, or prints its errors and fails.
fn load(file: &Path) -> Result<Config, Failure> {
    match Config::load(file) {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(rutter_daemon::eprint_line);
            Ok(loaded.config)
        }
        Err(errors) => {
            errors.iter().for_each(rutter_daemon::eprint_line);
            let count = errors.iter().filter(|e| e.severity == Severity::Error);
            let (file, count) = (file.display(), count.count());
            Err(Failure::text(format!("{file}: errors: {count}")))
        }
    }
}
