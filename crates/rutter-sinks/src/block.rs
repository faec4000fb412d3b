//! The on-disk form of rows. A block is self-contained and holds each peer and attribute set once.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_events::{AttrColumns, Kind, Peer, Row};
use rutter_net::{Asn, Community, ExtendedCommunity, Family, LargeCommunity, PerFamily, Prefix};
use rutter_wire::attr::Origin;

use crate::byte_codec::{
    ByteReader, CorruptRecord, put_number, put_optional, put_signed, put_string,
};
use crate::peer::{StoredPeer, address, put_address};
use crate::spool::Position;

/// The end of a block after which all routes must be loaded again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    /// The peers that have routes at this point, each with whether its session is up.
    pub peers: Vec<(bool, Arc<StoredPeer>)>,
}

/// Consecutive rows of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The run of the collector.
    pub run: u64,
    /// The number of the first row.
    pub first_seq: u64,
    /// The rows.
    pub entries: Vec<Entry>,
    /// Present if all routes must be loaded again after these rows.
    pub marker: Option<Marker>,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The wall time in microseconds since 1970.
    pub time_us: u64,
    /// The kind of event.
    pub kind: Kind,
    /// The peer; `None` for events of the collector itself.
    pub peer: Option<Arc<StoredPeer>>,
    /// The prefix of a route event.
    pub prefix: Option<Prefix>,
    /// RFC 7911 path identifier.
    pub path_id: u32,
    /// The attributes. Equal sets of a block share one allocation.
    pub attrs: Option<Arc<AttrColumns>>,
    /// A description for people.
    pub detail: Box<str>,
}

impl Block {
    /// The position after the last row.
    pub fn end(&self) -> Position {
        Position {
            run: self.run,
            next_seq: self.first_seq + self.entries.len() as u64,
        }
    }

    /// Decodes a block of `BlockWriter::finish`; `None` if it is corrupt.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        read(&mut ByteReader(bytes)).ok()
    }

    /// The positions before the first and after the last row, without decoding the rows.
    pub(crate) fn span(bytes: &[u8]) -> Option<(Position, Position)> {
        let head = Head::decode(&mut ByteReader(bytes)).ok()?;
        let at = |next_seq| Position {
            run: head.run,
            next_seq,
        };
        Some((
            at(head.first_seq),
            at(head.first_seq + u64::from(head.rows)),
        ))
    }
}

/// Builds a block row by row.
#[derive(Default)]
pub(crate) struct BlockWriter {
    run: u64,
    first_seq: u64,
    rows: u32,
    bytes: Vec<u8>,
    /// The index of each peer, by its address in memory; `attrs` likewise.
    peers: HashMap<usize, u32>,
    attrs: HashMap<usize, u32>,
    /// Keeps the peers and sets alive whose addresses are keys of the maps.
    referenced: (Vec<Arc<Peer>>, Vec<Arc<AttrColumns>>),
    /// The times of the first and the last row.
    times_us: (u64, u64),
    marked: bool,
}

