//! TCP connections with neighbors: source address, TTL, keys of TCP MD5 and TCP-AO.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use rutter_config::{AoKey, Config, Neighbor, NeighborKind, TtlSecurity};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::sockopt::tcp_ao::{self, AoUse};
use crate::sockopt::{self, KeyScope};

/// The connections that may wait for acceptance; after a power failure a thousand members connect at once.
const BACKLOG: i32 = 4_096;

/// Opens a listening socket. An IPv6 socket accepts IPv6 only.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A neighbor with GTSM drops a SYN,ACK with a lower TTL (RFC 5082). Each connection gets its own value in `adopt`.
    sockopt::set_hop_limit(socket.as_fd(), address.is_ipv6(), 255)?;
    socket.bind(&SockAddr::from(address))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Starts to connect to a neighbor. The socket becomes writable when the attempt has succeeded or failed.
pub(crate) fn connect(neighbor: &Neighbor) -> io::Result<TcpStream> {
    let remote = SocketAddr::new(neighbor.address, neighbor.session.port);
    let socket = Socket::new(
        Domain::for_address(remote),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    if let Some(local) = neighbor.session.local_address {
        socket.bind(&SockAddr::from(SocketAddr::new(local, 0)))?;
    }
    let scope = KeyScope {
        address: neighbor.address,
        prefix_len: None,
    };
    if let Some(password) = &neighbor.session.password {
        sockopt::set_md5_key(socket.as_fd(), scope, password.reveal())?;
    }
    for (index, key) in neighbor.session.tcp_ao.iter().enumerate() {
        let usage = match index {
            0 => AoUse::Preferred,
            _ => AoUse::Available,
        };
        tcp_ao::add(socket.as_fd(), scope, key, usage)?;
    }
    prepare(&socket, neighbor)?;
    match socket.connect(&SockAddr::from(remote)) {
        Ok(()) => {}
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(e) => return Err(e),
    }
    Ok(socket.into())
}

/// Applies the options of a neighbor to an accepted connection.
pub(crate) fn adopt(stream: TcpStream, neighbor: &Neighbor) -> io::Result<TcpStream> {
    let socket = Socket::from(stream);
    socket.set_nonblocking(true)?;
    prepare(&socket, neighbor)?;
    if let Some(preferred) = neighbor.session.tcp_ao.first() {
        // It fails for a connection that is not signed, because it began before the keys were there.
        tcp_ao::request(socket.as_fd(), preferred)?;
    }
    Ok(socket.into())
}

/// Sets the options of outgoing and accepted connections.
fn prepare(socket: &Socket, neighbor: &Neighbor) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    set_hops(socket.as_fd(), neighbor)
}

/// Sets the TTL of outgoing packets and the least TTL of accepted ones.
fn set_hops(socket: BorrowedFd<'_>, neighbor: &Neighbor) -> io::Result<()> {
    let ipv6 = neighbor.address.is_ipv6();
    let external = !matches!(
        neighbor.kind,
        NeighborKind::Internal | NeighborKind::ReflectorClient
    );
    match neighbor.session.ttl_security {
        TtlSecurity::Hops(hops) => sockopt::set_gtsm(socket, ipv6, hops),
        TtlSecurity::Multihop(ttl) => sockopt::set_hop_limit(socket, ipv6, ttl),
        TtlSecurity::Off if external => sockopt::set_hop_limit(socket, ipv6, 1),
        TtlSecurity::Off => Ok(()),
    }
}

/// Applies the TTL settings of a neighbor to a connection that has others.
pub(crate) fn change_hops(socket: BorrowedFd<'_>, neighbor: &Neighbor) -> io::Result<()> {
    sockopt::reset_hops(socket, neighbor.address.is_ipv6())?;
    set_hops(socket, neighbor)
}

/// Sets or (with `None`) removes the MD5 key of a peer, or of all peers of a prefix, on a listening socket.
pub(crate) fn set_listener_key(
    listener: &TcpListener,
    scope: KeyScope,
    key: Option<&[u8]>,
) -> io::Result<()> {
    if !is_same_family(listener, scope)? {
        return Ok(());
    }
    match sockopt::set_md5_key(listener.as_fd(), scope, key.unwrap_or(&[])) {
        // There was no key to remove.
        Err(e) if key.is_none() && sockopt::is_absent(&e) => Ok(()),
        result => result,
    }
}

fn is_same_family(listener: &TcpListener, scope: KeyScope) -> io::Result<bool> {
    Ok(listener.local_addr()?.is_ipv6() == scope.address.is_ipv6())
}

/// Adds a TCP-AO key of a peer, or of all peers of a prefix, to a listening socket.
pub(crate) fn add_listener_ao_key(
    listener: &TcpListener,
    scope: KeyScope,
    key: &AoKey,
) -> io::Result<()> {
    if !is_same_family(listener, scope)? {
        return Ok(());
    }
    match tcp_ao::add(listener.as_fd(), scope, key, AoUse::Available) {
        // The socket is that of the process before, with its keys.
        Err(e) if e.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        result => result,
    }
}

/// Removes a TCP-AO key from a listening socket.
pub(crate) fn remove_listener_ao_key(
    listener: &TcpListener,
    scope: KeyScope,
    key: &AoKey,
) -> io::Result<()> {
    if !is_same_family(listener, scope)? {
        return Ok(());
    }
    match tcp_ao::delete(listener.as_fd(), scope, key) {
        Err(e) if sockopt::is_absent(&e) => Ok(()),
        result => result,
    }
}

/// The remedy for an error of [`check_tcp_ao`].
pub const TCP_AO_HINT: &str = "run Linux 6.7 or later, built with CONFIG_TCP_AO, or sign with TCP MD5: `password-file` in place of `tcp-ao`";

/// Checks that the kernel can sign the sessions of a configuration that have `tcp-ao`. The error is for the operator.
pub fn check_tcp_ao(config: &Config) -> Result<(), String> {
    let of_neighbors = config.neighbors.iter();
    let of_prefixes = config.dynamic_neighbors.iter().map(|d| &d.template);
    let mut checked = Vec::new();
    for neighbor in of_neighbors.chain(of_prefixes) {
        for key in &neighbor.session.tcp_ao {
            if checked.contains(&key.algorithm) {
                continue;
            }
            tcp_ao::check(key).map_err(|why| format!("{}: tcp-ao: {why}", neighbor.name))?;
            checked.push(key.algorithm);
        }
    }
    Ok(())
}

/// Converts an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) to IPv4.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}
