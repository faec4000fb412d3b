//! Sockets, threads and timers around the pure rooms: the only crate that does I/O for routing.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rutter_config::Config;

/// How a daemon is started.
pub struct Daemon;

/// A running daemon. Dropping it ends the daemon.
pub struct Handle(());

/// Why a daemon does not start.
#[derive(Debug)]
pub struct StartError(());

impl fmt::Display for StartError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

impl std::error::Error for StartError {}

impl Daemon {
    /// Opens the sockets and starts the threads. `source` is the file that a reload reads again; without it the
    /// configuration is an embedded one and cannot be reloaded.
    pub fn start(_config: Config, _source: Option<PathBuf>) -> Result<Handle, StartError> {
        todo!()
    }
}

impl Handle {
    /// Where BGP is accepted; ports that the kernel chose are filled in.
    pub fn listen_addresses(&self) -> Vec<SocketAddr> {
        todo!()
    }

    /// Where metrics are served, if they are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        todo!()
    }

    /// Waits for SIGTERM, SIGINT or a shutdown request on the control socket; SIGHUP reloads. Then ends.
    pub fn run_until_signal(self) -> io::Result<()> {
        todo!()
    }

    /// Whether somebody asked the daemon to end (on the control socket), waiting at most so long.
    pub fn stop_requested(&self, _timeout: Duration) -> bool {
        todo!()
    }

    /// Ends all sessions with Cease/Administrative Shutdown and this text (RFC 9003), then the threads.
    pub fn stop(self, _text: &str) {
        todo!()
    }
}
