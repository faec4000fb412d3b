//! SIGTERM and SIGINT end a command in order, SIGHUP reloads its configuration: from its first moment on.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;
use signal_hook::low_level::emulate_default_handler;

use crate::reload;
use crate::shared::Shared;
use crate::stderr::eprint_line;

/// The process's signals, taken over from the system: from now on none ends it by itself.
///
/// What comes before there is a daemon that could obey is kept for it ([`crate::Handle::handle_signals`]).
#[derive(Clone)]
pub struct Signals(Arc<Mutex<Kept>>);

/// What SIGHUP is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hangup {
    /// The daemon reads its configuration again.
    Reloads,
    /// The terminal is gone: the command ends.
    Ends,
}

#[derive(Default)]
struct Kept {
    /// When the end was first asked for.
    end: Option<Instant>,
    reload: bool,
    daemon: Weak<Shared>,
}

/// Who presses Ctrl-C again after so long does not want to wait. Programs that hand on what they get may send it twice
/// in a moment.
const AGAIN: Duration = Duration::from_secs(1);

impl Signals {
    /// Takes them over; to be the first thing that a command does.
    pub fn install(hangup: Hangup) -> io::Result<Self> {
        let mut incoming = iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let signals = Signals(Arc::default());
        let obeying = signals.clone();
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in incoming.forever() {
                    match (signal, hangup) {
                        (SIGHUP, Hangup::Reloads) => obeying.reload(),
                        _ => obeying.end(signal),
                    }
                }
            })?;
        Ok(signals)
    }

    /// Whether one of them asked for the end.
    pub fn stop_requested(&self) -> bool {
        self.0.lock().end.is_some()
    }

    fn end(&self, signal: i32) {
        let (first, daemon) = {
            let mut kept = self.0.lock();
            let first = *kept.end.get_or_insert_with(Instant::now);
            (first, kept.daemon.upgrade())
        };
        if signal == SIGINT && first.elapsed() >= AGAIN {
            eprint_line("\nending at once: what is not written yet is lost");
            // It does not return where the signal can still end the process.
            let _ = emulate_default_handler(SIGINT);
        }
        if let Some(daemon) = daemon {
            daemon.stop_request.make(None);
        }
    }

    fn reload(&self) {
        let daemon = {
            let mut kept = self.0.lock();
            let daemon = kept.daemon.upgrade();
            kept.reload = daemon.is_none();
            daemon
        };
        if let Some(daemon) = daemon {
            drop(reload::reload(&daemon));
        }
    }

    /// From now on this daemon does what they ask for, first what they asked for already.
    pub(crate) fn hand_to(&self, daemon: &Arc<Shared>) {
        let (end, reload) = {
            let mut kept = self.0.lock();
            kept.daemon = Arc::downgrade(daemon);
            (kept.end.is_some(), std::mem::take(&mut kept.reload))
        };
        if end {
            daemon.stop_request.make(None);
        } else if reload {
            drop(reload::reload(daemon));
        }
    }
}
