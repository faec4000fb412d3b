//! Reading TABLE_DUMP_V2 (RFC 6396 §4.3, RFC 8050 §4).

use std::borrow::Cow;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use super::table_dump::{PEER_AS4, PEER_IPV6};
use super::{Content, MrtError, MrtFault, PeerEntry, table_subtype};
use crate::attr::{Attributes, code, split_block, write_mp_reach};
use crate::cursor::Cursor;
use crate::nlri::{write_ipv4, write_ipv6};

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
    /// The prefix of all entries.
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
    /// The routes.
    pub fn entries(&self) -> RibEntries<'a> {
        RibEntries {
            left: self.count,
            add_path: self.add_path,
            rest: self.entries,
        }
    }
}

/// The entries of a record. The iterator ends after an error.
#[derive(Clone, Debug)]
pub struct RibEntries<'a> {
    left: u16,
    add_path: bool,
    rest: Cursor<'a>,
}

impl<'a> RibEntries<'a> {
    /// The octets after the entries so far. After the last entry a record has none.
    pub fn rest(self) -> &'a [u8] {
        self.rest.rest()
    }
}

impl<'a> Iterator for RibEntries<'a> {
    type Item = Result<RibEntry<'a>, MrtError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let item = entry(&mut self.rest, self.add_path).ok_or(MrtError {
            offset: 0,
            fault: MrtFault::BodyTruncated,
        });
        if item.is_err() {
            self.left = 0;
        }
        Some(item)
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
    /// A view of the attributes as they stand in the file. [`Attributes::write_canonical`] leaves out the MP_REACH_NLRI
    /// with the next hop. [`Attributes::mp_reach`] cannot read its short form: use [`RibEntry::next_hop`].
    pub fn view(&self) -> Attributes<'a> {
        Attributes::as_reported(self.attributes, true)
    }

    /// The next hop's octets, from MP_REACH_NLRI or else NEXT_HOP.
    pub fn next_hop(&self) -> Option<&'a [u8]> {
        let view = self.view();
        let reach = view.value(code::MP_REACH_NLRI);
        reach
            .and_then(reach_next_hop)
            .or_else(|| view.value(code::NEXT_HOP))
    }

    /// Appends the body of an UPDATE that announces this route of `prefix`. The attributes are copied as they stand,
    /// also malformed ones. The next hop goes where the entry has it: into MP_REACH_NLRI or NEXT_HOP. A next hop in
    /// MP_REACH_NLRI that cannot be read becomes one octet, whose length is wrong for every family.
    ///
    /// `add_path`: the NLRI have path identifiers. If no UPDATE can hold the attributes, the body is empty, which is
    /// malformed.
    pub fn write_update(&self, out: &mut Vec<u8>, prefix: Prefix, add_path: bool) {
        let view = self.view();
        let reach = view.value(code::MP_REACH_NLRI);
        let has_reach = reach.is_some();
        let path_id = add_path.then_some(self.path_id);
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let plain = match prefix {
            Prefix::V4(prefix) if !has_reach => Some(prefix),
            _ => None,
        };
        if plain.is_none() {
            // It stands first: it would be lost behind an attribute that is cut off.
            let next_hop = match reach {
                Some(value) => reach_next_hop(value).unwrap_or(&UNREADABLE_NEXT_HOP),
                None => view.value(code::NEXT_HOP).unwrap_or_default(),
            };
            let next_hop = match next_hop.len() {
                0..=255 => next_hop,
                _ => &UNREADABLE_NEXT_HOP,
            };
            write_mp_reach(
                out,
                prefix.family().afi_safi(),
                next_hop,
                |out| match prefix {
                    Prefix::V4(prefix) => write_ipv4(out, path_id, prefix),
                    Prefix::V6(prefix) => write_ipv6(out, path_id, prefix),
                },
            );
        }
        let is_kept = |code| !matches!(code, Some(code::MP_REACH_NLRI | code::MP_UNREACH_NLRI));
        for (_, bytes) in split_block(self.attributes).filter(|(code, _)| is_kept(*code)) {
            out.extend_from_slice(bytes);
        }
        let Ok(len) = u16::try_from(out.len() - start - 4) else {
            out.truncate(start);
            return;
        };
        out[start + 2..start + 4].copy_from_slice(&len.to_be_bytes());
        if let Some(prefix) = plain {
            write_ipv4(out, path_id, prefix);
        }
    }
}

/// The next hop in an UPDATE that is made of an entry with an unreadable one.
const UNREADABLE_NEXT_HOP: [u8; 1] = [0];

/// The next hop in the value of MP_REACH_NLRI. RFC 6396 §4.3.4 shortens the value to the next hop; some collectors write
/// all of it, or all but the NLRI.
fn reach_next_hop(value: &[u8]) -> Option<&[u8]> {
    match value {
        [len, next_hop @ ..] if usize::from(*len) == next_hop.len() => Some(next_hop),
        [_, _, _, len, rest @ ..] => rest.get(..usize::from(*len)),
        _ => None,
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
