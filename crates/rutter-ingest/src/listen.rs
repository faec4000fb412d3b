//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Opens a non-blocking listening socket. An IPv6 socket does not accept IPv4 connections.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

const BACKLOG: i32 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_share_a_port() {
        // Another process may use the port in one family.
        let both = (0..20).find_map(|_| {
            let first = listen("0.0.0.0:0".parse().unwrap()).unwrap();
            let port = first.local_addr().unwrap().port();
            let second = listen(SocketAddr::new("::".parse().unwrap(), port));
            second.ok().map(|second| (first, second))
        });
        assert!(both.is_some());
    }
}
