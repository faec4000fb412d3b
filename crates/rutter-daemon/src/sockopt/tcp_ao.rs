//! TCP-AO (RFC 5925) with Linux, from 6.7 on where it is built with `CONFIG_TCP_AO`.
//!
//! The structures are those of `linux/tcp.h`, as Documentation/networking/tcp_ao.rst describes them. They have no padding,
//! and all bytes that the kernel calls reserved are 0.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd as _, BorrowedFd};

use libc::{c_int, sockaddr_storage};
use rutter_config::{AoAlgorithm, AoKey};
use socket2::{Domain, Protocol, Socket, Type};

use super::{KeyScope, MAX_KEY_LEN, get, key_array, set, storage};

const TCP_AO_ADD_KEY: c_int = 38;
const TCP_AO_DEL_KEY: c_int = 39;
const TCP_AO_INFO: c_int = 40;

/// The bit `set_current` of all structures.
const SET_CURRENT: u32 = bit(0);
/// The bit `set_rnext` of all structures.
const SET_RNEXT: u32 = bit(1);

/// The length of a signature, octets: 96 bits (RFC 5926 §3).
const MAC_LEN: u8 = 12;

/// A bit field of C: the first one is at the low end of a little-endian number, and at the high end of a big-endian one.
const fn bit(number: u32) -> u32 {
    match cfg!(target_endian = "little") {
        true => 1 << number,
        false => 1 << (31 - number),
    }
}

/// `struct tcp_ao_add`
#[repr(C, align(8))]
struct TcpAoAdd {
    address: sockaddr_storage,
    algorithm: [u8; 64],
    ifindex: i32,
    flags: u32,
    reserved: u16,
    prefix_len: u8,
    send_id: u8,
    receive_id: u8,
    mac_len: u8,
    key_flags: u8,
    key_len: u8,
    key: [u8; MAX_KEY_LEN],
}

/// `struct tcp_ao_del`
#[repr(C, align(8))]
struct TcpAoDel {
    address: sockaddr_storage,
    ifindex: i32,
    flags: u32,
    reserved: u16,
    prefix_len: u8,
    send_id: u8,
    receive_id: u8,
    current_key: u8,
    next_key: u8,
    key_flags: u8,
}

/// `struct tcp_ao_info_opt`
#[repr(C, align(8))]
#[derive(Default)]
struct TcpAoInfo {
    flags: u32,
    reserved: u16,
    current_key: u8,
    next_key: u8,
    packets_good: u64,
    packets_bad: u64,
    packets_key_not_found: u64,
    packets_ao_required: u64,
    packets_dropped_icmp: u64,
}

/// The use of a new key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AoUse {
    /// It accepts segments, and signs them if the neighbor asks for that.
    Available,
    /// It signs the segments of a connection that begins, and the neighbor is asked to use it.
    Preferred,
}

/// Adds a key for a peer or a prefix of peers. From then on the kernel drops unsigned segments of these peers.
pub fn add(socket: BorrowedFd<'_>, scope: KeyScope, key: &AoKey, usage: AoUse) -> io::Result<()> {
    let secret = key.key.reveal();
    let value = TcpAoAdd {
        address: storage(scope.address),
        algorithm: kernel_name(key.algorithm),
        ifindex: 0,
        flags: match usage {
            AoUse::Available => 0,
            AoUse::Preferred => SET_CURRENT | SET_RNEXT,
        },
        reserved: 0,
        prefix_len: prefix_len(scope),
        send_id: key.send_id,
        receive_id: key.receive_id,
        mac_len: MAC_LEN,
        key_flags: 0,
        key_len: secret.len() as u8,
        key: key_array(secret)?,
    };
    set(socket, libc::IPPROTO_TCP, TCP_AO_ADD_KEY, &value)
}

/// Deletes a key. The kernel refuses that (EBUSY) while an established connection uses it.
pub fn delete(socket: BorrowedFd<'_>, scope: KeyScope, key: &AoKey) -> io::Result<()> {
    let value = TcpAoDel {
        address: storage(scope.address),
        ifindex: 0,
        flags: 0,
        reserved: 0,
        prefix_len: prefix_len(scope),
        send_id: key.send_id,
        receive_id: key.receive_id,
        current_key: 0,
        next_key: 0,
        key_flags: 0,
    };
    set(socket, libc::IPPROTO_TCP, TCP_AO_DEL_KEY, &value)
}

