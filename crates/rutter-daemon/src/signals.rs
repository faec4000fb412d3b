//! SIGTERM and SIGINT end the daemon, SIGHUP reloads its configuration.

use std::io;
use std::sync::Arc;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::reload;
use crate::shared::Shared;

/// The text that neighbors get when the daemon is ended by a signal.
const TEXT: &str = "the route server is being shut down";

/// Listens on a thread of its own until the handle is closed.
pub(crate) fn spawn(shared: Arc<Shared>) -> io::Result<Handle> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let handle = signals.handle();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGHUP => drop(reload::reload(&shared)),
                    _ => shared.stop_request.make(TEXT),
                }
            }
        })?;
    Ok(handle)
}
