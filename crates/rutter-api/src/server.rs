//! The daemon's half: one request in, lines out.

use std::io;
use std::os::unix::net::UnixStream;

use crate::Backend;

/// Answers one request and returns when the answer is written or the client is gone. Blocks: give it a thread.
pub fn serve_connection(_stream: UnixStream, _backend: &dyn Backend) -> io::Result<()> {
    todo!()
}