/// Asks the neighbor of a connection to sign with this key (RNextKeyID). It changes when it has the key.
pub fn request(socket: BorrowedFd<'_>, key: &AoKey) -> io::Result<()> {
    let mut info = TcpAoInfo::default();
    get(socket, libc::IPPROTO_TCP, TCP_AO_INFO, &mut info)?;
    let value = TcpAoInfo {
        // The other bits are settings that stay as they are.
        flags: info.flags & !SET_CURRENT | SET_RNEXT,
        next_key: key.receive_id,
        ..TcpAoInfo::default()
    };
    set(socket, libc::IPPROTO_TCP, TCP_AO_INFO, &value)
}

/// Returns the KeyID with which a connection signs at present.
#[cfg(test)]
fn current(socket: BorrowedFd<'_>) -> io::Result<u8> {
    let mut info = TcpAoInfo::default();
    get(socket, libc::IPPROTO_TCP, TCP_AO_INFO, &mut info)?;
    Ok(info.current_key)
}

/// Checks that the kernel can sign with this key. The error is for the operator.
pub fn check(key: &AoKey) -> Result<(), String> {
    let probe = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        let scope = KeyScope {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            prefix_len: None,
        };
        add(socket.as_fd(), scope, key, AoUse::Available)
    };
    match probe() {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
            Err("this kernel has no TCP-AO".to_owned())
        }
        Err(error) => Err(format!(
            "this kernel cannot sign with {}: {error}",
            key.algorithm.name()
        )),
    }
}

/// The name of an algorithm in the kernel.
fn kernel_name(algorithm: AoAlgorithm) -> [u8; 64] {
    let name: &[u8] = match algorithm {
        AoAlgorithm::HmacSha1 => b"hmac(sha1)",
        AoAlgorithm::AesCmac => b"cmac(aes128)",
    };
    let mut out = [0; 64];
    out[..name.len()].copy_from_slice(name);
    out
}

