//! A monitored router, from the station's point of view.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rutter_net::{Asn, Prefix};
use rutter_wire::attr::{TRANSITIVE, code, write_attr, write_mp_reach};
use rutter_wire::bmp::{
    PeerHeader, write_initiation, write_peer_down, write_peer_up, write_route_monitoring,
    write_termination,
};
use rutter_wire::capability::{AddPathFamily, AddPathMode, Capability};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::open::Open;
use rutter_wire::update::{Sections, write};
use socket2::{Domain, Socket, Type};

pub struct Router(TcpStream);

impl Router {
    pub fn connect(address: SocketAddr) -> Self {
        Router(TcpStream::connect(address).unwrap())
    }

    /// From a certain address.
    pub fn connect_from(own: IpAddr, address: SocketAddr) -> Self {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(own, 0).into()).unwrap();
        socket.connect(&address.into()).unwrap();
        Router(socket.into())
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn write(&mut self, message: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::new();
        message(&mut out);
        self.send(&out);
    }

    pub fn initiate(&mut self, name: &str) {
        self.write(|out| write_initiation(out, name, "a test"));
    }

    pub fn terminate(&mut self, why: &str) {
        self.write(|out| write_termination(out, 0, why));
    }

    /// `modes`: the Add-Path modes in the sent and in the received OPEN.
    pub fn peer_up(&mut self, peer: &PeerHeader, modes: Option<(AddPathMode, AddPathMode)>) {
        let (sent, received) = (open(modes.map(|m| m.0)), open(modes.map(|m| m.1)));
        let local = match peer.address.is_ipv6() {
            true => "2001:db8::1".parse().unwrap(),
            false => "192.0.2.1".parse().unwrap(),
        };
        self.write(|out| write_peer_up(out, peer, local, (179, 179), &sent, &received, &[]));
    }

    /// A Loc-RIB with a name (RFC 9069 §4.4).
    pub fn table_up(&mut self, peer: &PeerHeader, name: &str) {
        let (sent, mut received) = (open(None), open(None));
        received.extend([0, 3, 0, name.len() as u8]);
        received.extend(name.as_bytes());
        let local = "0.0.0.0".parse().unwrap();
        self.write(|out| write_peer_up(out, peer, local, (0, 0), &sent, &received, &[]));
    }

    pub fn peer_down(&mut self, peer: &PeerHeader, reason: u8) {
        self.write(|out| write_peer_down(out, peer, reason, &[]));
    }

    pub fn monitor(&mut self, peer: &PeerHeader, update: &[u8]) {
        self.write(|out| write_route_monitoring(out, peer, update));
    }

    pub fn statistics(&mut self, peer: &PeerHeader, kind: u16, value: u64) {
        let mut out = Vec::new();
        // The header is that of a Peer Down. The counter's number replaces its reason.
        write_peer_down(&mut out, peer, 0, &[0, 0, 1]);
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&8u16.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
        let len = out.len() as u32;
        out[1..5].copy_from_slice(&len.to_be_bytes());
        out[5] = 1;
        self.send(&out);
    }

    /// Returns whether the station closes the connection within this time.
    pub fn is_closed_within(&mut self, time: Duration) -> bool {
        self.0.set_read_timeout(Some(time)).unwrap();
        match self.0.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Returns whether the station has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.0.read(&mut [0]), Ok(0) | Err(_))
    }
}

pub fn open(mode: Option<AddPathMode>) -> Vec<u8> {
    let mut capabilities = vec![Capability::FourOctetAs(Asn(64501))];
    if let Some(mode) = mode {
        let afi_safi = rutter_net::AfiSafi::IPV4_UNICAST;
        capabilities.push(Capability::AddPath(vec![AddPathFamily { afi_safi, mode }]));
    }
    let mut out = Vec::new();
    Open::new(Asn(64501), 90, 9, capabilities).encode(&mut out);
    out
}

pub fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

/// An UPDATE with the path 64501 200000.
pub fn update(prefixes: &[&str]) -> Vec<u8> {
    let path = [2, 2, 0, 0, 0xfb, 0xf5, 0, 3, 0x0d, 0x40];
    build(prefixes, None, &path)
}

pub fn update_with_path_id(prefix: &str, path_id: u32) -> Vec<u8> {
    let path = [2, 1, 0, 0, 0xfb, 0xf5];
    build(&[prefix], Some(path_id), &path)
}

pub fn two_octet_update(prefix: &str, asns: &[u16]) -> Vec<u8> {
    let mut path = vec![2, asns.len() as u8];
    asns.iter()
        .for_each(|asn| path.extend_from_slice(&asn.to_be_bytes()));
    build(&[prefix], None, &path)
}

pub fn withdraw(text: &str) -> Vec<u8> {
    let mut withdrawn = Vec::new();
    if let Prefix::V4(prefix) = prefix(text) {
        write_ipv4(&mut withdrawn, None, prefix);
    }
    let mut message = Vec::new();
    let sections = Sections {
        withdrawn: &withdrawn,
        attributes: &[],
        nlri: &[],
    };
    write(&mut message, &sections);
    message
}

fn build(prefixes: &[&str], path_id: Option<u32>, path: &[u8]) -> Vec<u8> {
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for text in prefixes {
        match prefix(text) {
            Prefix::V4(prefix) => write_ipv4(&mut ipv4, path_id, prefix),
            Prefix::V6(prefix) => write_ipv6(&mut ipv6, path_id, prefix),
        }
    }
    let mut attributes = Vec::new();
    write_attr(&mut attributes, TRANSITIVE, code::ORIGIN, &[0]);
    write_attr(&mut attributes, TRANSITIVE, code::AS_PATH, path);
    write_attr(
        &mut attributes,
        TRANSITIVE,
        code::NEXT_HOP,
        &[192, 0, 2, 11],
    );
    write_attr(
        &mut attributes,
        TRANSITIVE,
        code::LOCAL_PREF,
        &[0, 0, 0, 200],
    );
    if !ipv6.is_empty() {
        let afi_safi = rutter_net::AfiSafi::IPV6_UNICAST;
        let next_hop = "2001:db8::11"
            .parse::<std::net::Ipv6Addr>()
            .unwrap()
            .octets();
        write_mp_reach(&mut attributes, afi_safi, &next_hop, |out| {
            out.extend_from_slice(&ipv6)
        });
    }
    let mut message = Vec::new();
    let sections = Sections {
        withdrawn: &[],
        attributes: &attributes,
        nlri: &ipv4,
    };
    write(&mut message, &sections);
    message
}
