//! `GET /metrics` over HTTP/1.1.

use std::io;
use std::net::TcpStream;

use crate::Backend;

/// Answers one HTTP request: `/metrics` with the metrics, everything else with 404. Blocks: give it a thread.
pub fn serve_metrics(_stream: TcpStream, _backend: &dyn Backend) -> io::Result<()> {
    todo!()
}
