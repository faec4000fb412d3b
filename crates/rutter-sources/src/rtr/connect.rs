//! Connecting to a cache so that the caller can stop at any time.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Connects to `host:port`. Returns `None` if `is_stopped` became true first.
///
/// Name servers and connections are waited for in a thread of its own. A caller that stops leaves it. It then ends
/// after its timeouts, and uses nothing of the caller.
///
/// # Errors
/// If the name has no address, or none of its addresses accepts the connection.
pub(super) fn connect(
    host: &str,
    is_stopped: impl Fn() -> bool,
) -> Result<Option<TcpStream>, String> {
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    let thread = std::thread::Builder::new().name("rtr-connect".to_owned());
    let started = thread.spawn(move || drop(sender.send(connect_blocking(&name))));
    started.map_err(|why| format!("cannot start a thread: {why}"))?;
    loop {
        match receiver.recv_timeout(SLICE) {
            Ok(result) => return result.map(Some),
            Err(RecvTimeoutError::Timeout) if is_stopped() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("the attempt ended".to_owned()),
        }
    }
}

fn connect_blocking(host: &str) -> Result<TcpStream, String> {
    let addresses = host.to_socket_addrs().map_err(|why| why.to_string())?;
    let addresses: Vec<SocketAddr> = addresses.take(MAX_ADDRESSES).collect();
    let mut error = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(why) => error = format!("{address}: {why}"),
        }
    }
    Err(error)
}

const SLICE: Duration = Duration::from_millis(100);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;
