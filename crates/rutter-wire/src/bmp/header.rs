//! The per-peer header (RFC 7854 §4.2, RFC 8671 §4, RFC 9069 §4).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rutter_net::Asn;

use crate::cursor::Cursor;

/// The kind of peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PeerType {
    /// In the default instance.
    Global,
    /// In a VPN; the distinguisher is its Route Distinguisher.
    RouteDistinguisher,
    /// In an instance whose number only the router knows.
    Local,
    /// The router itself: its Loc-RIB (RFC 9069).
    LocRib,
    /// A number that no RFC defines.
    Other(u8),
}

/// The point in the router's flow of routes at which an UPDATE was observed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RibView {
    /// As received (L = 0, O = 0).
    AdjRibInPre,
    /// After import policy (L = 1, O = 0).
    AdjRibInPost,
    /// The routes that the router selected (peer type 3).
    LocRib,
    /// Towards the peer, before export policy (L = 0, O = 1).
    AdjRibOutPre,
    /// As sent (L = 1, O = 1).
    AdjRibOutPost,
}

/// The peer that a message is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerHeader {
    /// The kind of peer.
    pub kind: PeerType,
    /// Flags as received; their meaning depends on the kind.
    pub flags: u8,
    /// Identifies the routing instance.
    pub distinguisher: u64,
    /// The peer's address; unspecified for the Loc-RIB.
    pub address: IpAddr,
    /// The peer's AS.
    pub asn: Asn,
    /// The peer's BGP Identifier.
    pub bgp_id: u32,
    /// Time, in microseconds since 1970; `None` if the router does not report it.
    pub unix_us: Option<u64>,
}

/// The address is IPv6.
const IPV6: u8 = 0x80;
/// After policy.
const POST_POLICY: u8 = 0x40;
/// AS_PATH has two-octet numbers.
const TWO_OCTET_AS: u8 = 0x20;
/// Adj-RIB-Out (RFC 8671).
const ADJ_RIB_OUT: u8 = 0x10;
/// Loc-RIB: only part of the table is reported (RFC 9069).
const FILTERED: u8 = 0x80;

impl PeerHeader {
    /// The header of a peer of the default instance.
    pub fn global(address: IpAddr, asn: Asn, bgp_id: u32, view: RibView) -> Self {
        let ipv6 = if address.is_ipv6() { IPV6 } else { 0 };
        let (kind, flags) = match view {
            RibView::AdjRibInPre => (PeerType::Global, ipv6),
            RibView::AdjRibInPost => (PeerType::Global, ipv6 | POST_POLICY),
            RibView::AdjRibOutPre => (PeerType::Global, ipv6 | ADJ_RIB_OUT),
            RibView::AdjRibOutPost => (PeerType::Global, ipv6 | ADJ_RIB_OUT | POST_POLICY),
            RibView::LocRib => (PeerType::LocRib, 0),
        };
        PeerHeader {
            kind,
            flags,
            distinguisher: 0,
            address,
            asn,
            bgp_id,
            unix_us: None,
        }
    }

    /// The point at which the UPDATE was observed.
    pub fn view(&self) -> RibView {
        let post = self.flags & POST_POLICY != 0;
        match (self.kind, self.flags & ADJ_RIB_OUT != 0) {
            (PeerType::LocRib, _) => RibView::LocRib,
            (_, false) if post => RibView::AdjRibInPost,
            (_, false) => RibView::AdjRibInPre,
            (_, true) if post => RibView::AdjRibOutPost,
            (_, true) => RibView::AdjRibOutPre,
        }
    }

    /// Returns whether AS_PATH and AGGREGATOR have four-octet AS numbers.
    pub fn as4(&self) -> bool {
        self.kind == PeerType::LocRib || self.flags & TWO_OCTET_AS == 0
    }

    /// The same with two- or four-octet AS numbers.
    pub fn with_as4(mut self, as4: bool) -> Self {
        if self.kind != PeerType::LocRib {
            let rest = self.flags & !TWO_OCTET_AS;
            self.flags = if as4 { rest } else { rest | TWO_OCTET_AS };
        }
        self
    }

    /// Returns whether only part of the Loc-RIB is reported.
    pub fn is_filtered(&self) -> bool {
        self.kind == PeerType::LocRib && self.flags & FILTERED != 0
    }

    /// Returns whether this header and a Peer Up contain IPv6 addresses.
    pub(super) fn is_ipv6(&self) -> bool {
        self.kind != PeerType::LocRib && self.flags & IPV6 != 0
    }

    pub(super) fn decode(body: &mut Cursor<'_>) -> Option<Self> {
        let kind = PeerType::from_code(body.u8()?);
        let flags = body.u8()?;
        let distinguisher = u64::from_be_bytes(body.array()?);
        let ipv6 = kind != PeerType::LocRib && flags & IPV6 != 0;
        let address = address(body, ipv6)?;
        let (asn, bgp_id) = (Asn(body.u32()?), body.u32()?);
        let (seconds, micros) = (u64::from(body.u32()?), u64::from(body.u32()?));
        Some(PeerHeader {
            kind,
            flags,
            distinguisher,
            address,
            asn,
            bgp_id,
            unix_us: (seconds != 0).then_some(seconds * 1_000_000 + micros),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.kind.code(), self.flags]);
        out.extend_from_slice(&self.distinguisher.to_be_bytes());
        write_address(out, self.address);
        out.extend_from_slice(&self.asn.0.to_be_bytes());
        out.extend_from_slice(&self.bgp_id.to_be_bytes());
        let unix_us = self.unix_us.unwrap_or(0);
        let seconds = u32::try_from(unix_us / 1_000_000).unwrap_or(u32::MAX);
        out.extend_from_slice(&seconds.to_be_bytes());
        out.extend_from_slice(&((unix_us % 1_000_000) as u32).to_be_bytes());
    }
}

/// Reads an address from sixteen octets; IPv4 is in the last four.
pub(super) fn address(body: &mut Cursor<'_>, ipv6: bool) -> Option<IpAddr> {
    let octets: [u8; 16] = body.array()?;
    Some(match ipv6 {
        true => Ipv6Addr::from(octets).into(),
        false => Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]).into(),
    })
}

pub(super) fn write_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            out.extend_from_slice(&[0; 12]);
            out.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
    }
}

impl PeerType {
    /// The kind with this number.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Global,
            1 => Self::RouteDistinguisher,
            2 => Self::Local,
            3 => Self::LocRib,
            other => Self::Other(other),
        }
    }

    /// The number on the wire.
    pub fn code(self) -> u8 {
        match self {
            Self::Global => 0,
            Self::RouteDistinguisher => 1,
            Self::Local => 2,
            Self::LocRib => 3,
            Self::Other(code) => code,
        }
    }
}

/// The name in tables and messages: `global`, `rd`, `local`, `loc-rib`, or the number of another type.
impl fmt::Display for PeerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::RouteDistinguisher => f.write_str("rd"),
            Self::Local => f.write_str("local"),
            Self::LocRib => f.write_str("loc-rib"),
            Self::Other(code) => code.fmt(f),
        }
    }
}
