//! Signals: SIGTERM stops a daemon that starts again, SIGINT one that leaves, SIGHUP reloads its configuration.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_api::AuditEntry;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;
use signal_hook::low_level::emulate_default_handler;

use crate::audit;
use crate::reload;
use crate::shared::{Shared, StopOrder};
use crate::stderr::eprint_line;

/// The handlers of the process's signals.
///
/// Signals that arrive before the daemon runs are kept for it ([`crate::Handle::handle_signals`]).
#[derive(Clone)]
pub struct Signals(Arc<Mutex<Pending>>);

/// The meaning of SIGHUP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hangup {
    /// The daemon reloads its configuration.
    Reloads,
    /// The terminal was closed: the command ends.
    Ends,
}

#[derive(Default)]
struct Pending {
    /// The time of the first request to stop, and its signal.
    stop: Option<(Instant, i32)>,
    reload: bool,
    daemon: Weak<Shared>,
}

/// A second Ctrl-C after this time ends the process at once. A second one before it is ignored: programs that forward
/// signals may send it twice.
const SECOND_INTERRUPT: Duration = Duration::from_secs(1);

impl Signals {
    /// Installs the handlers. A command should call this first.
    pub fn install(hangup: Hangup) -> io::Result<Self> {
        let mut incoming = iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let signals = Signals(Arc::default());
        let handlers = signals.clone();
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in incoming.forever() {
                    match (signal, hangup) {
                        (SIGHUP, Hangup::Reloads) => handlers.reload(),
                        _ => handlers.stop(signal),
                    }
                }
            })?;
        Ok(signals)
    }

    /// Returns whether a signal requested the stop.
    pub fn stop_requested(&self) -> bool {
        self.0.lock().stop.is_some()
    }

    fn stop(&self, signal: i32) {
        let (first, daemon) = {
            let mut pending = self.0.lock();
            let (first, _) = *pending.stop.get_or_insert_with(|| (Instant::now(), signal));
            (first, pending.daemon.upgrade())
        };
        if signal == SIGINT && first.elapsed() >= SECOND_INTERRUPT {
            eprint_line("\nending at once: unwritten data is lost");
            // It returns only if the signal cannot end the process.
            let _ = emulate_default_handler(SIGINT);
        }
        if let Some(daemon) = daemon {
            request_stop(&daemon, signal);
        }
    }

    fn reload(&self) {
        let daemon = {
            let mut pending = self.0.lock();
            let daemon = pending.daemon.upgrade();
            pending.reload = daemon.is_none();
            daemon
        };
        if let Some(daemon) = daemon {
            reload_by_signal(&daemon);
        }
    }

    /// Directs all signals to this daemon, also signals that have already arrived.
    pub(crate) fn direct_to(&self, daemon: &Arc<Shared>) {
        let (stop, reload) = {
            let mut pending = self.0.lock();
            pending.daemon = Arc::downgrade(daemon);
            let signal = pending.stop.map(|(_, signal)| signal);
            (signal, std::mem::take(&mut pending.reload))
        };
        if let Some(signal) = stop {
            request_stop(daemon, signal);
        } else if reload {
            reload_by_signal(daemon);
        }
    }
}

fn reload_by_signal(daemon: &Arc<Shared>) {
    let outcome = reload::reload(daemon, "a signal");
    audit::record(
        daemon,
        AuditEntry {
            who: "signal",
            action: "reload",
            outcome: match outcome {
                Ok(_) => Ok("configuration applied"),
                Err(_) => Err("nothing was changed; the log has the errors"),
            },
        },
    );
}

/// SIGTERM is what service managers send, also to start the daemon again: neighbors keep our routes. A daemon with an
/// embedded configuration is not started again.
fn request_stop(daemon: &Shared, signal: i32) {
    audit::record(
        daemon,
        AuditEntry {
            who: "signal",
            action: "shutdown",
            outcome: Ok("shutting down"),
        },
    );
    let order = match signal == SIGTERM && daemon.source.is_some() {
        true => StopOrder::Restart,
        false => StopOrder::Leave(daemon.default_shutdown_text().into()),
    };
    daemon.stop_request.make(order);
}
