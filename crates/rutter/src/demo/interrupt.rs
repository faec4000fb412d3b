//! Ends the demo cleanly on Ctrl-C.

use std::io;
use std::process;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::server::Server;

/// Starts a thread that waits for a signal, and then ends the route server and this process.
pub(super) fn end_on_signal(server: Server) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            if signals.forever().next().is_some() {
                rutter_daemon::eprint_line("\nending the route server and the speakers");
                server.end();
                process::exit(0);
            }
        })?;
    Ok(())
}
