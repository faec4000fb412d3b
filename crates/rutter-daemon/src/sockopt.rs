//! Socket options that the standard library and `socket2` lack: TCP MD5, TCP-AO, GTSM and the time of the last ACK.
//!
//! Invariant of the `unsafe` here: every call passes a pointer to a live, fully initialised value of the
//! stated size, and the kernel reads no further. The kernel keeps no pointer after the call.
#![allow(
    unsafe_code,
    reason = "setsockopt of options that no safe wrapper covers"
)]

pub(crate) mod tcp_ao;

use std::io;
use std::mem::size_of;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, sockaddr_storage, socklen_t};

const IPV6_MINHOPCOUNT: c_int = 73;
const TCP_MD5SIG_FLAG_PREFIX: u8 = 1;
const MAX_KEY_LEN: usize = 80;

/// The peers that a key is for: one address, or all addresses of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyScope {
    /// The peer, or the first address of the prefix.
    pub address: IpAddr,
    /// `None` for one peer.
    pub prefix_len: Option<u8>,
}

/// `struct tcp_md5sig` of `linux/tcp.h`.
#[repr(C)]
struct TcpMd5Sig {
    address: sockaddr_storage,
    flags: u8,
    prefix_len: u8,
    key_len: u16,
    ifindex: c_int,
    key: [u8; MAX_KEY_LEN],
}

/// Sets (or with an empty key removes) the TCP MD5 key for a peer or a prefix of peers (RFC 2385).
pub fn set_md5_key(socket: BorrowedFd<'_>, scope: KeyScope, key: &[u8]) -> io::Result<()> {
    let key_bytes = key_array(key)?;
    let value = TcpMd5Sig {
        address: storage(scope.address),
        flags: scope.prefix_len.map_or(0, |_| TCP_MD5SIG_FLAG_PREFIX),
        prefix_len: scope.prefix_len.unwrap_or(0),
        key_len: key.len() as u16,
        ifindex: 0,
        key: key_bytes,
    };
    let option = match scope.prefix_len {
        Some(_) => libc::TCP_MD5SIG_EXT,
        None => libc::TCP_MD5SIG,
    };
    set(socket, libc::IPPROTO_TCP, option, &value)
}

/// Returns whether an error says that there was no such key.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOENT)
}

/// Returns the time since the last segment with an ACK that the kernel accepted, milliseconds. With TCP MD5 it accepts only
/// segments that are signed with the key of the socket.
pub fn last_ack_ms(socket: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: all-zero is a valid `tcp_info`: it has only integers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    Ok(u64::from(info.tcpi_last_ack_recv))
}

/// Accepts packets from any distance again, and sends with the TTL (hop limit) of the system.
pub fn reset_hops(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    let (any, system): (c_int, c_int) = (0, -1);
    if ipv6 {
        set(socket, libc::IPPROTO_IPV6, IPV6_MINHOPCOUNT, &any)?;
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, &system)
    } else {
        set(socket, libc::IPPROTO_IP, libc::IP_MINTTL, &any)?;
        set(socket, libc::IPPROTO_IP, libc::IP_TTL, &system)
    }
}

/// Sends with TTL 255 and drops packets from more than `hops` hops away (GTSM, RFC 5082).
pub fn set_gtsm(socket: BorrowedFd<'_>, ipv6: bool, hops: u8) -> io::Result<()> {
    let least: c_int = 256 - c_int::from(hops.max(1));
    set_hop_limit(socket, ipv6, 255)?;
    if ipv6 {
        set(socket, libc::IPPROTO_IPV6, IPV6_MINHOPCOUNT, &least)
    } else {
        set(socket, libc::IPPROTO_IP, libc::IP_MINTTL, &least)
    }
}

/// Sets the TTL (hop limit) of outgoing packets.
pub fn set_hop_limit(socket: BorrowedFd<'_>, ipv6: bool, hops: u8) -> io::Result<()> {
    let value = c_int::from(hops);
    if ipv6 {
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, &value)
    } else {
        set(socket, libc::IPPROTO_IP, libc::IP_TTL, &value)
    }
}

fn set<T>(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the module's invariant; `value` outlives the call and is `size_of::<T>()` long.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as socklen_t,
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads an option into `value`, which has only integers.
fn get<T>(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: &mut T) -> io::Result<()> {
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the module's invariant, also for writing: `value` is `len` bytes long, and the kernel writes no more.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_mut(value).cast(),
            &raw mut len,
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The address as a `sockaddr_storage`, with port 0.
fn storage(address: IpAddr) -> sockaddr_storage {
    let from = socket2::SockAddr::from(std::net::SocketAddr::new(address, 0));
    // SAFETY: all-zero is a valid `sockaddr_storage` (family AF_UNSPEC).
    let mut out: sockaddr_storage = unsafe { std::mem::zeroed() };
    // SAFETY: `from` holds `from.len()` initialised bytes, no more than a `sockaddr_storage` holds.
    unsafe {
        std::ptr::copy_nonoverlapping(
            from.as_ptr().cast::<u8>(),
            std::ptr::from_mut(&mut out).cast::<u8>(),
            from.len() as usize,
        );
    }
    out
}

fn key_array(key: &[u8]) -> io::Result<[u8; MAX_KEY_LEN]> {
    let mut out = [0; MAX_KEY_LEN];
    match out.get_mut(..key.len()) {
        Some(room) => room.copy_from_slice(key),
        None => return Err(io::Error::other("a TCP key may have at most 80 bytes")),
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn gtsm_is_accepted_by_the_kernel() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        set_gtsm(listener.as_fd(), false, 1).expect("IP_MINTTL");
        reset_hops(listener.as_fd(), false).expect("IP_TTL");
    }

    #[test]
    fn a_key_that_is_too_long_for_the_kernel_is_refused() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let scope = KeyScope {
            address: Ipv4Addr::LOCALHOST.into(),
            prefix_len: None,
        };
        assert!(set_md5_key(listener.as_fd(), scope, &[b'x'; 81]).is_err());
    }

    #[test]
    fn md5_is_taken_or_named_as_missing() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let scope = |prefix_len| KeyScope {
            address: Ipv4Addr::new(127, 0, 0, 0).into(),
            prefix_len,
        };
        for result in [
            set_md5_key(listener.as_fd(), scope(None), b"secret"),
            set_md5_key(listener.as_fd(), scope(Some(8)), b"secret"),
        ] {
            // Kernels may be built without MD5, but must not return EINVAL or EFAULT.
            if let Err(e) = result {
                assert_eq!(e.raw_os_error(), Some(libc::ENOPROTOOPT), "{e}");
            }
        }
    }
}
