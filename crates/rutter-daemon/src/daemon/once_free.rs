//! Opens sockets at addresses and paths that another process may be about to free.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::StartError;

/// The time between two attempts.
const INTERVAL: Duration = Duration::from_millis(50);

/// Opens a socket again and again until its path or address is free, at most for this time. The kernel closes the files of a
/// process that ends one by one, and a process of an upgrade that a crash interrupted needs a moment to end.
pub(super) fn once_free<T>(
    patience: Duration,
    mut open: impl FnMut() -> Result<T, StartError>,
) -> Result<T, StartError> {
    let until = Instant::now() + patience;
    let mut is_logged = false;
    loop {
        match open() {
            Err(error) if error.error.kind() == io::ErrorKind::AddrInUse => {
                if Instant::now() >= until {
                    return Err(error);
                }
                if !std::mem::replace(&mut is_logged, true) {
                    let seconds = patience.as_secs();
                    tracing::warn!(%error, "this is tried again for {seconds} s: a process that ends may still have it");
                }
                thread::sleep(INTERVAL);
            }
            result => return result,
        }
    }
}
