//! Small MRT files.

use std::net::IpAddr;

use rutter_net::{Asn, Prefix};
use rutter_wire::attr::{code, write_attr};
use rutter_wire::frame::{self, MessageType};
use rutter_wire::mrt::{
    BgpSession, PeerEntry, Route, Timestamp, write_message, write_peer_index_table, write_rib,
};

/// The routes of one prefix: the number of a peer, and attributes.
pub type Rows = Vec<(&'static str, Vec<(u16, Attrs)>)>;

/// The attributes of a route.
#[derive(Clone, Default)]
pub struct Attrs {
    pub path: Vec<u32>,
    pub next_hop: [u8; 4],
    pub communities: Vec<(u16, u16)>,
    pub large: Vec<(u32, u32, u32)>,
    pub med: Option<u32>,
    pub local_pref: Option<u32>,
}

/// A route of a member of 192.0.2.0/24, whose address ends in the last two digits of its AS.
pub fn of(path: &[u32]) -> Attrs {
    Attrs {
        path: path.to_vec(),
        next_hop: [192, 0, 2, (path[0] % 100) as u8],
        ..Attrs::default()
    }
}

impl Attrs {
    pub fn block(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_attr(&mut out, 0x40, code::ORIGIN, &[0]);
        let mut path = vec![2, self.path.len() as u8];
        path.extend(self.path.iter().flat_map(|asn| asn.to_be_bytes()));
        write_attr(&mut out, 0x40, code::AS_PATH, &path);
        write_attr(&mut out, 0x40, code::NEXT_HOP, &self.next_hop);
        if let Some(med) = self.med {
            write_attr(&mut out, 0x80, code::MULTI_EXIT_DISC, &med.to_be_bytes());
        }
        if let Some(pref) = self.local_pref {
            write_attr(&mut out, 0x40, code::LOCAL_PREF, &pref.to_be_bytes());
        }
        let octets = |(high, low): &(u16, u16)| [high.to_be_bytes(), low.to_be_bytes()].concat();
        let all: Vec<u8> = self.communities.iter().flat_map(octets).collect();
        if !all.is_empty() {
            write_attr(&mut out, 0xc0, code::COMMUNITIES, &all);
        }
        let octets = |(a, b, c): &(u32, u32, u32)| [*a, *b, *c].map(u32::to_be_bytes).concat();
        let all: Vec<u8> = self.large.iter().flat_map(octets).collect();
        if !all.is_empty() {
            write_attr(&mut out, 0xc0, code::LARGE_COMMUNITIES, &all);
        }
        out
    }
}

/// A peer 192.0.2.N of a table dump, with the router id 10.0.0.N.
pub fn peer(last: u8, asn: u32) -> PeerEntry {
    PeerEntry {
        bgp_id: u32::from_be_bytes([10, 0, 0, last]),
        address: IpAddr::from([192, 0, 2, last]),
        asn: Asn(asn),
    }
}

/// A table dump of second 1.
pub fn table(peers: &[PeerEntry], rows: &Rows) -> Vec<u8> {
    table_at(1, peers, rows)
}

/// A table dump of a second.
pub fn table_at(unix_s: u32, peers: &[PeerEntry], rows: &Rows) -> Vec<u8> {
    let mut out = Vec::new();
    write_peer_index_table(&mut out, unix_s, 1, "", peers);
    for (sequence, (prefix, routes)) in rows.iter().enumerate() {
        let prefix: Prefix = prefix.parse().unwrap();
        let blocks: Vec<_> = routes
            .iter()
            .map(|(at, attrs)| (*at, attrs.block()))
            .collect();
        let routes = blocks.iter().map(|(peer_index, block)| Route {
            peer_index: *peer_index,
            originated_s: 1,
            path_id: 0,
            attributes: block,
            next_hop: &[],
        });
        write_rib(&mut out, unix_s, sequence as u32, prefix, false, routes);
    }
    out
}

/// The session of an update: the peer that sent it, and the local end.
pub fn session(peer: (u8, u32), local: (u8, u32)) -> BgpSession {
    BgpSession {
        peer_asn: Asn(peer.1),
        local_asn: Asn(local.1),
        interface: 0,
        peer: IpAddr::from([192, 0, 2, peer.0]),
        local: IpAddr::from([192, 0, 2, local.0]),
        as4: true,
    }
}

/// Appends an UPDATE: an announcement with attributes, or a withdrawal.
pub fn update(out: &mut Vec<u8>, session: &BgpSession, prefix: &str, attrs: Option<&Attrs>) {
    let nlri = nlri(prefix);
    let body = match attrs {
        Some(attrs) => body(&[], &attrs.block(), &nlri),
        None => body(&nlri, &[], &[]),
    };
    write_message(out, Timestamp::Seconds(2), session, false, &message(&body));
}

/// Appends an UPDATE that announces a path of a session with Add-Path.
pub fn update_with_path(out: &mut Vec<u8>, session: &BgpSession, prefix: &str, attrs: &Attrs) {
    let nlri = [&[0, 0, 0, 7], &nlri(prefix)[..]].concat();
    let message = message(&body(&[], &attrs.block(), &nlri));
    write_message(out, Timestamp::Seconds(2), session, true, &message);
}

/// Appends an UPDATE that announces an IPv4 prefix, and 2001:db8::/32 by MP_REACH_NLRI.
pub fn update_of_both(out: &mut Vec<u8>, session: &BgpSession, prefix: &str, attrs: &Attrs) {
    let mut reach = vec![0, 2, 1, 16, 0x20, 0x01, 0x0d, 0xb8];
    reach.extend([0; 11]);
    reach.extend([1, 0, 32, 0x20, 0x01, 0x0d, 0xb8]);
    let mut block = Vec::new();
    write_attr(&mut block, 0x80, code::MP_REACH_NLRI, &reach);
    block.extend(attrs.block());
    let message = message(&body(&[], &block, &nlri(prefix)));
    write_message(out, Timestamp::Seconds(2), session, false, &message);
}

fn nlri(prefix: &str) -> Vec<u8> {
    let prefix: Prefix = prefix.parse().unwrap();
    let IpAddr::V4(address) = prefix.addr() else {
        panic!("IPv4 only");
    };
    let octets = usize::from(prefix.len()).div_ceil(8);
    [&[prefix.len()], &address.octets()[..octets]].concat()
}

fn body(withdrawn: &[u8], block: &[u8], announced: &[u8]) -> Vec<u8> {
    let len = |octets: &[u8]| (octets.len() as u16).to_be_bytes();
    [
        &len(withdrawn)[..],
        withdrawn,
        &len(block),
        block,
        announced,
    ]
    .concat()
}

fn message(body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    let start = frame::begin(&mut message, MessageType::Update);
    message.extend(body);
    frame::finish(&mut message, start);
    message
}