impl BlockWriter {
    /// Returns whether there are neither rows nor a marker.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 && !self.marked
    }

    /// Returns whether the block already ends with a marker.
    pub fn is_marked(&self) -> bool {
        self.marked
    }

    /// The bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The rows so far.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The number of the first row.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// The times of the first and the last row.
    pub fn times_us(&self) -> (u64, u64) {
        self.times_us
    }

    /// Adds a row. The rows of a block have consecutive numbers.
    pub fn push(&mut self, row: &Row<'_>) {
        if self.rows == 0 {
            self.begin(row.run, row.seq);
            self.times_us.0 = row.time_us;
        }
        debug_assert!(!self.marked, "a marker ends its block");
        debug_assert!(row.seq == self.first_seq + u64::from(self.rows));
        let peer = row.peer.map(|peer| self.peer(peer));
        let attrs = row.attrs.map(|attrs| self.attrs(attrs));
        let out = &mut self.bytes;
        out.push(tag_of(row.kind));
        put_signed(out, row.time_us.wrapping_sub(self.times_us.1) as i64);
        self.times_us.1 = row.time_us;
        put_optional(out, peer);
        put_payload(out, row.kind);
        put_prefix(out, row.prefix);
        put_number(out, row.path_id.into());
        put_optional(out, attrs);
        put_string(out, row.detail);
        self.rows += 1;
    }

    /// Ends the block with a marker: all routes must be loaded again. `at` is the number of the next row.
    pub fn mark<'p>(&mut self, run: u64, at: u64, peers: impl Iterator<Item = (bool, &'p Peer)>) {
        if self.rows == 0 {
            self.begin(run, at);
        }
        self.marked = true;
        let peers: Vec<_> = peers.collect();
        self.bytes.push(tag::MARKER);
        put_number(&mut self.bytes, peers.len() as u64);
        for (up, peer) in peers {
            self.bytes.push(up.into());
            StoredPeer::from(peer).encode(&mut self.bytes);
        }
    }

    /// Returns the encoded block and empties the writer.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 32);
        let head = Head {
            run: self.run,
            first_seq: self.first_seq,
            rows: self.rows,
        };
        head.encode(&mut out);
        out.append(&mut self.bytes);
        self.clear();
        out
    }

    /// Discards the rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.peers.clear();
        self.attrs.clear();
        self.referenced.0.clear();
        self.referenced.1.clear();
        (self.rows, self.marked, self.times_us) = (0, false, (0, 0));
    }

    fn begin(&mut self, run: u64, seq: u64) {
        self.run = run;
        self.first_seq = seq;
    }

    fn peer(&mut self, peer: &Arc<Peer>) -> u32 {
        let known = self.peers.len() as u32;
        *self
            .peers
            .entry(Arc::as_ptr(peer).addr())
            .or_insert_with(|| {
                self.bytes.push(tag::PEER);
                StoredPeer::from(&**peer).encode(&mut self.bytes);
                self.referenced.0.push(Arc::clone(peer));
                known
            })
    }

    fn attrs(&mut self, attrs: &Arc<AttrColumns>) -> u32 {
        let known = self.attrs.len() as u32;
        *self
            .attrs
            .entry(Arc::as_ptr(attrs).addr())
            .or_insert_with(|| {
                self.bytes.push(tag::ATTRS);
                put_attrs(&mut self.bytes, attrs);
                self.referenced.1.push(Arc::clone(attrs));
                known
            })
    }
}

struct Head {
    run: u64,
    first_seq: u64,
    rows: u32,
}

impl Head {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put_number(out, self.run);
        put_number(out, self.first_seq);
        put_number(out, self.rows.into());
    }

    fn decode(reader: &mut ByteReader<'_>) -> Result<Self, CorruptRecord> {
        if reader.byte()? != VERSION {
            return Err(CorruptRecord);
        }
        Ok(Self {
            run: reader.number()?,
            first_seq: reader.number()?,
            rows: reader.number_u32()?,
        })
    }
}

fn read(reader: &mut ByteReader<'_>) -> Result<Block, CorruptRecord> {
    let head = Head::decode(reader)?;
    let (mut peers, mut attrs) = (Vec::new(), Vec::new());
    let mut block = Block {
        run: head.run,
        first_seq: head.first_seq,
        entries: Vec::new(),
        marker: None,
    };
    let mut time_us = 0;
    while !reader.is_empty() {
        match reader.byte()? {
            tag::PEER => peers.push(Arc::new(StoredPeer::decode(reader)?)),
            tag::ATTRS => attrs.push(Arc::new(read_attrs(reader)?)),
            tag::MARKER => block.marker = Some(read_marker(reader)?),
            tag => {
                let entry = read_entry(tag, reader, &mut time_us, (&peers, &attrs))?;
                block.entries.push(entry);
            }
        }
    }
    match block.entries.len() == head.rows as usize {
        true => Ok(block),
        false => Err(CorruptRecord),
    }
}

fn read_marker(reader: &mut ByteReader<'_>) -> Result<Marker, CorruptRecord> {
    let mut marker = Marker::default();
    for _ in 0..reader.number()? {
        let up = reader.byte()? != 0;
        marker
            .peers
            .push((up, Arc::new(StoredPeer::decode(reader)?)));
    }
    Ok(marker)
}

type Known<'k> = (&'k [Arc<StoredPeer>], &'k [Arc<AttrColumns>]);

