//! `rutter collect`: the daemon with the services of a collector around it.

use std::path::Path;

use rutter_collector::{Context, Stop};
use rutter_config::{Config, Severity};
use rutter_daemon::Daemon;

use crate::cli::CollectArgs;
use crate::failure::Failure;
use crate::services::Services;

/// Runs the collector until it is told to end.
pub(crate) fn collect(args: &CollectArgs) -> Result<(), Failure> {
    let mut config = load(&args.file)?;
    if let Some(socket) = &args.socket {
        config.daemon.control_socket = socket.clone();
    }
    let source = std::path::absolute(&args.file)?;
    let daemon = Daemon::start(config.clone(), Some(source))
        .map_err(|e| Failure::text(format!("cannot start: {e}")))?;
    let context = Context {
        rib: daemon.rib(),
        collector: name(&config).into(),
        stop: Stop::new(),
    };
    // Dropping the daemon ends its sessions in order should a service not start.
    let services = Services::start(&context, &config)?;
    let text = daemon.wait_for_signal()?;
    // First, so that the end of our own sessions is not recorded as the peers' doing.
    services.stop(&context);
    daemon.stop(&text);
    Ok(())
}

fn name(config: &Config) -> String {
    let named = config.collector.name.clone();
    named.unwrap_or_else(|| config.router_id.to_string())
}

/// Reads a configuration; prints warnings, or errors and fails.
fn load(file: &Path) -> Result<Config, Failure> {
    match Config::load(file) {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|w| eprintln!("{w}"));
            Ok(loaded.config)
        }
        Err(errors) => {
            errors.iter().for_each(|e| eprintln!("{e}"));
            let count = errors.iter().filter(|e| e.severity == Severity::Error);
            let (file, count) = (file.display(), count.count());
            Err(Failure::text(format!("{file}: errors: {count}")))
        }
    }
}
