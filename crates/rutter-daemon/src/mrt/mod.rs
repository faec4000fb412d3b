//! The MRT archive: table dumps and files of updates, written by separate threads (RFC 6396).

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
    /// One sender for each thread, which starts on a message and ends if the sender is dropped before.
    gates: Vec<Sender<()>>,
}

/// The time between two checks for the end of the archive.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

impl Archive {
    /// Checks that the directory can be written and creates the threads. They write nothing before [`Archive::begin`].
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
            // Subscribe now, so that no later update is missed.
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

    /// Starts to write files.
    pub(crate) fn begin(&mut self) {
        for gate in self.gates.drain(..) {
            // A thread that has ended has logged the reason.
            let _ = gate.send(());
        }
    }

    /// Ends the threads and completes the file of updates.
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

/// Returns whether the clock was set back to before the interval that ends at `boundary_s`.
fn was_set_back(now_s: u64, boundary_s: u64, interval_s: u32) -> bool {
    boundary_s > now_s + u64::from(interval_s)
}

/// Returns the next multiple of the interval, so that files begin at the same minutes every day.
fn next_boundary(now_s: u64, interval_s: u32) -> u64 {
    let interval = u64::from(interval_s);
    (now_s / interval + 1) * interval
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_begins_another_interval() {
        let boundary_s = next_boundary(10_000, 900);
        assert_eq!(boundary_s, 10_800);
        assert!(!was_set_back(10_000, boundary_s, 900));
        assert!(!was_set_back(boundary_s - 900, boundary_s, 900));
        assert!(was_set_back(boundary_s - 901, boundary_s, 900));
        assert!(!was_set_back(10_000, 0, 900));
    }
}
