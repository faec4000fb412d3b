//! Accepts three connections on loopback where two of one address are allowed, and logs the rejected one.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rutter_server::{ConnectionLimits, LogRateLimit};

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let limits = ConnectionLimits::per_network(128, 2);
    let mut rejections = LogRateLimit::new(10, Duration::from_secs(60));
    let mut open = Vec::new();
    for _ in 0..3 {
        let _client = TcpStream::connect(address)?;
        let (stream, peer) = listener.accept()?;
        match limits.acquire(peer.ip()) {
            Ok(slot) => open.push((stream, slot)),
            Err(reached) => {
                if let Some(suppressed) = rejections.allow(Instant::now()) {
                    println!("{peer} is rejected: {reached} ({suppressed} lines suppressed)");
                }
            }
        }
    }
    println!("{} connections are open", open.len());
    Ok(())
}
