//! Listening sockets that come from another process.

use std::net::{SocketAddr, TcpListener};

/// Keeps the sockets that listen at these addresses, in their order, and opens the missing ones with `listen`. A socket at a
/// port that the kernel chose serves port 0.
///
/// # Errors
/// The first error of `listen`.
pub fn inherit<E>(
    addresses: &[SocketAddr],
    mut sockets: Vec<TcpListener>,
    listen: impl Fn(SocketAddr) -> Result<TcpListener, E>,
) -> Result<Vec<TcpListener>, E> {
    let mut take = |address: &SocketAddr| {
        let serves = |socket: &TcpListener| {
            let own = socket.local_addr().ok();
            own.is_some_and(|own| {
                own == *address || address.port() == 0 && own.ip() == address.ip()
            })
        };
        match sockets.iter().position(serves) {
            Some(place) => Ok(sockets.remove(place)),
            None => listen(*address),
        }
    };
    addresses.iter().map(&mut take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_sockets_are_kept_and_missing_ones_opened() {
        let local: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let other: SocketAddr = "127.0.0.2:0".parse().expect("an address");
        let present = TcpListener::bind(local).expect("a socket");
        let own = present.local_addr().expect("an address");
        let opened = |addresses: &[SocketAddr], sockets| {
            let sockets = inherit(addresses, sockets, TcpListener::bind);
            let sockets = sockets.expect("sockets");
            let addresses = sockets.iter().map(|socket| socket.local_addr());
            let addresses: Vec<_> = addresses.map(|address| address.expect("one")).collect();
            addresses
        };
        let copy = || present.try_clone().expect("a copy");
        assert_eq!(opened(&[other, own], vec![copy()])[1], own);
        assert_eq!(opened(&[other, local], vec![copy()])[1], own);
        // Another process may listen there.
        let taken = inherit(&[own], Vec::new(), TcpListener::bind);
        taken.expect_err("the address is in use");
    }
}
