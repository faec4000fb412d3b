//! Opens sockets at addresses and paths that another process may be about to free.

use std::error::Error;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// The time in which another process may free our paths and addresses at a start. One that handed over ends in half of it.
pub const START_PATIENCE: Duration = Duration::from_secs(10);

/// The time between two attempts.
const INTERVAL: Duration = Duration::from_millis(50);

/// Opens a socket again and again until its path or address is free, at most for this time. The kernel closes the files of a
/// process that ends one by one, and a process of an upgrade that a crash interrupted needs a moment to end.
///
/// # Errors
/// The last error of `open`. Any but [`io::ErrorKind::AddrInUse`] is returned at once.
pub fn once_free<T, E: Error + 'static>(
    patience: Duration,
    mut open: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let until = Instant::now() + patience;
    let mut is_logged = false;
    loop {
        match open() {
            Err(error) if is_in_use(&error) => {
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

/// Returns whether the cause of an error is that another process has the path or address.
fn is_in_use(error: &(dyn Error + 'static)) -> bool {
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.kind() == io::ErrorKind::AddrInUse,
        None => error.source().is_some_and(is_in_use),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    fn taken() -> (TcpListener, SocketAddr) {
        let other = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let address = other.local_addr().expect("an address");
        (other, address)
    }

    #[test]
    fn an_address_that_is_freed_is_opened() {
        let (other, address) = taken();
        let mut other = Some(other);
        let mut attempts = 0;
        let opened = once_free(START_PATIENCE, || {
            attempts += 1;
            let opened = TcpListener::bind(address);
            other = None;
            opened
        });
        assert_eq!(opened.expect("a socket").local_addr().ok(), Some(address));
        assert!(attempts > 1);
    }

    #[test]
    fn an_error_that_stays_is_returned() {
        let (_other, address) = taken();
        let mut attempts = 0;
        let in_use = once_free(Duration::ZERO, || {
            attempts += 1;
            TcpListener::bind(address)
        });
        let in_use = in_use.expect_err("another socket listens there");
        assert_eq!(in_use.kind(), io::ErrorKind::AddrInUse);
        let denied = once_free(START_PATIENCE, || {
            attempts += 1;
            Err::<(), _>(io::Error::from(io::ErrorKind::PermissionDenied))
        });
        denied.expect_err("an error");
        assert_eq!(attempts, 2);
    }
}
