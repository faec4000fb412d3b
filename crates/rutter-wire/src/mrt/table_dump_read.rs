//! Reading TABLE_DUMP_V2 (RFC 6396 §4.3, RFC 8050 §4).

use std::borrow::Cow;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use super::table_dump::{PEER_AS4, PEER_IPV6};
use super::{Content, MrtError, MrtFault, PeerEntry, table_subtype};
use crate::attr::{Attributes, EXTENDED_LENGTH, code};
use crate::cursor::Cursor;

/// The peers of the RIB records.
#[derive(Clone, Copy, Debug)]
pub struct PeerIndexTable<'a> {
    /// The collector's BGP Identifier.
    pub collector_id: u32,
    view: &'a [u8],
    count: u16,
    peers: Cursor<'a>,
}

impl<'a> PeerIndexTable<'a> {
    /// The name of the view.
    pub fn view(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.view)
    }

    /// The peers in index order. The iterator ends after an error.
    pub fn peers(&self) -> impl Iterator<Item = Result<PeerEntry, MrtError>> + use<'a> {
        let mut rest = self.peers;
        fused(self.count, move || peer(&mut rest))
    }
}

/// Iterates over `count` items, and ends after the first error.
fn fused<T>(
    count: u16,
    mut read: impl FnMut() -> Option<T>,
) -> impl Iterator<Item = Result<T, MrtError>> {
    let mut left = count;
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let item = read().ok_or(MrtError {
            offset: 0,
            fault: MrtFault::BodyTruncated,
        });
        if item.is_err() {
            left = 0;
        }
        Some(item)
    })
}

fn peer(body: &mut Cursor<'_>) -> Option<PeerEntry> {
    let kind = body.u8()?;
    Some(PeerEntry {
        bgp_id: body.u32()?,
        address: body.address(kind & PEER_IPV6 != 0)?,
        asn: body.asn(kind & PEER_AS4 != 0)?,
    })
}

/// The routes of one prefix.
#[derive(Clone, Copy, Debug)]
pub struct Rib<'a> {
    /// Sequence number of the record.
    pub sequence: u32,
    /// The prefix.
    pub prefix: Prefix,
    /// `true` if the entries have path identifiers.
    pub add_path: bool,
    count: u16,
    entries: Cursor<'a>,
}

/// One route of a table dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RibEntry<'a> {
    /// Index of the peer in the PEER_INDEX_TABLE.
    pub peer_index: u16,
    /// The time at which the route was received, in seconds since 1970.
    pub originated_s: u32,
    /// Path identifier; 0 if the record has none.
    pub path_id: u32,
    /// The attributes, with four-octet AS numbers and an MP_REACH_NLRI that contains only the next hop.
    pub attributes: &'a [u8],
}

impl<'a> Rib<'a> {
    /// The routes. The iterator ends after an error.
    pub fn entries(&self) -> impl Iterator<Item = Result<RibEntry<'a>, MrtError>> + use<'a> {
        let (mut rest, add_path) = (self.entries, self.add_path);
        fused(self.count, move || entry(&mut rest, add_path))
    }
}

fn entry<'a>(body: &mut Cursor<'a>, add_path: bool) -> Option<RibEntry<'a>> {
    let (peer_index, originated_s) = (body.u16()?, body.u32()?);
    let path_id = if add_path { body.u32()? } else { 0 };
    let len = usize::from(body.u16()?);
    Some(RibEntry {
        peer_index,
        originated_s,
        path_id,
        attributes: body.bytes(len)?,
    })
}

impl<'a> RibEntry<'a> {
    /// An unchecked view of the attributes. [`Attributes::write_canonical`] leaves out the MP_REACH_NLRI with the next
    /// hop. [`Attributes::mp_reach`] cannot read its short form: use [`RibEntry::next_hop`].
    pub fn view(&self) -> Attributes<'a> {
        Attributes::from_canonical(self.attributes)
    }

    /// Returns whether the lengths of the attributes add up to the length of the block.
    pub fn is_whole(&self) -> bool {
        let mut rest = self.attributes;
        while let [flags, _, after @ ..] = rest {
            let (len, after) = match (flags & EXTENDED_LENGTH, after) {
                (0, [len, after @ ..]) => (usize::from(*len), after),
                (1.., [high, low, after @ ..]) => {
                    (usize::from(u16::from_be_bytes([*high, *low])), after)
                }
                _ => return false,
            };
            let Some(next) = after.get(len..) else {
                return false;
            };
            rest = next;
        }
        rest.is_empty()
    }

    /// The next hop's octets, from NEXT_HOP or MP_REACH_NLRI. RFC 6396 §4.3.4 shortens MP_REACH_NLRI to the next hop;
    /// some collectors write all of it, or all but the NLRI.
    pub fn next_hop(&self) -> Option<&'a [u8]> {
        let view = self.view();
        match view.value(code::MP_REACH_NLRI) {
            Some([len, next_hop @ ..]) if usize::from(*len) == next_hop.len() => Some(next_hop),
            Some([_, _, _, len, rest @ ..]) => rest.get(..usize::from(*len)),
            Some(_) => None,
            None => view.value(code::NEXT_HOP),
        }
    }
}

pub(super) fn decode(subtype: u16, body: &[u8]) -> Result<Content<'_>, MrtFault> {
    let (ipv6, add_path) = match subtype {
        table_subtype::PEER_INDEX_TABLE => {
            return peer_index_table(body)
                .map(Content::PeerIndexTable)
                .ok_or(MrtFault::BodyTruncated);
        }
        table_subtype::RIB_IPV4_UNICAST => (false, false),
        table_subtype::RIB_IPV4_UNICAST_ADDPATH => (false, true),
        table_subtype::RIB_IPV6_UNICAST => (true, false),
        table_subtype::RIB_IPV6_UNICAST_ADDPATH => (true, true),
        _ => return Ok(Content::Other),
    };
    rib(body, ipv6, add_path).map(Content::Rib)
}

fn peer_index_table(body: &[u8]) -> Option<PeerIndexTable<'_>> {
    let mut body = Cursor::new(body);
    let collector_id = body.u32()?;
    let view_len = usize::from(body.u16()?);
    let view = body.bytes(view_len)?;
    Some(PeerIndexTable {
        collector_id,
        view,
        count: body.u16()?,
        peers: body,
    })
}

fn rib(body: &[u8], ipv6: bool, add_path: bool) -> Result<Rib<'_>, MrtFault> {
    let mut body = Cursor::new(body);
    let cut = MrtFault::BodyTruncated;
    let (sequence, len) = (body.u32().ok_or(cut)?, body.u8().ok_or(cut)?);
    let octets = body.bytes(usize::from(len).div_ceil(8)).ok_or(cut)?;
    let prefix = prefix(octets, len, ipv6).ok_or(MrtFault::PrefixLength)?;
    Ok(Rib {
        sequence,
        prefix,
        add_path,
        count: body.u16().ok_or(cut)?,
        entries: body,
    })
}

pub(super) fn prefix(octets: &[u8], len: u8, ipv6: bool) -> Option<Prefix> {
    let mut address = [0; 16];
    address.get_mut(..octets.len())?.copy_from_slice(octets);
    let bits = u128::from_be_bytes(address);
    match ipv6 {
        true => Ipv6Prefix::new(bits, len).map(Prefix::V6),
        false => Ipv4Prefix::new((bits >> 96) as u32, len).map(Prefix::V4),
    }
}
