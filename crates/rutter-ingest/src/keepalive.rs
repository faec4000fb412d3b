//! TCP finds out that the other side is gone, where the protocol has no keepalive of its own.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// After so much silence the other side is asked whether it is there: one that restarted says at once that it knows
/// nothing of us.
pub(crate) const IDLE: Duration = Duration::from_secs(10);
/// So often one that says nothing is asked again, and how often.
const INTERVAL: Duration = Duration::from_secs(10);
const TRIES: u32 = 5;

/// Within a minute.
pub(crate) fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    let often = TcpKeepalive::new()
        .with_time(IDLE)
        .with_interval(INTERVAL)
        .with_retries(TRIES);
    SockRef::from(socket).set_tcp_keepalive(&often)
}