fn read_entry(
    tag: u8,
    reader: &mut ByteReader<'_>,
    time_us: &mut u64,
    (peers, attrs): Known<'_>,
) -> Result<Entry, CorruptRecord> {
    *time_us = time_us.wrapping_add(reader.signed()? as u64);
    let peer = reader.optional()?;
    let kind = read_kind(tag, reader)?;
    let prefix = read_prefix(reader)?;
    let path_id = reader.number_u32()?;
    let set = reader.optional()?;
    Ok(Entry {
        time_us: *time_us,
        kind,
        peer: nth(peers, peer)?,
        prefix,
        path_id,
        attrs: nth(attrs, set)?,
        detail: reader.string()?.into(),
    })
}

fn nth<T>(all: &[Arc<T>], index: Option<u32>) -> Result<Option<Arc<T>>, CorruptRecord> {
    match index {
        None => Ok(None),
        Some(index) => Ok(Some(Arc::clone(
            all.get(index as usize).ok_or(CorruptRecord)?,
        ))),
    }
}

fn tag_of(kind: Kind) -> u8 {
    match kind {
        Kind::Announce => tag::ANNOUNCE,
        Kind::Withdraw => tag::WITHDRAW,
        Kind::PeerUp => tag::PEER_UP,
        Kind::PeerDown { .. } => tag::PEER_DOWN,
        Kind::EndOfRib(_) => tag::END_OF_RIB,
        Kind::Gap { .. } => tag::GAP,
        Kind::Start => tag::START,
        Kind::Stop => tag::STOP,
        Kind::ClockStep { .. } => tag::CLOCK_STEP,
        Kind::State => tag::STATE,
    }
}

fn put_payload(out: &mut Vec<u8>, kind: Kind) {
    match kind {
        Kind::PeerDown { retained } => out.extend(retained.map(u8::from)),
        Kind::EndOfRib(family) => out.push(family.index() as u8),
        Kind::Gap { lost } => put_number(out, lost),
        Kind::ClockStep { by_us } => put_signed(out, by_us),
        _ => {}
    }
}

fn families([ipv4, ipv6]: [u8; 2]) -> PerFamily<bool> {
    PerFamily::new(ipv4 != 0, ipv6 != 0)
}

fn read_kind(tag: u8, reader: &mut ByteReader<'_>) -> Result<Kind, CorruptRecord> {
    Ok(match tag {
        tag::ANNOUNCE => Kind::Announce,
        tag::WITHDRAW => Kind::Withdraw,
        tag::PEER_UP => Kind::PeerUp,
        tag::PEER_DOWN => Kind::PeerDown {
            retained: families(reader.array()?),
        },
        tag::END_OF_RIB => {
            let index = usize::from(reader.byte()?);
            Kind::EndOfRib(*Family::ALL.get(index).ok_or(CorruptRecord)?)
        }
        tag::GAP => Kind::Gap {
            lost: reader.number()?,
        },
        tag::START => Kind::Start,
        tag::STOP => Kind::Stop,
        tag::CLOCK_STEP => Kind::ClockStep {
            by_us: reader.signed()?,
        },
        tag::STATE => Kind::State,
        _ => return Err(CorruptRecord),
    })
}

fn put_prefix(out: &mut Vec<u8>, prefix: Option<Prefix>) {
    let Some(prefix) = prefix else {
        return out.push(NO_PREFIX);
    };
    let len = prefix.len();
    let significant = usize::from(len.div_ceil(8));
    match prefix {
        Prefix::V4(prefix) => {
            out.push(len);
            out.extend_from_slice(&prefix.addr().octets()[..significant]);
        }
        Prefix::V6(prefix) => {
            out.push(len + IPV6_LENGTHS);
            out.extend_from_slice(&prefix.addr().octets()[..significant]);
        }
    }
}

fn read_prefix(reader: &mut ByteReader<'_>) -> Result<Option<Prefix>, CorruptRecord> {
    let form = reader.byte()?;
    if form == NO_PREFIX {
        return Ok(None);
    }
    let (len, ipv6) = match form.checked_sub(IPV6_LENGTHS) {
        None => (form, false),
        Some(len) => (len, true),
    };
    let mut address = [0; 16];
    let significant = reader.take(usize::from(len.div_ceil(8)))?;
    address
        .get_mut(..significant.len())
        .ok_or(CorruptRecord)?
        .copy_from_slice(significant);
    let address = match (ipv6, address.first_chunk::<4>()) {
        (false, Some(ipv4)) => (*ipv4).into(),
        _ => address.into(),
    };
    Prefix::from_addr(address, len)
        .map(Some)
        .ok_or(CorruptRecord)
}

