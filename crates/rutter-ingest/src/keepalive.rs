//! TCP keepalive, for protocols without keepalive messages of their own.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// The silence after which the first probe is sent. A host that restarted answers it with a reset.
pub(crate) const IDLE: Duration = Duration::from_secs(10);
/// The interval of further probes, and their number.
const INTERVAL: Duration = Duration::from_secs(10);
const TRIES: u32 = 5;

/// Enables keepalive. A dead connection fails within about a minute.
pub(crate) fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    let often = TcpKeepalive::new()
        .with_time(IDLE)
        .with_interval(INTERVAL)
        .with_retries(TRIES);
    SockRef::from(socket).set_tcp_keepalive(&often)
}