/// The kernel wants the whole length for one peer.
fn prefix_len(scope: KeyScope) -> u8 {
    let whole = if scope.address.is_ipv4() { 32 } else { 128 };
    scope.prefix_len.unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::mem::{offset_of, size_of};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use rutter_config::Secret;

    use super::*;

    /// Offsets of `linux/tcp.h` on all machines with eight-octet alignment of `__u64`.
    #[test]
    fn the_structures_are_those_of_the_kernel() {
        assert_eq!(size_of::<sockaddr_storage>(), 128);
        assert_eq!(size_of::<TcpAoAdd>(), 288);
        let add = [
            offset_of!(TcpAoAdd, algorithm),
            offset_of!(TcpAoAdd, ifindex),
            offset_of!(TcpAoAdd, flags),
            offset_of!(TcpAoAdd, reserved),
            offset_of!(TcpAoAdd, prefix_len),
            offset_of!(TcpAoAdd, send_id),
            offset_of!(TcpAoAdd, receive_id),
            offset_of!(TcpAoAdd, mac_len),
            offset_of!(TcpAoAdd, key_flags),
            offset_of!(TcpAoAdd, key_len),
            offset_of!(TcpAoAdd, key),
        ];
        assert_eq!(add, [128, 192, 196, 200, 202, 203, 204, 205, 206, 207, 208]);
        assert_eq!(size_of::<TcpAoDel>(), 144);
        let del = [
            offset_of!(TcpAoDel, ifindex),
            offset_of!(TcpAoDel, flags),
            offset_of!(TcpAoDel, reserved),
            offset_of!(TcpAoDel, prefix_len),
            offset_of!(TcpAoDel, send_id),
            offset_of!(TcpAoDel, receive_id),
            offset_of!(TcpAoDel, current_key),
            offset_of!(TcpAoDel, next_key),
            offset_of!(TcpAoDel, key_flags),
        ];
        assert_eq!(del, [128, 132, 136, 138, 139, 140, 141, 142, 143]);
        assert_eq!(size_of::<TcpAoInfo>(), 48);
        let info = [
            offset_of!(TcpAoInfo, reserved),
            offset_of!(TcpAoInfo, current_key),
            offset_of!(TcpAoInfo, next_key),
            offset_of!(TcpAoInfo, packets_good),
            offset_of!(TcpAoInfo, packets_dropped_icmp),
        ];
        assert_eq!(info, [4, 6, 7, 8, 40]);
    }

    fn key(id: u8, algorithm: AoAlgorithm) -> AoKey {
        AoKey {
            send_id: id,
            receive_id: id,
            key: Secret::new(vec![id; 20]),
            algorithm,
        }
    }

    fn scope() -> KeyScope {
        KeyScope {
            address: Ipv4Addr::LOCALHOST.into(),
            prefix_len: None,
        }
    }

    /// Two ends that know these keys, the preferred one first; `None` if they do not come together.
    fn connect(client_keys: &[AoKey], server_keys: &[AoKey]) -> Option<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        for key in server_keys {
            add(listener.as_fd(), scope(), key, AoUse::Available).expect("a key");
        }
        let address = listener.local_addr().expect("an address");
        let client = Socket::new(Domain::IPV4, Type::STREAM, None).expect("socket");
        for (at, key) in client_keys.iter().enumerate() {
            let usage = if at == 0 {
                AoUse::Preferred
            } else {
                AoUse::Available
            };
            add(client.as_fd(), scope(), key, usage).expect("a key");
        }
        let wait = Duration::from_secs(2);
        client.connect_timeout(&address.into(), wait).ok()?;
        let (server, _) = listener.accept().expect("accept");
        Some((client.into(), server))
    }

    fn exchange(from: &mut TcpStream, to: &mut TcpStream) {
        let mut octet = [0];
        from.write_all(&[7]).expect("write");
        to.read_exact(&mut octet).expect("read");
    }

    /// Where the kernel has TCP-AO, two ends sign, refuse other keys, and replace a key. Elsewhere the error names the kernel.
    #[test]
    fn connections_are_signed_or_the_kernel_has_no_tcp_ao() {
        let [old, new] = [key(1, AoAlgorithm::HmacSha1), key(2, AoAlgorithm::AesCmac)];
        if let Err(why) = check(&old) {
            assert_eq!(why, "this kernel has no TCP-AO");
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
            let socket = listener.as_fd();
            for result in [
                add(socket, scope(), &old, AoUse::Available),
                delete(socket, scope(), &old),
                request(socket, &old),
            ] {
                let error = result.expect_err("no TCP-AO");
                assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT), "{error}");
            }
            return;
        }
        let stranger = AoKey {
            key: Secret::new(*b"another"),
            ..old.clone()
        };
        assert!(connect(std::slice::from_ref(&stranger), std::slice::from_ref(&old)).is_none());
        let only_old = std::slice::from_ref(&old);
        let (mut one, mut two) = connect(only_old, only_old).expect("a connection");
        exchange(&mut one, &mut two);
        // One side has the new key first: the old one goes on.
        add(one.as_fd(), scope(), &new, AoUse::Available).expect("a key");
        request(one.as_fd(), &new).expect("RNextKeyID");
        exchange(&mut one, &mut two);
        exchange(&mut two, &mut one);
        assert_eq!(current(two.as_fd()).expect("a key"), old.send_id);
        let busy = delete(two.as_fd(), scope(), &old).expect_err("it is in use");
        assert_eq!(busy.raw_os_error(), Some(libc::EBUSY));
        // Then the other one.
        add(two.as_fd(), scope(), &new, AoUse::Available).expect("a key");
        request(two.as_fd(), &new).expect("RNextKeyID");
        for _ in 0..2 {
            exchange(&mut one, &mut two);
            exchange(&mut two, &mut one);
        }
        assert_eq!(current(one.as_fd()).expect("a key"), new.send_id);
        assert_eq!(current(two.as_fd()).expect("a key"), new.send_id);
        delete(one.as_fd(), scope(), &old).expect("it is not in use");
        delete(two.as_fd(), scope(), &old).expect("it is not in use");
        exchange(&mut one, &mut two);
    }
}