fn put_attrs(out: &mut Vec<u8>, attrs: &AttrColumns) {
    put_optional(out, attrs.origin.map(|origin| origin as u32));
    out.push(attrs.as_path.is_some().into());
    put_string(out, attrs.as_path.as_deref().unwrap_or(""));
    put_optional(out, attrs.origin_as.map(|asn| asn.0));
    put_number(out, attrs.path_len.into());
    out.push(attrs.next_hop.is_some().into());
    if let Some(next_hop) = attrs.next_hop {
        put_address(out, next_hop);
    }
    put_optional(out, attrs.med);
    put_optional(out, attrs.local_pref);
    out.push(attrs.atomic_aggregate.into());
    out.push(attrs.aggregator.is_some().into());
    put_string(out, attrs.aggregator.as_deref().unwrap_or(""));
    put_number(out, attrs.communities.len() as u64);
    attrs
        .communities
        .iter()
        .for_each(|c| out.extend(c.0.to_le_bytes()));
    put_number(out, attrs.extended_communities.len() as u64);
    attrs
        .extended_communities
        .iter()
        .for_each(|c| out.extend(c.0));
    put_number(out, attrs.large_communities.len() as u64);
    for c in &attrs.large_communities {
        [c.global, c.local1, c.local2]
            .iter()
            .for_each(|part| out.extend(part.to_le_bytes()));
    }
}

fn read_attrs(reader: &mut ByteReader<'_>) -> Result<AttrColumns, CorruptRecord> {
    let origin = match reader.optional()? {
        None => None,
        Some(origin) => {
            let byte = u8::try_from(origin).map_err(|_| CorruptRecord)?;
            Some(Origin::from_octet(byte).ok_or(CorruptRecord)?)
        }
    };
    let text = |reader: &mut ByteReader<'_>| -> Result<Option<String>, CorruptRecord> {
        let present = reader.byte()? != 0;
        let text = reader.string()?;
        Ok(present.then(|| text.to_owned()))
    };
    Ok(AttrColumns {
        origin,
        as_path: text(reader)?,
        origin_as: reader.optional()?.map(Asn),
        path_len: reader.number_u32()?,
        next_hop: match reader.byte()? {
            0 => None,
            _ => Some(address(reader)?),
        },
        med: reader.optional()?,
        local_pref: reader.optional()?,
        atomic_aggregate: reader.byte()? != 0,
        aggregator: text(reader)?,
        communities: list(reader, |o| Ok(Community(u32::from_le_bytes(o.array()?))))?,
        extended_communities: list(reader, |o| Ok(ExtendedCommunity(o.array()?)))?,
        large_communities: list(reader, |o| {
            let mut part = || Ok(u32::from_le_bytes(o.array()?));
            Ok(LargeCommunity::new(part()?, part()?, part()?))
        })?,
    })
}

fn list<T>(
    reader: &mut ByteReader<'_>,
    mut read: impl FnMut(&mut ByteReader<'_>) -> Result<T, CorruptRecord>,
) -> Result<Vec<T>, CorruptRecord> {
    (0..reader.number()?).map(|_| read(reader)).collect()
}

const VERSION: u8 = 1;
const NO_PREFIX: u8 = 255;
/// Added to the lengths of IPv6 prefixes.
const IPV6_LENGTHS: u8 = 64;

mod tag {
    pub const PEER: u8 = 1;
    pub const ATTRS: u8 = 2;
    pub const MARKER: u8 = 3;
    pub const ANNOUNCE: u8 = 16;
    pub const WITHDRAW: u8 = 17;
    pub const PEER_UP: u8 = 18;
    pub const PEER_DOWN: u8 = 19;
    pub const END_OF_RIB: u8 = 20;
    pub const GAP: u8 = 21;
    pub const START: u8 = 22;
    pub const STOP: u8 = 23;
    pub const CLOCK_STEP: u8 = 24;
    pub const STATE: u8 = 25;
}
