//! `rutter run`: the daemon in the foreground.

use std::io;
use std::path::PathBuf;
use std::thread;

use rutter_api::{Client, Request};
use rutter_config::ConfigSource;
use rutter_daemon::{Daemon, Hangup, Program, Signals};

use crate::check::load_for_route_server;
use crate::cli::CommonOptions;
use crate::failure::Failure;

/// The use of standard input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stdin {
    Unused,
    /// Its end stops the daemon.
    EndsDaemon,
    /// The daemon that started this process hands over to it there.
    Predecessor,
}

/// Runs the daemon until it receives a request to stop.
pub(crate) fn run(
    source: ConfigSource,
    stdin: Stdin,
    options: &CommonOptions,
) -> Result<(), Failure> {
    // Now: a package may replace the file later.
    let program = Program::this()?;
    let signals = Signals::install(Hangup::Reloads)?;
    let mut config = load_for_route_server(&source, options)?.config;
    if let Some(socket) = &options.socket {
        config.daemon.control_socket = socket.clone();
    }
    let socket = config.daemon.control_socket.clone();
    let started = match stdin {
        Stdin::Predecessor => Daemon::take_over(config, source, program),
        // The other program would lose its daemon by an upgrade.
        Stdin::EndsDaemon => Daemon::start(config, Some(source)),
        Stdin::Unused => Daemon::prepare(config, Some(source)).and_then(|prepared| {
            prepared.allow_upgrades(program);
            prepared.start()
        }),
    };
    let daemon = started.map_err(|e| Failure::text(format!("cannot start: {e}")))?;
    daemon.handle_signals(&signals);
    if stdin == Stdin::EndsDaemon {
        thread::spawn(|| stop_at_end_of_input(socket));
    }
    let order = daemon.wait_for_stop();
    daemon.stop_with_process(&order);
    Ok(())
}

/// Stops this daemon when its standard input is closed.
fn stop_at_end_of_input(socket: PathBuf) {
    // The process that started us is gone, whether the read ended or failed.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    let request = Request::Shutdown { text: None };
    if let Ok(answer) = Client::connect(&socket).and_then(|client| client.call(request)) {
        answer.for_each(drop);
    }
}
