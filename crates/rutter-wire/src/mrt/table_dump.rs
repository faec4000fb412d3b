//! Writing TABLE_DUMP_V2 (RFC 6396 §4.3, RFC 8050 §4).

use std::net::IpAddr;

use rutter_net::{Asn, Prefix};

use super::{kind, table_subtype, write_address, write_record};
use crate::attr::{Attributes, OPTIONAL, TRANSITIVE, code, write_attr};
use crate::nlri::{write_ipv4, write_ipv6};

/// A peer of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerEntry {
    /// Its BGP Identifier.
    pub bgp_id: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: Asn,
}

/// A route to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route<'a> {
    /// Index of the peer in the PEER_INDEX_TABLE.
    pub peer_index: u16,
    /// The time at which the route was received, in seconds since 1970.
    pub originated_s: u32,
    /// Path identifier; written if the table has them.
    pub path_id: u32,
    /// The canonical attribute block.
    pub attributes: &'a [u8],
    /// The next hop's octets: 4, 16 or 32, or none for a route without a next hop.
    pub next_hop: &'a [u8],
}

/// Appends the record that lists the peers; it must be the first in a file. At most 65,535 peers and 65,535 octets of
/// view name are written.
pub fn write_peer_index_table(
    out: &mut Vec<u8>,
    unix_s: u32,
    collector_id: u32,
    view: &str,
    peers: &[PeerEntry],
) {
    let view = view.as_bytes();
    let view = view.get(..usize::from(u16::MAX)).unwrap_or(view);
    let peers = peers.get(..usize::from(u16::MAX)).unwrap_or(peers);
    let subtype = table_subtype::PEER_INDEX_TABLE;
    write_record(out, unix_s, kind::TABLE_DUMP_V2, subtype, |out| {
        out.extend_from_slice(&collector_id.to_be_bytes());
        out.extend_from_slice(&(view.len() as u16).to_be_bytes());
        out.extend_from_slice(view);
        out.extend_from_slice(&(peers.len() as u16).to_be_bytes());
        for peer in peers {
            let ipv6 = if peer.address.is_ipv6() { PEER_IPV6 } else { 0 };
            out.push(PEER_AS4 | ipv6);
            out.extend_from_slice(&peer.bgp_id.to_be_bytes());
            write_address(out, peer.address);
            out.extend_from_slice(&peer.asn.0.to_be_bytes());
        }
    });
}

/// Appends the routes of one prefix. More than 65,535 routes take several records. Returns the number of routes whose
/// attributes exceed the size of an entry; they are left out.
pub fn write_rib<'a>(
    out: &mut Vec<u8>,
    unix_s: u32,
    sequence: u32,
    prefix: Prefix,
    add_path: bool,
    routes: impl IntoIterator<Item = Route<'a>>,
) -> usize {
    let mut routes = routes.into_iter().peekable();
    let mut left_out = 0;
    while routes.peek().is_some() {
        let batch = routes.by_ref().take(usize::from(u16::MAX));
        left_out += write_rib_record(out, unix_s, sequence, prefix, add_path, batch);
    }
    left_out
}

fn write_rib_record<'a>(
    out: &mut Vec<u8>,
    unix_s: u32,
    sequence: u32,
    prefix: Prefix,
    add_path: bool,
    routes: impl Iterator<Item = Route<'a>>,
) -> usize {
    let subtype = match (prefix, add_path) {
        (Prefix::V4(_), false) => table_subtype::RIB_IPV4_UNICAST,
        (Prefix::V4(_), true) => table_subtype::RIB_IPV4_UNICAST_ADDPATH,
        (Prefix::V6(_), false) => table_subtype::RIB_IPV6_UNICAST,
        (Prefix::V6(_), true) => table_subtype::RIB_IPV6_UNICAST_ADDPATH,
    };
    let mut left_out = 0;
    write_record(out, unix_s, kind::TABLE_DUMP_V2, subtype, |out| {
        out.extend_from_slice(&sequence.to_be_bytes());
        match prefix {
            Prefix::V4(prefix) => write_ipv4(out, None, prefix),
            Prefix::V6(prefix) => write_ipv6(out, None, prefix),
        }
        let count_at = out.len();
        out.extend_from_slice(&[0; 2]);
        let mut count = 0u16;
        for route in routes {
            match write_entry(out, prefix, add_path, &route) {
                true => count += 1,
                false => left_out += 1,
            }
        }
        out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    });
    left_out
}

/// Writes a RIB entry. Returns `false` and writes nothing if the attributes are too long.
fn write_entry(out: &mut Vec<u8>, prefix: Prefix, add_path: bool, route: &Route<'_>) -> bool {
    let start = out.len();
    out.extend_from_slice(&route.peer_index.to_be_bytes());
    out.extend_from_slice(&route.originated_s.to_be_bytes());
    if add_path {
        out.extend_from_slice(&route.path_id.to_be_bytes());
    }
    out.extend_from_slice(&[0; 2]);
    let attributes = out.len();
    write_attributes(out, prefix, route);
    match u16::try_from(out.len() - attributes) {
        Ok(len) => {
            out[attributes - 2..attributes].copy_from_slice(&len.to_be_bytes());
            true
        }
        Err(_) => {
            out.truncate(start);
            false
        }
    }
}

/// Writes the block with the next hop: for IPv4 in NEXT_HOP, otherwise in an MP_REACH_NLRI that contains only the next
/// hop (RFC 6396 §4.3.4).
fn write_attributes(out: &mut Vec<u8>, prefix: Prefix, route: &Route<'_>) {
    let view = Attributes::from_canonical(route.attributes);
    let plain = matches!(prefix, Prefix::V4(_)) && route.next_hop.len() == 4;
    let is_inside = plain && view.value(code::NEXT_HOP) == Some(route.next_hop);
    if is_inside || route.next_hop.is_empty() {
        return out.extend_from_slice(route.attributes);
    }
    let own = if plain {
        code::NEXT_HOP
    } else {
        code::MP_REACH_NLRI
    };
    let others = || view.iter().filter(|raw| raw.code != code::NEXT_HOP);
    others()
        .take_while(|raw| raw.code < own)
        .for_each(|raw| out.extend_from_slice(raw.wire));
    match plain {
        true => write_attr(out, TRANSITIVE, own, route.next_hop),
        false => write_abbreviated(out, route.next_hop),
    }
    others()
        .skip_while(|raw| raw.code < own)
        .for_each(|raw| out.extend_from_slice(raw.wire));
}

fn write_abbreviated(out: &mut Vec<u8>, next_hop: &[u8]) {
    let len = next_hop.len().min(254);
    out.extend_from_slice(&[OPTIONAL, code::MP_REACH_NLRI, len as u8 + 1, len as u8]);
    out.extend_from_slice(&next_hop[..len]);
}

/// Peer type: the address is IPv6.
pub(super) const PEER_IPV6: u8 = 1;
/// Peer type: the AS number takes four octets.
pub(super) const PEER_AS4: u8 = 2;
