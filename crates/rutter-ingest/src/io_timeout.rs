//! Timeouts of sockets, which let a blocked thread check for shutdown.

use std::io;

/// Returns whether an operation ended without data because its timeout expired or a signal arrived.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
