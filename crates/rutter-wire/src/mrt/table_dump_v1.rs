//! Reads TABLE_DUMP, the older format (RFC 6396 §4.2): one record for each route.

use std::net::IpAddr;

use rutter_net::{Asn, Prefix};

use super::table_dump_read::prefix;
use super::{Content, MrtFault, RibEntry};
use crate::cursor::Cursor;

/// A route of a dump in the older format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableDump<'a> {
    /// Number of the view.
    pub view: u16,
    /// The prefix of the route.
    pub prefix: Prefix,
    /// The time at which the route was received, in seconds since 1970.
    pub originated_s: u32,
    /// The peer's address.
    pub peer: IpAddr,
    /// The peer's AS.
    pub peer_asn: Asn,
    /// The attributes, with two-octet AS numbers.
    pub attributes: &'a [u8],
}

impl<'a> TableDump<'a> {
    /// Converts the route to an entry of the newer format, except for its two-octet AS numbers.
    pub fn entry(&self) -> RibEntry<'a> {
        RibEntry {
            peer_index: 0,
            originated_s: self.originated_s,
            path_id: 0,
            attributes: self.attributes,
        }
    }
}

const IPV4: u16 = 1;
const IPV6: u16 = 2;

pub(super) fn decode(subtype: u16, body: &[u8]) -> Result<Content<'_>, MrtFault> {
    let ipv6 = match subtype {
        IPV4 => false,
        IPV6 => true,
        _ => return Ok(Content::Other),
    };
    let cut = MrtFault::BodyTruncated;
    let mut body = Cursor::new(body);
    let (view, _sequence) = (body.u16().ok_or(cut)?, body.u16().ok_or(cut)?);
    let address = body.bytes(if ipv6 { 16 } else { 4 }).ok_or(cut)?;
    let len = body.u8().ok_or(cut)?;
    let prefix = masked(address, len, ipv6).ok_or(MrtFault::PrefixLength)?;
    let _status = body.u8().ok_or(cut)?;
    let originated_s = body.u32().ok_or(cut)?;
    let peer = body.address(ipv6).ok_or(cut)?;
    let peer_asn = body.asn(false).ok_or(cut)?;
    let len = usize::from(body.u16().ok_or(cut)?);
    Ok(Content::TableDump(TableDump {
        view,
        prefix,
        originated_s,
        peer,
        peer_asn,
        attributes: body.bytes(len).ok_or(cut)?,
    }))
}

/// The record contains the whole address; the bits beyond the prefix length have no meaning.
fn masked(address: &[u8], len: u8, ipv6: bool) -> Option<Prefix> {
    prefix(address.get(..usize::from(len).div_ceil(8))?, len, ipv6)
}
