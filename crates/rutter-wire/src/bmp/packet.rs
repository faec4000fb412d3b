//! Messages in a stream (RFC 7854 §4.1).

use std::fmt;

use super::{PeerDown, PeerUp, RouteMirroring, RouteMonitoring, StatisticsReport, Tlvs, kind};
use crate::cursor::Cursor;

/// Octets of the common header.
pub const HEADER_LEN: usize = 6;

/// One message, borrowed from the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// The version in the header: 3 or 4.
    pub version: u8,
    /// The message type.
    pub kind: u8,
    /// The bytes after the common header.
    pub body: &'a [u8],
    /// The length of the whole message, in octets.
    pub len: usize,
}

/// A decoded message.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// An UPDATE of a monitored peer, or of the router's own tables.
    RouteMonitoring(RouteMonitoring<'a>),
    /// Counters of a peer.
    StatisticsReport(StatisticsReport<'a>),
    /// A peer's session ended.
    PeerDown(PeerDown<'a>),
    /// A peer's session was established, now or before monitoring began.
    PeerUp(PeerUp<'a>),
    /// The name and version of the router.
    Initiation(Tlvs<'a>),
    /// The router ends the monitoring session.
    Termination(Tlvs<'a>),
    /// Messages of a peer, unchanged.
    RouteMirroring(RouteMirroring<'a>),
    /// A type that is ignored.
    Other(u8),
}

/// A fault of a message. After `Version` or `Length` the next message cannot be found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BmpFault {
    /// The version is neither 3 nor 4: this is not BMP, or a later version.
    Version(u8),
    /// The length is below that of the header, or above the limit.
    Length(u32),
    /// The body ends too early.
    BodyTruncated,
    /// The BGP message inside is incomplete, or has the wrong type.
    BgpMessage,
}

impl BmpFault {
    /// Returns whether the rest of the stream cannot be read.
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Version(_) | Self::Length(_))
    }
}

impl fmt::Display for BmpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(f, "version {version} is not known: this is BMP version 3")
            }
            Self::Length(len) => write!(f, "the message length {len} is out of range"),
            Self::BodyTruncated => f.write_str("the message ends too early"),
            Self::BgpMessage => f.write_str("the BGP message inside is malformed"),
        }
    }
}

impl std::error::Error for BmpFault {}

/// Returns the first message of `bytes`, which may have at most `max_len` octets. `Ok(None)`: more bytes are needed.
/// Every fault that it reports is fatal.
pub fn next_packet(bytes: &[u8], max_len: usize) -> Result<Option<Packet<'_>>, BmpFault> {
    let Some(&version) = bytes.first() else {
        return Ok(None);
    };
    if !matches!(version, 3 | 4) {
        return Err(BmpFault::Version(version));
    }
    let Some(&[_, a, b, c, d, kind]) = bytes.first_chunk::<HEADER_LEN>() else {
        return Ok(None);
    };
    let field = u32::from_be_bytes([a, b, c, d]);
    let len = field as usize;
    if !(HEADER_LEN..=max_len).contains(&len) {
        return Err(BmpFault::Length(field));
    }
    Ok(bytes.get(HEADER_LEN..len).map(|body| Packet {
        version,
        kind,
        body,
        len,
    }))
}

impl<'a> Packet<'a> {
    /// Decodes the message. No fault that it reports is fatal.
    pub fn decode(&self) -> Result<Message<'a>, BmpFault> {
        let body = Cursor::new(self.body);
        let cut = BmpFault::BodyTruncated;
        Ok(match self.kind {
            kind::ROUTE_MONITORING => {
                Message::RouteMonitoring(RouteMonitoring::decode(self.version, body)?)
            }
            kind::STATISTICS_REPORT => {
                Message::StatisticsReport(StatisticsReport::decode(body).ok_or(cut)?)
            }
            kind::PEER_DOWN => Message::PeerDown(PeerDown::decode(body).ok_or(cut)?),
            kind::PEER_UP => Message::PeerUp(PeerUp::decode(body)?),
            kind::INITIATION => Message::Initiation(Tlvs::new(self.body)),
            kind::TERMINATION => Message::Termination(Tlvs::new(self.body)),
            kind::ROUTE_MIRRORING => {
                Message::RouteMirroring(RouteMirroring::decode(body).ok_or(cut)?)
            }
            other => Message::Other(other),
        })
    }
}
