//! TCP finds out that the other side is gone, where the protocol has no keepalive of its own.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// Within a minute and a half.
pub(crate) fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    let often = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10));
    SockRef::from(socket).set_tcp_keepalive(&often)
}
