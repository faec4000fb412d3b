//! The MRT archive: dumps of the table and files of updates, on threads of their own (RFC 6396).

mod file;
mod table;
mod updates;

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rutter_config::Mrt;

use crate::shared::{Shared, unix_us};

/// The archive of a running daemon.
pub(crate) struct Archive {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The threads look this often whether they are to end.
const PATIENCE: Duration = Duration::from_millis(200);

impl Archive {
    /// Starts what the configuration asks for.
    pub(crate) fn start(shared: &Arc<Shared>, config: &Mrt) -> io::Result<Self> {
        fs::create_dir_all(&config.directory)?;
        let stop: Arc<AtomicBool> = Arc::default();
        let given = || (Arc::clone(shared), config.clone(), Arc::clone(&stop));
        let mut threads = Vec::new();
        if config.table_interval_s > 0 {
            let (shared, config, stop) = given();
            let run = move || table::run(&shared, &config, &stop);
            threads.push(thread::Builder::new().name("mrt-table".into()).spawn(run)?);
        }
        if config.updates_interval_s > 0 {
            let (shared, config, stop) = given();
            // Now, so that nothing of what comes from here on is missed.
            let (reader, peers) = shared.rib.subscribe(updates::QUEUE);
            let run = move || updates::run(&config, &stop, &reader, &peers);
            threads.push(
                thread::Builder::new()
                    .name("mrt-updates".into())
                    .spawn(run)?,
            );
        }
        Ok(Archive { stop, threads })
    }

    /// Ends the threads; the file of updates is completed.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Release);
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
