//! Sockets whose reads and writes end after a while, so that who waits can look whether to end.

use std::io;

/// Nothing happened for a while, no more.
pub(crate) fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
