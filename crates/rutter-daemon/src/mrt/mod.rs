//! The MRT archive: dumps of the table and files of updates, on threads of their own (RFC 6396).

mod file;
mod table;
mod updates;

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rutter_config::Mrt;

use crate::privileges;
use crate::shared::{Shared, unix_us};

/// The archive of a running daemon.
pub(crate) struct Archive {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// One for each thread: it begins when it hears of it, and ends when the sender goes before that.
    gates: Vec<Sender<()>>,
}

/// The threads look this often whether they are to end.
const PATIENCE: Duration = Duration::from_millis(200);

impl Archive {
    /// Does everything that can fail: the folder is there and can be written to, the threads stand ready. Nothing is
    /// archived before [`Archive::begin`].
    pub(crate) fn open(shared: &Arc<Shared>, config: &Mrt) -> io::Result<Self> {
        fs::create_dir_all(&config.directory)?;
        let trial = config.directory.join(".rutter-trial");
        fs::write(&trial, b"")?;
        fs::remove_file(&trial)?;
        let stop: Arc<AtomicBool> = Arc::default();
        let mut archive = Archive {
            stop: Arc::clone(&stop),
            threads: Vec::new(),
            gates: Vec::new(),
        };
        let given = || (Arc::clone(shared), config.clone(), Arc::clone(&stop));
        if config.table_interval_s > 0 {
            let (shared, config, stop) = given();
            archive.spawn("mrt-table", move || table::run(&shared, &config, &stop))?;
        }
        if config.updates_interval_s > 0 {
            let (shared, config, stop) = given();
            // Now, so that nothing of what comes from here on is missed.
            let (reader, peers) = shared.rib.subscribe(updates::QUEUE);
            let run = move || updates::run(&config, &stop, &reader, &peers);
            archive.spawn("mrt-updates", run)?;
        }
        Ok(archive)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let (gate, opened) = mpsc::channel();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            privileges::yield_to_routing();
            if opened.recv().is_ok() {
                run();
            }
        })?;
        self.threads.push(thread);
        self.gates.push(gate);
        Ok(())
    }

    /// Begins to write files.
    pub(crate) fn begin(&mut self) {
        for gate in self.gates.drain(..) {
            // A thread that is gone has said why.
            let _ = gate.send(());
        }
    }

    /// Ends the threads; the file of updates is completed.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Release);
        drop(self.gates);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

fn now_s() -> u64 {
    unix_us() / 1_000_000
}

/// The next multiple of the interval: files of all days begin at the same minutes.
fn next_boundary(now_s: u64, interval_s: u32) -> u64 {
    let interval = u64::from(interval_s);
    (now_s / interval + 1) * interval
}
