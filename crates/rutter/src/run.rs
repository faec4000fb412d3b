//! `rutter run`: the daemon in the foreground.

use std::io;
use std::path::PathBuf;
use std::thread;

use rutter_api::{Client, Request};
use rutter_config::ConfigSource;
use rutter_daemon::{Daemon, Hangup, Signals};

use crate::check::load_for_route_server;
use crate::cli::CommonOptions;
use crate::failure::Failure;

/// Runs the daemon until it receives a request to stop.
pub(crate) fn run(
    source: ConfigSource,
    end_with_stdin: bool,
    options: &CommonOptions,
) -> Result<(), Failure> {
    let signals = Signals::install(Hangup::Reloads)?;
    let mut config = load_for_route_server(&source, options)?.config;
    if let Some(socket) = &options.socket {
        config.daemon.control_socket = socket.clone();
    }
    let socket = config.daemon.control_socket.clone();
    let daemon = Daemon::start(config, Some(source))
        .map_err(|e| Failure::text(format!("cannot start: {e}")))?;
    daemon.handle_signals(&signals);
    if end_with_stdin {
        thread::spawn(|| stop_at_end_of_input(socket));
    }
    let order = daemon.wait_for_stop();
    daemon.stop_as(&order);
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
